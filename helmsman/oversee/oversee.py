"""The overseer: turns the evidence of one iteration into all input of the control between iterations.

Each part runs in a guard: if it fails, its default is used and it is listed among the faults. A failing part never stops a loop.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from helmsman.config import LoopConfig
from helmsman.oversee.advice import strategy_of
from helmsman.oversee.conflicts import find_conflicts
from helmsman.oversee.critical import critical_events, new_findings
from helmsman.oversee.decide.situation import BUDGET_EXCEEDED
from helmsman.oversee.detectors import detect
from helmsman.oversee.diagnosis import diagnose, double_bind_alert, find_double_bind
from helmsman.oversee.ladder import CYCLE_RULES, idle_after, ladder_after
from helmsman.oversee.learning import learn
from helmsman.oversee.pid import steer
from helmsman.oversee.plan_gap import GAP_KEPT, UNTOUCHED, plan_alert
from helmsman.oversee.progress import feedback_of, progress_of
from helmsman.oversee.signals import ITERATION_DETECTORS, IterationView, issues_after, issues_before
from helmsman.oversee.summary import checkpoint, summarize
from helmsman.oversee.variety import variety_alert
from helmsman.records.advance import most_tests
from helmsman.records.checks import Leak, Scan, Weight
from helmsman.records.control import (
    REMEMBERED,
    Conflict,
    Diagnosis,
    EscalationLevel,
    Imperative,
    IterationSummary,
    Movement,
    Overseen,
    Oversight,
    Progress,
    Strategy,
    Variety,
)
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import WorkingMemory


@dataclass(frozen=True)
class Observations:
    """What is read once, after the checks."""

    memory: WorkingMemory = field(default_factory=WorkingMemory)  # as the agent left it
    orders: tuple[Imperative, ...] = ()  # instructions in goal, rubric and the repository's own texts
    leaks: tuple[Leak, ...] = ()
    scan: Scan | None = None
    destroyed: tuple[str, ...] = ()  # why commands that ran were destructive, one sentence each
    variety: Variety | None = None
    exists: Callable[[str], bool] = bool  # whether a file exists at a path of the tree; true if unknown
    faults: tuple[str, ...] = ()  # messages about what could not be determined


T = TypeVar("T")
FAULTS_KEPT = INSTRUCTIONS_KEPT = ISSUES_KEPT = VARIETY_KEPT = 10
Signals = tuple[Alert, ...]
_GRAVITY = (Severity.ABORT, Severity.PAUSE, Severity.REDIRECT, Severity.WARN, Severity.LOG)


@dataclass
class Guard:
    """Run the parts one after the other and collect failures."""

    faults: list[str] = field(default_factory=list[str])

    def __call__(self, part: str, default: T, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, or the default if it fails."""
        try:
            return compute()
        except Exception as error:  # noqa: BLE001 - a fault of the overseer must not stop what it oversees
            self.faults.append(f"{part}: {type(error).__name__}")
            return default


@dataclass
class _View:
    """An iteration with everything known before it is judged."""

    iteration: IterationView
    observed: Observations
    guard: Guard
    earlier: Oversight
    progress: Progress
    current: IterationSummary
    history: Sequence[IterationSummary]  # this one included
    signals: list[Alert]  # of this iteration so far: each part sees those of earlier parts

    @property
    def config(self) -> LoopConfig:
        return self.iteration.state.config

    @property
    def history_since_resume(self) -> Sequence[IterationSummary]:
        """The history since a person last continued the loop; they have judged everything before."""
        resumed_at = [
            change.iteration for change in self.earlier.ladder.climbs if change.before >= EscalationLevel.HUMAN > change.after
        ]
        return [summary for summary in self.history if summary.iteration >= resumed_at[-1]] if resumed_at else self.history


def oversee(iteration: IterationView, observed: Observations) -> Overseen:
    """Examine an iteration. One without work (failed start or research) leaves the oversight unchanged."""
    guard, signals, state, evidence = Guard(list(observed.faults)), list[Alert](), iteration.state, iteration.evidence
    for source in ITERATION_DETECTORS:
        signals += guard(source.rule.strip("."), (), lambda source=source: tuple(source.alerts(iteration)))
    earlier = state.oversight
    test_counts, judged = most_tests(state.most_tests, evidence.checks), bool(state.config.judge.criteria)
    progress = guard("progress", earlier.progress, lambda: progress_of(evidence, earlier.progress, test_counts, judged=judged))
    current = guard("moment", None, lambda: summarize(state, evidence, progress, iteration.started_at, iteration.now))
    history = (*state.history, current)[-REMEMBERED:] if current else ()
    view = _View(iteration, observed, guard, earlier, progress, current, history, signals) if current else None
    oversight, summary = earlier, None
    if view is not None and view.current.movement is not Movement.WAITED and not state.researching:
        oversight, summary = _run_parts(view), view.current
    elif view is not None:
        signals += guard("pain", (), lambda: _critical_alerts(view))
    faults = tuple(guard.faults[:FAULTS_KEPT])  # each is reported once and recorded as long as it persists
    broken = (
        f"a part of the overseer failed and its default was used: {fault}" for fault in faults if fault not in earlier.faults
    )
    signals += [Alert(rule="oversight.fault", severity=Severity.WARN, message=message) for message in broken]
    return Overseen(signals=tuple(signals), oversight=oversight.model_copy(update={"faults": faults}), moment=summary)


def _run_parts(view: _View) -> Oversight:
    """Run all parts in order; a part that fails keeps its previous value."""
    guard, signals, earlier, summary, config = view.guard, view.signals, view.earlier, view.current, view.config
    found, broken = guard("detectors", ((), ()), lambda: detect(view.history_since_resume, config.detect))
    guard.faults += broken
    signals += found
    act = config.ladder.act
    learning, alerts = guard(
        "learning", (earlier.learning, ()), lambda: learn(earlier.learning, view.history_since_resume, intervened=act)
    )
    signals += alerts
    is_cycling = any(signal.rule in CYCLE_RULES for signal in signals)
    nothing: tuple[Diagnosis, tuple[Conflict, ...], Signals] = ("none", (), ())

    def diagnose_conflicts() -> tuple[Diagnosis, tuple[Conflict, ...], Signals]:
        diagnosis, contradictions = find_double_bind(find_conflicts(view.observed.orders), view.history_since_resume)
        return diagnosis, contradictions, _as_tuple(double_bind_alert(diagnosis, contradictions, reported=earlier.conflicts))

    diagnosis, contradictions, alerts = guard("double bind", nothing, diagnose_conflicts)
    signals += alerts
    if diagnosis == "none":
        diagnosis = guard("diagnosis", diagnosis, lambda: diagnose(view.history_since_resume, signals))
    variety = (*earlier.variety, *([view.observed.variety] if view.observed.variety else ()))[-VARIETY_KEPT:]
    signals += _as_tuple(guard("variety", None, lambda: variety_alert(variety, summary.green)))
    signals += _as_tuple(guard("divergence", None, lambda: _check_plan(view)))
    signals += guard("pain", (), lambda: _critical_alerts(view))
    idle = idle_after(earlier.idle, summary)
    ladder = guard(
        "ladder",
        earlier.ladder,
        lambda: ladder_after(earlier.ladder, summary, signals, idle=idle, now=view.iteration.now, config=config.ladder),
    )
    control = guard("control", earlier.control, lambda: steer(earlier.control, view.history, swinging=is_cycling))
    results = {"idle": idle, "ladder": ladder, "control": control, "learning": learning, "diagnosis": diagnosis}
    results |= {"conflicts": contradictions, "variety": variety}
    return guard("oversight", earlier, lambda: _combine(view, results))


def _check_plan(view: _View) -> Alert | None:
    gaps, evidence = view.earlier.gaps, view.iteration.evidence
    earlier_gap = gaps[-UNTOUCHED] if len(gaps) >= UNTOUCHED else ""
    item, proof = evidence.plan.item if evidence.plan else None, evidence.item
    # the plan file's text about the current item, if an earlier iteration failed to prove it too
    is_retried = item and proof and not proof.proven and item.id in view.iteration.state.plan.tries
    item_text = f"{item.title}\n{item.details}" if item and is_retried else ""
    return plan_alert(view.observed.memory, view.observed.exists, view.history, earlier_gap, item_text)


def _critical_alerts(view: _View) -> Signals:
    iteration, observed, baseline = view.iteration, view.observed, view.earlier.baseline
    new = new_findings(baseline, observed.scan) if baseline and observed.scan else ()
    facts = observed.leaks, new, iteration.spending, observed.destroyed
    return critical_events(iteration.state, view.history, iteration.evidence, *facts)


def _combine(view: _View, results: Mapping[str, Any]) -> Oversight:
    """Combine everything and choose the strategy of the next iteration."""
    earlier, evidence, state, signals = view.earlier, view.iteration.evidence, view.iteration.state, view.signals
    gravest = sorted(signals, key=lambda alert: _GRAVITY.index(alert.severity))
    redirects = [alert.rule for alert in signals if alert.severity in {Severity.PAUSE, Severity.REDIRECT}]
    # the latest commit with the best completion; never return to one that games its checks or has critical events
    summary, best = view.current, earlier.best
    is_gamed = any(finding.weight is Weight.BLOCK for finding in evidence.findings)
    has_critical = any(alert.is_critical and alert.rule != BUDGET_EXCEEDED for alert in signals)
    keeps_best = is_gamed or has_critical or not summary.checked or (best and summary.completion < best.completion)
    fields: dict[str, Any] = {
        **results,
        "progress": view.progress,
        "feedback": feedback_of(view.current, evidence.execution.call.rotated),
        "baseline": earlier.baseline or view.observed.scan,
        "best": best if keeps_best else checkpoint(summary),
        "gaps": (*earlier.gaps, view.observed.memory.remaining_gap[:GAP_KEPT])[-UNTOUCHED - 1 :],
        "instructions": tuple(dict.fromkeys(alert.instruction for alert in gravest if alert.instruction))[:INSTRUCTIONS_KEPT],
        "redirected": tuple(dict.fromkeys(redirects))[:INSTRUCTIONS_KEPT],
    }
    combined = Oversight(**fields)
    # the part of the next state that advice and validation need
    due = state.model_copy(update={"spending": view.iteration.spending, "iteration": state.due})
    next_state = due.model_copy(update={"oversight": combined, "history": view.history, "checks": evidence.checks})
    strategy = view.guard("strategy", Strategy(), lambda: strategy_of(next_state))
    planned = combined.model_copy(update={"strategy": strategy})
    issues = view.guard(
        "validation", (), lambda: (*issues_after(evidence, view.progress), *issues_before(due, planned, view.history))
    )
    return planned.model_copy(update={"issues": issues[:ISSUES_KEPT]})


def _as_tuple(signal: Alert | None) -> Signals:
    return (signal,) if signal else ()
