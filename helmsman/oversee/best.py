"""Which of several loops with one goal did best: checks first, then a model that compares, then plain rules.

Every candidate has passed every check. A model that is asked sees the candidates in one order and then in the other: where its
choice depends on the order, it has none (models prefer what comes first), and the rules decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from helmsman.answer_form import TEXT, closed
from helmsman.budget import fence, fit
from helmsman.config import LoopConfig
from helmsman.orient.answers import printable, read_answer
from helmsman.orient.focus import GOAL_TOKENS
from helmsman.plain import clean
from helmsman.prompts import render, render_pieces
from helmsman.records.focus import Question
from helmsman.records.parallel import Choice
from helmsman.texts import counted
from helmsman.tokens import trim

DIFFS_TOKENS = 40_000
"""Of all candidates together, in equal shares."""
REASON = 400

FORM = closed(best=TEXT, reason=TEXT)


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    best: str = Field(min_length=1, max_length=20)
    reason: str = Field(max_length=4 * REASON)


@dataclass(frozen=True)
class Candidate:
    """A loop that has completed, and what it did."""

    loop: str
    diff: str = ""
    files: int = 0
    lines: int = 0
    """Added and removed."""
    findings: int = 0
    """What the invariants warned of at its end."""
    score: float | None = None
    """The judge's, in its own verdict on this work."""
    cost_usd: float = 0.0


def by_rule(candidates: Sequence[Candidate], because: str = "") -> Choice:
    """The judge's own score, then fewer hints, then the smaller change, then the cheaper one."""
    best = min(candidates, key=lambda one: (-(one.score or 0.0), one.findings, one.lines, one.files, one.cost_usd, one.loop))
    score = "" if best.score is None else f"the judge's score {best.score:.2f}, "
    words = f"{score}{counted(best.findings, 'hint')}, {counted(best.lines, 'line')} changed in {counted(best.files, 'file')}"
    return Choice(loop=best.loop, reason=f"{f'{because}; ' if because else ''}by rule: {words}")


def compare_request(config: LoopConfig, candidates: Sequence[Candidate]) -> Question:
    """What a model is asked about candidates in this order."""
    solutions = [
        {
            "letter": _letter(place),
            "lines": counted(one.lines, "line"),
            "files": counted(one.files, "file"),
            "diff": one.diff or "(no change)",
        }
        for place, one in enumerate(candidates)
    ]
    criteria = [criterion.text for criterion in config.judge.criteria]
    return Question(
        rules=render("compare_system"),
        task=render("compare_task", goal=fence(trim(config.goal.strip(), GOAL_TOKENS)), criteria=criteria),
        facts=fit(render_pieces("compare_facts", solutions=solutions), DIFFS_TOKENS),
        closing=render("compare_form"),
        form=FORM,
    )


def read_choice(text: str, candidates: Sequence[Candidate]) -> Choice | str:
    """The candidate that an answer names, with the reason; or why it names none. Never raises."""
    answer = read_answer(text, "best", _Answer)
    if isinstance(answer, str):
        return answer
    letter = answer.best.strip().removeprefix("Solution ").strip()
    named = next((one for place, one in enumerate(candidates) if _letter(place) == letter), None)
    if named is None:
        return f"the answer names no solution: {clean(answer.best)[:20]}"
    return Choice(loop=named.loop, reason=" ".join(printable(answer.reason).split())[:REASON])


def agreed(one: Choice | str, other: Choice | str, candidates: Sequence[Candidate]) -> Choice:
    """What both answers name; else what the rules say, of the two where they named two."""
    if isinstance(one, str) or isinstance(other, str):
        why = one if isinstance(one, str) else other
        return by_rule(candidates, f"no model could choose ({why})")
    if one.loop == other.loop:
        return Choice(loop=one.loop, reason=f"a model preferred it whatever the order: {one.reason}")
    named = [candidate for candidate in candidates if candidate.loop in {one.loop, other.loop}]
    return by_rule(named, "a model's choice changed with the order")


def _letter(place: int) -> str:
    """A, B … Z, AA: loops are at most fifty."""
    return chr(ord("A") + place) if place < 26 else f"A{chr(ord('A') + place - 26)}"  # noqa: PLR2004 - letters of the alphabet
