"""How the next iteration goes about it: persist, pivot or escalate, by one ordered table. Total: the last row always holds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from helmsman.orient.budget import Piece
from helmsman.oversee.control.pid import BANDS
from helmsman.records.control import Band, Control
from helmsman.records.modes import Feedback, Rung
from helmsman.records.oversight import Diagnosis, Oversight, Stance, Strategy
from helmsman.records.verdict import Severity, Signal
from helmsman.texts import counted

NEAR = 0.8
"""Completion above which an approach is finished rather than changed."""
IDLE = 2
"""Iterations in a row without progress from which a high output alone asks for another approach; one may be research."""
DENIED = "denied"
"""Rule of the signal that the CLI denied permissions; a mere warning where the work got on in spite of it."""
RUN_FIRST = "Make it build and make the checks start again, before anything else."
SHOWN = 3
MOST = 5
LONGEST = 500


@dataclass(frozen=True)
class Situation:
    """What a row of the table looks at."""

    oversight: Oversight
    redirects: tuple[Signal, ...]
    denials: tuple[Signal, ...]
    """Signals that denied permissions stand in the way."""


@dataclass(frozen=True)
class Row:
    """One way to go about it."""

    name: str
    holds: Callable[[Situation], bool]
    stance: Stance
    reasoning: str
    """A template; its names are those of `_numbers`."""
    priorities: tuple[str, ...]


TABLE: tuple[Row, ...] = (
    Row(
        "double bind",
        lambda at: at.oversight.diagnosis is Diagnosis.DOUBLE_BIND,
        Stance.ESCALATE,
        "orders contradict each other ({conflicts} found, at {rung}): no try can follow both, a person has to choose",
        (
            "Do the part of the work on which the orders agree, and leave the rest as it is.",
            "Write the two orders and the question that decides between them under UNCERTAINTIES in `.helmsman/progress.md`.",
        ),
    ),
    Row(
        "denied",
        lambda at: bool(at.denials),
        Stance.PIVOT,
        "permissions were denied ({denials}), and nobody is there to grant them",
        (
            "Reach the goal with the tools and paths that are allowed.",
            "Write what was denied, and what it was needed for, under UNCERTAINTIES in `.helmsman/progress.md`.",
        ),
    ),
    Row(
        "rung",
        lambda at: at.oversight.ladder.rung >= Rung.REDESIGN,
        Stance.ESCALATE,
        "the ladder stands at {rung} after {spent} on it, {completion} done: what was tried below it was in vain",
        (
            "Begin from the objective and from what is known to be true, with a design that the failed tries did not have.",
            "Name in one sentence the assumption that the failed tries shared, and build on its opposite.",
            "Take over of the earlier work only what is proven by a passing check.",
        ),
    ),
    Row(
        "broken",
        lambda at: at.oversight.feedback is Feedback.BROKEN,
        Stance.PIVOT,
        "nothing can be run ({feedback}, {completion} done): until it builds, no other work can be told right from wrong",
        (
            RUN_FIRST,
            "Read the first error of the output; the others often follow from it.",
        ),
    ),
    Row(
        "redirected",
        lambda at: bool(at.redirects),
        Stance.PIVOT,
        "another way is asked for by {redirects}; {completion} done",
        (
            "Choose an approach that differs from the last one in kind, and say in the first commit in what.",
            "Test its central assumption first, with the smallest experiment that can prove it wrong.",
        ),
    ),
    Row(
        "stuck",
        lambda at: at.oversight.diagnosis is Diagnosis.STUCK,
        Stance.PIVOT,
        "the same is done again and again in vain: {idle} without progress, {completion} done",
        (
            "Choose an approach that differs from the last one in kind, and say in the first commit in what.",
            "Test its central assumption first, with the smallest experiment that can prove it wrong.",
        ),
    ),
    Row(
        "urgent",
        lambda at: (
            at.oversight.control.band is Band.PIVOT
            and at.oversight.idle >= IDLE
            and at.oversight.diagnosis is not Diagnosis.PRODUCTIVE
        ),
        Stance.PIVOT,
        "the controller's output is {output} (pivot from {pivot}), after {idle} without progress, {completion} done",
        (
            "Look for the cause behind the failures rather than at the failures one by one.",
            "Choose an approach that differs from the last one in kind, and say in the first commit in what.",
        ),
    ),
    Row(
        "gutter",
        lambda at: at.oversight.feedback is Feedback.GUTTER,
        Stance.PERSIST,
        "the last session drowned in failures of its tools; the goal stands, {completion} done",
        ("Go in small steps: one command or one edit at a time, and read its output to the end before the next.",),
    ),
    Row(
        "amnesiac",
        lambda at: at.oversight.diagnosis is Diagnosis.AMNESIAC,
        Stance.PERSIST,
        "sessions undo what earlier ones had learnt; {completion} done",
        (
            "Read DECISIONS in `.helmsman/progress.md` first and keep to them.",
            "Write each thing that you find out there at once, with its reason.",
        ),
    ),
    Row(
        "near",
        lambda at: at.oversight.progress.completion > NEAR,
        Stance.PERSIST,
        "{completion} done, above {near}: the approach carries, so finish it",
        (
            "Finish what is open, the smallest piece first, and leave what works as it is.",
            "Run every check once more at the end; ask to be done when all of them pass.",
        ),
    ),
    Row(
        "ordinary",
        lambda _: True,
        Stance.PERSIST,
        "nothing speaks against the approach: {completion} done, output {output} ({band})",
        (),
    ),
)
"""The first row that holds decides. Orders that cannot be followed come first, then denied permissions, which lead straight to a
person, and failed levels, then blockers, standstill, and nearness to the end."""

_FAILING: dict[Band, str] = {
    Band.CONTINUE: "",
    Band.WATCH: "Prefer the step that makes a failing check pass.",
    Band.ADJUST: "Take one failing test, mend its cause, and commit before you look at another.",
    Band.PIVOT: "Take the one failing test that tells most about the cause, and nothing else until it passes.",
}
_GREEN: dict[Band, str] = {
    Band.CONTINUE: "",
    Band.WATCH: "Prefer the step that brings the objective nearest.",
    Band.ADJUST: "Take one open part of the objective, finish it, and commit before you look at another.",
    Band.PIVOT: "Take the one open part of the objective on which most of the rest depends, and nothing else until it is done.",
}
URGENCY: dict[Feedback, dict[Band, str]] = {
    Feedback.GREEN: _GREEN,
    Feedback.FAILING: _FAILING,
    Feedback.BROKEN: dict.fromkeys(Band, ""),
    Feedback.GUTTER: _FAILING,
    Feedback.NONE: _GREEN,
}
"""How far the output narrows the work; under `continue` the choice is the agent's. A broken build narrows it by itself."""

_FIRST = frozenset({Band.ADJUST, Band.PIVOT})
"""Bands in which the narrowing comes before everything else where the approach itself stays."""
_TOLD = frozenset({Severity.LOG, Severity.WARN})
_HEADINGS: dict[Stance, str] = {
    Stance.PERSIST: "Keep to the approach",
    Stance.PIVOT: "Change the approach",
    Stance.ESCALATE: "Begin on a higher level",
}


def plan(oversight: Oversight, signals: Sequence[Signal]) -> Strategy:
    """How the next iteration goes about it, from everything that is known after this one."""
    situation = _situation(oversight, signals)
    row = row_for(situation)
    return Strategy(
        stance=row.stance,
        reasoning=row.reasoning.format_map(_numbers(situation))[:LONGEST],
        priorities=tuple(dict.fromkeys(_priorities(row, situation)))[:MOST],
    )


def row_for(situation: Situation) -> Row:
    """The row of the table that decides."""
    return next(row for row in TABLE if row.holds(situation))


def strategy_section(strategy: Strategy, control: Control) -> Sequence[Piece]:
    """The strategy for the prompt. Nothing before the first iteration, and nothing where the agent's own choice is best."""
    if strategy.stance is Stance.PERSIST and not strategy.priorities:
        return ()
    because = f": {strategy.reasoning}" if strategy.reasoning else ""
    orders = (f"{number}. {order}" for number, order in enumerate(strategy.priorities, 1))
    urgency = f"Urgency {_number(control.output)} of 1 ({control.band})."
    return (f"# How to go about this iteration\n{_heading(strategy)}{because}. {urgency}", *orders)


def _heading(strategy: Strategy) -> str:
    """What does not run yet has no approach that could be changed."""
    return "Make it run first" if RUN_FIRST in strategy.priorities[:1] else _HEADINGS[strategy.stance]


def _situation(oversight: Oversight, signals: Sequence[Signal]) -> Situation:
    redirects = tuple(signal for signal in signals if signal.severity is Severity.REDIRECT)
    denials = tuple(signal for signal in signals if signal.rule == DENIED and signal.severity not in _TOLD)
    return Situation(oversight, redirects, denials)


def _priorities(row: Row, situation: Situation) -> Iterator[str]:
    control, feedback = situation.oversight.control, situation.oversight.feedback
    narrowing = URGENCY[feedback][control.band]
    first = row.stance is Stance.PERSIST and control.band in _FIRST
    yield from filter(None, (narrowing, *row.priorities) if first else (*row.priorities, narrowing))


def _numbers(situation: Situation) -> dict[str, str]:
    """Numbers and names of ours only: what a signal's message quotes of the repository may not pass for our words."""
    known = situation.oversight
    return {
        "band": str(known.control.band),
        "completion": f"{known.progress.completion:.0%}",
        "conflicts": str(len(known.conflicts)),
        "denials": _told(situation.denials),
        "feedback": str(known.feedback),
        "idle": counted(known.idle, "iteration"),
        "near": f"{NEAR:.0%}",
        "output": _number(known.control.output),
        "pivot": _number(next(least for least, band in BANDS if band is Band.PIVOT)),
        "redirects": _told(situation.redirects),
        "rung": known.ladder.rung.title,
        "spent": counted(known.ladder.spent, "iteration"),
    }


def _told(signals: Sequence[Signal]) -> str:
    more = f" and {len(signals) - SHOWN} more" if len(signals) > SHOWN else ""
    return ", ".join(_measured(signal) for signal in signals[:SHOWN]) + more


def _measured(signal: Signal) -> str:
    if signal.value is None or signal.threshold is None:
        return signal.rule[:60]
    return f"{signal.rule[:60]} ({signal.value:.4g} against {signal.threshold:.4g})"


def _number(value: float) -> str:
    return f"{value:.2f}"
