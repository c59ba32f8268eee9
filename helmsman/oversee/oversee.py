"""The overseer: one iteration's evidence in, everything that control between iterations rests on out.

Each part stands behind a guard: one that breaks is replaced by its default and named among the faults. Control never stops a
loop by breaking.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from helmsman.config import LoopConfig
from helmsman.orient.research import researching
from helmsman.orient.validation import after, before
from helmsman.oversee.advice import strategy_of
from helmsman.oversee.conflict_question import held
from helmsman.oversee.conflicts import conflicts
from helmsman.oversee.critical import critical_events, new_findings
from helmsman.oversee.decide.situation import BLOWN
from helmsman.oversee.detectors import detect
from helmsman.oversee.diagnosis import CONFLICT, bind, bind_signal, diagnose
from helmsman.oversee.ladder import CYCLES, idle_after, ladder_after
from helmsman.oversee.learning import learn
from helmsman.oversee.pid import steer
from helmsman.oversee.plan_gap import GAP_KEPT, UNTOUCHED, divergence
from helmsman.oversee.progress import feedback_of, progress_of
from helmsman.oversee.signals import SOURCES, Sight
from helmsman.oversee.summary import checkpoint, moment_of
from helmsman.oversee.variety import variety_signal
from helmsman.records.checks import Leak, Scan, Weight
from helmsman.records.control import (
    Checkpoint,
    Diagnosis,
    Imperative,
    Moment,
    Movement,
    Overseen,
    Oversight,
    Progress,
    Rung,
    Sought,
    Strategy,
    Variety,
)
from helmsman.records.decision import Severity, Signal
from helmsman.records.folds import most_tests
from helmsman.records.iteration import WorkingMemory
from helmsman.records.state import LoopState


@dataclass(frozen=True)
class Observed:
    """Read once, after the checks."""

    memory: WorkingMemory = field(default_factory=WorkingMemory)
    """As the agent left it."""
    orders: tuple[Imperative, ...] = ()
    """What goal, rubric and the repository's own texts order."""
    leaks: tuple[Leak, ...] = ()
    scan: Scan | None = None
    destroyed: tuple[str, ...] = ()
    """Why commands that ran were destructive, one sentence each."""
    variety: Variety | None = None
    exists: Callable[[str], bool] = bool
    """Whether there is a file at a path of the tree; where nobody knows there is."""
    faults: tuple[str, ...] = ()
    """What could not be found out, in words."""


T = TypeVar("T")
FAULTS_KEPT = 10
INSTRUCTIONS_KEPT = 10
ISSUES_KEPT = 10
VARIETY_KEPT = 10
Signals = tuple[Signal, ...]


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
    """An iteration with all that is known of it. Each part returns its signals and adds to `known`."""

    sight: Sight
    observed: Observed
    guard: Guard
    earlier: Oversight
    progress: Progress
    moment: Moment
    history: Sequence[Moment]
    """This one included."""
    signals: list[Signal]
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the oversight keeps, by field; where a part breaks its own are as they were."""

    @property
    def config(self) -> LoopConfig:
        return self.sight.state.config

    @property
    def since_person(self) -> Sequence[Moment]:
        """What the loop did since a person last sent it on: what was before they have judged."""
        sent = [climb.iteration for climb in self.earlier.ladder.climbs if climb.before >= Rung.HUMAN > climb.after]
        return [moment for moment in self.history if moment.iteration >= sent[-1]] if sent else self.history

    @property
    def goes_round(self) -> bool:
        return any(signal.rule in CYCLES for signal in self.signals)

    @property
    def next(self) -> LoopState:
        """The state as far as validation before the next iteration asks for it."""
        state = self.sight.state
        return state.model_copy(update={"spending": self.sight.spending, "iteration": state.due})


def oversee(sight: Sight, observed: Observed, sought: Sought | None = None) -> Overseen:
    """What the overseer makes of an iteration. One without work (no start, or research) leaves everything as it was.

    `sought`: what a model said of contradictions before this iteration, where one was asked. It is paid for, so it is kept.
    """
    guard, signals, state = Guard(list(observed.faults)), list[Signal](), sight.state
    for source in SOURCES:
        signals += guard(source.rule.strip("."), (), lambda source=source: tuple(source.alerts(sight)))
    earlier = state.oversight.model_copy(update={"sought": sought or state.oversight.sought})
    view = guard("moment", None, lambda: _view(sight, observed, guard, earlier, signals))
    if view is None:
        return _overseen(earlier, guard, signals, earlier)
    worked = view.moment.movement is not Movement.WAITED and not researching(state)
    for name, part in PARTS if worked else PARTS_OF_A_WAIT:
        signals += guard(name, (), partial(part, view))
    if not worked:
        return _overseen(earlier, guard, signals, earlier)
    oversight = guard("oversight", earlier, lambda: _concluded(view))
    return _overseen(earlier, guard, signals, oversight, view.moment)


def _overseen(
    earlier: Oversight, guard: Guard, signals: Sequence[Signal], oversight: Oversight, moment: Moment | None = None
) -> Overseen:
    """With what broke: each fault is warned of once, and stays on record for as long as it is there."""
    faults = tuple(guard.faults[:FAULTS_KEPT])
    broken = (f"a part of the overseer was left out, and its default used: {one}" for one in faults if one not in earlier.faults)
    warnings = (Signal(rule="oversight.fault", severity=Severity.WARN, message=message) for message in broken)
    return Overseen(signals=(*signals, *warnings), oversight=oversight.model_copy(update={"faults": faults}), moment=moment)


def _view(sight: Sight, observed: Observed, guard: Guard, earlier: Oversight, signals: list[Signal]) -> _View:
    state, evidence = sight.state, sight.evidence
    most, judged = most_tests(state.most_tests, evidence.checks), bool(state.config.judge.criteria)
    progress = guard("progress", earlier.progress, lambda: progress_of(evidence, earlier.progress, most, judged=judged))
    moment = moment_of(state, evidence, progress, sight.started_at, sight.now)
    history = (*state.history, moment)[-state.config.detect.remembered :]
    return _View(sight, observed, guard, earlier, progress, moment, history, signals)


# --- the parts --------------------------------------------------------------------------------------------------------


def _detected(view: _View) -> Signals:
    found, broken = detect(view.since_person, view.config.detect)
    view.guard.faults.extend(broken)
    return found


def _learnt(view: _View) -> Signals:
    view.known["learning"], told = learn(view.earlier.learning, view.since_person, intervened=view.config.ladder.act)
    return told


def _bound(view: _View) -> Signals:
    """Rules first; a model is listened to where they are silent."""
    orders = view.observed.orders
    found = conflicts(orders) or held(view.earlier.sought, orders)
    names = {check.title for check in view.config.checks}
    diagnosis, found = bind(found, view.since_person, names, cycles=view.goes_round)
    view.known |= {"diagnosis": diagnosis, "conflicts": found}
    return _one(bind_signal(diagnosis, found, told=view.earlier.conflicts))


def _diagnosed(view: _View) -> Signals:
    if view.known.get("diagnosis", Diagnosis.NONE) is Diagnosis.NONE:
        view.known["diagnosis"] = diagnose(view.since_person, view.signals)
    return ()


def _narrowing(view: _View) -> Signals:
    measured = view.observed.variety
    view.known["variety"] = trend = (*view.earlier.variety, *([measured] if measured else ()))[-VARIETY_KEPT:]
    return _one(variety_signal(trend, view.moment.green))


def _diverged(view: _View) -> Signals:
    gaps, evidence = view.earlier.gaps, view.sight.evidence
    before_them = gaps[-UNTOUCHED] if len(gaps) >= UNTOUCHED else ""
    item, proof = evidence.plan.item if evidence.plan else None, evidence.item
    # what the plan's file says of the item in hand, where this was not the first iteration that did not prove it
    in_vain = item and proof and not proof.proven and item.id in view.sight.state.plan.tries
    words = f"{item.title}\n{item.details}" if item and in_vain else ""
    return _one(divergence(view.observed.memory, view.observed.exists, view.history, before_them, words))


def _hurt(view: _View) -> Signals:
    sight, observed, config = view.sight, view.observed, view.config.pain
    baseline = view.earlier.baseline
    fresh = new_findings(baseline, observed.scan) if baseline and observed.scan else ()
    leaks, destroyed = observed.leaks, observed.destroyed
    return critical_events(sight.state, view.history, sight.evidence, leaks, fresh, sight.spending, config, destroyed)


def _climbed(view: _View) -> Signals:
    view.known["idle"] = idle = idle_after(view.earlier.idle, view.moment)
    config, now = view.config.ladder, view.sight.now
    view.known["ladder"] = ladder_after(view.earlier.ladder, view.moment, view.signals, idle=idle, now=now, config=config)
    return ()


def _steered(view: _View) -> Signals:
    view.known["control"] = steer(view.earlier.control, view.history, 1, view.config.control, swinging=view.goes_round)
    return ()


def _fed_back(view: _View) -> Signals:
    view.known["feedback"] = feedback_of(view.moment, view.sight.evidence.execution.call.rotated)
    return ()


PARTS: tuple[tuple[str, Callable[[_View], Signals]], ...] = (
    ("detectors", _detected),
    ("learning", _learnt),
    ("double bind", _bound),
    ("diagnosis", _diagnosed),
    ("variety", _narrowing),
    ("divergence", _diverged),
    ("pain", _hurt),
    ("ladder", _climbed),
    ("control", _steered),
    ("feedback", _fed_back),
)
"""In this order: what comes later sees the signals of those before."""
PARTS_OF_A_WAIT = (("pain", _hurt),)


def _concluded(view: _View) -> Oversight:
    """Everything in one, and how the next iteration goes about it."""
    earlier, signals = view.earlier, view.signals
    fields: dict[str, Any] = {
        **{name: getattr(earlier, name) for name in ("idle", "ladder", "control", "learning", "sought")},
        "progress": view.progress,
        "baseline": earlier.baseline or view.observed.scan,
        "best": _best(view),
        "gaps": (*earlier.gaps, view.observed.memory.remaining_gap[:GAP_KEPT])[-UNTOUCHED - 1 :],
        "instructions": _instructions(signals),
        "redirected": tuple(dict.fromkeys(one.rule for one in signals if one.severity in _REDIRECTS))[:INSTRUCTIONS_KEPT],
        **view.known,
    }
    gathered, evidence = Oversight(**fields), view.sight.evidence
    following = view.next.model_copy(update={"oversight": gathered, "history": view.history, "checks": evidence.checks})
    strategy = view.guard("strategy", Strategy(), lambda: strategy_of(following))
    planned = gathered.model_copy(update={"strategy": strategy})
    issues = view.guard("validation", (), lambda: (*after(evidence, view.progress), *before(view.next, planned, view.history)))
    return planned.model_copy(update={"issues": issues[:ISSUES_KEPT]})


def _best(view: _View) -> Checkpoint | None:
    """The latest commit of those that measured best. One that games its checks or hurts is no place to go back to."""
    moment, best = view.moment, view.earlier.best
    gamed = any(finding.weight is Weight.BLOCK for finding in view.sight.evidence.findings)
    hurts = any(signal.hurts and signal.rule != BLOWN for signal in view.signals)
    if gamed or hurts or not moment.checked or (best and moment.completion < best.completion):
        return best
    return checkpoint(moment)


def _instructions(signals: Sequence[Signal]) -> tuple[str, ...]:
    """The gravest first, each once. That orders may contradict each other bears on every other one."""
    gravest = sorted(signals, key=lambda signal: (signal.rule != CONFLICT, _GRAVITY.index(signal.severity)))
    return tuple(dict.fromkeys(signal.instruction for signal in gravest if signal.instruction))[:INSTRUCTIONS_KEPT]


_REDIRECTS = frozenset({Severity.PAUSE, Severity.REDIRECT})
_GRAVITY = (Severity.ABORT, Severity.PAUSE, Severity.REDIRECT, Severity.WARN, Severity.LOG)


def _one(signal: Signal | None) -> Signals:
    return (signal,) if signal else ()
