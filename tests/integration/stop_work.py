"""What an agent leaves in its worktree, a gate before its end, and everything there is to see of it."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmsman.config import LoopConfig
from helmsman.records.agent import StopAttempt
from tasks.agents.stop import StopGate
from tasks.checks.targets import clean_checkout
from tasks.system.process import never_stop
from tests.fakes.repositories import LoopWork, make_repository, start_loop, write

ASKS = "All is done.\n<promise>COMPLETE</promise>"
NOT_UTF8 = os.fsdecode(b"caf\xe9 \xff")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopWork:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "home"))
    return littered(tmp_path)


def littered(folder: Path, place: Callable[[Path], Path] | None = None) -> LoopWork:
    """A worktree full of what an agent leaves: staged, changed, deleted, new, closed, linked, and names from hell.

    It lies at the place for a loop of this repository, or where nobody would look for it.
    """
    committed = {
        "app.py": "one\n", "gone.py": "1\n", "src/deep/a.py": "a\n", "src/b.py": "b\n", "kept.txt": "text\n",
        ".gitignore": "*.log\nbuild/\nvenv/\n", ".gitattributes": "*.txt text eol=lf\n", "-rf": "dash\n", "run.sh": "#!/bin/sh\n",
    }  # fmt: skip
    top = make_repository(folder / 'the "top" of\\it', committed)
    work = start_loop(top, place(top) if place else folder / "tree with : and \\ in it")
    write(work.path, {"app.py": "staged\n", "src/new.py": "new\n"})
    work.sh("add", "app.py", "src/new.py")
    untracked = {
        "app.py": "changed\n",
        "src/new.py": "newer\n",
        "notes": "n",
        "line\nbreak": "1",
        'say "hi"\\\t': "2",
        NOT_UTF8: "3",
    }
    write(work.path, {**untracked, "pkg/mod.py": "m\n", "build/out": "o", "venv/bin/tool": "t", "venv/.gitignore": "*\n"})
    (work.path / "kept.txt").write_bytes(b"text\r\nas it is\r\n")
    (work.path / "secret").write_text("mine")
    (work.path / "secret").chmod(0o600)
    (work.path / "run.sh").chmod(0o755)
    (work.path / "gone.py").unlink()
    (work.path / "empty" / "within").mkdir(parents=True)
    (work.path / "link").symlink_to("src/b.py")
    (work.path / "to-folder").symlink_to("src")
    (work.path / "nowhere").symlink_to("./../there//is nothing")
    return work


class Session:
    """A gate, and what the agent has tried so far."""

    def __init__(self, gate: StopGate) -> None:
        """Nothing was tried yet."""
        self.attempts: list[StopAttempt] = []
        self.close, self._gate = gate.close, gate

    def run(self, *, active: bool, full: bool, said: str) -> tuple[StopAttempt, str]:
        attempt, text = self._gate.run(tuple(self.attempts), active, full, said)
        self.attempts.append(attempt)
        return attempt, text


def gate(
    work: LoopWork,
    tag: str,
    *checks: Any,
    last: Any = None,
    item: str = "",
    stop: Callable[[], bool] = never_stop,
    workspace: Any = None,
    **steering: Any,
) -> Session:
    sections = {"steering": steering, "workspace": workspace or {}}
    config = LoopConfig.model_validate({"goal": "make it work", "checks": checks, **sections})
    checkout = clean_checkout(work.context, work.state.model_copy(update={"config": config}))
    return Session(StopGate(checkout, work.start, tag, config, last, stop, item))


def ended(session: Session, *, active: bool = False, full: bool = False, said: str = ASKS) -> StopAttempt:
    return session.run(active=active, full=full, said=said)[0]


def picture(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Everything in a folder but what is git's: kind and mode, and content and time or target."""
    return {str(path.relative_to(folder)): look(path) for path in folder.rglob("*") if path != folder / ".git"}


def look(path: Path) -> tuple[Any, ...]:
    found = path.lstat()
    if path.is_symlink():
        return found.st_mode, os.readlink(path)  # noqa: PTH115 - to the letter
    return (found.st_mode, path.read_bytes(), found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else (found.st_mode,)


def staged(work: LoopWork) -> tuple[str, ...]:
    """What git knows of the worktree: index, HEAD and branches."""
    index = Path(work.sh("rev-parse", "--absolute-git-dir")) / "index"
    told = work.sh("ls-files", "--stage"), work.sh("rev-parse", "HEAD"), work.sh("rev-parse", "--symbolic-full-name", "HEAD")
    lock = str(index.with_name("index.lock").exists())
    return index.read_bytes().hex(), lock, *told, work.sh("rev-parse", "refs/heads/helmsman/the-loop")
