"""What changed since the last iteration, as facts: fixed, newly broken, failing for how long, undone."""

from collections.abc import Iterator, Sequence

from helmsman.oversee.progress import BASE
from helmsman.plain import one_line, shortened
from helmsman.prompts import Piece, render_pieces
from helmsman.records.checks import CheckReport
from helmsman.records.control import MOST_NAMES, IterationSummary, Movement
from helmsman.records.state import LoopState
from helmsman.texts import plural

SHOWN = 10  # names in one line
NAME = 120
IDLE = 2  # iterations in a row without progress from which what they did is told, one by one
TRIES = 3
TOLD_ISSUES = "validation.errors", "validation.blocker"
"""Issues that the agent can act on. That it did not claim completion is a matter of the advice; the rest is for people."""


def trend_section(state: LoopState) -> Sequence[Piece]:
    """Empty before the first iteration, and where the last one's work is not on the branch any more."""
    if not state.worked or state.failed:
        return ()
    known = [one for one in state.history if one.movement is not Movement.WAITED or one.iteration == BASE]
    seen = [summary for summary in known if summary.checked and not summary.undone]
    compared = _compared(state.checks, seen[-2], seen) if state.checks and len(seen) > 1 else ()
    failed = (  # so that nobody takes them for done
        f"failed and taken off the branch: iteration {one.iteration}, commit {one.commit[:10]}{_files(one)}"
        for one in [summary for summary in state.history if summary.undone][-TRIES:]
    )
    lines = [*compared, *failed, *_tries(state), *_issue(state)]
    since = f"iteration {state.worked[-2].iteration}" if len(state.worked) > 1 else "the start"
    return render_pieces("trend", since=since, facts="\n".join(lines)) if lines else ()


def _compared(now: CheckReport, before: IterationSummary, seen: Sequence[IterationSummary]) -> Iterator[str]:
    """The report against that of the iteration before; names that a summary has no room for are not called new."""
    named = ((one.counts.failing if one.counts else ()) or (one.name,) for one in now.failures)  # checks that name no test
    failing = [name for names in named for name in names]
    known = {result.name for result in now.results if not result.passed} | set(failing)
    yield _line("fixed", [name for name in before.failing if name not in known])
    again = {name: _passed_in(name, seen[:-1]) for name in failing if name not in before.failing}
    complete = len(before.failing) < MOST_NAMES
    yield _line("newly broken", [name for name, passed in again.items() if complete and not passed])
    yield from (f"broken again: {_name(name)} ({passed})" for name, passed in list(again.items())[:SHOWN] if passed)
    for many in sorted({_in_row(name, seen) for name in failing} - {0, 1}, reverse=True):
        yield _line(f"failing for {plural(many, 'iteration')}", [name for name in failing if _in_row(name, seen) == many])


def _in_row(name: str, seen: Sequence[IterationSummary]) -> int:
    row = next((at for at, summary in enumerate(reversed(seen)) if name not in summary.failing), len(seen))
    return row - (row == len(seen) and seen[0].iteration == BASE)  # the start is no iteration


def _passed_in(name: str, seen: Sequence[IterationSummary]) -> str:
    """Where a failure had been fixed: after it was there, the last iteration that ended without it."""
    had = next((at for at, summary in enumerate(seen) if name in summary.failing), len(seen))
    without = [summary for summary in seen[had:] if name not in summary.failing]
    return f"it passed after iteration {without[-1].iteration}, commit {without[-1].commit[:10]}" if without else ""


def _tries(state: LoopState) -> Iterator[str]:
    """What iterations without progress did, and whether one only brought back what was there."""
    worked = state.worked
    for at, summary in [*enumerate(worked)][-TRIES:]:
        twin = next((one for one in reversed(worked[: max(0, at - 1)]) if one.tree and one.tree == summary.tree), None)
        if twin and worked[at - 1].tree != summary.tree:
            back = f"the files of iteration {twin.iteration} ({twin.commit[:10]})"
            yield f"iteration {summary.iteration} ({summary.commit[:10]}) brought back {back} and undid what came between"
        elif state.oversight.idle >= IDLE:
            calls = "" if "tools" in summary.untold else f", {plural(summary.tool_calls, 'tool call')}"
            did = f"{plural(summary.files_changed, 'file')} changed{calls}{_files(summary)}"
            yield f"no progress in iteration {summary.iteration}: {did}"


def _issue(state: LoopState) -> Iterator[str]:
    """The first of what validation found (O7). Under green checks it is history."""
    if state.checks and not state.checks.passed:
        found = {issue.rule: one_line(issue.message) for issue in reversed(state.oversight.issues)}
        yield from [found[rule] for rule in TOLD_ISSUES if rule in found][:1]


def _files(summary: IterationSummary) -> str:
    return f" ({', '.join(_name(path) for path in summary.files[:3])})" if summary.files else ""


def _line(what: str, names: Sequence[str]) -> str:
    """Tests without their files, which stand with their failures, where that leaves them apart."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    short = [name.rpartition("::")[2] for name in names]
    shown = short if len({*short}) == len(short) else names
    return f"{what}: {', '.join(map(_name, shown[:SHOWN])) or 'none'}{more}"


def _name(name: str) -> str:
    return shortened(one_line(name), NAME)
