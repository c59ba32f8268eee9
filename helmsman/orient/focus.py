"""An iteration's focus, written by a model: the question, the answer, and the section of the prompt.

The focus is an additional section. Objective, checks, phases, invariants and guard rails are fixed texts that no model can drop.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from helmsman.budget import fit
from helmsman.orient.checks import commands
from helmsman.parsers.answers import ONE_LINE, PrintableText, StrictAnswer, read_answer, schema_of
from helmsman.prompts import Piece, render, render_pieces
from helmsman.records.control import Oversight
from helmsman.records.iteration import Question
from helmsman.records.state import LoopState
from helmsman.tokens import trim

GOAL_TOKENS = 5_000
FACTS_TOKENS = 4_000
PROMPT, CONTEXT, AREA, AREAS = 4000, 2000, 200, 5


class _Answer(StrictAnswer):
    prompt: PrintableText = Field(min_length=1, max_length=PROMPT)
    context: PrintableText = Field(alias="systemContext", max_length=CONTEXT)
    areas: list[Annotated[str, Field(min_length=1, max_length=AREA), ONE_LINE]] = Field(
        alias="focusAreas", min_length=1, max_length=AREAS
    )
    urgency: Literal["low", "normal", "high", "critical"]


def focus_question(state: LoopState, oversight: Oversight, lessons: Sequence[str] = ()) -> Question:
    """The question to a model before the due iteration. `lessons`: untrusted lessons of other loops."""
    objective = fence(trim(state.config.goal.strip(), GOAL_TOKENS))
    return Question(
        rules=render("focus_system"),
        task=render("focus_task", goal=objective, checks=commands(check.command for check in state.config.checks)),
        facts=fit(render("focus_facts", state=state, oversight=oversight, lessons=lessons), FACTS_TOKENS),
        closing=render("focus_form", prompt=f"{PROMPT:,}", context=f"{CONTEXT:,}", areas=AREAS, area=AREA),
        form=schema_of(_Answer),
    )


def read_focus(text: str) -> Focus | str:
    """The focus in a model's answer, also between fences or prose, or why it is unusable. Never raises."""
    return read_answer(text, "prompt", Focus)


def focus_section(focus: Focus) -> str:
    """The focus for the iteration's prompt, fenced: a model derived it from texts of the repository."""
    areas = "\n".join(f"{number}. {area}" for number, area in enumerate(focus.areas, 1))
    parts = (focus.prompt, areas, focus.system_context)
    return render("focus", focus="\n\n".join(part for part in parts if part))
