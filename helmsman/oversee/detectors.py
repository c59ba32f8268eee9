"""Detectors over several iterations: small pure functions in one table."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile

from helmsman.config.loop import DetectConfig, Sensitivity
from helmsman.oversee.cycles import (
    fewer_fail,
    is_checked,
    last_iterations,
    limit_cycle,
    recent_window,
    recurring_trees,
    without_progress,
)
from helmsman.oversee.detector import Detection, Detector
from helmsman.oversee.progress import has_worked, identity, is_base, made_progress, place
from helmsman.plain import clean
from helmsman.records.agent import AgentOutcome
from helmsman.records.agents import Capability
from helmsman.records.control import IterationSummary, Movement
from helmsman.records.decision import Alert, Severity
from helmsman.texts import plural

FACTORS: Mapping[Sensitivity, float] = {"low": 1.5, "normal": 1, "high": 2 / 3}
"""Factor of `detect.sensitivity` on iteration counts: coarse checks show nothing of a long step before its end."""
STUCK = 3  # iterations in a row with too little gain (S4)
ENOUGH = 0.05  # gain of completion over all of them that is enough (S4)
SIGN_CHANGES = 3  # changes of direction of completion that count as oscillation (S4)
FALLS = 2  # iterations in a row that made it worse (S4)
PLATEAU = 8  # iterations since the last record
SWING_WINDOW = 3  # iterations examined per change of direction: an oscillation may pause between two turns


def needed(count: int, sensitivity: Sensitivity) -> int:
    """Iterations that trigger a detector; never a single one, because that is how a refactoring starts."""
    return max(2, round(count * FACTORS[sensitivity]))


def stuck(history: Sequence[IterationSummary], sensitivity: Sensitivity) -> Iterator[Detection]:
    """3 iterations in a row gained less than 5 % of completion together and none made progress (S4).

    A green run with a new tree in each iteration is progress (see `made_progress`); so are fewer failing tests.
    """
    least = needed(STUCK, sensitivity)
    window = history[-least - 1 :]  # with the previous one, if any
    steps = [summary for summary in window[-least:] if not is_base(summary)]
    if len(steps) < least or not without_progress(steps) or fewer_fail(window[0], window[-1]):
        return
    gain = window[-1].completion - window[0].completion
    if gain < ENOUGH:
        message = f"{len(steps)} iterations in a row gained {gain:.1%} of completion together (at least {ENOUGH:.0%} expected)"
        yield Detection(message, gain, ENOUGH)


def oscillating(history: Sequence[IterationSummary], sensitivity: Sensitivity) -> Iterator[Detection]:
    """Completion changed direction 3 times since its last best value (S4), each time by more than 5 %.

    Alternating red and green is normal work if each green tree is new.
    """
    allowed = needed(SIGN_CHANGES, sensitivity)
    window = last_iterations(history, SWING_WINDOW * (allowed + 1))
    window = window[max((at for at, summary in enumerate(window) if summary.movement is Movement.FORWARD), default=0) :]
    completions, green = [summary.completion for summary in window], [summary for summary in window if summary.green]
    steps = [after - before for before, after in pairwise(completions)]
    recovers = green and all(map(made_progress, green))  # every green tree is new: what breaks on the way is fixed
    if not steps or abs(steps[-1]) <= ENOUGH or recovers:
        return
    directions = [step > 0 for step in steps if abs(step) > ENOUGH]
    turns = sum(before != after for before, after in pairwise(directions))
    if turns >= allowed:
        times = f"{turns} times in {len(window)} iterations ({allowed} are allowed)"
        message = f"completion changed direction {times}, between {min(completions):.0%} and {max(completions):.0%}"
        yield Detection(message, turns, allowed)


def regressing(history: Sequence[IterationSummary], sensitivity: Sensitivity) -> Iterator[Detection]:
    """2 iterations in a row made the evidence worse (S4). A single one is a normal start of a refactoring."""
    # reverted work has already been handled
    least = needed(FALLS, sensitivity)
    window = last_iterations(history, 2 * least + 1)[::-1]
    regressions = list(takewhile(lambda summary: summary.movement is Movement.BACK and not summary.undone, window))
    if len(regressions) >= least:
        newest = regressions[0]
        counts = f", {plural(newest.failing_tests, 'test')} failing" if newest.failing_tests or newest.passing_tests else ""
        text = f"{plural(len(regressions), 'iteration')} in a row made it worse (threshold {least})"
        yield Detection(f"{text}: completion is {newest.completion:.0%}{counts}", len(regressions), least)


def plateau(history: Sequence[IterationSummary], sensitivity: Sensitivity) -> Iterator[Detection]:
    """No new best value for 8 iterations (S5, eigenform), and no green run with new work either."""
    window = recent_window(history, least := needed(PLATEAU, sensitivity))
    if window and without_progress(window):
        text = f"no new best result for {least} iterations (threshold {least})"
        yield Detection(f"{text}; completion is {window[-1].completion:.0%}", least, least)


RELEVANCE = 0.3  # share of task-related files below which an iteration is off its objective (S5)
STRAY = 2  # iterations in a row off the objective; one may be a necessary detour
EMPTY = 2  # sessions in a row that called no tool and changed nothing (S5)
DECLINE = 0.7  # drop of written tokens from the usual number (S5)
DENIALS = 2  # iterations in a row in which the CLI denied permissions (S5)
USUAL_LEAST, USUAL_MOST = 3, 10  # earlier iterations that define what is usual
BURN_WINDOW = 50
BURN_LEAST = 3  # iterations without gain before their cost is examined: S4's patience
BURN_FACTOR = 2
"""A gain that costs more than twice the most expensive one is unusual; the mean would flag every hard step."""


def off_objective(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Detection]:
    """Less than 0.3 of the files were relevant to the task (S5) in 2 iterations in a row that changed files; from 3 on REDIRECT.

    Research, which changes nothing, and a new best value never trigger it.
    """

    def is_off_objective(summary: IterationSummary) -> bool:
        return summary.relevance < RELEVANCE and summary.files_changed > 0 and summary.movement is not Movement.FORWARD

    off_task = list(takewhile(is_off_objective, last_iterations(history, 2 * STRAY)[::-1]))
    if len(off_task) >= STRAY:
        newest = off_task[0]
        share = f"{newest.relevance:.0%} of the files were related to the task, below {RELEVANCE:.0%}"
        is_lost = len(off_task) > STRAY and not made_progress(
            newest
        )  # badly matching words must not stop work that makes progress
        message = f"{share} for {len(off_task)} iterations in a row (threshold {STRAY})"
        yield Detection(message, newest.relevance, RELEVANCE, Severity.REDIRECT if is_lost else None)


def resource_burn(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Detection]:
    """3 or more iterations without gain cost more than twice as much as the most expensive gain so far (S5).

    Compared with the loop's own costs, because no absolute value fits both a typo and a migration; this needs two gains.
    """
    window = last_iterations(history, BURN_WINDOW)
    gains = [at for at, summary in enumerate(window) if made_progress(summary)]
    if len(gains) < 2 or len(window) - 1 - gains[-1] < BURN_LEAST:  # noqa: PLR2004 - two prices make a comparison
        return
    in_dollars = any(summary.cost_usd > 0 for summary in window)
    spent = [summary.cost_usd if in_dollars else summary.tokens for summary in window]
    starts = [0, *(at + 1 for at in gains)]
    costs = [sum(spent[start : at + 1]) for start, at in zip(starts, gains, strict=False)]
    lost, highest = sum(spent[gains[-1] + 1 :]), max(costs)
    if lost > BURN_FACTOR * highest:
        used = f"{len(window) - 1 - gains[-1]} iterations without gain used {lost:.4g} {'US dollars' if in_dollars else 'tokens'}"
        message = f"{used}, more than {BURN_FACTOR} times the most expensive gain before ({highest:.4g})"
        yield Detection(message, lost, BURN_FACTOR * highest)


def empty_sessions(history: Sequence[IterationSummary], sensitivity: Sensitivity) -> Iterator[Detection]:
    """2 sessions in a row that ended normally called no tool and changed nothing (S5).

    A session interrupted by an outage is not empty, and one that claims completion with green checks has nothing left to do.
    """
    window = recent_window(history, least := needed(EMPTY, sensitivity))
    if window and all(map(_is_empty, window)):
        message = f"{least} sessions in a row called no tool and changed nothing (threshold {least})"
        yield Detection(message, least, least)


def output_decline(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Detection]:
    """The agent wrote over 70 % fewer tokens than usual (median of 3 to 10 iterations; S5) although work is left.

    A short session that made progress, ended green, claimed completion or was interrupted does not count.
    """
    window = last_iterations(history, USUAL_MOST + 1)
    usual = [summary.written for summary in window[:-1] if summary.written > 0]
    if len(usual) < USUAL_LEAST:
        return
    newest, middle = window[-1], sorted(usual)[len(usual) // 2]
    least = (1 - DECLINE) * middle
    finished = newest.outcome is AgentOutcome.FINISHED
    if finished and newest.written < least and not (newest.green or newest.asked or made_progress(newest)):
        drop = f"a drop of more than {DECLINE:.0%}, and the checks do not pass"
        yield Detection(f"the agent wrote {newest.written} tokens instead of the usual {middle}, {drop}", newest.written, least)


def denied(history: Sequence[IterationSummary], sensitivity: Sensitivity) -> Iterator[Detection]:
    """The CLI denied permissions in 2 iterations in a row (S5), which a person must grant; WARN if one of them made progress."""
    window = recent_window(history, least := needed(DENIALS, sensitivity))
    if window and all(summary.denials for summary in window):
        total = sum(summary.denials for summary in window)
        message = (
            f"the CLI denied {total} permissions in {least} iterations in a row (threshold {least}); allow what "
            "the work needs with claude.allowed_tools or claude.permission_mode, or remove it from the goal, then resume"
        )
        severity = Severity.WARN if any(map(made_progress, window)) else Severity.PAUSE
        yield Detection(message, least, least, severity)


def _is_empty(summary: IterationSummary) -> bool:
    used = summary.tool_calls or Capability.TOOLS in summary.untold  # unreported tool calls are not held against it
    idle = summary.outcome is AgentOutcome.FINISHED and not used and not summary.files_changed
    return idle and not (summary.green and summary.asked)


SAME_ERROR = 5  # iterations in a row with the same class of failure at the same place (S5)
UNDONE = 2  # iterations in a row that reverted their edits
SWELLING = 3  # iterations in a row, each adding more than the previous one: S4's patience
TESTS_ONLY = 3
LONGEST_PLACE = 200


def same_error(history: Sequence[IterationSummary], sensitivity: Sensitivity) -> Iterator[Detection]:
    """The same class of failure at the same place in 5 iterations in a row (S5), not fewer, and without progress in between.

    By class and place, never by text, which differs between runs.
    """
    window = recent_window(history, least := needed(SAME_ERROR, sensitivity), is_checked)
    if not window or any(summary.movement is Movement.FORWARD for summary in window[1:]) or fewer_fail(window[0], window[-1]):
        return
    # errors of the newest iteration that all share, with no smaller extent than at first
    extents = [{(error.kind, place(error)): error.extent for error in summary.errors} for summary in window]
    keys = ((error, (error.kind, place(error))) for error in window[-1].errors)
    lasting_errors = (error for error, key in keys if all(key in sizes for sizes in extents) and error.extent >= extents[0][key])
    if lasting := next(lasting_errors, None):
        where = f" at {clean(place(lasting)[:LONGEST_PLACE])}" if lasting.where else " at an unknown place"
        message = f"the same failure in the last {least} iterations (threshold {least}): {lasting.kind}{where}"
        yield Detection(message, least, least)


def same_words(history: Sequence[IterationSummary], sensitivity: Sensitivity) -> Iterator[Detection]:
    """8 iterations in a row changed no failure text, except for numbers, and no count.

    With coarse checks, the text of failures is the first thing to change when work makes progress.
    """
    window = recent_window(history, least := needed(PLATEAU, sensitivity), is_checked)
    if not window or not window[-1].errors or any(summary.movement is Movement.FORWARD for summary in window[1:]):
        return
    states = {
        (
            summary.passing_tests,
            summary.failing_tests,
            summary.failing,
            *((identity(error), error.extent) for error in summary.errors),
        )
        for summary in window
    }
    if len(states) == 1:
        message = f"{least} iterations in a row left every failure unchanged (threshold {least})"
        yield Detection(message, least, least)


def reverted(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Detection]:
    """2 iterations in a row reverted their edits and made no progress (S5). One reverted attempt is honest work."""
    window = recent_window(history, UNDONE)
    if window and all(summary.reverted for summary in window) and without_progress(window):
        files = sum(summary.reverted for summary in window)
        yield Detection(f"{UNDONE} iterations in a row edited and reverted {files} files (threshold {UNDONE})", files, UNDONE)


def growing_diff(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Detection]:
    """3 iterations in a row each added more lines than the previous one and more than they removed, without progress (S5)."""
    window = recent_window(history, SWELLING)
    growth = [summary.insertions - summary.deletions for summary in window]
    longer = all(before.insertions < after.insertions for before, after in pairwise(window))
    if window and without_progress(window) and min(growth) > 0 and longer:
        text = f"the code grew by {sum(growth)} lines in {SWELLING} iterations (threshold {SWELLING}), each time by more"
        yield Detection(f"{text}, without progress", sum(growth), 0)


def only_tests(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Detection]:
    """3 iterations in a row changed only tests while checks fail, without progress. A single one is test-first."""
    window = recent_window(history, TESTS_ONLY)
    if window and without_progress(window) and all(summary.test_only and not summary.green for summary in window):
        message = f"{TESTS_ONLY} iterations in a row changed only tests (threshold {TESTS_ONLY}) while checks fail"
        yield Detection(message, TESTS_ONLY, TESTS_ONLY)


DETECTORS: tuple[Detector[Sequence[IterationSummary], Sensitivity], ...] = (
    Detector("denied", Severity.PAUSE, denied),
    Detector("limit_cycle", Severity.REDIRECT, limit_cycle),
    Detector("recurring_trees", Severity.REDIRECT, recurring_trees),
    Detector("oscillating", Severity.REDIRECT, oscillating),
    Detector("regressing", Severity.REDIRECT, regressing),
    Detector("same_error", Severity.REDIRECT, same_error),
    Detector("same_words", Severity.REDIRECT, same_words),
    Detector("stuck", Severity.REDIRECT, stuck),
    Detector("plateau", Severity.REDIRECT, plateau),
    Detector("empty_sessions", Severity.REDIRECT, empty_sessions),
    Detector("off_objective", Severity.WARN, off_objective),
    Detector("resource_burn", Severity.WARN, resource_burn),
    Detector("output_decline", Severity.WARN, output_decline),
    Detector("reverted", Severity.WARN, reverted),
    Detector("growing_diff", Severity.WARN, growing_diff),
    Detector("test_only", Severity.WARN, only_tests),
)
"""Named like their alerts and like the entries of `detect.off`; the most specific first."""


def detect(
    history: Sequence[IterationSummary],
    config: DetectConfig,
    detectors: Sequence[Detector[Sequence[IterationSummary], Sensitivity]] = DETECTORS,
) -> tuple[tuple[Alert, ...], tuple[str, ...]]:
    """Alerts, and messages about detectors that failed. An iteration that only waited is not examined."""
    signals, faults = list[Alert](), list[str]()
    if not history or not has_worked(history[-1]):
        return (), ()
    work = [summary for summary in history if has_worked(summary) or is_base(summary)]  # once for all detectors
    for detector in detectors:
        try:
            signals.extend(() if detector.rule in config.off else detector.alerts(work, config.sensitivity))
        except Exception as error:  # noqa: BLE001 - a detector that breaks must not end a loop
            faults.append(f"the detector {detector.rule} failed ({type(error).__name__}) and was skipped")
    return tuple(signals), tuple(faults)
