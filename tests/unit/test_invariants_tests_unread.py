"""Tests in files that were read and no longer can be."""

from dataclasses import replace

import pytest

from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.tests_deleted import tests_deleted as deleted

pytestmark = pytest.mark.feature("V5")

PATH = "tests/test_a.py"
UNREAD = TreeDiff((FileDiff(PATH, "def test_a():\n    assert f() == 1\n", None),), left_out=(PATH,))


def test_tests_in_a_file_that_is_too_large_now_or_no_text_block() -> None:
    (finding,) = deleted(Scene(diff=UNREAD))
    assert (finding.weight, "too large now, or no text" in finding.message) == ("block", True)


def test_tests_in_a_file_that_only_did_not_fit_beside_the_others_are_told() -> None:
    (finding,) = deleted(Scene(diff=replace(UNREAD, no_room=(PATH,))))
    assert (finding.weight, finding.path) == ("warn", PATH)
    assert "1 test could not be compared" in finding.message


def test_a_file_that_is_gone_blocks_although_another_did_not_fit() -> None:
    gone = FileDiff(PATH, UNREAD.files[0].before, None, "D")
    (finding,) = deleted(Scene(diff=TreeDiff((gone,), left_out=("b.py",), no_room=("b.py",))))
    assert finding.weight == "block"
