"""The process in which drivers are killed that leave a loop at its best tree: each after another git command that changes it.

best_tree_process.py FOLDER    prints as JSON whether each of them left a loop that the next driver finds whole
"""

import json
import sys
from functools import partial
from pathlib import Path

from helmsman.records.agent import AgentOutcome
from helmsman.records.control import Checkpoint, IterationSummary, Movement, Oversight
from helmsman.records.decision import Decision, Outcome
from tasks.loop.recover import leave_at_best, move_to_best
from tasks.repository.git import open_repository
from tasks.repository.loop_context import worktree_of
from tasks.repository.state_ref import read_state, replace_state
from tests.fakes.repositories import BRANCH, LOOP, NOW, LoopWork, commit, loop_state, make_repository, start_loop, write
from tests.integration.merge_process import CHANGE, killed_after

MOST, STEP = 40, 2


def ended_loop(top: Path) -> LoopWork:
    """A loop that has ended; its first iteration measured 90 %, its second 50 %."""
    make_repository(top, {"app.py": "1\n", ".gitignore": "*.log\n"})
    place = worktree_of(open_repository(top), LOOP, loop_state("").config.workspace)
    begun = start_loop(top, place)
    one = commit(begun.path, "one", {"app.py": "2\n"})
    two = commit(begun.path, "two", {"app.py": "3\n", "new.py": "x\n", ".gitignore": "*.log\n.env\n"})
    write(begun.path, {".env": "KEY=1\n", "x.log": "x\n"})
    best = Checkpoint(iteration=1, commit=one, tree=one, completion=0.9)
    moments = _moment(1, begun.start, one, 0.9), _moment(2, one, two, 0.5)
    ending = Decision(kind="stop", rule="limits.iterations", reason="2 of 2 used", at=NOW, outcome=Outcome.STOPPED)
    known = {"iteration": 2, "head": two, "oversight": Oversight(best=best), "history": moments, "ending": ending}
    after = replace_state(begun.repository, begun.state, begun.state.model_copy(update=known), "end")
    return LoopWork(begun.repository, begun.path, after, begun.start)


def _moment(iteration: int, start: str, now: str, completion: float) -> IterationSummary:
    measured = {"iteration": iteration, "at": NOW, "outcome": AgentOutcome.FINISHED, "movement": Movement.SIDEWAYS}
    return IterationSummary.model_validate({**measured, "completion": completion, "start": start, "commit": now, "tree": now})


def is_reset_to_best(work: LoopWork) -> bool:
    """The branch, its worktree and the state at the best tree, and the later one on its ref."""
    stored, _ = read_state(work.repository, LOOP)
    best = work.state.oversight.best.commit if work.state.oversight.best else ""
    at = (work.sh("rev-parse", BRANCH), work.sh("rev-parse", "HEAD"), stored.head) == (best, best, best)
    on = work.sh("symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    kept = work.sh("rev-parse", f"refs/helmsman/{LOOP}/later/2") == work.state.head
    files = (work.path / "app.py").read_text() == "2\n" and not (work.path / "new.py").exists()
    return at and on and kept and files and not work.sh("status", "--porcelain", "--untracked-files=no")


def continued(work: LoopWork) -> bool:
    """What the engine's own re-run does with an end that was not yet decided, and the next driver with one that was."""
    stored, _ = read_state(work.repository, LOOP)
    leave_at_best(work.context, stored)
    move_to_best(work.context, stored)
    return is_reset_to_best(work)


def main(folder: Path) -> list[bool]:
    found: list[bool] = []
    for number in range(1, MOST, STEP):
        own = folder / str(number)
        work = ended_loop(own / "top")
        if not killed_after(number, partial(leave_at_best, work.context, work.state), own, f"{CHANGE}|read-tree"):
            return found
        found.append(continued(work))
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
