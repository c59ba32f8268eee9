"""Compaction of the history: when it is due, the question to a model, and the parsing of its answer.

A redesign reads this instead of the history: it starts from the current knowledge, not from how it was gained.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from helmsman.budget import fence, fit
from helmsman.oversee.advice import advise, without_failed_plan
from helmsman.parsers.answers import ONE_LINE, PrintableText, StrictAnswer, read_answer, schema_of
from helmsman.parsers.progress_file import render as render_notes
from helmsman.prompts import fence, render
from helmsman.records.checks import CheckReport, checks_fail
from helmsman.records.control import Movement
from helmsman.records.iteration import Orientation, Question
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.tokens import tokens, trim

COMPACT_TOKENS = 4_000  # of history and working memory that start a compaction
GOAL_TOKENS = 5_000
FACTS_TOKENS = 12_000
GOAL, PROSE, LINE, DONE, STEPS = 1000, 1500, 300, 20, 10
_FAILING = 10


_Line = Annotated[str, Field(min_length=1, max_length=LINE), ONE_LINE]


class _Answer(StrictAnswer):
    end_goal: PrintableText = Field(alias="endGoal", min_length=1, max_length=GOAL)
    approach: PrintableText = Field(max_length=PROSE)
    completed: list[_Line] = Field(max_length=DONE)
    current_state: PrintableText = Field(alias="currentState", min_length=1, max_length=PROSE)
    next_steps: list[_Line] = Field(alias="nextSteps", min_length=1, max_length=STEPS)


def needs_compaction(state: LoopState, orientation: Orientation) -> bool:
    """Whether the due iteration reads a compacted history: for a redesign, or if the history exceeds its allowance."""
    return advise(state).new_plan or tokens(_commit_lines(orientation)) + tokens(_notes_text(state)) > COMPACT_TOKENS


def compaction_question(state: LoopState, orientation: Orientation) -> Question:
    """The question to a model before the due iteration."""
    facts = render(
        "compaction_facts",
        state=_status_text(state),
        failing="\n".join(_failing_lines(state.checks)),
        memory=_notes_text(state),
        commits=_commit_lines(orientation),
    )
    return Question(
        rules=render("compaction_system"),
        task=f"# The goal\n{fence(trim(state.config.goal.strip(), GOAL_TOKENS))}",
        facts=fit(facts, FACTS_TOKENS),
        closing=render("compaction_form", goal=f"{GOAL:,}", prose=f"{PROSE:,}", done=DONE, line=LINE, steps=STEPS),
        form=schema_of(_Answer),
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
    text = "\n\n".join(f"{name}\n{body}" for name, body in bodies.items() if body)
    return render("compacted", past=text)


def _status_text(state: LoopState) -> str:
    """Status in numbers and Helmsman's own names only."""
    checks, history, parts = state.checks, state.past_iterations, [f"Iteration {state.due} begins."]
    if checks is not None:
        failing = checks_fail(len(checks.failures), len(checks.results))
        parts.append(f"{failing[0].upper()}{failing[1:]}.")
    if history:
        latest, forward_count = history[-1], sum(summary.movement is Movement.FORWARD for summary in history)
        if latest.failing_tests or latest.passing_tests:
            parts.append(f"{plural(latest.failing_tests, 'test')} failing, {latest.passing_tests} passing.")
        parts.append(f"{forward_count} of the last {plural(len(history), 'iteration')} made progress.")
    kinds = Counter(str(kind) for summary in history for kind in {error.kind for error in summary.errors})
    if kinds:
        parts.append(f"Iterations by class of failure: {', '.join(f'{kind} {times}' for kind, times in kinds.most_common())}.")
    return " ".join(parts)


def _failing_lines(report: CheckReport | None) -> Iterator[str]:
    for result in report.failures[:_FAILING] if report else ():
        names = ", ".join(result.counts.failing[:_FAILING]) if result.counts else ""
        yield f"fails: {result.name}" + (f" ({names})" if names else "")


def _commit_lines(orientation: Orientation) -> str:
    return "\n".join(f"{commit.id[:10]} {commit.subject}" for commit in orientation.commits)


def _notes_text(state: LoopState) -> str:
    """Working memory without a plan that this iteration discards."""
    return render_notes(without_failed_plan(state.memory, state))
