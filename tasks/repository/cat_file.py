"""A persistent `git cat-file` process that answers for object after object, driven by GitPython.

We start it with our own settings: it runs no program of the repository, fetches nothing, and sees no secret.
"""

import io
import os
import select
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import git

from tasks.repository.git import HARDENED, NO_REPLACEMENTS, TIMEOUT_SECONDS, GitError, git_bytes, start_error

INHERITED = (
    "PATH", "HOME", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
)  # fmt: skip
"""The only variables it inherits: an agent may read its environment in /proc."""
FIXED = {
    "LC_ALL": "C.UTF-8",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # objects that a partial clone lacks are missing
    "GIT_ALLOW_PROTOCOL": "none",  # the same, for versions of git without that variable
    **NO_REPLACEMENTS,
}
LACKING = "from promisor remote"  # part of git's message for an object that a partial clone lacks and may not fetch
_FORMS = {"cat_file_all": "--batch", "cat_file_header": "--batch-check"}  # by GitPython's name for the process
_BATCH = "cat-file", "--batch"
_T = TypeVar("_T")


class _InTime(io.RawIOBase):
    """The process's output. Raises TimeoutError if nothing is printed for too long."""

    def __init__(self, source: IO[bytes]) -> None:
        """Read from an unbuffered pipe."""
        self._source, self._ready = source, select.poll()
        self._ready.register(source, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready.poll(TIMEOUT_SECONDS * 1000):
            raise TimeoutError
        return os.readv(self._source.fileno(), [buffer])

    def close(self) -> None:
        self._source.close()
        super().close()


class CatFile(git.Git):
    """GitPython's client of `cat-file`, with processes that we start and ids of any length; one request at a time.

    Not a `Repo`, which reads the repository's configuration: an include may name a pipe that blocks forever.
    """

    def __init__(self, folder: Path) -> None:
        """For the git folder that all worktrees share. Starts no process yet."""
        super().__init__(folder)
        self.folder = folder

    def _get_persistent_cmd(self, attr_name: str, cmd_name: str, *args: Any, **kwargs: Any) -> git.Git.AutoInterrupt:  # noqa: ARG002
        if getattr(self, attr_name) is None:
            setattr(self, attr_name, _started(self.folder, _FORMS[attr_name]))
        return getattr(self, attr_name)

    def _parse_object_header(self, header_line: str | bytes) -> tuple[str, str, int]:
        """Raises KeyError for a missing object, and EOFError if the process ended without an answer."""
        line = header_line.decode(errors="replace") if isinstance(header_line, bytes) else header_line
        if not line.endswith("\n"):
            raise EOFError
        match line.split():
            case [name, kind, size] if size.isdigit():
                return name, kind, int(size)
            case _:
                raise KeyError(line)

    def contents(self, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
        return self._ask(self._content, names)

    def sizes(self, names: Sequence[str]) -> list[int | None]:
        return self._ask(lambda name: int(self.get_object_header(name)[2]), names)

    def close(self) -> None:
        """End the processes. A later request starts them again."""
        for process in (self.cat_file_all, self.cat_file_header):
            if process is not None:
                process.kill()  # GitPython sends SIGTERM and waits, which blocks for a stopped process
        self.clear_cache()

    def _ask(self, question: Callable[[str], _T], names: Sequence[str]) -> list[_T | None]:
        try:
            return [self._answer(question, name) for name in names]
        except BaseException:
            self.close()  # the rest of this answer must not be read as the next one
            raise

    def _answer(self, question: Callable[[str], _T], name: str) -> _T | None:
        for _ in range(2):  # the process may have been killed; start another one
            try:
                return question(name)
            except KeyError:
                return None
            except (EOFError, BrokenPipeError):
                self.close()
            except TimeoutError as error:
                raise GitError(_BATCH, -1, f"no answer within {TIMEOUT_SECONDS:g} s") from error
        try:
            git_bytes(self.folder, *_BATCH, stdin=f"{name}\n".encode(), env=FIXED)
        except GitError as error:  # git's own message
            if LACKING in error.stderr:
                return None
            raise
        raise GitError(_BATCH, -1, "it ended without an answer")

    def _content(self, name: str) -> tuple[str, bytes]:
        found, _, size, content = self.get_object_data(name)
        if len(content) < size:
            raise EOFError
        return found, content


def _started(folder: Path, form: str) -> git.Git.AutoInterrupt:
    command = ["git", *(part for setting in HARDENED for part in ("-c", setting)), "cat-file", form]
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={name: os.environ[name] for name in INHERITED if name in os.environ} | FIXED,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # Ctrl-C must not reach it
        )
    except OSError as error:
        raise start_error(folder, error) or error from error
    if process.stdout is not None:
        process.stdout = io.BufferedReader(_InTime(process.stdout))
    return git.Git.AutoInterrupt(process, command)
