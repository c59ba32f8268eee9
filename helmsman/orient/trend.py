"""Facts about changes since the last iteration: fixed, newly broken, failing for how long, undone."""

from collections.abc import Iterator, Sequence

from helmsman.oversee.progress import BASE
from helmsman.plain import one_line, shorten
from helmsman.prompts import render
from helmsman.records.checks import CheckReport
from helmsman.records.control import MOST_NAMES, IterationSummary, Movement
from helmsman.records.state import LoopState
from helmsman.texts import plural

SHOWN = 10  # names in one line
NAME = 120
IDLE = 2  # iterations in a row without progress from which each is described
TRIES = 3
TOLD_ISSUE = "validation.errors"
"""The issue of validation that the agent can act on. Blockers are the failures named here anyway, a missing claim of completion
belongs to the advice, and the rest is for people.
"""


def trend_section(state: LoopState) -> str:
    """Section on the trend; empty before the first iteration, and if the last one's work is no longer on the branch."""
    if not state.past_iterations or state.failed:
        return ""
    candidates = [summary for summary in state.history if summary.movement is not Movement.WAITED or summary.iteration == BASE]
    checked = [summary for summary in candidates if summary.checked and not summary.undone]
    comparison = _comparison_lines(state.checks, checked[-2], checked) if state.checks and len(checked) > 1 else ()
    rolled_back = (  # to show that this work is not done
        f"failed and removed from the branch: iteration {summary.iteration}, commit {summary.commit[:10]}{_files_text(summary)}"
        for summary in [summary for summary in state.history if summary.undone][-TRIES:]
    )
    lines = [*comparison, *rolled_back, *_best_line(state), *_attempt_lines(state), *_issue_line(state)]
    since = f"iteration {state.past_iterations[-2].iteration}" if len(state.past_iterations) > 1 else "the start"
    return render("trend", since=since, facts="\n".join(lines)) if lines else ""


def _comparison_lines(report: CheckReport, previous: IterationSummary, summaries: Sequence[IterationSummary]) -> Iterator[str]:
    """Compare the report with that of the previous iteration; names that a summary has no room for do not count as new."""
    failing_by_check = (
        (result.counts.failing if result.counts else ()) or (result.name,) for result in report.failures
    )  # a check without test names counts by its own name
    failing = [name for names in failing_by_check for name in names]
    still_failing = {result.name for result in report.results if not result.passed} | set(failing)
    fixed = [name for name in previous.failing if name not in still_failing]
    if not fixed and not failing:
        return  # everything passed before, and still does
    recurring = {name: _passed_text(name, summaries[:-1]) for name in failing if name not in previous.failing}
    has_all_names = len(previous.failing) < MOST_NAMES
    broken = [name for name, passed in recurring.items() if has_all_names and not passed]
    yield _names_line("fixed", fixed)
    if broken or not recurring:
        yield _names_line("newly broken", broken)
    yield from (f"broken again: {_short_name(name)} ({passed})" for name, passed in list(recurring.items())[:SHOWN] if passed)
    for count in sorted({_count_in_row(name, summaries) for name in failing} - {0, 1}, reverse=True):
        yield _names_line(
            f"failing for {plural(count, 'iteration')}", [name for name in failing if _count_in_row(name, summaries) == count]
        )


def _count_in_row(name: str, summaries: Sequence[IterationSummary]) -> int:
    count = next((at for at, summary in enumerate(reversed(summaries)) if name not in summary.failing), len(summaries))
    return count - (count == len(summaries) and summaries[0].iteration == BASE)  # the start is not an iteration


def _passed_text(name: str, summaries: Sequence[IterationSummary]) -> str:
    """Where a failure was fixed: the last iteration without it after it first appeared."""
    first = next((at for at, summary in enumerate(summaries) if name in summary.failing), len(summaries))
    passing = [summary for summary in summaries[first:] if name not in summary.failing]
    return f"it passed after iteration {passing[-1].iteration}, commit {passing[-1].commit[:10]}" if passing else ""


def _best_line(state: LoopState) -> Iterator[str]:
    """Name the best commit if the last one is worse; the advice says to start from it."""
    best, last = state.oversight.best, state.past_iterations[-1]
    if best and last.checked and last.completion < best.completion:
        origin = f"iteration {best.iteration}" if best.iteration else "the start"
        yield f"best so far: {origin}, commit {best.commit[:10]}"


def _attempt_lines(state: LoopState) -> Iterator[str]:
    """Describe iterations without progress, and those that only restored an earlier tree."""
    past = [summary for summary in state.past_iterations if summary.movement is not Movement.WAITED]
    idle = state.oversight.idle if state.oversight.idle >= IDLE else 0
    for at, summary in [*enumerate(past)][-TRIES:]:
        twin = next((other for other in reversed(past[: max(0, at - 1)]) if other.tree and other.tree == summary.tree), None)
        if twin and past[at - 1].tree != summary.tree:
            restored = f"restored the files of iteration {_commit_text(twin)}"
            yield f"iteration {_commit_text(summary)} {restored} and undid iteration {_commit_text(past[at - 1])}"
        elif at >= len(past) - idle and not summary.undone:
            calls = "" if "tools" in summary.untold else f", {plural(summary.tool_calls, 'tool call')}"
            work = f"{plural(summary.files_changed, 'file')} changed{_files_text(summary)}{calls}"
            yield f"no progress in iteration {summary.iteration}: {work}"


def _issue_line(state: LoopState) -> Iterator[str]:
    """The first such issue of validation (O7); none under green checks."""
    if state.checks and not state.checks.passed:
        yield from [one_line(issue.message) for issue in state.oversight.issues if issue.rule == TOLD_ISSUE][:1]


def _commit_text(summary: IterationSummary) -> str:
    return f"{summary.iteration} ({summary.commit[:10]})"


def _files_text(summary: IterationSummary) -> str:
    return f" ({', '.join(_short_name(path) for path in summary.files[:3])})" if summary.files else ""


def _names_line(label: str, names: Sequence[str]) -> str:
    """Format names of tests without their files, unless that makes them ambiguous."""
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    short_names = [name.rpartition("::")[2] for name in names]
    displayed = short_names if len({*short_names}) == len(short_names) else names
    return f"{label}: {', '.join(map(_short_name, displayed[:SHOWN])) or 'none'}{rest}"


def _short_name(name: str) -> str:
    return shorten(one_line(name), NAME)
