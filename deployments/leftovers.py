"""Leftovers of killed processes in a repository: checks of the doctor; `--fix` removes what is safe to remove."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from deployments.choosing import driver_of
from helmsman.errors import OperatorError
from helmsman.oversee.merging import is_merge_due
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from helmsman.render.facts import first_lines
from tasks.repository.clean_checkout import loop_checkouts
from tasks.repository.git import Repository
from tasks.repository.loop_context import is_marked_finished, loop_context, worktree_of
from tasks.repository.state_ref import list_loops, loop_names, unverified_error
from tasks.system.files import remove
from tasks.system.supervised import end_tagged, supervised_tags, tags

SHOWN = 5


@dataclass(frozen=True)
class Finding:
    """Result of one check: ok, warn or missing."""

    verdict: str
    found: str
    remedy: str = ""
    fix: Callable[[], str] | None = field(default=None, compare=False)
    """What `--fix` runs; returns a text about what it did. None if only a person can fix it, or nothing needs it."""
    what: str = ""  # name of the check


def loops(repository: Repository) -> Finding:
    """Loops without a driver that are unfinished or interrupted before their last steps. A person decides whether to resume."""
    idle = list(_undriven(repository))
    cut = [state.loop for state in idle if state.outcome is None]
    cut += [
        f"{state.loop} (completed, but interrupted before its last steps)" for state in idle if _is_interrupted(repository, state)
    ]
    unread = _read_errors(repository)  # they are not touched and do not hide the others
    texts = [f"interrupted: {', '.join(first_lines(cut, SHOWN))}"] if cut else []
    texts += (f"not checked: {error.problem}" for error in unread[:SHOWN])
    if not texts:
        return Finding("ok", "none was interrupted")
    return Finding("warn", "; ".join(texts), f"continue with: helmsman resume {cut[0].split()[0]}" if cut else unread[0].remedy)


def processes(repository: Repository) -> Finding:
    """Processes of agents or checks whose driver is dead."""
    left = _orphaned_processes(repository)
    if not left:
        return Finding("ok", "none")

    def end_processes() -> str:
        # check again before each one: a driver may have started a loop in the meantime
        orphaned = {tag for _, tag in _orphaned_processes(repository)}
        return f"ended {sum(end_tagged(tag) for tag in orphaned if tag in {left for _, left in _orphaned_processes(repository)})}"

    text = f"{len(left)} of {', '.join(first_lines(sorted({loop for loop, _ in left}), SHOWN))}, which has no driver"
    return Finding("warn", text, "helmsman doctor --fix ends them", end_processes)


def worktrees(repository: Repository) -> Finding:
    """Worktrees of loops that are completely finished. git does not remove one with uncommitted changes."""
    done = (state for state in _undriven(repository) if _is_finished(repository, state) and not state.config.workspace.in_place)
    paths = (worktree_of(repository, state.loop, state.config.workspace) for state in done)
    left = [str(path) for path in paths if path.is_dir()]
    if not left:
        return Finding("ok", "none")
    text = f"of completed loops: {', '.join(first_lines(left, SHOWN))}"
    return Finding("warn", text, f"git worktree remove {left[0]}; the branch stays")


def checkouts(repository: Repository) -> Finding:
    """Clean checkouts of completed or deleted loops. They are created again on demand."""
    existing = loop_checkouts(repository)
    finished = {state.loop for state in _undriven(repository) if _is_finished(repository, state)}
    left = [path for path in existing if path.name in finished or path.name not in loop_names(repository)]
    if not left:
        return Finding("ok", "none")

    def remove_checkouts() -> str:
        for path in left:
            remove(path)
        return f"removed {', '.join(first_lines(map(str, left), SHOWN))}"

    text = ", ".join(first_lines((f"{path} is of a loop that has completed or is gone" for path in left), SHOWN))
    return Finding("warn", text, "helmsman doctor --fix removes them", remove_checkouts)


CHECKS = loops, processes, worktrees, checkouts


def _read_errors(repository: Repository) -> list[OperatorError]:
    """Errors of loops with an unreadable or forged state."""
    errors: list[OperatorError] = []
    forged = [loop for loop in list_loops(repository, errors.append) if loop.forged]
    return [*errors, *filter(None, (unverified_error(repository, loop) for loop in forged))]


def _undriven(repository: Repository) -> Iterator[LoopState]:
    """States without a driver, except forged ones. Includes other versions and machines, whose leftovers are safe to remove."""
    trusted = (loop for loop in list_loops(repository) if not loop.forged)
    return (loop.state for loop in trusted if driver_of(repository, loop.state.loop) is None)


def _orphaned_processes(repository: Repository) -> list[tuple[str, str]]:
    """Loop and tag of each process whose loop has no driver, here or in another clone, whose locks are not visible here."""
    undriven = {state.uid: state.loop for state in _undriven(repository)}
    tagged = [(tag.partition("/")[0], tag) for tag in tags().values()]
    driven = {tag.partition("/")[0] for tag in supervised_tags()}  # read last: a supervisor outlives its command
    return [(undriven[uid], tag) for uid, tag in tagged if uid in undriven and uid not in driven]


def _is_finished(repository: Repository, state: LoopState) -> bool:
    return state.outcome is Outcome.COMPLETED and not _is_interrupted(repository, state)


def _is_interrupted(repository: Repository, state: LoopState) -> bool:
    """Whether a loop was killed between completion and its last step, and still needs its worktree."""
    if state.outcome is not Outcome.COMPLETED:
        return False
    context, without_pull_request = loop_context(str(repository.top), state), state.issue and not state.issue.pull_request
    is_interrupted = not state.config.workspace.in_place and context.worktree.exists() and not is_marked_finished(context, state)
    return bool(state.gate or is_merge_due(state) or without_pull_request or is_interrupted)
