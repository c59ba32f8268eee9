"""Reading objects through one git that stays."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tasks.repository import cat_file
from tasks.repository.git import GitError
from tasks.repository.objects import FOLDER, LINK, close_readers, entries_in, entry_at, read_object, read_objects, read_sizes
from tests.fakes.repositories import commit, make_repository, sh

pytestmark = pytest.mark.feature("E14")
NOTE = "docs/a note.txt"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    close_readers()
    yield
    close_readers()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "top", {NOTE: "one\n", "run.sh": "exit\n"})


def readers(folder: Path) -> list[psutil.Process]:
    """Those of repositories below a folder: other tests of this process may have left some."""
    children = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in children if "cat-file" in child.cmdline() and Path(child.cwd()).is_relative_to(folder)]


def of_head(top: Path, name: str = NOTE) -> bytes:
    return read_object(top, f"HEAD:{name}")


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_contents_sizes_and_folders_are_what_git_shows(tmp_path: Path, form: str) -> None:
    top = tmp_path / "top"
    sh(tmp_path, "init", "--quiet", f"--object-format={form}", str(top))
    (top / "link").symlink_to("elsewhere")
    head = commit(top, "files", {NOTE: "one\n", "empty": "", "x/y/z": "deep\n"})
    note, empty = (sh(top, "rev-parse", f"HEAD:{name}") for name in (NOTE, "empty"))
    assert read_objects(top, [note, f"{head}:nothing", empty]) == [(note, b"one\n"), None, (empty, b"")]
    assert read_sizes(top, [note, "0" * 40, empty]) == [4, None, 0]
    listed = [f"{entry.mode} {entry.id} {entry.path}" for entry in entries_in(top, head)]
    assert listed == sh(top, "ls-tree", "--format=%(objectmode) %(objectname) %(path)", head).splitlines()


def test_a_path_is_followed_through_folders_and_through_nothing_else(top: Path) -> None:
    (top / "link").symlink_to("docs")
    head = commit(top, "deep", {"x/y/z": "deep\n", "x/new\nline": ""})
    found = [entry_at(top, head, path) for path in ("x/y/z", "x/y", "link", "x/new\nline")]
    assert [(entry.mode, entry.path) for entry in found if entry] == [
        *(("100644", "x/y/z"), (FOLDER, "x/y"), (LINK, "link"), ("100644", "x/new\nline"))
    ]
    assert [entry_at(top, head, path) for path in ("link/a note.txt", "x/y/z/", "x/", "nothing", "X/y")] == [None] * 5
    assert [entry.path for entry in entries_in(top, head, "x/")] == ["x/new\nline", "x/y"]
    assert entries_in(top, head, "link/") == entries_in(top, head, "run.sh/") == []


def test_what_is_written_packed_or_moved_later_is_seen_by_the_one_that_stays(top: Path) -> None:
    assert of_head(top) == b"one\n"
    pids = [reader.pid for reader in readers(top)]
    for number, tidy in enumerate((("pack-refs", "--all"), ("repack", "-a", "-d", "-q"), ("gc", "--quiet", "--prune=now"))):
        commit(top, "next", {NOTE: f"{number}\n"})
        sh(top, *tidy)
        assert of_head(top) == f"{number}\n".encode()
    assert [reader.pid for reader in readers(top)] == pids


def test_500_readings_leave_no_further_file_and_no_further_process_and_closing_leaves_none(top: Path) -> None:
    def used() -> tuple[int, int, int]:
        assert [found and found[1] for found in read_objects(top, [f"HEAD:{NOTE}", "nothing"])] == [b"one\n", None]
        assert read_sizes(top / ".git", ["HEAD"])
        return this.num_fds(), len(readers(top)), this.num_threads()

    this, files = psutil.Process(), psutil.Process().num_fds()
    first = used()
    assert all(now <= then for now, then in zip(map(max, zip(*(used() for _ in range(500)), strict=True)), first, strict=True))
    close_readers()
    assert not readers(top)
    assert this.num_fds() <= files  # what another test of this process has left may be closed meanwhile


def test_only_the_repository_that_was_asked_last_keeps_its_processes(tmp_path: Path) -> None:
    for number in range(6):
        of_head(make_repository(tmp_path / str(number), {NOTE: "one\n"}))
    assert [Path(reader.cwd()) for reader in readers(tmp_path)] == [tmp_path / "5" / ".git"]


def test_a_git_process_that_was_killed_is_restarted(top: Path) -> None:
    of_head(top)
    (reader,) = readers(top)
    reader.kill()
    psutil.wait_procs([reader], timeout=5)
    assert of_head(top) == b"one\n"


def test_one_that_does_not_answer_is_ended_in_time(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_head(top)
    (reader,) = readers(top)
    reader.suspend()
    monkeypatch.setattr(cat_file, "TIMEOUT_SECONDS", 0.2)
    with pytest.raises(GitError, match=r"no answer within 0\.2 s"):
        of_head(top)
    monkeypatch.undo()
    assert of_head(top) == b"one\n"
    assert reader not in readers(top)


def test_half_a_conversation_is_not_taken_for_the_next_answer(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_head(top)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(cat_file.CatFile, "_content", interrupted)
        with pytest.raises(KeyboardInterrupt):
            of_head(top)
    with pytest.raises(ValueError, match="line feed"):
        read_objects(top, [f"HEAD\nHEAD:{NOTE}"])
    assert of_head(top, "run.sh") == b"exit\n"


def test_another_repository_in_the_same_place_is_another_one(top: Path) -> None:
    assert of_head(top) == b"one\n"
    shutil.rmtree(top)
    make_repository(top, {NOTE: "another\n"})
    assert of_head(top) == b"another\n"


def test_a_damaged_object_is_an_error_in_gits_words_and_the_next_one_is_read(top: Path) -> None:
    name = sh(top, "rev-parse", f"HEAD:{NOTE}")
    path = top / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(GitError, match="cat-file failed"):
        read_objects(top, [name])
    assert of_head(top, "run.sh") == b"exit\n"


def test_a_replaced_object_is_read_as_it_is_for_everybody_else(top: Path) -> None:
    note, other = (sh(top, "rev-parse", f"HEAD:{name}") for name in (NOTE, "run.sh"))
    sh(top, "replace", note, other)
    assert read_object(top, note) == b"one\n"
