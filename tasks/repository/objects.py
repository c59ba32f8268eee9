"""Commits, folders and files of a repository, by id or by name, wherever a checkout of it lies.

A `git cat-file` stays for the next question, of a few repositories at most, until `close_readers` or the end of ours. What it is
started with is ours: it runs no program of the repository, fetches nothing, and knows no secret.
"""

import atexit
import os
import select
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from helmsman.errors import OperatorError
from tasks.repository.git import AS_IT_IS, HARDENED, TIMEOUT_SECONDS, GitError, cannot_start, git_bytes

MOST_OPEN = 4
"""Processes."""
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
LACKING = "from promisor remote"
"""In the words with which git ends where a partial clone lacks an object and it may not fetch it."""
CONTENTS, HEADERS = "--batch", "--batch-check"
_LONGEST_LINK = 8192
"""Bytes of the file that leads from a worktree to its repository."""
_CHUNK = 1 << 20


class Header(NamedTuple):
    """What git knows of an object without its content."""

    id: str
    kind: str
    size: int


class _EndedError(Exception):
    """The process has ended instead of an answer."""


class _Key(NamedTuple):
    """Another folder may be put in a folder's place, and a fork does not speak with its parent's process."""

    form: str
    folder: Path
    device: int
    inode: int
    process: int


class _Reader:
    """One process, which is asked one question at a time: all that it prints before the next one is the answer."""

    def __init__(self, folder: Path, form: str) -> None:
        command = ["git", *(part for setting in HARDENED for part in ("-c", setting)), "cat-file", form]
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | FIXED
        try:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us
            )
        except OSError as error:
            if (told := cannot_start(folder, error)) is None:
                raise
            raise told from error
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018 - for the type checker
        self._asked, self._told, self._with_content = self._process.stdin, self._process.stdout, form == CONTENTS
        self._ready = select.poll()
        self._ready.register(self._told, select.POLLIN)

    def answer(self, name: str) -> tuple[Header, bytes] | None:
        """None: there is no such object. Raises _EndedError, BrokenPipeError, and GitError where it takes too long."""
        if "\n" in name:
            raise ValueError(f"a line feed in the name of an object: {name!r}")
        self._asked.write(os.fsencode(name) + b"\n")
        said = bytearray()
        while b"\n" not in said:
            said += self._more()
        head, _, content = said.partition(b"\n")
        match head.decode(errors="replace").split():
            case [found, kind, size] if size.isdigit():
                while self._with_content and len(content) <= int(size):  # a line feed ends it
                    content += self._more()
                return Header(found, kind, int(size)), bytes(content[: int(size)])
            case _:
                return None

    def close(self) -> None:
        self._process.kill()  # one that was stopped hears nothing else
        self._process.wait()
        self._asked.close()
        self._told.close()

    def _more(self) -> bytes:
        if not self._ready.poll(TIMEOUT_SECONDS * 1000):
            raise GitError(("cat-file",), -1, f"no answer within {TIMEOUT_SECONDS:g} s")
        chunk = os.read(self._told.fileno(), _CHUNK)
        if not chunk:
            raise _EndedError
        return chunk


_open: dict[_Key, _Reader] = {}
"""The one that was asked last is the last one."""
_lock = threading.Lock()


def read_objects(cwd: Path, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
    """Ids and contents of those objects, in their order; None where there is no such object. Raises GitError where git fails."""
    return [found and (found[0].id, found[1]) for found in _answers(cwd, CONTENTS, names)]


def read_headers(cwd: Path, names: Sequence[str]) -> list[Header | None]:
    """Likewise id, kind and size of each."""
    return [found and found[0] for found in _answers(cwd, HEADERS, names)]


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


def close_readers() -> None:
    """End every process that stays."""
    with _lock:
        while _open:
            _open.popitem()[1].close()


atexit.register(close_readers)


def _answers(cwd: Path, form: str, names: Sequence[str]) -> list[tuple[Header, bytes] | None]:
    folder = common_folder(cwd)
    try:
        at = folder.stat()
    except OSError as error:
        raise OperatorError("git cannot read here", expected="a git repository", found=str(folder)) from error
    with _lock:
        return [_answer(_Key(form, folder, at.st_dev, at.st_ino, os.getpid()), name) for name in names]


def _answer(key: _Key, name: str) -> tuple[Header, bytes] | None:
    for _ in range(2):  # somebody may have ended the first one
        reader = _open.pop(key, None) or _Reader(key.folder, key.form)
        try:
            answer = reader.answer(name)
        except (_EndedError, BrokenPipeError):
            reader.close()
            continue
        except BaseException:
            reader.close()  # half an answer may be under way, which the next question would take for its own
            raise
        _open[key] = reader
        while len(_open) > MOST_OPEN:
            _open.pop(next(iter(_open))).close()
        return answer
    try:
        git_bytes(key.folder, "cat-file", key.form, stdin=os.fsencode(name) + b"\n", env=FIXED)
    except GitError as error:  # in git's words
        if LACKING in error.stderr:
            return None
        raise
    raise GitError(("cat-file",), -1, "it ended without an answer")


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
