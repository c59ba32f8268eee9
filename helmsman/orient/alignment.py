"""Before a loop: what a model is asked about a goal, how its answer is read, and how the loop's goal says what was agreed.

Three gulfs are looked into. Envisioning: what can the agent not do, what can be misread, what has nobody pictured? Execution:
which way leads there, what shows each step? Evaluation: how will anybody know? What only a person can say becomes a question.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from helmsman.budget import fence, fit
from helmsman.errors import OperatorError
from helmsman.orient.checks import commands
from helmsman.parsers.alignment_file import AGREED
from helmsman.parsers.alignment_file import render as alignment_text
from helmsman.parsers.answers import StrictAnswer, form_of, read_answer
from helmsman.plain import shortened
from helmsman.prompts import render, render_pieces
from helmsman.records.alignment import (
    LONGEST_ANSWER,
    LONGEST_LINE,
    MOST_LINES,
    MOST_QUESTIONS,
    Alignment,
    Asked,
    Made,
    RepositoryFacts,
    one_line,
)
from helmsman.records.base import Reply
from helmsman.records.iteration import Question
from helmsman.tokens import trim

GOAL_TOKENS, FACTS_TOKENS, PRESENT_TOKENS, AGREED_TOKENS = 8_000, 10_000, 10_000, 5_000
LINE, PROSE = 300, 1_500  # characters that a model is asked to keep to
TOLERATED = 2  # times that much which is taken all the same: an answer is paid for
LINES, QUESTIONS = 15, 10
_REASON = 500


STANDARD = (
    "What exactly will be there at the end that is not there now: which files, commands or behaviours?",
    "What should stay as it is?",
    "Beyond the checks, how will you see that it is as you meant it?",
)
"""What can be asked about any goal, where no model looked at this one."""
NO_COMMAND = "Which command proves it by its exit code?"

ON_YOUR_OWN = "decide this yourself, and say what you chose"


_Lines = Annotated[list[str], Field(max_length=TOLERATED * LINES)]


class _Stage(StrictAnswer):
    stage: str
    artifact: str


class _Answer(StrictAnswer):
    model_config = ConfigDict(alias_generator=to_camel)

    deliverables: _Lines
    out_of_scope: _Lines
    approach: str = Field(max_length=TOLERATED * PROSE)
    sequence: list[_Stage] = Field(max_length=TOLERATED * LINES)
    assumptions: _Lines
    machine_checks: _Lines
    behavioural_checks: _Lines
    edge_cases: _Lines
    capability_gaps: _Lines
    instruction_gaps: _Lines
    intentionality_gaps: _Lines
    blocking_questions: list[str] = Field(max_length=MOST_QUESTIONS)


FORM = form_of(_Answer)


def align_question(goal: str, facts: RepositoryFacts, present: Alignment | None = None, complaint: str = "") -> Question:
    """What a model is asked. `present`: what is agreed so far, with answers; `complaint`: why its last answer was of no use."""
    agreed = alignment_text(present.model_copy(update={"more": "", "made": Made()})).partition("\n## ")[2] if present else ""
    said = (f"{one.question}\n{one.answer or ON_YOUR_OWN}\n" for one in _all_answers(present)) if present else ()
    more = f" ({facts.left_out} more left out)" if facts.left_out else ""
    seen = {
        "Commands that the repository's files name (not run)": "\n".join(
            f"{command}   ({found})" for command, found in facts.commands.items()
        ),
        f"Its files, two levels deep{more}": "\n".join(facts.files),
        "Its latest commits": "\n".join(facts.commits),
        "The beginning of its README": facts.readme,
        "The beginning of its instructions to agents": facts.guides,
    }
    return Question(
        rules=render("align_system"),
        task=render(
            "align_task",
            goal=fence(trim(goal, GOAL_TOKENS)),
            agreed=fence(trim(f"## {agreed}", PRESENT_TOKENS)) if present else "",
            answers=fence(trim("\n".join(said), PRESENT_TOKENS)) if present else "",
            problem=fence(complaint) if complaint else "",
        ),
        facts=fit(
            render_pieces(
                "align_facts",
                checks=commands(facts.checks),
                criteria=facts.criteria,
                parts=[{"title": title, "text": text} for title, text in seen.items() if text],
            ),
            FACTS_TOKENS,
        ),
        closing=render("align_form", lines=LINES, line=LINE, prose=f"{PROSE:,}", questions=QUESTIONS),
        form=FORM,
    )


def read_proposal(reply: Reply, goal: str, present: Alignment | None = None) -> Alignment | str:
    """The alignment in a model's answer, or why there is none that can be used. Never raises.

    The goal stays the person's, and whatever was answered stays answered, whatever the model says.
    """
    if reply.broken_off:
        return reply.broken_off
    answer = read_answer(reply.text, "blockingQuestions", _Answer)
    if isinstance(answer, str):
        return answer[:_REASON]
    try:
        return _alignment(answer, goal, present)
    except ValidationError as error:
        return f"the answer cannot be written down: {error.errors()[0]['msg']}"[:_REASON]


def _alignment(answer: _Answer, goal: str, present: Alignment | None) -> Alignment:
    known = tuple(_all_answers(present)) if present else ()
    keys, asked = {one.key for one in known}, dict[str, Asked]()
    for one in (Asked(question=question) for question in _lines(answer.blocking_questions)):
        asked.setdefault(one.key, one)
    new = tuple(one for key, one in asked.items() if key not in keys)  # each once, and none that was answered
    stages = [{"what": one.stage, "proof": one.artifact} for one in answer.sequence if one_line(one.stage)]
    names = _Answer.model_fields.keys() - {"approach", "sequence", "blocking_questions"}
    lists = {name.removesuffix("_gaps"): _lines(getattr(answer, name)) for name in names}
    return Alignment.model_validate(
        {
            **lists,
            "goal": goal,
            "approach": answer.approach,
            "sequence": tuple(stages),
            "questions": new,
            "answered": known,
            "more": present.more if present else "",
        }
    )


def _lines(said: Iterable[str]) -> tuple[str, ...]:
    """Each once, blank ones left out."""
    return tuple(dict.fromkeys(line for text in said if (line := one_line(text))))


def by_template(goal: str, facts: RepositoryFacts, reason: str) -> Alignment:
    """What the repository alone tells, and the questions that fit any goal. It says that nobody has looked for gaps."""
    proving = _shortened(facts.checks or [*facts.commands])
    questions = (*STANDARD, *(() if proving else (NO_COMMAND,)))
    return Alignment(
        goal=goal,
        machine_checks=proving,
        behavioural_checks=_shortened(facts.criteria),
        questions=tuple(Asked(question=question) for question in questions),
        made=Made(by="template", round=1, commit=facts.commit, reason=one_line(reason)[:_REASON]),
    )


def _shortened(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(shortened(line, LONGEST_LINE) for line in _lines(lines)[:MOST_LINES])


def with_answers(present: Alignment, answers: Mapping[str, str]) -> Alignment:
    """With answers to questions that are open. Raises OperatorError."""
    known = {Asked(question=question).key: one_line(answer) for question, answer in answers.items()}
    if (longest := max(map(len, known.values()), default=0)) > LONGEST_ANSWER:
        raise OperatorError("an answer is too long", expected=f"{LONGEST_ANSWER:,} characters at most", found=f"{longest:,}")
    questions = (
        one.model_copy(update={"answer": known[one.key]}) if one.open and one.key in known else one for one in present.questions
    )
    return present.model_copy(update={"questions": tuple(questions)})


def settled(present: Alignment, reason: str) -> Alignment:
    """With its answers among what is settled, and no other change. `reason`: why no model worked them in."""
    still = tuple(one for one in present.questions if one.open)
    made = present.made.model_copy(update={"reason": one_line(reason)[:_REASON]})
    return present.model_copy(update={"questions": still, "answered": tuple(_all_answers(present)), "made": made})


def _all_answers(present: Alignment) -> Iterator[Asked]:
    """The newest count where there is no room for all."""
    every = [*present.answered, *(one for one in present.questions if not one.open)]
    latest = {one.key: one for one in every}
    yield from tuple(latest.values())[-MOST_LINES:]


def goal_text(goal: str, alignment: Alignment) -> str:
    """The goal, and below it what was agreed on, for the agent. Entries are single lines, so none of them is a heading."""
    stages = [f"{one.what}" + (f" (done when there is: {one.proof})" if one.proof else "") for one in alignment.sequence]
    parts = {
        "Deliverables": alignment.deliverables,
        "Out of scope": alignment.out_of_scope,
        "Approach": alignment.approach.split("\n"),
        "In this order": stages,
        "Assumptions": alignment.assumptions,
        "Commands that should pass": alignment.machine_checks,
        "Behaviour that should be seen": alignment.behavioural_checks,
        "Edge cases": alignment.edge_cases,
        "Questions and answers": [f"{one.question} Answer: {one.answer or ON_YOUR_OWN}" for one in _all_answers(alignment)],
    }
    said = {title: [line.strip() for line in lines if line.strip()] for title, lines in parts.items()}
    points = render("agreed_points", parts=said.items())
    agreed = render("agreed", heading=AGREED, points=trim(points, AGREED_TOKENS)) if points else ""
    return f"{goal.strip()}\n\n{agreed}".rstrip()
