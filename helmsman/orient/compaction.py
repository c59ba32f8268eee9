"""The past in short: when it is due, what a model is asked, how its answer is read, and the template where none can be used.

A redesign reads this instead of the history: it begins with what is known, not with how it came about.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from helmsman.budget import fence, fit
from helmsman.oversee.advice import advise, planned_anew
from helmsman.parsers.answers import ONE_LINE, Said, StrictAnswer, form_of, printable, read_answer
from helmsman.parsers.progress_file import render as render_notes
from helmsman.plain import one_line, shortened
from helmsman.prompts import Piece, render, render_pieces
from helmsman.records.agent import Commit
from helmsman.records.checks import CheckReport, checks_fail
from helmsman.records.control import IterationSummary, Movement
from helmsman.records.iteration import Compacted, Orientation, Question, WorkingMemory
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.tokens import tokens, trim

COMPACT_TOKENS = 4_000  # of history and working memory, from which they are made short
GOAL_TOKENS = 5_000
FACTS_TOKENS = 12_000
GOAL, PROSE, LINE, DONE, STEPS = 1000, 1500, 300, 20, 10
_CHOICES = 5
_FAILING = 10


class Past(NamedTuple):
    """What there is to make short: commits newest first, history newest last."""

    goal: str
    iteration: int
    commits: Sequence[Commit] = ()
    memory: WorkingMemory = WorkingMemory()
    checks: CheckReport | None = None
    history: Sequence[IterationSummary] = ()


_Line = Annotated[str, Field(min_length=1, max_length=LINE), ONE_LINE]


class _Answer(StrictAnswer):
    end_goal: Said = Field(alias="endGoal", min_length=1, max_length=GOAL)
    approach: Said = Field(max_length=PROSE)
    completed: list[_Line] = Field(max_length=DONE)
    current_state: Said = Field(alias="currentState", min_length=1, max_length=PROSE)
    next_steps: list[_Line] = Field(alias="nextSteps", min_length=1, max_length=STEPS)


def past_of(state: LoopState, orientation: Orientation) -> Past:
    """What there is to make short before the iteration that is due: without a plan that this iteration discards."""
    memory = planned_anew(state.memory, state)
    return Past(state.config.goal, state.due, orientation.commits, memory, state.checks, state.worked)


def compacts(state: LoopState, orientation: Orientation) -> bool:
    """Whether the iteration that is due reads the past in short: for a redesign, or where it has outgrown its allowance."""
    return advise(state).anew or needs_compaction(past_of(state, orientation))


def needs_compaction(past: Past) -> bool:
    """Whether history and working memory have outgrown what a prompt has room for."""
    return tokens(_commits(past)) + tokens(render_notes(past.memory)) > COMPACT_TOKENS


def compaction_request(past: Past) -> Question:
    """What a model is asked to make short."""
    facts = render_pieces(
        "compaction_facts",
        state=_state(past),
        failing="\n".join(_failing(past.checks)),
        memory=render_notes(past.memory),
        commits=_commits(past),
    )
    return Question(
        rules=render("compaction_system"),
        task=f"# The goal\n{fence(trim(past.goal.strip(), GOAL_TOKENS))}",
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


def compact_by_template(past: Past) -> Compacted:
    """The same five parts from the records alone: the newest of each, cut to measure."""
    memory, failing = past.memory, past.checks.failures[:_CHOICES] if past.checks else ()
    done = (*(item.text for item in memory.completed), *(commit.subject for commit in reversed(past.commits)))
    choices = (
        one.chose + (f" rather than {one.rejected}" if one.rejected else "") + (f", because {one.reason}" if one.reason else "")
        for one in memory.decisions[: -_CHOICES - 1 : -1]
    )
    fixes = (f"Fix the check {result.name}" for result in failing)
    steps = (*fixes, memory.remaining_gap, *(f"Find out: {question}" for question in memory.uncertainties))
    return Compacted(
        end_goal=_short(past.goal, GOAL),
        approach=_short("\n".join(choices), PROSE),
        completed=tuple(_lines(done))[-DONE:],
        current_state=_short("\n".join((_state(past), *_failing(past.checks))), PROSE),
        next_steps=tuple(_lines(steps))[:STEPS],
    )


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


def _state(past: Past) -> str:
    """Numbers and names of ours only."""
    parts = [f"Iteration {past.iteration} begins."]
    if past.checks is not None:
        failing = checks_fail(len(past.checks.failures), len(past.checks.results))
        parts.append(f"{failing[0].upper()}{failing[1:]}.")
    if past.history:
        newest, forward = past.history[-1], sum(summary.movement is Movement.FORWARD for summary in past.history)
        if newest.failing_tests or newest.passing_tests:
            parts.append(f"{plural(newest.failing_tests, 'test')} failing, {newest.passing_tests} passing.")
        parts.append(f"{forward} of the last {plural(len(past.history), 'iteration')} got further.")
    kinds = Counter(str(kind) for summary in past.history for kind in {error.kind for error in summary.errors})
    if kinds:
        parts.append(f"Iterations by class of failure: {', '.join(f'{kind} {times}' for kind, times in kinds.most_common())}.")
    return " ".join(parts)


def _failing(report: CheckReport | None) -> Iterator[str]:
    for result in report.failures[:_FAILING] if report else ():
        names = ", ".join(result.counts.failing[:_FAILING]) if result.counts else ""
        yield f"fails: {result.name}" + (f" ({names})" if names else "")


def _commits(past: Past) -> str:
    return "\n".join(f"{commit.id[:10]} {commit.subject}" for commit in past.commits)


def _lines(texts: Sequence[str]) -> Iterator[str]:
    """Each once, short and on one line; blank ones are left out."""
    return (_short(line, LINE) for line in dict.fromkeys(map(one_line, texts)) if line)


def _short(text: str, longest: int) -> str:
    return shortened(printable(text[: 4 * longest]).strip(), longest)
