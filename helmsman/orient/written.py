"""Parts of an iteration's prompt that a model writes: its focus, and a summary of the history. Questions, answers and sections.

They are additional sections. Objective, checks, phases, invariants and guard rails are fixed texts that no model can drop. A
redesign reads the summary instead of the history: it starts from the current knowledge, not from how it was gained.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from helmsman.orient.checks import commands
from helmsman.oversee.advice import advise, without_failed_plan
from helmsman.parsers.answers import ONE_LINE, PrintableText, StrictAnswer, read_answer, schema_of
from helmsman.parsers.progress_file import render as render_notes
from helmsman.prompts import fence, fit, render
from helmsman.records.iteration import Orientation, Question
from helmsman.records.state import LoopState
from helmsman.tokens import tokens, trim

COMPACT_TOKENS = 4_000  # of history and working memory that start a compaction
GOAL_TOKENS, FOCUS_TOKENS, HISTORY_TOKENS = 5_000, 4_000, 12_000  # of the goal, and of the facts in each question
PROMPT, CONTEXT, AREA, AREAS = 4000, 2000, 200, 5
GOAL, PROSE, LINE, DONE, STEPS = 1000, 1500, 300, 20, 10
_Line = Annotated[str, Field(min_length=1, max_length=LINE), ONE_LINE]
_Area = Annotated[str, Field(min_length=1, max_length=AREA), ONE_LINE]


class Focus(StrictAnswer):
    prompt: PrintableText = Field(min_length=1, max_length=PROMPT)
    system_context: PrintableText = Field(alias="systemContext", max_length=CONTEXT)
    areas: list[_Area] = Field(alias="focusAreas", min_length=1, max_length=AREAS)
    urgency: Literal["low", "normal", "high", "critical"]


class Compacted(StrictAnswer):
    end_goal: PrintableText = Field(alias="endGoal", min_length=1, max_length=GOAL)
    approach: PrintableText = Field(max_length=PROSE)
    completed: list[_Line] = Field(max_length=DONE)
    current_state: PrintableText = Field(alias="currentState", min_length=1, max_length=PROSE)
    next_steps: list[_Line] = Field(alias="nextSteps", min_length=1, max_length=STEPS)


def focus_question(state: LoopState, lessons: Sequence[str] = ()) -> Question:
    """The question to a model before the due iteration. `lessons`: untrusted lessons of other loops."""
    return Question(
        rules=render("focus_system"),
        task=render("focus_task", goal=_goal(state), checks=commands(check.command for check in state.config.checks)),
        facts=fit(render("focus_facts", state=state, lessons=lessons), FOCUS_TOKENS),
        closing=render("focus_form", prompt=f"{PROMPT:,}", context=f"{CONTEXT:,}", areas=AREAS, area=AREA),
        form=schema_of(Focus),
    )


def read_focus(text: str) -> Focus | str:
    """The focus in a model's answer, also between fences or prose, or why it is unusable. Never raises."""
    return read_answer(text, "prompt", Focus)


def focus_section(focus: Focus) -> str:
    """The focus for the iteration's prompt, fenced: a model derived it from texts of the repository."""
    areas = "\n".join(f"{number}. {area}" for number, area in enumerate(focus.areas, 1))
    parts = (focus.prompt, areas, focus.system_context)
    return render("focus", focus="\n\n".join(part for part in parts if part))


def needs_compaction(state: LoopState, orientation: Orientation) -> bool:
    """Whether the due iteration reads a compacted history: for a redesign, or if the history exceeds its allowance."""
    return advise(state).new_plan or tokens(_commit_lines(orientation)) + tokens(_notes_text(state)) > COMPACT_TOKENS


def compaction_question(state: LoopState, orientation: Orientation) -> Question:
    """The question to a model before the due iteration."""
    facts = render("compaction_facts", state=state, memory=_notes_text(state), commits=_commit_lines(orientation))
    return Question(
        rules=render("compaction_system"),
        task=f"# The goal\n{_goal(state)}",
        facts=fit(facts, HISTORY_TOKENS),
        closing=render("compaction_form", goal=f"{GOAL:,}", prose=f"{PROSE:,}", done=DONE, line=LINE, steps=STEPS),
        form=schema_of(Compacted),
    )


def read_compacted(text: str) -> Compacted | str:
    """The compacted history in a model's answer, also between fences or prose, or why there is none. Never raises."""
    return read_answer(text, "endGoal", Compacted)


def compacted_section(compacted: Compacted) -> str:
    """The compacted history for the prompt, fenced as untrusted text, without the goal, which the prompt has already."""
    bodies = {
        "APPROACH": compacted.approach,
        "COMPLETED": "\n".join(f"- {line}" for line in compacted.completed),
        "CURRENT STATE": compacted.current_state,
        "NEXT STEPS": "\n".join(f"{number}. {line}" for number, line in enumerate(compacted.next_steps, 1)),
    }
    return render("compacted", past="\n\n".join(f"{name}\n{body}" for name, body in bodies.items() if body))


def _goal(state: LoopState) -> str:
    return fence(trim(state.config.goal.strip(), GOAL_TOKENS))


def _commit_lines(orientation: Orientation) -> str:
    return "\n".join(f"{commit.id[:10]} {commit.subject}" for commit in orientation.commits)


def _notes_text(state: LoopState) -> str:
    """Working memory without a plan that this iteration discards."""
    return render_notes(without_failed_plan(state.memory, state))
