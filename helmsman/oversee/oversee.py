"""The overseer: turns the evidence of one iteration into all input of the control between iterations.

Each part runs in a guard: if it fails, its default is used and it is listed among the faults. A failing part never stops a loop.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

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
from helmsman.oversee.signals import ITERATION_DETECTORS, IterationView, git_alerts, issues_after, issues_before
from helmsman.oversee.summary import checkpoint, summarize
from helmsman.oversee.variety import variety_alert
from helmsman.records.advance import most_tests
from helmsman.records.checks import Leak, Scan, Weight
from helmsman.records.control import (
    REMEMBERED,
    Conflict,
    Diagnosis,
    EscalationLevel,
    GitChanges,
    Imperative,
    IterationSummary,
    Ladder,
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
    git: GitChanges = field(default_factory=GitChanges)
    exists: Callable[[str], bool] = bool  # whether a file exists at a path of the tree; true if unknown
    faults: tuple[str, ...] = ()  # messages about what could not be determined


T = TypeVar("T")
FAULTS_KEPT = INSTRUCTIONS_KEPT = ISSUES_KEPT = VARIETY_KEPT = 10
_GRAVITY = (Severity.ABORT, Severity.PAUSE, Severity.REDIRECT, Severity.WARN, Severity.LOG)


@dataclass
class _Overseer:
    """Runs the parts in order: each sees the alerts of earlier ones, and the default replaces one that fails."""

    iteration: IterationView
    observed: Observations
    faults: list[str]
    signals: list[Alert] = field(default_factory=list[Alert])

    def guard(self, part: str, default: T, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, or the default if it fails."""
        try:
            return compute()
        except Exception as error:  # noqa: BLE001 - a fault of the overseer must not stop what it oversees
            self.faults.append(f"{part}: {type(error).__name__}")
            return default

    def alert(self, part: str, compute: Callable[[], Iterable[Alert | None]]) -> None:
        """Add the alerts of a part; none if it fails."""
        self.signals += self.guard(part, (), lambda: tuple(filter(None, compute())))


def oversee(iteration: IterationView, observed: Observations) -> Overseen:
    """Examine an iteration. One without work (failed start or research) leaves the oversight unchanged."""
    state, evidence, earlier = iteration.state, iteration.evidence, iteration.state.oversight
    run = _Overseer(iteration, observed, list(observed.faults))
    for source in ITERATION_DETECTORS:
        run.alert(source.rule.strip("."), partial(source.alerts, iteration))
    run.alert("git", partial(git_alerts, observed.git, earlier.git))
    test_counts, judged = most_tests(state.most_tests, evidence.checks), bool(state.config.judge.criteria)
    progress = run.guard(
        "progress", earlier.progress, lambda: progress_of(evidence, earlier.progress, test_counts, judged=judged)
    )
    summary = run.guard("moment", None, lambda: summarize(state, evidence, progress, iteration.started_at, iteration.now))
    oversight, kept = earlier, None
    if summary is not None:
        history = (*state.history, summary)[-REMEMBERED:]
        if summary.movement is Movement.WAITED or state.researching:
            run.alert("pain", lambda: _critical_alerts(run, history))
        else:
            oversight, kept = _run_parts(run, progress, history), summary
    faults = tuple(run.faults[:FAULTS_KEPT])  # each is reported once and recorded as long as it persists
    broken = (
        f"a part of the overseer failed and its default was used: {fault}" for fault in faults if fault not in earlier.faults
    )
    run.signals += [Alert(rule="oversight.fault", severity=Severity.WARN, message=message) for message in broken]
    oversight = oversight.model_copy(update={"faults": faults, "git": observed.git})
    return Overseen(signals=tuple(run.signals), oversight=oversight, moment=kept)


def _run_parts(run: _Overseer, progress: Progress, history: Sequence[IterationSummary]) -> Oversight:
    """Run all parts in order; a part that fails keeps its previous value. `history` includes this iteration."""
    guard, state, observed, earlier = run.guard, run.iteration.state, run.observed, run.iteration.state.oversight
    config, summary, recent = state.config, history[-1], _since_resume(earlier.ladder, history)
    alerts, broken = guard("detectors", ((), ()), lambda: detect(recent, config.detect))
    run.faults += broken
    run.signals += alerts
    learning, alerts = guard(
        "learning", (earlier.learning, ()), lambda: learn(earlier.learning, recent, intervened=config.ladder.act)
    )
    run.signals += alerts
    is_cycling = any(signal.rule in CYCLE_RULES for signal in run.signals)
    nothing: tuple[Diagnosis, tuple[Conflict, ...]] = ("none", ())
    diagnosis: Diagnosis
    diagnosis, conflicts = guard("double bind", nothing, lambda: find_double_bind(find_conflicts(observed.orders), recent))
    run.alert("double bind", lambda: [double_bind_alert(diagnosis, conflicts, reported=earlier.conflicts)])
    if diagnosis == "none":
        diagnosis = guard("diagnosis", diagnosis, lambda: diagnose(recent, run.signals))
    variety = (*earlier.variety, *([observed.variety] if observed.variety else ()))[-VARIETY_KEPT:]
    run.alert("variety", lambda: [variety_alert(variety, summary.green)])
    run.alert("divergence", lambda: [_plan_alert(run, history)])
    run.alert("pain", lambda: _critical_alerts(run, history))
    idle, now = idle_after(earlier.idle, summary), run.iteration.now
    ladder = guard(
        "ladder",
        earlier.ladder,
        lambda: ladder_after(earlier.ladder, summary, run.signals, idle=idle, now=now, config=config.ladder),
    )
    control = guard("control", earlier.control, lambda: steer(earlier.control, history, swinging=is_cycling))
    results = {"progress": progress, "idle": idle, "ladder": ladder, "control": control, "learning": learning}
    results |= {"diagnosis": diagnosis, "conflicts": conflicts, "variety": variety}
    return guard("oversight", earlier, lambda: _combine(run, history, results))


def _since_resume(ladder: Ladder, history: Sequence[IterationSummary]) -> Sequence[IterationSummary]:
    """The history since a person last continued the loop; they have judged everything before."""
    resumed_at = [change.iteration for change in ladder.climbs if change.before >= EscalationLevel.HUMAN > change.after]
    return [summary for summary in history if summary.iteration >= resumed_at[-1]] if resumed_at else history


def _plan_alert(run: _Overseer, history: Sequence[IterationSummary]) -> Alert | None:
    state, evidence = run.iteration.state, run.iteration.evidence
    gaps, item, proof = state.oversight.gaps, evidence.plan.item if evidence.plan else None, evidence.item
    # the plan file's text about the current item, if an earlier iteration failed to prove it too
    is_retried = item and proof and not proof.proven and item.id in state.plan.tries
    item_text = f"{item.title}\n{item.details}" if item and is_retried else ""
    earlier_gap = gaps[-UNTOUCHED] if len(gaps) >= UNTOUCHED else ""
    return plan_alert(run.observed.memory, run.observed.exists, history, earlier_gap, item_text)


def _critical_alerts(run: _Overseer, history: Sequence[IterationSummary]) -> Sequence[Alert]:
    iteration, observed, baseline = run.iteration, run.observed, run.iteration.state.oversight.baseline
    new = new_findings(baseline, observed.scan) if baseline and observed.scan else ()
    facts = observed.leaks, new, iteration.spending, observed.destroyed
    return critical_events(iteration.state, history, iteration.evidence, *facts)


def _combine(run: _Overseer, history: Sequence[IterationSummary], results: Mapping[str, Any]) -> Oversight:
    """Combine everything and choose the strategy of the next iteration."""
    evidence, state, signals, summary = run.iteration.evidence, run.iteration.state, run.signals, history[-1]
    gravest = sorted(signals, key=lambda alert: _GRAVITY.index(alert.severity))
    redirects = [alert.rule for alert in signals if alert.severity in {Severity.PAUSE, Severity.REDIRECT}]
    # the latest commit with the best completion; never return to one that games its checks or has critical events
    earlier, best = state.oversight, state.oversight.best
    is_gamed = any(finding.weight is Weight.BLOCK for finding in evidence.findings)
    has_critical = any(alert.is_critical and alert.rule != BUDGET_EXCEEDED for alert in signals)
    keeps_best = is_gamed or has_critical or not summary.checked or (best and summary.completion < best.completion)
    fields: dict[str, Any] = {
        **results,
        "feedback": feedback_of(summary, evidence.execution.call.rotated),
        "baseline": earlier.baseline or run.observed.scan,
        "best": best if keeps_best else checkpoint(summary),
        "gaps": (*earlier.gaps, run.observed.memory.remaining_gap[:GAP_KEPT])[-UNTOUCHED - 1 :],
        "instructions": tuple(dict.fromkeys(alert.instruction for alert in gravest if alert.instruction))[:INSTRUCTIONS_KEPT],
        "redirected": tuple(dict.fromkeys(redirects))[:INSTRUCTIONS_KEPT],
    }
    combined = Oversight(**fields)
    # the part of the next state that advice and validation need
    due = state.model_copy(update={"spending": run.iteration.spending, "iteration": state.due})
    next_state = due.model_copy(update={"oversight": combined, "history": history, "checks": evidence.checks})
    strategy = run.guard("strategy", Strategy(), lambda: strategy_of(next_state))
    planned = combined.model_copy(update={"strategy": strategy})
    issues = run.guard("validation", (), lambda: (*issues_after(evidence, combined.progress), *issues_before(due, planned)))
    return planned.model_copy(update={"issues": issues[:ISSUES_KEPT]})
