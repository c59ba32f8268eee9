"""What the overseer notices over several iterations. Each detector is a small pure function in one table."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from helmsman.config.oversight import DetectConfig
from helmsman.oversee.cycles import UNDONE, checked, fewer_fail, in_vain, limit_cycle, recurring_trees, whole, worked, worked_from
from helmsman.oversee.detector import Detector, Found
from helmsman.oversee.progress import at_work, identity, is_base, made_progress, place
from helmsman.plain import clean
from helmsman.records.agent import AgentOutcome, ErrorVector
from helmsman.records.agents import Capability
from helmsman.records.control import IterationSummary, Movement
from helmsman.records.decision import Alert, Severity
from helmsman.texts import plural

DEADBAND = 0.05
"""Change of completion that counts as none; S4's 5 %, and the default of `control.deadband`."""
SWING_WINDOW = 3
"""Iterations looked at for each change of direction: a swing may pause between two turns."""


def stuck(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """3 iterations in a row gained less than 5 % of completion together and none of them got on (S4).

    A green run with a tree never seen in each iteration gets on (see `made_progress`); so does a fall of failing tests.
    """
    seen = [
        summary
        for summary in worked_from(history, config.stuck_iterations + 2)
        if summary.iteration > 1 or summary.files_changed or not summary.tool_calls  # a first one may only read: research (M6)
    ]
    window = seen[-config.stuck_iterations - 1 :]  # with the one before them, where there is one
    steps = [summary for summary in window[-config.stuck_iterations :] if not is_base(summary)]
    if len(steps) < config.stuck_iterations or not in_vain(steps) or fewer_fail(window[0], window[-1]):
        return
    gain = window[-1].completion - window[0].completion
    if gain < config.stuck_gain:
        message = f"{len(steps)} iterations in a row gained {gain:.1%} of completion together ({config.stuck_gain:.0%} is enough)"
        yield Found(message, gain, config.stuck_gain)


def oscillating(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """Completion changed its direction 3 times since it was last better than ever (S4), each time by more than 5 %.

    Red and green in turn are a way of working where each green tree is new.
    """
    window = worked(history, SWING_WINDOW * (config.sign_changes + 1))
    window = window[max((at for at, summary in enumerate(window) if summary.movement is Movement.FORWARD), default=0) :]
    completions, green = [summary.completion for summary in window], [summary for summary in window if summary.green]
    steps = [after - before for before, after in pairwise(completions)]
    recovers = green and all(map(made_progress, green))  # each green tree a new one: what breaks on the way is fixed
    if not steps or abs(steps[-1]) <= DEADBAND or recovers:
        return
    moves = [step > 0 for step in steps if abs(step) > DEADBAND]
    turns = sum(before != after for before, after in pairwise(moves))
    if turns >= config.sign_changes:
        allowed = f"{turns} times in {len(window)} iterations ({config.sign_changes} are allowed)"
        message = f"completion changed its direction {allowed}, between {min(completions):.0%} and {max(completions):.0%}"
        yield Found(message, turns, config.sign_changes)


def regressing(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """2 iterations in a row made the evidence worse (S4). One alone is how a refactor begins."""
    # what was taken back has been dealt with
    window = worked(history, 2 * config.falls + 1)[::-1]
    falls = list(takewhile(lambda summary: summary.movement is Movement.BACK and not summary.undone, window))
    if len(falls) >= config.falls:
        newest = falls[0]
        counts = f", {plural(newest.failing_tests, 'test')} failing" if newest.failing_tests or newest.passing_tests else ""
        told = f"{plural(len(falls), 'iteration')} in a row made it worse ({config.falls} trip this)"
        yield Found(f"{told}: completion is {newest.completion:.0%}{counts}", len(falls), config.falls)


def plateau(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """Nothing was better than ever for 8 iterations (S5, eigenform), and no green run made anything new either."""
    window = whole(worked, history, config.plateau)
    if window and in_vain(window):
        told = f"nothing was better than ever before for {len(window)} iterations ({config.plateau} trip this)"
        yield Found(f"{told}; completion is {window[-1].completion:.0%}", len(window), config.plateau)


STRAY = 2
"""Iterations in a row beside the objective; one may be a detour that the work needs."""
USUAL_LEAST, USUAL_MOST = 3, 10
"""Earlier iterations that say what is usual."""
BURN_WINDOW = 50
BURN_LEAST = 3
"""Iterations without gain before their price is looked at: S4's patience."""
BURN_FACTOR = 2
"""A gain that costs more than twice what the dearest one did is out of the ordinary; the mean would call each hard step burnt."""


def off_objective(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """Less than 0.3 of the files had to do with the task (S5) in 2 iterations in a row that changed files; from 3 on REDIRECT.

    Research changes nothing and never trips it; neither does what the evidence calls better than ever.
    """
    stray = list(takewhile(lambda summary: _beside(summary, config.relevance), worked(history, 2 * STRAY)[::-1]))
    if len(stray) >= STRAY:
        newest = stray[0]
        share = f"{newest.relevance:.0%} of the files had to do with the task, below {config.relevance:.0%}"
        lost = len(stray) > STRAY and not made_progress(newest)  # words that match badly must not stop what gets on
        message = f"{share} for {len(stray)} iterations in a row ({STRAY} trip this)"
        yield Found(message, newest.relevance, config.relevance, Severity.REDIRECT if lost else None)


def resource_burn(history: Sequence[IterationSummary], _config: DetectConfig) -> Iterator[Found]:
    """3 or more iterations without gain cost more than twice what the dearest gain so far did (S5).

    Against the loop's own prices, since no absolute one fits both a typo and a migration; two gains are needed to know them.
    """
    window = worked(history, BURN_WINDOW)
    gains = [at for at, summary in enumerate(window) if made_progress(summary)]
    if len(gains) < 2 or len(window) - 1 - gains[-1] < BURN_LEAST:  # noqa: PLR2004 - two prices make a comparison
        return
    in_dollars = any(summary.cost_usd > 0 for summary in window)
    spent = [summary.cost_usd if in_dollars else summary.tokens for summary in window]
    starts = [0, *(at + 1 for at in gains)]
    prices = [sum(spent[start : at + 1]) for start, at in zip(starts, gains, strict=False)]
    burnt, dearest = sum(spent[gains[-1] + 1 :]), max(prices)
    if burnt > BURN_FACTOR * dearest:
        used = (
            f"{len(window) - 1 - gains[-1]} iterations without gain used {burnt:.4g} {'US dollars' if in_dollars else 'tokens'}"
        )
        message = f"{used}; the dearest gain before them took {dearest:.4g}, and {BURN_FACTOR} times that trips this"
        yield Found(message, burnt, BURN_FACTOR * dearest)


def empty_sessions(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """2 sessions in a row that ended by themselves called no tool and changed nothing (S5).

    A session that an outage cut off is not empty, and one that asks to be done under green checks has nothing left to do.
    """
    window = whole(worked, history, config.empty_sessions)
    if window and all(map(_empty, window)):
        message = f"{len(window)} sessions in a row called no tool and changed nothing ({config.empty_sessions} trip this)"
        yield Found(message, len(window), config.empty_sessions)


def output_decline(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """The agent wrote over 70 % fewer tokens than usual (median of 3 to 10 iterations; S5) though work is left.

    A short session that got on, ended green, asked to be done or was cut off is nothing of the kind.
    """
    window = worked(history, USUAL_MOST + 1)
    usual = [summary.written for summary in window[:-1] if summary.written > 0]
    if len(usual) < USUAL_LEAST:
        return
    newest, middle = window[-1], sorted(usual)[len(usual) // 2]
    least = (1 - config.output_decline) * middle
    finished = newest.outcome is AgentOutcome.FINISHED
    if finished and newest.written < least and not (newest.green or newest.asked or made_progress(newest)):
        loss = f"a loss of more than {config.output_decline:.0%}, and the checks are not green"
        yield Found(f"the agent wrote {newest.written} tokens where {middle} are usual, {loss}", newest.written, least)


def denied(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """The CLI denied permissions in 2 iterations in a row (S5), which a person has to grant; WARN where one of them got on."""
    window = whole(worked, history, config.denials)
    if window and all(summary.denials for summary in window):
        total = sum(summary.denials for summary in window)
        message = (
            f"the CLI denied {total} permissions in {len(window)} iterations in a row ({config.denials} trip this); allow what "
            "the work needs with claude.allowed_tools or claude.permission_mode, or take it out of the goal, then resume"
        )
        severity = Severity.WARN if any(map(made_progress, window)) else Severity.PAUSE
        yield Found(message, len(window), config.denials, severity)


def _beside(summary: IterationSummary, least: float) -> bool:
    return summary.relevance < least and summary.files_changed > 0 and summary.movement is not Movement.FORWARD


def _empty(summary: IterationSummary) -> bool:
    used = summary.tool_calls or Capability.TOOLS in summary.untold  # of what is not told, nothing is held against it
    idle = summary.outcome is AgentOutcome.FINISHED and not used and not summary.files_changed
    return idle and not (summary.green and summary.asked)


SWELLING = 3
"""Iterations in a row, each longer than the one before: S4's patience."""
TESTS_ONLY = 3
LONGEST_PLACE = 200


def same_error(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """The same class of failure at the same place in 5 iterations in a row (S5), not smaller, and nothing got past in between.

    By class and place, never by text, which differs from run to run.
    """
    window = whole(checked, history, config.same_error)
    if not window or any(summary.movement is Movement.FORWARD for summary in window[1:]) or fewer_fail(window[0], window[-1]):
        return
    if lasting := next(_lasting(window), None):
        where = f" at {clean(place(lasting)[:LONGEST_PLACE])}" if lasting.where else ", at a place nothing tells"
        message = f"the same failure in the last {len(window)} iterations ({config.same_error} trip this): {lasting.kind}{where}"
        yield Found(message, len(window), config.same_error)


def same_words(history: Sequence[IterationSummary], config: DetectConfig) -> Iterator[Found]:
    """8 iterations in a row left every failure as it was, word for word but for numbers, and every count.

    Where checks are coarse, words are the first thing to move when work gets somewhere.
    """
    window = whole(checked, history, config.plateau)
    if not window or not window[-1].errors or any(summary.movement is Movement.FORWARD for summary in window[1:]):
        return
    states = {
        (one.passing_tests, one.failing_tests, one.failing, *((identity(error), error.extent) for error in one.errors))
        for one in window
    }
    if len(states) == 1:
        message = f"{len(window)} iterations in a row left every failure word for word as it was ({config.plateau} trip this)"
        yield Found(message, len(window), config.plateau)


def reverted(history: Sequence[IterationSummary], _config: DetectConfig) -> Iterator[Found]:
    """2 iterations in a row edited files back to what they were and did not get on (S5). One try taken back is honest work."""
    window = whole(worked, history, UNDONE)
    if window and all(summary.reverted for summary in window) and in_vain(window):
        files = sum(summary.reverted for summary in window)
        yield Found(f"{UNDONE} iterations in a row edited {files} files and took it back ({UNDONE} trip this)", files, UNDONE)


def growing_diff(history: Sequence[IterationSummary], _config: DetectConfig) -> Iterator[Found]:
    """3 iterations in a row each wrote more lines than the one before and more than they took away, and none got on (S5)."""
    window = whole(worked, history, SWELLING)
    grown = [summary.insertions - summary.deletions for summary in window]
    longer = all(before.insertions < after.insertions for before, after in pairwise(window))
    if window and in_vain(window) and min(grown) > 0 and longer:
        told = f"the code grew by {sum(grown)} lines in {SWELLING} iterations ({SWELLING} trip this), each by more"
        yield Found(f"{told}, and nothing got better", sum(grown), 0)


def only_tests(history: Sequence[IterationSummary], _config: DetectConfig) -> Iterator[Found]:
    """3 iterations in a row changed tests only while checks fail, and none got on (peers' issues). One is test-first."""
    window = whole(worked, history, TESTS_ONLY)
    if window and in_vain(window) and all(summary.test_only and not summary.green for summary in window):
        message = f"{TESTS_ONLY} iterations in a row changed only tests ({TESTS_ONLY} trip this) while checks fail"
        yield Found(message, TESTS_ONLY, TESTS_ONLY)


def _lasting(window: Sequence[IterationSummary]) -> Iterator[ErrorVector]:
    """Errors of the newest iteration that all have, no smaller now than at first."""
    extents = [{(error.kind, place(error)): error.extent for error in summary.errors} for summary in window]
    for error in window[-1].errors:
        key = (error.kind, place(error))
        if all(key in found for found in extents) and error.extent >= extents[0][key]:
            yield error


DETECTORS: tuple[Detector[Sequence[IterationSummary], DetectConfig], ...] = (
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
"""By the name of their signal, which is also the name in `detect.off`; the most telling first."""


def detect(
    history: Sequence[IterationSummary],
    config: DetectConfig,
    detectors: Sequence[Detector[Sequence[IterationSummary], DetectConfig]] = DETECTORS,
) -> tuple[tuple[Alert, ...], tuple[str, ...]]:
    """Signals, and the detectors that broke, in words. An iteration that only waited is not judged."""
    signals, faults = list[Alert](), list[str]()
    if not history or not at_work(history[-1]):
        return (), ()
    work = [summary for summary in history if at_work(summary) or is_base(summary)]  # once for all
    for detector in detectors:
        try:
            signals.extend(() if detector.rule in config.off else detector.alerts(work, config))
        except Exception as broken:  # noqa: BLE001 - a detector that breaks must not end a loop
            faults.append(f"the detector {detector.rule} broke ({type(broken).__name__}) and said nothing")
    return tuple(signals), tuple(faults)
