"""What ends a loop at once, whatever else is going on: critical events.

Each kind is rare by construction: a false alarm ejects honest work. A limit that is merely reached is no critical event.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from helmsman.oversee.cycles import OF_THE_WORLD
from helmsman.oversee.detector import Detector, Found
from helmsman.oversee.limits import gauges
from helmsman.oversee.progress import UNRUNNABLE, compared_with, is_base, still_told
from helmsman.plain import short_line
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Leak, Scan, Weakness, Weight
from helmsman.records.control import IterationSummary
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState, Spending
from helmsman.texts import plural
from helmsman.verify.findings import some

LEAST_TESTS = 3  # one or two tests fail together for one small reason; from three on it is the whole that broke
LEAST_SHARE = 0.5
"""Of the tests that passed before, so many must fail now; fewer are files that could not be read, counted as one failure each."""
UNJUDGED = UNRUNNABLE | OF_THE_WORLD | {FailureClass.TYPES, FailureClass.USAGE, FailureClass.PERMISSION}
"""Failures that keep tests from saying anything about the code: a build that is broken, a database that is down."""
BLOWN_AT = 1.25  # share of a budget from which it is blown: a limit stops the loop at 1, so one call used the rest
SHOWN = 5
_LONGEST = 120
_BRING_BACK = "see what is gone or was sent, and bring it back, before anything runs here again"
_READ = "run the command of pain.scan to read them, then fix the code or tell the scanner why it is wrong"


def critical_events(
    state: LoopState,
    history: Sequence[IterationSummary],
    evidence: Evidence,
    leaks: Sequence[Leak],
    scan: Sequence[Weakness],
    spending: Spending,
    destroyed: Sequence[str] = (),
) -> tuple[Alert, ...]:
    """What hurts after an iteration, ABORT each; leaks in doubt are only told, as a warning.

    `history` ends with this iteration. `scan` holds findings that are new since the loop began, `spending` what is used up now,
    `destroyed` why commands that ran were destructive, one sentence each.
    """
    weak = [f"{one.path}:{one.line} {one.rule}" for one in scan]
    kinds: Mapping[str, Iterable[Found]] = {
        "all_tests": _all_tests(state, history, evidence),
        "secrets": _secret(state, evidence, leaks),
        "destructive": _several(
            "pain.destructive", "destructive command", destroyed, "ran in spite of the guard rails", _BRING_BACK
        ),
        "budget": _budget(state, history, spending),
        "security": _several(
            "pain.security", "finding", weak, "of high severity in the security scan, new since the loop began", _READ
        ),
    }
    found = [one for kind, seen in kinds.items() if kind not in state.config.pain.off for one in seen]
    return tuple(Detector("", Severity.ABORT, lambda: found).alerts())


def _all_tests(state: LoopState, history: Sequence[IterationSummary], evidence: Evidence) -> Iterator[Found]:
    """Told once, when it begins: after that a person has been called."""
    if not history or not still_told(history[-1]):
        return
    *earlier, now = [summary for summary in history if compared_with(summary) and not summary.undone]
    before = earlier[-1] if earlier else None
    if before is None or before.failing_tests or before.passing_tests < LEAST_TESTS or now.green or now.passing_tests:
        return
    if not _judged(now, before) or (evidence.checks and not evidence.checks.conclusive):
        return
    when = "before the first iteration" if is_base(before) else f"at the end of iteration {before.iteration}"
    message = (
        f"{now.failing_tests} tests fail and none passes, after all {before.passing_tests} passed {when};"
        f" look at what changed in {state.branch} since then: git diff {before.commit[:12]} {now.commit[:12]}"
    )
    yield Found(message, now.failing_tests, LEAST_TESTS, rule="pain.all_tests")


def _judged(summary: IterationSummary, before: IterationSummary) -> bool:
    """Whether the tests ran and failed for what they say. One that wrote nothing but tests may have written them first."""
    many = summary.failing_tests >= max(LEAST_TESTS, LEAST_SHARE * before.passing_tests)
    return many and not summary.test_only and not any(error.kind in UNJUDGED for error in summary.errors)


def _secret(state: LoopState, evidence: Evidence, leaks: Sequence[Leak]) -> Iterator[Found]:
    sure = [leak for leak in leaks if leak.weight is Weight.BLOCK]
    unsure = [leak for leak in leaks if leak.weight is not Weight.BLOCK]
    change = evidence.execution.change
    if sure:
        message = (
            f"{plural(len(sure), 'secret')} committed between {change.start[:12]} and {change.commit[:12]}: {_leaks(sure)};"
            f" revoke them where they were issued, and push {state.branch} only when they are out of its history."
            " What is no secret is marked with `pragma: allowlist secret` in its line"
        )
        yield Found(message, len(sure), 0, rule="pain.secret")
    if unsure:
        message = f"{plural(len(unsure), 'line')} that look like secrets, probably are none: {_leaks(unsure)}"
        yield Found(message, len(unsure), 0, Severity.WARN, "secrets.doubtful")


def _leaks(leaks: Sequence[Leak]) -> str:
    return _some(f"{leak.path}:{leak.line} {leak.kind}{f' ({leak.doubt})' if leak.doubt else ''}" for leak in leaks)


def _budget(state: LoopState, history: Sequence[IterationSummary], spending: Spending) -> Iterator[Found]:
    """Cost, tokens and time. The wait before the last iteration is left out: it is the limit's that was waited for."""
    worked = state.spending.seconds + history[-1].seconds if history else spending.seconds
    used = spending.model_copy(update={"seconds": min(spending.seconds, worked)})
    for gauge in gauges(state.config.limits, used, state.iteration):
        if gauge.name != "iterations" and gauge.share >= BLOWN_AT:
            message = (
                f"{gauge.told} used: {gauge.share:.0%} of the limit, pain begins at {BLOWN_AT:.0%};"
                f" find out what used so much in one iteration before limits.{gauge.name} is raised"
            )
            yield Found(message, gauge.used, gauge.limit * BLOWN_AT, rule="pain.budget")


def _several(rule: str, noun: str, seen: Sequence[str], about: str, remedy: str) -> Iterator[Found]:
    if seen:
        yield Found(f"{plural(len(seen), noun)} {about}: {_some(seen)}; {remedy}", len(seen), 0, rule=rule)


def _some(parts: Iterable[str]) -> str:
    """The first few, each in one short line that no terminal stumbles over."""
    return some([short_line(part[:1000], _LONGEST) for part in parts], most=SHOWN)


def new_findings(before: Scan, now: Scan) -> tuple[Weakness, ...]:
    """Findings of high severity that the first scan did not have. A line that was moved or a file that was renamed is not new.

    Nothing is called new where the first scan is unknown, or held more findings of high severity than are kept.
    """
    known, found = ([one for one in scan.findings if one.severity == "high"] for scan in (before, now))
    if before.error or (before.left_out and len(known) == len(before.findings)):
        return ()
    left, fresh = Counter((one.rule, one.digest) for one in known), list[Weakness]()
    for one in found:
        left[one.rule, one.digest] -= 1
        fresh += [one] if left[one.rule, one.digest] < 0 else []
    return tuple(fresh)
