"""What the next iteration does differently, in the words of its prompt: the orders, why, and what was tried in vain."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from helmsman.config import LoopConfig
from helmsman.orient.budget import Foreign, Piece
from helmsman.orient.treatments import (
    DAMPING,
    PERSONAS,
    PLAN_ANEW,
    RECURS,
    WITH_REASONS,
    Approach,
    Persona,
    Treatment,
    approach_of,
    goes_round,
    recurring_classes,
    treatment,
)
from helmsman.orient.validation import Failure, failures_of, remaining
from helmsman.plain import clean, shortened
from helmsman.records.checks import CheckReport
from helmsman.records.modes import Rung
from helmsman.records.moments import Moment
from helmsman.records.oversight import Diagnosis, Learnt, Oversight
from helmsman.records.session import ErrorVector, FailureClass
from helmsman.texts import counted

CLIMBS_SHOWN = 3
FAILURES_SHOWN = 3
CLASSES_SHOWN = 4
LONGEST_LINE = 200
LONGEST_INSTRUCTION = 500

KEEP_ALL = "Keep the goal and the plan"
KEEP_GOAL = "Keep the goal"

CYCLE = """\
The same states came back: what changes now is the structure. Choose other boundaries in the code, another order of work, and a
step that leads to a state that has not been there yet."""

HEADING = "# How to go about it now"
REASONS = "Why, and what was tried (iteration, rung, reason):"
RECURRING = "What keeps failing:"
FORGOTTEN = """\
# What earlier sessions learnt and later ones forgot
Read this and `.helmsman/progress.md` before anything else. Write what you learn beyond it under DECISIONS, so that it lasts."""
INSTRUCTED = "What the last iterations call for:"

INSTRUCTIONS_SHOWN: Mapping[Approach, int] = {
    Approach.PATCH: 5,
    Approach.REFACTOR: 3,
    Approach.REPLAN: 3,
    Approach.REDESIGN: 1,
    Approach.REDESIGN_ON: 2,
    Approach.CARRY_ON: 3,
}
"""A redesign is to think afresh: corrections of the old way would lead it back."""


def treatment_section(
    oversight: Oversight,
    config: LoopConfig,
    history: Sequence[Moment] = (),
    checks: CheckReport | None = None,
    *,
    hatted: bool = False,
) -> Sequence[Piece]:
    """The section of the prompt that says so; empty where there is nothing to say. Reasons, never a transcript.

    `checks`: the report on the tree that the iteration begins with. `hatted`: a hat says whose eyes it looks with.
    """
    if not config.ladder.act:
        return ()
    given, approach = treatment(oversight, config), approach_of(oversight.ladder)
    return (
        *(_forgotten(oversight, history) if oversight.diagnosis is Diagnosis.AMNESIAC else ()),
        *_orders(replace(given, persona=Persona.NONE) if hatted else given, oversight),
        *((DAMPING[oversight.feedback].text,) if given.strictness else ()),
        *((CYCLE,) if goes_round(oversight.ladder) else ()),
        *(_why(oversight, history, checks) if approach in WITH_REASONS else ()),
        *_instructions(oversight.instructions[: INSTRUCTIONS_SHOWN[approach]]),
    )


def _orders(given: Treatment, oversight: Oversight) -> Sequence[Piece]:
    if not given.text.template:
        return (HEADING,) if given.strictness or any(map(str.strip, oversight.instructions)) else ()
    filled = given.text.substitute(
        rung=oversight.ladder.rung.title,
        numbers=_numbers(oversight),
        persona=PERSONAS[given.persona],
        keep=KEEP_GOAL if PLAN_ANEW in oversight.instructions else KEEP_ALL,
    )
    return ("\n".join(line.rstrip() for line in filled.split("\n")),)


def _numbers(oversight: Oversight) -> str:
    best, idle, completion = oversight.best, oversight.idle, oversight.progress.completion
    fell = best is not None and round(best.completion, 2) > round(completion, 2)
    parts = (
        f"completion is {completion:.0%}",
        f"the best was {best.completion:.0%} in iteration {best.iteration}" if best and fell else "",
        f"{counted(idle, 'iteration')} in a row without progress" if idle else "",
    )
    return ", ".join(part for part in parts if part)


def _why(oversight: Oversight, history: Sequence[Moment], checks: CheckReport | None) -> Sequence[Piece]:
    climbs = [climb for climb in oversight.ladder.climbs if climb.after > climb.before or climb.before >= Rung.HUMAN]
    tried = [f"{climb.iteration}, {climb.before.title}: {climb.reason}" for climb in climbs[-CLIMBS_SHOWN:]]
    there = remaining(history, checks)
    kinds = {kind for kind, _ in there} if checks else set(FailureClass)
    classes = [_class(learnt) for learnt in recurring_classes(oversight.learning) if learnt.kind in kinds][:CLASSES_SHOWN]
    told = oversight.diagnosis is Diagnosis.AMNESIAC  # it was named above
    recurring = [] if told else [*classes, *_failures(history, there)]
    return (*_quoted(REASONS, tried), *_quoted(RECURRING, recurring))


def _forgotten(oversight: Oversight, history: Sequence[Moment]) -> Sequence[Piece]:
    known = [_class(learnt) for learnt in oversight.learning if learnt.recurred or learnt.seen >= RECURS][:CLASSES_SHOWN]
    return _quoted(FORGOTTEN, [*known, *_failures(history)]) or (FORGOTTEN,)


def _class(learnt: Learnt) -> str:
    again = f", {counted(learnt.recurred, 'time')} again after it was dealt with" if learnt.recurred else ""
    return f"{learnt.kind} failures in {counted(learnt.seen, 'iteration')}{again}"


def _failures(history: Sequence[Moment], among: Collection[Failure] | None = None) -> list[str]:
    """Failures that several iterations ended with, the most frequent first, in the words of the last of them."""
    ended: Counter[Failure] = Counter()
    words: dict[Failure, ErrorVector] = {}
    for moment in history:
        last = {failure: error for failure, error in failures_of(moment).items() if among is None or failure in among}
        ended.update(last.keys())
        words.update(last)
    again = [(words[failure], times) for failure, times in ended.most_common(FAILURES_SHOWN) if times >= RECURS]
    return [f"{times} times {error.kind} at {error.where or '?'}: {error.message}" for error, times in again]


def _quoted(heading: str, lines: Sequence[str]) -> Sequence[Piece]:
    return (heading, Foreign("\n".join(_line(line, LONGEST_LINE) for line in lines))) if lines else ()


def _instructions(instructions: Sequence[str]) -> Sequence[Piece]:
    """They are the overseer's own words; a name of the repository in them stays on its line."""
    lines = [f"- {_line(instruction, LONGEST_INSTRUCTION)}" for instruction in instructions if instruction.strip()]
    return (f"{INSTRUCTED}\n{lines[0]}", *lines[1:]) if lines else ()


def _line(text: str, longest: int) -> str:
    return shortened(clean(text[: longest + 1]), longest)
