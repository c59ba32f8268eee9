"""Conflicts that were left in a file, and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.checks import Weight
from helmsman.verify.diff import FileDiff
from helmsman.verify.findings import conflicts_in

pytestmark = pytest.mark.feature("M4")

CONFLICT = """\
before
<<<<<<< HEAD
mine
||||||| 1234567
old
=======
theirs
>>>>>>> 89abcdef0123456789abcdef0123456789abcdef
after
"""


def lines_of(after: str, before: str | None = None, path: str = "app.py") -> list[int | None]:
    found = list(conflicts_in(FileDiff(path, before, after)))
    assert all(one.weight is Weight.BLOCK and one.rule == "markers" for one in found)
    return [one.line for one in found]


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        (CONFLICT, [2]),
        (CONFLICT.replace("\n", "\r\n"), [2]),
        ("\x0c" + CONFLICT.replace("mine", "mi\u2028ne") + CONFLICT, [2, 11]),
        (CONFLICT.replace("||||||| 1234567\nold\n", ""), [2]),
        (CONFLICT + CONFLICT, [2, 11]),
        ("a\n<<<<<<< HEAD\nmine\n", [2]),
        ("mine\n>>>>>>> 89abcdef0123\n", [2]),
    ],
)
def test_a_conflict_that_was_left_blocks(after: str, lines: list[int]) -> None:
    assert lines_of(after) == lines


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("guide.rst", "Heading\n=======\n\nText.\n"),
        ("guide.rst", "Heading\n>>>>>>>\n\nOther\n<<<<<<<\n"),
        ("guide.md", "Title\n=======\n\n    <<<<<<< HEAD\n    mine\n    =======\n    theirs\n    >>>>>>> main\n"),
        ("mail.txt", ">>>>>>> he wrote seven answers ago\n>>>>>> and I said\n"),
        ("session.txt", ">>> 1 << 7\n128\n"),
        ("shifts.c", "x = 1 <<<<<<< 2;\n"),
        ("order.txt", ">>>>>>> a\n=======\n<<<<<<<\n"),
        ("long.txt", "<<<<<<<<<<<<<<<< art\n================\n>>>>>>>>>>>>>>>>\n"),
    ],
)
def test_what_only_looks_like_a_conflict_is_let_through(path: str, after: str) -> None:
    assert lines_of(after, path=path) == []


def test_a_conflict_that_was_there_before_is_not_this_loops() -> None:
    assert lines_of(CONFLICT + "more\n", before=CONFLICT) == []


@given(st.lists(st.sampled_from(["text", "=======", "-------", "<<<<<<", ">>>>>>", "<<<<<<<<", "", "  <<<<<<< x", ">>>>>>>x"])))
def test_lines_without_a_marker_are_never_a_conflict(lines: list[str]) -> None:
    assert lines_of("\n".join(lines)) == []
