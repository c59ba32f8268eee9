"""What the judge is shown: whole files first, bounded, and everything that is not shown told as such."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.tokens import tokens
from helmsman.verify.judge.question import CheckOutput
from helmsman.verify.judge.view import view_notes, view_outputs, view_sources

pytestmark = pytest.mark.feature("V7")
MANY = 24_000


def shown_order(*paths: str, texts: dict[str, str] | None = None) -> list[str]:
    view = view_sources([(path, (texts or {}).get(path, "x\n")) for path in paths], (), MANY)
    return sorted(view.lines, key=view.text.index)


def test_a_file_is_shown_whole_with_its_lines_numbered() -> None:
    view = view_sources([("a.py", "one\n\nthree\n")], (), MANY)
    assert "file a.py\n1\tone\n2\t\n3\tthree\n>>>" in view.text
    assert view.lines == {"a.py": 3}


def test_lines_are_numbered_as_editors_number_them() -> None:
    view = view_sources([("a.py", "one\x0c\r\ntwo\u2028\nthree\x85")], (), MANY)
    assert "1\tone\\x0c\n2\ttwo\\u2028\n3\tthree\\x85\n>>>" in view.text
    assert view.lines == {"a.py": 3}


def test_sources_come_before_tests_and_tests_before_the_rest() -> None:
    paths = (
        "README.md",
        "tests/test_a.py",
        "src/a.py",
        "package.json",
        "web/a.spec.ts",
        "cmd/a_test.go",
        "AppTests.java",
        "b.rs",
    )
    assert shown_order(*paths) == [
        "b.rs",
        "src/a.py",
        "AppTests.java",
        "cmd/a_test.go",
        "tests/test_a.py",
        "web/a.spec.ts",
        "README.md",
        "package.json",
    ]


@pytest.mark.parametrize("path", ["src/latest.py", "contest.go", "src/attestation.ts", "protest.c", "testing.py"])
def test_a_source_whose_name_only_sounds_like_a_test_is_a_source(path: str) -> None:
    assert shown_order(path, "tests/a.py") == [path, "tests/a.py"]


def test_small_files_come_before_huge_ones() -> None:
    assert shown_order("a.py", "b.py", texts={"a.py": "x\n" * 50, "b.py": "x\n"}) == ["b.py", "a.py"]


def test_a_file_that_does_not_fit_is_cut_between_lines_and_says_so() -> None:
    huge = "".join(f"line {number} of many\n" for number in range(1, 9001))
    view = view_sources([("small.py", "x = 1\n"), ("huge.py", huge)], (), 6000)
    kept = view.lines["huge.py"]
    assert 0 < kept < 9000
    assert f"{kept}\tline {kept} of many\n[file cut after {kept:,} of 9,000 lines]\n>>>" in view.text
    assert f"line {kept + 1} of many" not in view.text
    assert "beginning of the file huge.py" in view.text
    assert view.lines["small.py"] == 1


def test_files_without_room_and_without_text_are_named_and_cannot_be_cited() -> None:
    sources = [("a.py", "x" * 1900 + "\n" + "y" * 1900 + "\n"), ("b.py", "z = 1\n" * 3000), ("logo.png", None)]
    view = view_sources(sources, (), 600)
    assert set(view.lines) == {"a.py"}
    assert "changed files that are NOT shown\nb.py (18,000 characters, no room)\nlogo.png (no text)" in view.text


def test_deleted_files_are_named() -> None:
    view = view_sources([], ("old.py", "tests/test_old.py"), MANY)
    assert "files that were deleted\nold.py\ntests/test_old.py" in view.text
    assert view.gone == {"old.py", "tests/test_old.py"}


def test_an_endless_line_is_cut_and_says_so() -> None:
    view = view_sources([("min.js", "a" * 10**6)], (), MANY)
    assert "1\t" + "a" * 2000 + " [line cut: it has 1,000,000 characters]" in view.text


def test_no_change_at_all_is_said() -> None:
    assert view_sources([], (), MANY).text == "(no file was changed)"


def test_an_empty_file_is_shown_as_one() -> None:
    view = view_sources([("a/__init__.py", "")], (), MANY)
    assert "[the file is empty]" in view.text
    assert view.lines == {"a/__init__.py": 0}


PATHS = st.text(st.characters(codec=None), min_size=1, max_size=40)
TEXTS = st.none() | st.text(max_size=400) | st.text(min_size=1, max_size=9).map(lambda text: text * 3000)


@given(st.dictionaries(PATHS, TEXTS, max_size=8), st.lists(PATHS, max_size=5))
def test_any_files_fit_and_each_is_shown_or_named(files: dict[str, str | None], deleted: list[str]) -> None:
    view = view_sources(list(files.items()), deleted, 1000)
    names = 250 * (len(files) + len(deleted)) + 200
    assert tokens(view.text) <= 1000 + names
    assert view.text.encode()
    hidden = view.text.count(" characters, no room)") + view.text.count(" (no text)")
    assert len(view.lines) + hidden >= len({path.replace("`", "'") for path in files})


def test_ten_thousand_files_are_bounded() -> None:
    view = view_sources([(f"src/{number}.py", "") for number in range(10_000)], (), 1000)
    assert tokens(view.text) < 1000 + 100 * 20
    assert "more]" in view.text


def test_an_output_is_shown_with_head_tail_and_verdict() -> None:
    text = view_outputs([CheckOutput("pytest -q", passed=True, head="collected 3\n", tail="3 passed\n")], 1000)
    assert "output of the check pytest -q, which passed\ncollected 3\n\n[… some of the output was not kept …]\n3 passed" in text


def test_a_long_output_loses_its_middle_and_keeps_its_end() -> None:
    text = view_outputs([CheckOutput("make", passed=False, head="begin" + "x" * 9000 + "end")], 500)
    assert tokens(text) < 500 + 60
    assert "which FAILED\nbegin" in text
    assert "xend\n>>>" in text
    assert "the middle of 9,008 characters is left out" in text


def test_room_that_one_check_does_not_need_goes_to_the_next() -> None:
    outputs = [CheckOutput("a", passed=True, head="short"), CheckOutput("b", passed=True, head="y" * 1900)]
    assert "y" * 1900 in view_outputs(outputs, 500)


def test_no_check_and_no_output_are_said() -> None:
    assert view_outputs([], 500) == "(no check was run)"
    assert "[nothing was printed]" in view_outputs([CheckOutput("a", passed=True)], 500)


def test_only_the_last_forty_lines_of_the_notes_are_shown() -> None:
    text = view_notes([f"note {number}." for number in range(100)])
    assert "note 59." not in text
    assert "note 60.\n" in text
    assert "note 99." in text
    assert view_notes([]) == ""


def test_a_note_is_one_short_line() -> None:
    text = view_notes(["a\nb" + "x" * 1000])
    assert "a b" in text
    assert len(text) < 400
