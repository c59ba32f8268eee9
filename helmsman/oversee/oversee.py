"""The overseer: one iteration's evidence in, everything that control between iterations rests on out.

Each part stands behind a guard: one that breaks is replaced by its default and named among the faults. Control never stops a
loop by breaking.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from helmsman.config import LoopConfig
from helmsman.oversee.advice import strategy_of
from helmsman.oversee.conflicts import conflicts
from helmsman.oversee.critical import critical_events, new_findings
from helmsman.oversee.decide.situation import BLOWN
from helmsman.oversee.detectors import detect
from helmsman.oversee.diagnosis import bind, bind_signal, diagnose
from helmsman.oversee.ladder import CYCLES, idle_after, ladder_after
from helmsman.oversee.learning import learn
from helmsman.oversee.pid import steer
from helmsman.oversee.plan_gap import GAP_KEPT, UNTOUCHED, divergence
from helmsman.oversee.progress import feedback_of, progress_of
from helmsman.oversee.signals import SOURCES, IterationView, issues_after, issues_before
from helmsman.oversee.summary import checkpoint, moment_of
from helmsman.oversee.variety import variety_signal
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
class Observed:
    """Read once, after the checks."""

    memory: WorkingMemory = field(default_factory=WorkingMemory)  # as the agent left it
    orders: tuple[Imperative, ...] = ()  # what goal, rubric and the repository's own texts order
    leaks: tuple[Leak, ...] = ()
    scan: Scan | None = None
    destroyed: tuple[str, ...] = ()  # why commands that ran were destructive, one sentence each
    variety: Variety | None = None
    exists: Callable[[str], bool] = bool  # whether there is a file at a path of the tree; where nobody knows there is
    faults: tuple[str, ...] = ()  # what could not be found out, in words


T = TypeVar("T")
FAULTS_KEPT = INSTRUCTIONS_KEPT = ISSUES_KEPT = VARIETY_KEPT = 10
Signals = tuple[Alert, ...]
_GRAVITY = (Severity.ABORT, Severity.PAUSE, Severity.REDIRECT, Severity.WARN, Severity.LOG)


@dataclass
class Guard:
    """Runs one part after the other, and gathers what broke."""

    faults: list[str] = field(default_factory=list[str])

    def __call__(self, part: str, default: T, compute: Callable[[], T]) -> T:
        """What `compute` finds, or the default."""
        try:
            return compute()
        except Exception as error:  # noqa: BLE001 - a fault of the overseer must not stop what it oversees
            self.faults.append(f"{part}: {type(error).__name__}")
            return default


@dataclass
class _View:
    """An iteration with what is known of it before anything is judged."""

    iteration: IterationView
    observed: Observed
    guard: Guard
    earlier: Oversight
    progress: Progress
    moment: IterationSummary
    history: Sequence[IterationSummary]  # this one included
    signals: list[Alert]  # of this iteration so far: each part sees those of the parts before it

    @property
    def config(self) -> LoopConfig:
        return self.iteration.state.config

    @property
    def since_person(self) -> Sequence[IterationSummary]:
        """What the loop did since a person last sent it on: what was before they have judged."""
        sent = [climb.iteration for climb in self.earlier.ladder.climbs if climb.before >= EscalationLevel.HUMAN > climb.after]
        return [summary for summary in self.history if summary.iteration >= sent[-1]] if sent else self.history


def oversee(iteration: IterationView, observed: Observed) -> Overseen:
    """What the overseer makes of an iteration. One without work (no start, or research) leaves everything as it was."""
    guard, signals, state, evidence = Guard(list(observed.faults)), list[Alert](), iteration.state, iteration.evidence
    for source in SOURCES:
        signals += guard(source.rule.strip("."), (), lambda source=source: tuple(source.alerts(iteration)))
    earlier = state.oversight
    most, judged = most_tests(state.most_tests, evidence.checks), bool(state.config.judge.criteria)
    progress = guard("progress", earlier.progress, lambda: progress_of(evidence, earlier.progress, most, judged=judged))
    moment = guard("moment", None, lambda: moment_of(state, evidence, progress, iteration.started_at, iteration.now))
    history = (*state.history, moment)[-REMEMBERED:] if moment else ()
    view = _View(iteration, observed, guard, earlier, progress, moment, history, signals) if moment else None
    oversight, summary = earlier, None
    if view is not None and view.moment.movement is not Movement.WAITED and not state.researching:
        oversight, summary = _oversight(view), view.moment
    elif view is not None:
        signals += guard("pain", (), lambda: _critical(view))
    faults = tuple(guard.faults[:FAULTS_KEPT])  # each is warned of once, and stays on record for as long as it is there
    broken = (f"a part of the overseer failed and its default was used: {one}" for one in faults if one not in earlier.faults)
    signals += [Alert(rule="oversight.fault", severity=Severity.WARN, message=message) for message in broken]
    return Overseen(signals=tuple(signals), oversight=oversight.model_copy(update={"faults": faults}), moment=summary)


def _oversight(view: _View) -> Oversight:
    """The parts one after the other; of one that breaks, its own are as they were before."""
    guard, signals, earlier, summary, config = view.guard, view.signals, view.earlier, view.moment, view.config
    found, broken = guard("detectors", ((), ()), lambda: detect(view.since_person, config.detect))
    guard.faults += broken
    signals += found
    act = config.ladder.act
    learning, told = guard("learning", (earlier.learning, ()), lambda: learn(earlier.learning, view.since_person, intervened=act))
    signals += told
    goes_round = any(signal.rule in CYCLES for signal in signals)
    nothing: tuple[Diagnosis, tuple[Conflict, ...], Signals] = ("none", (), ())

    def bound() -> tuple[Diagnosis, tuple[Conflict, ...], Signals]:
        diagnosis, found = bind(conflicts(view.observed.orders), view.since_person)
        return diagnosis, found, _one(bind_signal(diagnosis, found, told=earlier.conflicts))

    diagnosis, contradictions, told = guard("double bind", nothing, bound)
    signals += told
    if diagnosis == "none":
        diagnosis = guard("diagnosis", diagnosis, lambda: diagnose(view.since_person, signals))
    variety = (*earlier.variety, *([view.observed.variety] if view.observed.variety else ()))[-VARIETY_KEPT:]
    signals += _one(guard("variety", None, lambda: variety_signal(variety, summary.green)))
    signals += _one(guard("divergence", None, lambda: _diverged(view)))
    signals += guard("pain", (), lambda: _critical(view))
    idle = idle_after(earlier.idle, summary)
    ladder = guard(
        "ladder",
        earlier.ladder,
        lambda: ladder_after(earlier.ladder, summary, signals, idle=idle, now=view.iteration.now, config=config.ladder),
    )
    control = guard("control", earlier.control, lambda: steer(earlier.control, view.history, swinging=goes_round))
    known = {"idle": idle, "ladder": ladder, "control": control, "learning": learning, "diagnosis": diagnosis}
    known |= {"conflicts": contradictions, "variety": variety}
    return guard("oversight", earlier, lambda: _concluded(view, known))


def _diverged(view: _View) -> Alert | None:
    gaps, evidence = view.earlier.gaps, view.iteration.evidence
    before_them = gaps[-UNTOUCHED] if len(gaps) >= UNTOUCHED else ""
    item, proof = evidence.plan.item if evidence.plan else None, evidence.item
    # what the plan's file says of the item in hand, where this was not the first iteration that did not prove it
    in_vain = item and proof and not proof.proven and item.id in view.iteration.state.plan.tries
    words = f"{item.title}\n{item.details}" if item and in_vain else ""
    return divergence(view.observed.memory, view.observed.exists, view.history, before_them, words)


def _critical(view: _View) -> Signals:
    iteration, observed, baseline = view.iteration, view.observed, view.earlier.baseline
    fresh = new_findings(baseline, observed.scan) if baseline and observed.scan else ()
    seen = observed.leaks, fresh, iteration.spending, observed.destroyed
    return critical_events(iteration.state, view.history, iteration.evidence, *seen)


def _concluded(view: _View, known: Mapping[str, Any]) -> Oversight:
    """Everything in one, and how the next iteration goes about it."""
    earlier, evidence, state, signals = view.earlier, view.iteration.evidence, view.iteration.state, view.signals
    gravest = sorted(signals, key=lambda signal: _GRAVITY.index(signal.severity))
    redirects = [one.rule for one in signals if one.severity in {Severity.PAUSE, Severity.REDIRECT}]
    # the latest commit of those that measured best; one that games its checks or hurts is no place to go back to
    summary, best = view.moment, earlier.best
    gamed = any(finding.weight is Weight.BLOCK for finding in evidence.findings)
    hurts = any(signal.is_critical and signal.rule != BLOWN for signal in signals)
    stays = gamed or hurts or not summary.checked or (best and summary.completion < best.completion)
    fields: dict[str, Any] = {
        **known,
        "progress": view.progress,
        "feedback": feedback_of(view.moment, evidence.execution.call.rotated),
        "baseline": earlier.baseline or view.observed.scan,
        "best": best if stays else checkpoint(summary),
        "gaps": (*earlier.gaps, view.observed.memory.remaining_gap[:GAP_KEPT])[-UNTOUCHED - 1 :],
        "instructions": tuple(dict.fromkeys(one.instruction for one in gravest if one.instruction))[:INSTRUCTIONS_KEPT],
        "redirected": tuple(dict.fromkeys(redirects))[:INSTRUCTIONS_KEPT],
    }
    gathered = Oversight(**fields)
    # the state as far as advice and validation before the next iteration ask for it
    due = state.model_copy(update={"spending": view.iteration.spending, "iteration": state.due})
    following = due.model_copy(update={"oversight": gathered, "history": view.history, "checks": evidence.checks})
    strategy = view.guard("strategy", Strategy(), lambda: strategy_of(following))
    planned = gathered.model_copy(update={"strategy": strategy})
    issues = view.guard(
        "validation", (), lambda: (*issues_after(evidence, view.progress), *issues_before(due, planned, view.history))
    )
    return planned.model_copy(update={"issues": issues[:ISSUES_KEPT]})


def _one(signal: Alert | None) -> Signals:
    return (signal,) if signal else ()
