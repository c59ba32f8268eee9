"""One git that stays and answers for object after object: `git cat-file`.

What it is started with is ours: it runs no program of the repository, fetches nothing, and knows no secret.
"""

import os
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple, cast

from tasks.repository.git import AS_IT_IS, HARDENED, TIMEOUT_SECONDS, GitError, cannot_start, git_bytes

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
