"""What killed processes leave in a repository: the doctor looks for it, and `--fix` clears away what nobody can miss."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from deployments.choosing import driver_of
from helmsman.errors import OperatorError
from helmsman.oversee.merging import landing_due
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from helmsman.render.facts import some
from tasks.repository.clean_checkout import loop_checkouts
from tasks.repository.git import Repository
from tasks.repository.loop_context import is_marked_finished, loop_context, worktree_of
from tasks.repository.state_ref import list_loops, loop_names, refused
from tasks.system.files import remove
from tasks.system.supervised import end_tagged, supervised_tags, tags

SHOWN = 5


@dataclass(frozen=True)
class Finding:
    """What was found of one thing that was looked at: ok, warn or missing."""

    verdict: str
    found: str
    remedy: str = ""
    fix: Callable[[], str] | None = field(default=None, compare=False)
    """What `--fix` does; it returns in words what was done. None where only a person can, or where nothing needs it."""
    what: str = ""  # the name of the examination


def loops(repository: Repository) -> Finding:
    """Loops that nobody drives although they are to go on, or have ends to tie up. Whether they shall is a person's choice."""
    idle = list(_undriven(repository))
    cut = [state.loop for state in idle if state.outcome is None]
    cut += [
        f"{state.loop} (completed, but interrupted before its last steps)" for state in idle if _is_unfinished(repository, state)
    ]
    unread = _unread(repository)  # they are left alone, and hide none of the others
    found = [f"cut off: {', '.join(some(cut, SHOWN))}"] if cut else []
    found += (f"not checked: {error.problem}" for error in unread[:SHOWN])
    if not found:
        return Finding("ok", "none was interrupted")
    return Finding("warn", "; ".join(found), f"continue with: helmsman resume {cut[0].split()[0]}" if cut else unread[0].remedy)


def processes(repository: Repository) -> Finding:
    """Processes that a loop's agent or checks started, whose driver is dead."""
    left = _left_running(repository)
    if not left:
        return Finding("ok", "none")

    def end() -> str:
        # asked anew, and one after the other: somebody may have begun to drive a loop while another's were ended
        seen = {tag for _, tag in _left_running(repository)}
        return f"ended {sum(end_tagged(tag) for tag in seen if tag in {left for _, left in _left_running(repository)})}"

    told = f"{len(left)} of {', '.join(some(sorted({loop for loop, _ in left}), SHOWN))}, which has no driver"
    return Finding("warn", told, "helmsman doctor --fix ends them", end)


def worktrees(repository: Repository) -> Finding:
    """Worktrees of loops that are through with all that they leave. git removes none in which something is uncommitted."""
    over = (state for state in _undriven(repository) if _is_over(repository, state) and not state.config.workspace.in_place)
    paths = (worktree_of(repository, state.loop, state.config.workspace) for state in over)
    left = [str(path) for path in paths if path.is_dir()]
    if not left:
        return Finding("ok", "none")
    told = f"of completed loops: {', '.join(some(left, SHOWN))}"
    return Finding("warn", told, f"git worktree remove {left[0]}; the branch stays")


def checkouts(repository: Repository) -> Finding:
    """Clean checkouts of loops that have completed, or that are no more. One that is needed again is made again."""
    there = loop_checkouts(repository)
    over = {state.loop for state in _undriven(repository) if _is_over(repository, state)}
    left = [path for path in there if path.name in over or path.name not in loop_names(repository)]
    if not left:
        return Finding("ok", "none")

    def removed() -> str:
        for path in left:
            remove(path)
        return f"removed {', '.join(some(map(str, left), SHOWN))}"

    told = ", ".join(some((f"{path} is of a loop that has completed or is gone" for path in left), SHOWN))
    return Finding("warn", told, "helmsman doctor --fix removes them", removed)


EXAMINATIONS = loops, processes, worktrees, checkouts


def _unread(repository: Repository) -> list[OperatorError]:
    """Why the loops that cannot be read, or were forged, cannot be."""
    found: list[OperatorError] = []
    forged = [one for one in list_loops(repository, found.append) if one.forged]
    return [*found, *filter(None, (refused(repository, one) for one in forged))]


def _undriven(repository: Repository) -> Iterator[LoopState]:
    """But for forged ones. Of other versions and machines as well: what is cleared away of those nobody can miss either."""
    known = (one for one in list_loops(repository) if not one.forged)
    return (one.state for one in known if driver_of(repository, one.state.loop) is None)


def _left_running(repository: Repository) -> list[tuple[str, str]]:
    """Loop and tag of every process whose loop nobody drives, here or in another clone, whose locks are not seen here."""
    undriven = {state.uid: state.loop for state in _undriven(repository)}
    found = [(tag.partition("/")[0], tag) for tag in tags().values()]
    driven = {tag.partition("/")[0] for tag in supervised_tags()}  # asked last: it outlives its command
    return [(undriven[uid], tag) for uid, tag in found if uid in undriven and uid not in driven]


def _is_over(repository: Repository, state: LoopState) -> bool:
    return state.outcome is Outcome.COMPLETED and not _is_unfinished(repository, state)


def _is_unfinished(repository: Repository, state: LoopState) -> bool:
    """Whether a loop was killed between its completion and its last step. Its worktree is needed until then."""
    if state.outcome is not Outcome.COMPLETED:
        return False
    context, without_pull_request = loop_context(str(repository.top), state), state.issue and not state.issue.pull_request
    cut = not state.config.workspace.in_place and context.worktree.exists() and not is_marked_finished(context, state)
    return bool(state.gate or landing_due(state) or without_pull_request or cut)
