"""One git that stays and answers for object after object: `git cat-file`, which GitPython speaks with.

What it is started with is ours: it runs no program of the repository, fetches nothing, and knows no secret.
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
"""All that it sees of our environment: while it stays, an agent may read it in /proc."""
FIXED = {
    "LC_ALL": "C.UTF-8",
    "GIT_TERMINAL_PROMPT": "0",
    **UNFETCHED,
    **AS_IT_IS,
}
LACKING = "from promisor remote"
"""In the words with which git ends where a partial clone lacks an object and it may not fetch it."""
_FORMS = {"cat_file_all": "--batch", "cat_file_header": "--batch-check"}  # by GitPython's name for the process
_BATCH = "cat-file", "--batch"
_T = TypeVar("_T")


class CatFile(git.Git):
    """GitPython's side of the conversation, with processes that we start, and ids of any length; no two questions at once.

    It is no Repo, which would read settings: an include may name a pipe that nobody writes to.
    """

    def __init__(self, folder: Path) -> None:
        """Of the git folder that all worktrees share. No process is started yet."""
        super().__init__(folder)
        self.folder = folder
        self._late = False

    def contents(self, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
        return self._ask(self._content, names)

    def sizes(self, names: Sequence[str]) -> list[int | None]:
        return self._ask(lambda name: int(self.get_object_header(name)[2]), names)

    def close(self) -> None:
        """End its processes. What is asked later starts them again."""
        self._kill()
        self.clear_cache()

    def _kill(self) -> list[git.Git.AutoInterrupt]:
        found = [process for process in (self.cat_file_all, self.cat_file_header) if process is not None]
        for process in found:
            process.kill()  # GitPython asks politely, and waits; one that was stopped does not hear it
        return found

    def _ask(self, question: Callable[[str], _T], names: Sequence[str]) -> list[_T | None]:
        self._late = False
        deadline = Timer(TIMEOUT_SECONDS, self._give_up)  # an agent may put a pipe in the place of an object
        deadline.start()
        try:
            return [self._answer(question, name) for name in names]
        except BaseException:
            self.close()  # half an answer may be under way, which the next question would take for its own
            raise
        finally:
            deadline.cancel()
            deadline.join()

    def _give_up(self) -> None:
        self._late = True
        self._kill()

    def _answer(self, question: Callable[[str], _T], name: str) -> _T | None:
        said = ""
        for _ in range(2):  # somebody may have ended the first one
            try:
                return question(name)
            except KeyError:
                return None
            except (EOFError, BrokenPipeError):
                said = "".join(process.stderr.read().decode(errors="replace") for process in self._kill())
                self.close()
            if LACKING in said:
                return None
            if self._late:
                raise GitError(_BATCH, -1, f"no answer within {TIMEOUT_SECONDS:g} s")
        raise GitError(_BATCH, -1, said or "it ended without an answer")

    def _content(self, name: str) -> tuple[str, bytes]:
        found, _, size, content = self.get_object_data(name)
        if len(content) < size:
            raise EOFError
        return found, content

    def _parse_object_header(self, header_line: str | bytes) -> tuple[str, str, int]:
        """Raises KeyError where there is no such object, and EOFError where the process has ended instead of an answer."""
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
                    start_new_session=True,  # Ctrl-C is for us
                )
            except OSError as error:
                raise cannot_start(self.folder, error) or error from error
            setattr(self, attr_name, git.Git.AutoInterrupt(process, command))
        return getattr(self, attr_name)
