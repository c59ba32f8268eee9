"""The overseer: one iteration's evidence in, everything that control between iterations rests on out.

Each part stands behind a guard: one that breaks is replaced by its default and named among the faults. Control never stops a
loop by breaking.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

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
from helmsman.records.findings import Weight
from helmsman.records.folds import most_tests
from helmsman.records.memory import WorkingMemory
from helmsman.records.modes import Feedback, Rung
from helmsman.records.moments import Moment, Movement, Progress
from helmsman.records.oversight import (
    Checkpoint,
    Conflict,
    Diagnosis,
    Imperative,
    Learnt,
    Overseen,
    Oversight,
    Sought,
    Strategy,
    Variety,
)
from helmsman.records.pain import Leak, Scan
from helmsman.records.state import LoopState
from helmsman.records.verdict import Severity, Signal


def _exists(_path: str) -> bool:
    return True


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
    exists: Callable[[str], bool] = _exists
    """Whether there is a file at a path of the tree; where nobody knows there is."""
    faults: tuple[str, ...] = ()
    """What could not be found out, in words."""


T = TypeVar("T")
FAULTS_KEPT = 10
INSTRUCTIONS_KEPT = 10
ISSUES_KEPT = 10
VARIETY_KEPT = 10
NOTHING: tuple[Signal, ...] = ()


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


@dataclass(frozen=True)
class _View:
    """An iteration with all that is known of it."""

    sight: Sight
    observed: Observed
    guard: Guard
    progress: Progress
    moment: Moment
    history: Sequence[Moment]
    """This one included."""
    sought: Sought | None
    """What a model last said of contradictions between orders."""

    @property
    def state(self) -> LoopState:
        return self.sight.state

    @property
    def since_person(self) -> Sequence[Moment]:
        """What the loop did since a person last sent it on: what was before they have judged."""
        sent = [climb.iteration for climb in self.earlier.ladder.climbs if climb.before >= Rung.HUMAN > climb.after]
        return [moment for moment in self.history if moment.iteration >= sent[-1]] if sent else self.history

    @property
    def earlier(self) -> Oversight:
        return self.sight.state.oversight


@dataclass(frozen=True)
class _Noticed:
    """What all detectors found, and what they keep for the next iteration."""

    signals: tuple[Signal, ...]
    diagnosis: Diagnosis
    conflicts: tuple[Conflict, ...]
    learning: tuple[Learnt, ...]
    variety: tuple[Variety, ...]
    baseline: Scan | None


def oversee(sight: Sight, observed: Observed, sought: Sought | None = None) -> Overseen:
    """What the overseer makes of an iteration. One without work (no start, or research) leaves everything as it was.

    `sought`: what a model said of contradictions before this iteration, where one was asked. It is paid for, so it is kept.
    """
    guard = Guard(list(observed.faults))
    told = tuple(
        signal for source in SOURCES for signal in guard(source.rule.strip("."), NOTHING, lambda s=source: tuple(s.alerts(sight)))
    )
    state = sight.state
    earlier = state.oversight.model_copy(update={"sought": sought or state.oversight.sought})
    view = guard("moment", None, lambda: _view(sight, observed, guard, earlier.sought))
    if view is None or view.moment.movement is Movement.WAITED or researching(state):
        hurts = guard("pain", NOTHING, lambda: _critical_events(view)) if view else NOTHING
        return _overseen(sight, guard, (*told, *hurts), earlier)
    noticed = _notice(view)
    signals = (*told, *noticed.signals)
    oversight = guard("oversight", earlier, lambda: _concluded(view, noticed, signals, _modes(view, noticed, signals)))
    return _overseen(sight, guard, signals, oversight, view.moment)


def _overseen(
    sight: Sight, guard: Guard, signals: Sequence[Signal], oversight: Oversight, moment: Moment | None = None
) -> Overseen:
    """With what broke: each fault is warned of once, and stays on record for as long as it is there."""
    faults, known = tuple(guard.faults[:FAULTS_KEPT]), sight.state.oversight.faults
    broken = (f"a part of the overseer was left out, and its default used: {fault}" for fault in faults if fault not in known)
    warnings = (Signal(rule="oversight.fault", severity=Severity.WARN, message=message) for message in broken)
    return Overseen(signals=(*signals, *warnings), oversight=oversight.model_copy(update={"faults": faults}), moment=moment)


def _view(sight: Sight, observed: Observed, guard: Guard, sought: Sought | None) -> _View:
    state, evidence = sight.state, sight.evidence
    known, judged = most_tests(state.most_tests, evidence.checks), bool(state.config.judge.criteria)
    earlier = state.oversight
    progress = guard("progress", earlier.progress, lambda: progress_of(evidence, earlier.progress, known, judged=judged))
    moment = moment_of(state, evidence, progress, sight.started_at, sight.now)
    history = (*state.history, moment)[-state.config.detect.remembered :]
    return _View(sight, observed, guard, progress, moment, history, sought)


def _notice(view: _View) -> _Noticed:
    guard, state, earlier, history = view.guard, view.state, view.earlier, view.since_person
    found, broken = guard("detectors", (NOTHING, ()), lambda: detect(history, state.config.detect))
    guard.faults.extend(broken)
    unlearnt = (earlier.learning, NOTHING)
    learning, stagnant = guard("learning", unlearnt, lambda: learn(earlier.learning, history, intervened=state.config.ladder.act))
    bound, contradictions = guard("double bind", (Diagnosis.NONE, ()), lambda: _bound(view, found))
    variety = _trend(view)
    told = (
        *found,
        *stagnant,
        *_one(guard("double bind signal", None, lambda: bind_signal(bound, contradictions, told=earlier.conflicts))),
        *_one(guard("variety", None, lambda: variety_signal(variety, view.moment.green))),
        *_one(guard("divergence", None, lambda: _diverged(view))),
        *guard("pain", NOTHING, lambda: _critical_events(view)),
    )
    diagnosis = bound if bound is not Diagnosis.NONE else guard("diagnosis", Diagnosis.NONE, lambda: diagnose(history, found))
    return _Noticed(told, diagnosis, contradictions, learning, variety, earlier.baseline or view.observed.scan)


def _bound(view: _View, found: Sequence[Signal]) -> tuple[Diagnosis, tuple[Conflict, ...]]:
    """Rules first; a model is listened to where they are silent."""
    names = {check.title for check in view.state.config.checks}
    orders = view.observed.orders
    known = conflicts(orders) or held(view.sought, orders)
    return bind(known, view.since_person, names, cycles=_goes_round(found))


def _trend(view: _View) -> tuple[Variety, ...]:
    measured = view.observed.variety
    return (*view.earlier.variety, *([measured] if measured else ()))[-VARIETY_KEPT:]


def _diverged(view: _View) -> Signal | None:
    gaps = view.earlier.gaps
    before_them = gaps[-UNTOUCHED] if len(gaps) >= UNTOUCHED else ""
    item = _tried_in_vain(view)
    return divergence(view.observed.memory, view.observed.exists, view.history, before_them, item)


def _tried_in_vain(view: _View) -> str:
    """What the plan's file says of the item in hand, where this was not the first iteration that did not prove it."""
    evidence, tries = view.sight.evidence, view.state.plan.tries
    item = evidence.plan.item if evidence.plan else None
    again = item is not None and evidence.item is not None and not evidence.item.proven and item.id in tries
    return f"{item.title}\n{item.details}" if item and again else ""


def _critical_events(view: _View) -> tuple[Signal, ...]:
    sight, state, observed = view.sight, view.state, view.observed
    baseline = view.earlier.baseline
    weaknesses = new_findings(baseline, observed.scan) if baseline and observed.scan else ()
    return critical_events(
        state, view.history, sight.evidence, observed.leaks, weaknesses, sight.spending, state.config.pain, observed.destroyed
    )


def _modes(view: _View, noticed: _Noticed, signals: Sequence[Signal]) -> dict[str, object]:
    """Ladder, controller and quality of feedback after the iteration."""
    guard, earlier, moment, config, now = view.guard, view.earlier, view.moment, view.state.config, view.sight.now
    swinging, rotated = _goes_round(noticed.signals), view.sight.evidence.execution.call.rotated
    idle = idle_after(earlier.idle, moment)
    climb = partial(ladder_after, idle=idle, now=now, config=config.ladder)
    steered = partial(steer, earlier.control, view.history, 1, config.control, swinging=swinging)
    return {
        "idle": idle,
        "ladder": guard("ladder", earlier.ladder, lambda: climb(earlier.ladder, moment, signals)),
        "control": guard("control", earlier.control, steered),
        "feedback": guard("feedback", Feedback.NONE, lambda: feedback_of(moment, rotated)),
    }


def _goes_round(signals: Sequence[Signal]) -> bool:
    return any(signal.rule in CYCLES for signal in signals)


def _concluded(view: _View, noticed: _Noticed, signals: Sequence[Signal], modes: dict[str, object]) -> Oversight:
    """Everything in one, and how the next iteration goes about it."""
    gathered = Oversight(
        progress=view.progress,
        diagnosis=noticed.diagnosis,
        conflicts=noticed.conflicts,
        sought=view.sought,
        learning=noticed.learning,
        variety=noticed.variety,
        baseline=noticed.baseline,
        best=_best(view, signals),
        gaps=(*view.earlier.gaps, view.observed.memory.remaining_gap[:GAP_KEPT])[-UNTOUCHED - 1 :],
        instructions=_instructions(signals),
        redirected=tuple(dict.fromkeys(one.rule for one in signals if one.severity in _REDIRECTS))[:INSTRUCTIONS_KEPT],
    ).model_copy(update=modes)
    following = _next(view).model_copy(
        update={"oversight": gathered, "history": view.history, "checks": view.sight.evidence.checks}
    )
    strategy = view.guard("strategy", Strategy(), lambda: strategy_of(following))
    planned = gathered.model_copy(update={"strategy": strategy})
    issues = view.guard("validation", (), lambda: (
        *after(view.sight.evidence, view.progress), *before(_next(view), planned, view.history)
    ))  # fmt: skip
    return planned.model_copy(update={"issues": issues[:ISSUES_KEPT]})


def _next(view: _View) -> LoopState:
    """The state as far as validation before the next iteration asks for it."""
    return view.state.model_copy(update={"spending": view.sight.spending, "iteration": view.state.due})


def _best(view: _View, signals: Sequence[Signal]) -> Checkpoint | None:
    """The latest commit of those that measured best. One that games its checks or hurts is no place to go back to."""
    moment, best = view.moment, view.earlier.best
    gamed = any(finding.weight is Weight.BLOCK for finding in view.sight.evidence.findings)
    hurts = any(signal.hurts and signal.rule != BLOWN for signal in signals)
    if gamed or hurts or not moment.checked or (best and moment.completion < best.completion):
        return best
    return checkpoint(moment)


def _instructions(signals: Sequence[Signal]) -> tuple[str, ...]:
    """The gravest first, each once. That orders may contradict each other bears on every other one."""
    gravest = sorted(signals, key=lambda signal: (signal.rule != CONFLICT, _GRAVITY.index(signal.severity)))
    return tuple(dict.fromkeys(signal.instruction for signal in gravest if signal.instruction))[:INSTRUCTIONS_KEPT]


_REDIRECTS = frozenset({Severity.PAUSE, Severity.REDIRECT})
_GRAVITY = (Severity.ABORT, Severity.PAUSE, Severity.REDIRECT, Severity.WARN, Severity.LOG)


def _one(signal: Signal | None) -> tuple[Signal, ...]:
    return (signal,) if signal else ()
