"""The diff that the judge sees: hunks as git prints them, the suspicious and the large ones first, bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.verify.diff import FileDiff
from helmsman.verify.judge.view import hunks, view_diff

pytestmark = pytest.mark.feature("V7")
LINES = "".join(f"line {number}\n" for number in range(1, 41))


def changed(*numbers: int) -> str:
    return "".join(f"LINE {n}\n" if n in numbers else f"line {n}\n" for n in range(1, 41))


def headings(file: FileDiff) -> list[str]:
    return [hunk.heading for hunk in hunks(file, ())]


def test_a_hunk_is_what_changed_with_three_lines_around_it() -> None:
    (hunk,) = hunks(FileDiff("a.py", LINES, changed(20)), ())
    assert hunk.heading == "@@ -17,7 +17,7 @@"
    assert hunk.lines == (" line 17", " line 18", " line 19", "-line 20", "+LINE 20", " line 21", " line 22", " line 23")


def test_a_file_that_is_gone_is_all_removed_and_a_new_one_has_no_hunk() -> None:
    assert headings(FileDiff("a.py", "x\ny\n", None, "D")) == ["@@ -1,2 +1,0 @@"]
    assert headings(FileDiff("a.py", None, "x\n", "A")) == []


def test_what_is_suspicious_comes_first_then_what_is_large() -> None:
    diff = [
        FileDiff("small.py", LINES, changed(5)),
        FileDiff("large.py", LINES, changed(5, 6, 7, 8)),
        FileDiff("tests/test_a.py", LINES, changed(5)),
        FileDiff("found.py", LINES, changed(5)),
    ]
    text = view_diff(diff, "a..b", {"found.py"}, 10_000)
    names = [line.removeprefix("--- a/") for line in text.splitlines() if line.startswith("--- a/")]
    assert names == ["found.py", "tests/test_a.py", "large.py", "small.py"]


def test_endless_lines_and_hunks_are_cut_and_say_so() -> None:
    (wide,) = hunks(FileDiff("a.js", "x", "y" * 10_000), ())
    assert wide.lines[1] == f"+{'y' * 300} [line cut: it has 10,000 characters]"
    (long,) = hunks(FileDiff("a.py", LINES * 10, None, "D"), ())
    assert long.lines[-1] == "[hunk cut after 120 of 400 lines]"


TEXT = st.lists(st.sampled_from("abcd"), max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(TEXT, TEXT)
def test_both_sides_can_be_read_back_from_any_hunk(before: str, after: str) -> None:
    for hunk in hunks(FileDiff("a", before, after), ()):
        old, new = ([line[1:] for line in hunk.lines if line[0] in signs] for signs in (" -", " +"))
        _, minus, plus, _ = hunk.heading.split()
        for lines, text, (start, length) in ((old, before, minus[1:].split(",")), (new, after, plus[1:].split(","))):
            at = int(start) - 1
            assert lines == text.splitlines()[at : at + int(length)]
