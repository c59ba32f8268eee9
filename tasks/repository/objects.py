"""Commits, folders and files of a repository, by id or by name, wherever a checkout of it lies.

One `git cat-file` stays and answers for object after object, for a few repositories at most, until `close_readers` or the end of
ours. What it is started with is ours: it runs no program of the repository, fetches nothing, and knows no secret.
"""

import atexit
import os
import select
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, cast

from helmsman.errors import OperatorError
from tasks.repository.git import AS_IT_IS, HARDENED, TIMEOUT_SECONDS, GitError, cannot_start, git_bytes

MOST_OPEN = 4  # Repositories. Each has two processes: one for contents, one for sizes.
FOLDER = "040000"
LINK = "120000"
FILE_MODES = frozenset({"100644", "100755"})  # neither a symbolic link, which may lead anywhere, nor a submodule
_LONGEST_LINK = 8192  # bytes of the file that leads from a worktree to its repository

INHERITED = (
    "PATH", "HOME", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
)  # fmt: skip
"""All that it sees of our environment: while it stays, an agent may read it in /proc."""
FIXED = {
    "LC_ALL": "C.UTF-8",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # what a partial clone lacks is missing
    "GIT_ALLOW_PROTOCOL": "none",  # the same, for a git that does not know that variable yet
    **AS_IT_IS,
}
LACKING = "from promisor remote"  # in the words with which git ends where a partial clone lacks an object and it may not fetch it
CONTENTS, SIZES = "--batch", "--batch-check"
_BATCH = "cat-file", CONTENTS
_CHUNK = 1 << 20

_open: dict[tuple[int, Path, int, int], "CatFile"] = {}
"""By process, as a fork does not speak with its parent's, and by folder: another one may be put in its place."""
_lock = threading.Lock()


def read_objects(cwd: Path, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
    """Ids and contents of those objects, in their order; None where there is no such object. Raises GitError where git fails."""
    return [found and (found.id, found.content) for found in _ask(cwd, CONTENTS, names)]


def read_sizes(cwd: Path, names: Sequence[str]) -> list[int | None]:
    """Likewise the bytes of each."""
    return [found and found.size for found in _ask(cwd, SIZES, names)]


def read_object(cwd: Path, name: str) -> bytes:
    """The content of an object that has to be there. Raises OperatorError where it is not."""
    found = read_objects(cwd, [name])[0]
    if found is None:
        raise missing_object(cwd, name)
    return found[1]


def missing_object(cwd: Path, name: str) -> OperatorError:
    return OperatorError(
        "an object is missing from the repository, so what it holds cannot be read",
        expected="a repository that has every object of the commits that are compared",
        found=f"no object {name} in {cwd}",
        remedy=f"see what else is missing: git -C {cwd} fsck; then fetch it from where it is whole: git fetch --refetch REMOTE, "
        "and --unshallow for a shallow clone",
    )


@dataclass(frozen=True)
class Entry:
    """One name in a folder of a commit."""

    mode: str
    id: str
    path: str  # from the root; bytes that are no text as `os.fsdecode` has them


def root_entries(cwd: Path, commit: str) -> list[Entry]:
    """What lies at the root of a commit, or of a tree. Raises OperatorError where there is none."""
    return list(_entries(cwd, f"{commit}^{{tree}}", ""))


def folder_entries(cwd: Path, folder: Entry) -> list[Entry]:
    return list(_entries(cwd, folder.id, f"{folder.path}/"))


def entry_at(cwd: Path, commit: str, path: str) -> Entry | None:
    """What a commit has under exactly that path; None where there is nothing."""
    entries, found, above = root_entries(cwd, commit), None, ""
    for part in path.split("/"):
        if found is not None:
            entries, above = folder_entries(cwd, found) if found.mode == FOLDER else [], f"{found.path}/"
        found = next((entry for entry in entries if entry.path == above + part), None)
        if found is None:
            return None
    return found


def entries_in(cwd: Path, commit: str, path: str) -> list[Entry]:
    """What lies in the folder of that path; nothing where there is no such folder."""
    found = entry_at(cwd, commit, path)
    return folder_entries(cwd, found) if found is not None and found.mode == FOLDER else []


def size_of(cwd: Path, entry: Entry) -> int:
    """Bytes of a file that has to be there. Raises OperatorError where it is not."""
    size = read_sizes(cwd, [entry.id])[0]
    if size is None:
        raise missing_object(cwd, f"{entry.id} ({entry.path})")
    return size


def _entries(cwd: Path, name: str, prefix: str) -> Iterator[Entry]:
    """`MODE NAME<nul>ID` one after the other; ids are bytes, as many as half of the digits of any other id."""
    found = read_objects(cwd, [name])[0]
    if found is None:
        raise missing_object(cwd, name)
    (tree, content), start = found, 0
    while start < len(content):
        blank, end = content.index(b" ", start), content.index(b"\0", start)
        mode, path = content[start:blank].decode().zfill(6), prefix + os.fsdecode(content[blank + 1 : end])
        start = end + 1 + len(tree) // 2
        yield Entry(mode, content[end + 1 : start].hex(), path)


@atexit.register
def close_readers() -> None:
    """End every process that stays."""
    with _lock:
        while _open:
            _open.popitem()[1].close()


def _ask(cwd: Path, form: str, names: Sequence[str]) -> "list[Answer | None]":
    if not names:
        return []
    folder = common_folder(cwd)
    try:
        at = folder.stat()
    except OSError as error:
        raise OperatorError("git cannot read here", expected="a git repository", found=str(folder)) from error
    key = os.getpid(), folder, at.st_dev, at.st_ino
    with _lock:
        _open[key] = reader = _open.pop(key, None) or CatFile(folder)
        while len(_open) > MOST_OPEN:
            _open.pop(next(iter(_open))).close()  # the one that was asked longest ago
        return reader.ask(form, names)


def common_folder(cwd: Path) -> Path:
    """The git folder that all worktrees share, of a checkout's root or of a git folder."""
    link = cwd / ".git"
    if link.is_dir():
        return link.resolve()
    if not link.is_file():
        return cwd.resolve()
    own = cwd / _line(link).removeprefix("gitdir: ")
    common = own / "commondir"
    return (own / _line(common)).resolve() if common.is_file() else own.resolve()


def _line(path: Path) -> str:
    with path.open("rb") as file:
        return os.fsdecode(file.read(_LONGEST_LINK)).removesuffix("\n")


class Answer(NamedTuple):
    """What git says of an object that is there."""

    id: str
    size: int
    content: bytes  # empty where only sizes were asked for


class CatFile:
    """The conversation with the processes of one repository, one for contents and one for sizes; no two questions at once."""

    def __init__(self, folder: Path) -> None:
        """Of the git folder that all worktrees share. No process is started yet."""
        self._folder, self._running = folder, dict[str, "subprocess.Popen[bytes]"]()

    def ask(self, form: str, names: Sequence[str]) -> list[Answer | None]:
        """`form`: CONTENTS or SIZES. None where there is no such object."""
        try:
            return [self._answer(form, name) for name in names]
        except BaseException:
            self.close()  # half an answer may be under way, which the next question would take for its own
            raise

    def close(self) -> None:
        """End its processes. What is asked later starts them again."""
        while self._running:
            with self._running.popitem()[1] as process:
                process.kill()  # not asked politely: one that was stopped does not hear it

    def _answer(self, form: str, name: str) -> Answer | None:
        if "\n" in name:
            raise ValueError(f"a name with a line feed: {name!r}")
        for _ in range(2):  # somebody may have ended the first one
            process = self._running.get(form) or self._started(form)
            try:
                cast("IO[bytes]", process.stdin).write(os.fsencode(f"{name}\n"))
                return _heard(cast("IO[bytes]", process.stdout).fileno(), form)
            except (EOFError, BrokenPipeError):
                self.close()
            except TimeoutError as error:
                raise GitError(_BATCH, -1, f"no answer within {TIMEOUT_SECONDS:g} s") from error
        try:
            git_bytes(self._folder, *_BATCH, stdin=os.fsencode(f"{name}\n"), env=FIXED)
        except GitError as error:  # in git's words
            if LACKING in error.stderr:
                return None
            raise
        raise GitError(_BATCH, -1, "it ended without an answer")

    def _started(self, form: str) -> "subprocess.Popen[bytes]":
        try:
            self._running[form] = subprocess.Popen(
                ["git", *(part for setting in HARDENED for part in ("-c", setting)), "cat-file", form],
                cwd=self._folder,
                env={name: os.environ[name] for name in INHERITED if name in os.environ} | FIXED,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for us
            )
        except OSError as error:
            raise cannot_start(self._folder, error) or error from error
        return self._running[form]


def _heard(pipe: int, form: str) -> Answer | None:
    """One answer, to its end: `ID KIND SIZE`, and the content in a paragraph of its own. Raises EOFError and TimeoutError."""
    ready, heard = select.poll(), bytearray()
    ready.register(pipe, select.POLLIN)

    def hear() -> None:
        if not ready.poll(TIMEOUT_SECONDS * 1000):
            raise TimeoutError
        if not (more := os.read(pipe, _CHUNK)):
            raise EOFError
        heard.extend(more)

    while (end := heard.find(b"\n") + 1) == 0:
        hear()
    match heard[:end].decode(errors="replace").split():
        case [found, _, size] if size.isdigit():
            whole = end + int(size)
        case _:
            return None
    while form == CONTENTS and len(heard) <= whole:  # a line feed comes after it
        hear()
    return Answer(found, int(size), bytes(heard[end:whole]))
