"""The structured diff, read from real repositories of every shape."""

import os
from pathlib import Path

import pytest

from helmsman.errors import OperatorError
from helmsman.verify.diff import FileDiff
from tasks.repository import diffs
from tasks.repository.diffs import LARGEST_FILE, read_diff, tree_of, unchanged_tests
from tests.fakes.repositories import commit, make_repository, sh, write

pytestmark = pytest.mark.feature("V5")

LONG = "".join(f"line {number}\n" for number in range(50))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    files = {
        "app.py": "one\ntwo\n",
        "gone.py": "x\n",
        "old.py": LONG,
        "tests/test_a.py": "def test_a(): ...\n",
        "data.txt": "1\n",
    }
    return make_repository(tmp_path / "top", files)


def diff(top: Path) -> dict[str, FileDiff]:
    return {file.path: file for file in read_diff(top, "HEAD~1", "HEAD")}


def test_every_kind_of_change_has_its_two_sides(top: Path) -> None:
    sh(top, "rm", "--quiet", "gone.py")
    sh(top, "mv", "old.py", "new.py")
    commit(top, "change", {"app.py": "one\n2\n", "added.py": "a\n"})
    found = diff(top)
    assert {path: file.status for path, file in found.items()} == {"added.py": "A", "app.py": "M", "gone.py": "D", "new.py": "R"}
    assert (found["app.py"].before, found["app.py"].after) == ("one\ntwo\n", "one\n2\n")
    assert (found["added.py"].before, found["added.py"].after) == (None, "a\n")
    assert (found["gone.py"].before, found["gone.py"].after) == ("x\n", None)
    assert (found["new.py"].old_path, found["new.py"].before == found["new.py"].after) == ("old.py", True)


def test_names_with_newlines_quotes_spaces_and_bytes_that_are_no_text_are_read(top: Path) -> None:
    names = ["a\nb.py", 'q"uote.py', "-dash.py", "sp ace.py", "ü.py", os.fsdecode(b"\xff.py")]
    for name in names:
        (top / name).write_text("x\n")
    commit(top, "names")
    found = read_diff(top, "HEAD~1", "HEAD")
    assert {file.path for file in found} == {*names[:-1], "\ufffd.py"}
    assert all(file.after == "x\n" for file in found)


def test_binary_and_oversized_files_are_named_and_not_read(top: Path) -> None:
    (top / "binary").write_bytes(b"\0\1\2")
    write(top, {"huge.txt": "x" * (LARGEST_FILE + 1)})
    (top / "link.py").symlink_to("/etc/passwd")
    commit(top, "change")
    found = read_diff(top, "HEAD~1", "HEAD")
    assert sorted(found.left_out) == ["binary", "huge.txt"]
    assert [file.after for file in found if file.path == "link.py"] == [None]


def test_bytes_that_are_no_text_are_replaced(top: Path) -> None:
    (top / "app.py").write_bytes(b"caf\xe9\n")
    commit(top, "change")
    assert diff(top)["app.py"].after == "caf\ufffd\n"


def test_programs_that_the_repository_names_are_not_run(top: Path, tmp_path: Path) -> None:
    trap = f"touch {tmp_path / 'ran'}; cat"
    sh(top, "config", "diff.external", trap)
    sh(top, "config", "diff.evil.textconv", trap)
    commit(top, "change", {".gitattributes": "*.py diff=evil\n", "app.py": "new\n"})
    assert diff(top)["app.py"].after == "new\n"
    assert not (tmp_path / "ran").exists()


def test_the_tests_beside_the_diff_are_read_as_well(top: Path) -> None:
    commit(top, "change", {"tests/test_b.py": "def test_b(): ...\n"})
    tests = unchanged_tests(top, tree_of(top, "HEAD"), read_diff(top, "HEAD~1", "HEAD"))
    assert tests == {"tests/test_a.py": "def test_a(): ...\n"}


def test_a_missing_object_is_named_with_what_to_do(top: Path) -> None:
    commit(top, "change", {"app.py": "new\n"})
    blob = sh(top, "rev-parse", "HEAD:tests/test_a.py")
    (top / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(OperatorError, match=rf"(?s)no object {blob}.*git -C .* fsck.*git fetch --refetch"):
        unchanged_tests(top, tree_of(top, "HEAD"), read_diff(top, "HEAD~1", "HEAD"))


def test_files_beyond_the_limit_are_marked_and_existing_tests_come_first(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffs, "LARGEST_DIFF", 100)
    monkeypatch.setattr(diffs, "LARGEST_FILE", 80)
    more = {"app.py": "a" * 60, "data.txt": "b" * 81, "test_0.py": "c" * 70, "tests/test_a.py": "d" * 60}
    commit(top, "change", more)
    found = read_diff(top, "HEAD~1", "HEAD")
    assert {file.path for file in found if file.after is not None} == {"tests/test_a.py"}
    assert sorted(found.left_out) == ["app.py", "data.txt", "test_0.py"]
