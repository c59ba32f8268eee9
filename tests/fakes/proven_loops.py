"""Loops with proven work that is to be merged: real git, real checks, no engine."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

from helmsman.config import LoopConfig
from helmsman.oversee.merging import is_merge_due
from helmsman.records.checks import CheckReport
from helmsman.records.decision import Decision, Outcome
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merged, MergeProblem
from tasks.loop.merge import begin_merge, finish_branch_move, merge_loop
from tasks.loop.recover import repair
from tasks.loop.steps import merge_checks
from tasks.repository.git import open_repository
from tasks.repository.loop_context import LoopContext, loop_folder, worktree_of
from tasks.repository.state_ref import read_state, replace_state, write_state
from tasks.repository.worktree import ensure_worktree
from tests.fakes.repositories import NOW, commit, loop_state, make_repository, sh

CHECK = "sh check.sh"
MOST_ITEMS = 2
AT_MOST_TWO = {"check.sh": f'test "$(ls items | wc -l)" -le {MOST_ITEMS}\n', "items/first": "1\n", "app.py": "one\ntwo\nthree\n"}
"""Two branches with a second item each pass; merged they fail."""
DONE = Decision(kind="stop", rule="completion.verified", reason="all pass", at=NOW, outcome=Outcome.COMPLETED)


@dataclass
class ProvenLoop:
    """A loop whose work is to be merged into `main`."""

    context: LoopContext
    loop: str

    @property
    def state(self) -> LoopState:
        return read_state(self.context.repository, self.loop)[0]

    @property
    def top(self) -> Path:
        return self.context.repository.top

    @property
    def merged(self) -> Merged:
        assert self.state.merged is not None, self.state.ending
        return self.state.merged

    @property
    def trouble(self) -> MergeProblem:
        assert self.state.merging.trouble is not None, self.state.ending
        return self.state.merging.trouble

    def at(self, revision: str) -> str:
        return sh(self.context.repository.common, "rev-parse", f"{revision}^{{commit}}")

    def check(self, commit_: str, tree: str) -> CheckReport:
        return merge_checks.fn(self.context, self.state, commit_, tree)

    def land(self) -> LoopState:
        return merge_loop(self.context, begin_merge(self.context, self.state), self.check)

    def resume(self) -> LoopState:
        """What the next driver does at its start."""
        state = repair(self.context, self.state)
        return finish_branch_move(self.context, self.land() if is_merge_due(state) else state)

    def resolve(self, files: dict[str, str]) -> None:
        """Commit a resolution of the conflict as proven work."""
        repair(self.context, self.state)
        head = commit(self.context.worktree, "both", files)
        before = self.state
        after = before.model_copy(update={"head": head, "ending": DONE, "iteration": before.iteration + 1})
        replace_state(self.context.repository, before, after, "proven")

    def change(self, **changes: Any) -> None:
        """Change fields of the stored state."""
        before = self.state
        replace_state(self.context.repository, before, before.model_copy(update=changes), "changed")


def make_proven_loop(top: Path, folder: Path, files: dict[str, str], *, loop: str = "the-loop", **merge: Any) -> ProvenLoop:
    """A loop that started at the current `main` and has committed these files, which pass."""
    repository = open_repository(top)
    start = sh(repository.common, "rev-parse", "main")
    settings = {"goal": "make it work", "checks": [CHECK], "merge": {"into": "main", **merge}, "retry": {"attempts": 0}}
    config = LoopConfig.model_validate({**settings, "workspace": {"root": str(folder / "trees")}})
    state = loop_state(start, loop=loop, config=config, base_branch="main", iteration=1, ending=DONE)
    context = LoopContext(repository, worktree_of(repository, loop, config.workspace), loop_folder(repository, loop))
    ensure_worktree(repository, context.worktree, state.branch, start)
    head = commit(context.worktree, f"work of {loop}", files)
    write_state(repository, state.model_copy(update={"head": head, "verified": head}), over=None, record=None, subject="proven")
    return ProvenLoop(context, loop)


def repository(folder: Path) -> Path:
    return make_repository(folder, AT_MOST_TWO)


class BranchSampler:
    """Records every commit of `main` that another person could pull."""

    def __init__(self, top: Path) -> None:
        """Begin at once."""
        self._top, self._done, self.seen = top, Event(), set[str]()
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.seen.add(sh(self._top, "rev-parse", "main"))

    def failing(self) -> list[str]:
        """Commits that were on `main` and do not pass the check."""
        return [one for one in self.seen if len(sh(self._top, "ls-tree", "--name-only", f"{one}:items").split()) > MOST_ITEMS]

    def _look(self) -> None:
        ref = self._top / ".git" / "refs" / "heads" / "main"
        while not self._done.is_set():
            with suppress(FileNotFoundError):
                self.seen.add(ref.read_text().strip())
