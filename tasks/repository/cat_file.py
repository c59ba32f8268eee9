"""Read many objects with one long-running `git cat-file`, through GitPython.

We start the process: it runs no program of the repository, fetches nothing, and knows no secret.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar

import git

from tasks.repository.git import AS_IT_IS, HARDENED, TIMEOUT_SECONDS, UNFETCHED, GitError, cannot_start

INHERITED = (
    "PATH", "HOME", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
)  # fmt: skip
"""The variables that it inherits: an agent may read them in /proc."""
FIXED = {
    "LC_ALL": "C.UTF-8",
    "GIT_TERMINAL_PROMPT": "0",
    **UNFETCHED,
    **AS_IT_IS,
}
LACKING = "from promisor remote"
"""Part of git's error message if a partial clone lacks an object and may not fetch it."""
_FORMS = {"cat_file_all": "--batch", "cat_file_header": "--batch-check"}  # by GitPython's name for the process
_BATCH = "cat-file", "--batch"
_T = TypeVar("_T")


class CatFile(git.Git):
    """GitPython's client of `git cat-file`, with processes that we start, and ids of any length. Not thread-safe.

    Not a Repo, which would read the configuration: an include may name a pipe that blocks.
    """

    def __init__(self, folder: Path) -> None:
        """`folder`: the git folder that all worktrees share. Starts no process yet."""
        super().__init__(folder)
        self.folder = folder
        self._timed_out = False

    def contents(self, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
        return self._read_all(self._read_content, names)

    def sizes(self, names: Sequence[str]) -> list[int | None]:
        return self._read_all(lambda name: int(self.get_object_header(name)[2]), names)

    def close(self) -> None:
        """End its processes. Later reads start them again."""
        self._kill()
        self.clear_cache()

    def _kill(self) -> list[git.Git.AutoInterrupt]:
        processes = [process for process in (self.cat_file_all, self.cat_file_header) if process is not None]
        for process in processes:
            process.kill()  # GitPython terminates and waits; a stopped process would not react
        return processes

    def _read_all(self, question: Callable[[str], _T], names: Sequence[str]) -> list[_T | None]:
        self._timed_out = False
        deadline = Timer(TIMEOUT_SECONDS, self._stop_late)  # an agent may replace an object with a pipe
        deadline.start()
        try:
            return [self._read_one(question, name) for name in names]
        except BaseException:
            self.close()  # the next read could receive the rest of this answer
            raise
        finally:
            deadline.cancel()
            deadline.join()

    def _stop_late(self) -> None:
        self._timed_out = True
        self._kill()

    def _read_one(self, question: Callable[[str], _T], name: str) -> _T | None:
        stderr = ""
        for _ in range(2):  # somebody may have killed the first process
            try:
                return question(name)
            except KeyError:
                return None
            except (EOFError, BrokenPipeError):
                stderr = "".join(process.stderr.read().decode(errors="replace") for process in self._kill())
                self.close()
            if LACKING in stderr:
                return None
            if self._timed_out:
                raise GitError(_BATCH, -1, f"no answer within {TIMEOUT_SECONDS:g} s")
        raise GitError(_BATCH, -1, stderr or "it ended without an answer")

    def _read_content(self, name: str) -> tuple[str, bytes]:
        id_, _, size, content = self.get_object_data(name)
        if len(content) < size:
            raise EOFError
        return id_, content

    def _parse_object_header(self, header_line: str | bytes) -> tuple[str, str, int]:
        """Raises KeyError if there is no such object, and EOFError if the process ended without an answer."""
        line = header_line.decode(errors="replace") if isinstance(header_line, bytes) else header_line
        if not line.endswith("\n"):
            raise EOFError
        match line.split():
            case [name, kind, size] if size.isdigit():
                return name, kind, int(size)
            case _:
                raise KeyError(line)

    def _get_persistent_cmd(self, attr_name: str, cmd_name: str, *args: Any, **kwargs: Any) -> git.Git.AutoInterrupt:  # noqa: ARG002
        if getattr(self, attr_name) is None:
            command = ["git", *(part for setting in HARDENED for part in ("-c", setting)), "cat-file", _FORMS[attr_name]]
            try:
                process = subprocess.Popen(
                    command,
                    cwd=self.folder,
                    env={name: os.environ[name] for name in INHERITED if name in os.environ} | FIXED,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C must not reach it
                )
            except OSError as error:
                raise cannot_start(self.folder, error) or error from error
            setattr(self, attr_name, git.Git.AutoInterrupt(process, command))
        return getattr(self, attr_name)
