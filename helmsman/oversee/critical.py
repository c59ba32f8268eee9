"""What ends a loop at once, whatever else is going on: critical events.

Each kind is rare by construction: a false alarm ejects honest work. A limit that is merely reached is no critical event.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from helmsman.config import PainConfig
from helmsman.oversee.cycles import OF_THE_WORLD
from helmsman.oversee.limits import Gauge, gauges
from helmsman.oversee.progress import UNRUNNABLE, compared_with, is_base, still_told
from helmsman.plain import short_line
from helmsman.records.findings import Weight
from helmsman.records.iteration import Evidence
from helmsman.records.moments import Moment, Movement
from helmsman.records.pain import Harm, Leak, Scan, Weakness
from helmsman.records.session import FailureClass
from helmsman.records.state import LoopState, Spending
from helmsman.records.verdict import Severity, Signal
from helmsman.texts import counted

LEAST_TESTS = 3
"""One or two tests fail together for one small reason; from three on it is the whole that broke."""
LEAST_SHARE = 0.5
"""Of the tests that passed before, so many must fail now; fewer are files that could not be read, counted as one failure each."""
PATIENCE = 3
"""Iterations in a row in which a broken build lets no test run: a refactoring is often broken between two or three of them."""
UNJUDGED = UNRUNNABLE | OF_THE_WORLD | {FailureClass.TYPES, FailureClass.USAGE, FailureClass.PERMISSION}
"""Failures that keep tests from saying anything about the code: a build that is broken, a database that is down."""
SHOWN = 5
_LONGEST = 120


def critical_events(
    state: LoopState,
    history: Sequence[Moment],
    evidence: Evidence,
    leaks: Sequence[Leak],
    scan: Sequence[Weakness],
    spending: Spending,
    config: PainConfig,
    destroyed: Sequence[str] = (),
) -> tuple[Signal, ...]:
    """What hurts after an iteration, ABORT each; leaks in doubt are only told, as a warning.

    `history` ends with this iteration. `scan` holds findings that are new since the loop began, `spending` what is used up now,
    `destroyed` why commands that ran were destructive, one sentence each.
    """
    return (
        *(_all_tests(state, history, evidence) if config.all_tests else ()),
        *(_secret(state, evidence, leaks) if config.secrets else ()),
        *(_destructive(destroyed) if config.destructive else ()),
        *_budget(state, history, spending, config.budget),
        *_security(scan),
    )


def _all_tests(state: LoopState, history: Sequence[Moment], evidence: Evidence) -> tuple[Signal, ...]:
    """Told once, when it begins: after that a person has been called."""
    if not history or not still_told(history[-1]) or _passes(history[-1]):
        return ()
    checked = [moment for moment in history if compared_with(moment) and not moment.undone]
    wrecked = _at_end(checked)
    before = checked[-wrecked - 1] if 0 < wrecked < len(checked) else None
    if before is None or before.failing_tests or before.passing_tests < LEAST_TESTS:
        return ()
    first, now = checked[-wrecked], checked[-1]
    judged = [_judged(moment, before) for moment in checked[-wrecked:]]
    if wrecked == 1 and judged[0] and _conclusive(evidence):
        return (_tests_signal(state, before, now, f"{now.failing_tests} tests fail and none passes"),)
    if _standing_still(checked[-wrecked:]) == PATIENCE and not judged[0]:
        what = f"no test has passed in {wrecked} iterations, from {first.iteration} on; the last {PATIENCE} got past no error"
        return (_tests_signal(state, before, now, what),)
    return ()


def _standing_still(wreck: Sequence[Moment]) -> int:
    """Iterations since a broken build last got past an error."""
    forward = [place for place, moment in enumerate(wreck) if moment.movement is Movement.FORWARD]
    return len(wreck) - 1 - forward[-1] if forward else len(wreck)


def _at_end(checked: Sequence[Moment]) -> int:
    """Iterations in a row up to now in which no test passed."""
    return next((place for place, moment in enumerate(reversed(checked)) if _passes(moment)), len(checked))


def _passes(moment: Moment) -> bool:
    return moment.green or moment.passing_tests > 0


def _judged(moment: Moment, before: Moment) -> bool:
    """Whether the tests ran and failed for what they say. One that wrote nothing but tests may have written them first."""
    many = moment.failing_tests >= max(LEAST_TESTS, LEAST_SHARE * before.passing_tests)
    return many and not moment.test_only and not any(error.kind in UNJUDGED for error in moment.errors)


def _conclusive(evidence: Evidence) -> bool:
    return evidence.checks is None or evidence.checks.conclusive


def _tests_signal(state: LoopState, before: Moment, now: Moment, what: str) -> Signal:
    when = "before the first iteration" if is_base(before) else f"at the end of iteration {before.iteration}"
    message = (
        f"{what}, after all {before.passing_tests} passed {when};"
        f" look at what changed in {state.branch} since then: git diff {before.commit[:12]} {now.commit[:12]}"
    )
    return _critical("all_tests", message, value=now.failing_tests, threshold=LEAST_TESTS)


def _secret(state: LoopState, evidence: Evidence, leaks: Sequence[Leak]) -> tuple[Signal, ...]:
    sure = [leak for leak in leaks if leak.weight is Weight.BLOCK]
    unsure = [leak for leak in leaks if leak.weight is not Weight.BLOCK]
    change = evidence.execution.change
    signals: list[Signal] = []
    if sure:
        message = (
            f"{counted(len(sure), 'secret')} committed between {change.start[:12]} and {change.commit[:12]}: {_leaks(sure)};"
            f" revoke them where they were issued, and push {state.branch} only when they are out of its history."
            " What is no secret is marked with `pragma: allowlist secret` in its line"
        )
        signals.append(_critical("secret", message, value=len(sure), threshold=0))
    if unsure:
        message = f"{counted(len(unsure), 'line')} that look like secrets, probably are none: {_leaks(unsure)}"
        signals.append(Signal(rule="secrets.doubtful", severity=Severity.WARN, message=message, value=len(unsure), threshold=0))
    return tuple(signals)


def _leaks(leaks: Sequence[Leak]) -> str:
    return _some(f"{leak.path}:{leak.line} {leak.kind}{f' ({leak.doubt})' if leak.doubt else ''}" for leak in leaks)


def _destructive(destroyed: Sequence[str]) -> tuple[Signal, ...]:
    if not destroyed:
        return ()
    message = (
        f"{counted(len(destroyed), 'destructive command')} ran in spite of the guard rails: {_some(destroyed)};"
        " see what is gone or was sent, and bring it back, before anything runs here again"
    )
    return (_critical("destructive", message, value=len(destroyed), threshold=0),)


def _budget(state: LoopState, history: Sequence[Moment], spending: Spending, blown: float) -> tuple[Signal, ...]:
    found = [gauge for gauge in _budgets(state, history, spending) if gauge.share >= blown]
    return tuple(_budget_signal(gauge, blown) for gauge in found)


def _budgets(state: LoopState, history: Sequence[Moment], spending: Spending) -> list[Gauge]:
    """Cost, tokens and time. The wait before the last iteration is left out: it is the limit's that was waited for."""
    worked = state.spending.seconds + history[-1].seconds if history else spending.seconds
    used = spending.model_copy(update={"seconds": min(spending.seconds, worked)})
    return [gauge for gauge in gauges(state.config.limits, used, state.iteration) if gauge.name != "iterations"]


def _budget_signal(gauge: Gauge, blown: float) -> Signal:
    message = (
        f"{gauge.told} used: {gauge.share:.0%} of the limit, pain begins at {blown:.0%};"
        f" find out what used so much in one iteration before limits.{gauge.name} is raised"
    )
    return _critical("budget", message, value=gauge.used, threshold=gauge.limit * blown)


def _security(scan: Sequence[Weakness]) -> tuple[Signal, ...]:
    if not scan:
        return ()
    where = _some(f"{one.path}:{one.line} {one.rule}" for one in scan)
    message = (
        f"{counted(len(scan), 'finding')} of high severity in the security scan, new since the loop began: {where};"
        " run the command of pain.scan to read them, then fix the code or tell the scanner why it is wrong"
    )
    return (_critical("security", message, value=len(scan), threshold=0),)


def _critical(kind: str, message: str, *, value: float, threshold: float) -> Signal:
    return Signal(rule=f"pain.{kind}", severity=Severity.ABORT, message=message, value=value, threshold=threshold)


def _some(parts: Iterable[str]) -> str:
    """The first few, each in one short line that no terminal stumbles over."""
    told = [short_line(part[:1000], _LONGEST) for part in parts]
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return ", ".join(told[:SHOWN]) + more


def new_findings(before: Scan, now: Scan) -> tuple[Weakness, ...]:
    """Findings of high severity that the first scan did not have. A line that was moved or a file that was renamed is not new.

    Nothing is called new where the first scan is unknown, or held more findings of high severity than are kept.
    """
    known, found = _severe(before), _severe(now)
    if before.error or (before.left_out and len(known) == len(before.findings)):
        return ()
    left = Counter(map(_key, known))
    fresh = [one for one in found if not _taken(left, _key(one))]
    gone = Counter((rule, digest) for rule, _, digest in left.elements())
    return tuple(one for one in fresh if not _taken(gone, (one.rule, one.digest)))


def _severe(scan: Scan) -> list[Weakness]:
    return [one for one in scan.findings if one.severity is Harm.HIGH]


def _key(one: Weakness) -> tuple[str, str, str]:
    return one.rule, one.path, one.digest


def _taken(left: Counter[Any], key: object) -> bool:
    """Take one of these away, where there is one."""
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True
