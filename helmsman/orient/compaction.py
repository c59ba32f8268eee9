"""The past in short: when it is due, what a model is asked, and how its answer is read.

A redesign reads this instead of the history: it begins with what is known, not with how it came about.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from helmsman.budget import fence, fit
from helmsman.oversee.advice import advise, planned_anew
from helmsman.parsers.answers import ONE_LINE, Said, StrictAnswer, form_of, read_answer
from helmsman.parsers.progress_file import render as render_notes
from helmsman.prompts import Piece, render, render_pieces
from helmsman.records.checks import CheckReport, checks_fail
from helmsman.records.control import Movement
from helmsman.records.iteration import Compacted, Orientation, Question
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.tokens import tokens, trim

COMPACT_TOKENS = 4_000  # of history and working memory, from which they are made short
GOAL_TOKENS = 5_000
FACTS_TOKENS = 12_000
GOAL, PROSE, LINE, DONE, STEPS = 1000, 1500, 300, 20, 10
_FAILING = 10


_Line = Annotated[str, Field(min_length=1, max_length=LINE), ONE_LINE]


class _Answer(StrictAnswer):
    end_goal: Said = Field(alias="endGoal", min_length=1, max_length=GOAL)
    approach: Said = Field(max_length=PROSE)
    completed: list[_Line] = Field(max_length=DONE)
    current_state: Said = Field(alias="currentState", min_length=1, max_length=PROSE)
    next_steps: list[_Line] = Field(alias="nextSteps", min_length=1, max_length=STEPS)


def compacts(state: LoopState, orientation: Orientation) -> bool:
    """Whether the iteration that is due reads the past in short: for a redesign, or where it has outgrown its allowance."""
    return advise(state).anew or tokens(_commits(orientation)) + tokens(_notes(state)) > COMPACT_TOKENS


def compaction_request(state: LoopState, orientation: Orientation) -> Question:
    """What a model is asked to make short before the iteration that is due."""
    facts = render_pieces(
        "compaction_facts",
        state=_standing(state),
        failing="\n".join(_failing(state.checks)),
        memory=_notes(state),
        commits=_commits(orientation),
    )
    return Question(
        rules=render("compaction_system"),
        task=f"# The goal\n{fence(trim(state.config.goal.strip(), GOAL_TOKENS))}",
        facts=fit(facts, FACTS_TOKENS),
        closing=render("compaction_form", goal=f"{GOAL:,}", prose=f"{PROSE:,}", done=DONE, line=LINE, steps=STEPS),
        form=form_of(_Answer),
    )


def read_compacted(text: str) -> Compacted | str:
    """The past in short in a model's answer, also between fences or prose; or why there is none. Never raises."""
    answer = read_answer(text, "endGoal", _Answer)
    if isinstance(answer, str):
        return answer
    return Compacted.model_validate({**answer.model_dump(), "by": "model"})


def compacted_section(compacted: Compacted) -> Sequence[Piece]:
    """The past in short for the prompt, fenced: agent, tools or a model wrote its words. The goal stands there already."""
    bodies = {
        "APPROACH": compacted.approach,
        "COMPLETED": "\n".join(f"- {line}" for line in compacted.completed),
        "CURRENT STATE": compacted.current_state,
        "NEXT STEPS": "\n".join(f"{number}. {line}" for number, line in enumerate(compacted.next_steps, 1)),
    }
    told = "\n\n".join(f"{name}\n{body}" for name, body in bodies.items() if body)
    return render_pieces("compacted", by=compacted.by, past=told)


def _standing(state: LoopState) -> str:
    """Numbers and names of ours only."""
    checks, history, parts = state.checks, state.worked, [f"Iteration {state.due} begins."]
    if checks is not None:
        failing = checks_fail(len(checks.failures), len(checks.results))
        parts.append(f"{failing[0].upper()}{failing[1:]}.")
    if history:
        newest, forward = history[-1], sum(summary.movement is Movement.FORWARD for summary in history)
        if newest.failing_tests or newest.passing_tests:
            parts.append(f"{plural(newest.failing_tests, 'test')} failing, {newest.passing_tests} passing.")
        parts.append(f"{forward} of the last {plural(len(history), 'iteration')} got further.")
    kinds = Counter(str(kind) for summary in history for kind in {error.kind for error in summary.errors})
    if kinds:
        parts.append(f"Iterations by class of failure: {', '.join(f'{kind} {times}' for kind, times in kinds.most_common())}.")
    return " ".join(parts)


def _failing(report: CheckReport | None) -> Iterator[str]:
    for result in report.failures[:_FAILING] if report else ():
        names = ", ".join(result.counts.failing[:_FAILING]) if result.counts else ""
        yield f"fails: {result.name}" + (f" ({names})" if names else "")


def _commits(orientation: Orientation) -> str:
    return "\n".join(f"{commit.id[:10]} {commit.subject}" for commit in orientation.commits)


def _notes(state: LoopState) -> str:
    """Without a plan that this iteration discards."""
    return render_notes(planned_anew(state.memory, state))
