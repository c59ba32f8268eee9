"""Alignment before a loop: the question to a model about a goal, the parsing of its answer, and the goal with the agreement.

It covers three gulfs. Envisioning: what can the agent not do, what can be misread, what has nobody considered? Execution: which
steps lead to the goal, what proves each? Evaluation: how is success recognised? What only a person knows becomes a question.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from helmsman.errors import OperatorError
from helmsman.orient.checks import commands
from helmsman.parsers.alignment_file import AGREED_HEADING
from helmsman.parsers.alignment_file import render as alignment_text
from helmsman.parsers.answers import StrictAnswer, read_answer, schema_of
from helmsman.plain import shorten
from helmsman.prompts import fence, fit, render
from helmsman.records.alignment import (
    LONGEST_ANSWER,
    LONGEST_LINE,
    MOST_LINES,
    MOST_QUESTIONS,
    Alignment,
    AlignmentQuestion,
    Origin,
    RepositoryFacts,
    one_line,
)
from helmsman.records.base import Reply
from helmsman.records.iteration import Question
from helmsman.tokens import trim

GOAL_TOKENS, FACTS_TOKENS, PRESENT_TOKENS, AGREED_TOKENS = 8_000, 10_000, 10_000, 5_000
LINE, PROSE = 300, 1_500  # characters that the question allows
TOLERATED = 2  # factor on those limits that is still accepted: an answer is paid for
LINES, QUESTIONS = 15, 10
_REASON = 500


STANDARD = (
    "What exactly should exist at the end that does not exist now: which files, commands or behaviours?",
    "What should stay as it is?",
    "Beyond the checks, how will you recognise that the result is what you want?",
)
"""Questions for any goal, if no model was asked."""
NO_COMMAND = "Which command proves it by its exit code?"

AGENT_DECIDES = "decide this yourself, and say what you chose"


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


FORM = schema_of(_Answer)


def align_question(goal: str, facts: RepositoryFacts, present: Alignment | None = None, complaint: str = "") -> Question:
    """The question to a model. `present`: the alignment so far with answers; `complaint`: why its last answer was unusable."""
    agreed_text = (
        alignment_text(present.model_copy(update={"more": "", "made": Origin()})).partition("\n## ")[2] if present else ""
    )
    answer_lines = (
        (f"{answered.question}\n{answered.answer or AGENT_DECIDES}\n" for answered in _all_answers(present)) if present else ()
    )
    omitted = f" ({facts.left_out} more left out)" if facts.left_out else ""
    fact_texts = {
        "Commands found in the repository's files (not run)": "\n".join(
            f"{command}   ({source})" for command, source in facts.commands.items()
        ),
        f"Its files, two levels deep{omitted}": "\n".join(facts.files),
        "Its newest commits": "\n".join(facts.commits),
        "The beginning of its README": facts.readme,
        "The beginning of its instructions to agents": facts.guides,
    }
    return Question(
        rules=render("align_system"),
        task=render(
            "align_task",
            goal=fence(trim(goal, GOAL_TOKENS)),
            agreed=fence(trim(f"## {agreed_text}", PRESENT_TOKENS)) if present else "",
            answers=fence(trim("\n".join(answer_lines), PRESENT_TOKENS)) if present else "",
            problem=fence(complaint) if complaint else "",
        ),
        facts=fit(
            render(
                "align_facts",
                checks=commands(facts.checks),
                criteria=facts.criteria,
                parts=[{"title": title, "text": text} for title, text in fact_texts.items() if text],
            ),
            FACTS_TOKENS,
        ),
        closing=render("align_form", lines=LINES, line=LINE, prose=f"{PROSE:,}", questions=QUESTIONS),
        form=FORM,
    )


def read_proposal(reply: Reply, goal: str, present: Alignment | None = None) -> Alignment | str:
    """The alignment in a model's answer, or why it is unusable. Never raises.

    The model changes neither the goal nor the person's answers.
    """
    if reply.broken_off:
        return reply.broken_off
    answer = read_answer(reply.text, "blockingQuestions", _Answer)
    if isinstance(answer, str):
        return answer[:_REASON]
    try:
        return _alignment(answer, goal, present)
    except ValidationError as error:
        return f"the answer is not valid: {error.errors()[0]['msg']}"[:_REASON]


def _alignment(answer: _Answer, goal: str, present: Alignment | None) -> Alignment:
    answered = tuple(_all_answers(present)) if present else ()
    answered_keys, questions = {item.key for item in answered}, dict[str, AlignmentQuestion]()
    for item in (AlignmentQuestion(question=question) for question in _distinct_lines(answer.blocking_questions)):
        questions.setdefault(item.key, item)
    unanswered = tuple(item for key, item in questions.items() if key not in answered_keys)  # distinct and unanswered
    stages = [{"what": item.stage, "proof": item.artifact} for item in answer.sequence if one_line(item.stage)]
    names = _Answer.model_fields.keys() - {"approach", "sequence", "blocking_questions"}
    lists = {name.removesuffix("_gaps"): _distinct_lines(getattr(answer, name)) for name in names}
    return Alignment.model_validate(
        {
            **lists,
            "goal": goal,
            "approach": answer.approach,
            "sequence": tuple(stages),
            "questions": unanswered,
            "answered": answered,
            "more": present.more if present else "",
        }
    )


def _distinct_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """Distinct lines without blank ones."""
    return tuple(dict.fromkeys(line for text in texts if (line := one_line(text))))


def template_alignment(goal: str, facts: RepositoryFacts, reason: str) -> Alignment:
    """Alignment from facts of the repository, with the questions for any goal. It states that no model looked for gaps."""
    checks = _shortened_lines(facts.checks or [*facts.commands])
    questions = (*STANDARD, *(() if checks else (NO_COMMAND,)))
    return Alignment(
        goal=goal,
        machine_checks=checks,
        behavioural_checks=_shortened_lines(facts.criteria),
        questions=tuple(AlignmentQuestion(question=question) for question in questions),
        made=Origin(by="template", round=1, commit=facts.commit, reason=one_line(reason)[:_REASON]),
    )


def _shortened_lines(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(shorten(line, LONGEST_LINE) for line in _distinct_lines(lines)[:MOST_LINES])


def add_answers(present: Alignment, answers: Mapping[str, str]) -> Alignment:
    """Add answers to open questions. Raises OperatorError."""
    answers_by_key = {AlignmentQuestion(question=question).key: one_line(answer) for question, answer in answers.items()}
    if (length := max(map(len, answers_by_key.values()), default=0)) > LONGEST_ANSWER:
        raise OperatorError("an answer is too long", expected=f"{LONGEST_ANSWER:,} characters at most", found=f"{length:,}")
    questions = (
        question.model_copy(update={"answer": answers_by_key[question.key]})
        if question.open and question.key in answers_by_key
        else question
        for question in present.questions
    )
    return present.model_copy(update={"questions": tuple(questions)})


def close_questions(present: Alignment, reason: str) -> Alignment:
    """Move answered questions to the settled ones. `reason`: why no model incorporated them."""
    open_questions = tuple(question for question in present.questions if question.open)
    made = present.made.model_copy(update={"reason": one_line(reason)[:_REASON]})
    return present.model_copy(update={"questions": open_questions, "answered": tuple(_all_answers(present)), "made": made})


def _all_answers(present: Alignment) -> Iterator[AlignmentQuestion]:
    """All answers, or the newest ones if there are too many."""
    answered = [*present.answered, *(question for question in present.questions if not question.open)]
    latest = {question.key: question for question in answered}
    yield from tuple(latest.values())[-MOST_LINES:]


def goal_text(goal: str, alignment: Alignment) -> str:
    """The goal and the agreement for the agent. Entries are single lines, so none of them is a heading."""
    stages = [f"{one.what}" + (f" (done when there is: {one.proof})" if one.proof else "") for one in alignment.sequence]
    parts = {
        "Deliverables": alignment.deliverables,
        "Out of scope": alignment.out_of_scope,
        "Approach": alignment.approach.split("\n"),
        "Sequence": stages,
        "Assumptions": alignment.assumptions,
        "Commands that should pass": alignment.machine_checks,
        "Expected behaviour": alignment.behavioural_checks,
        "Edge cases": alignment.edge_cases,
        "Questions and answers": [f"{one.question} Answer: {one.answer or AGENT_DECIDES}" for one in _all_answers(alignment)],
    }
    lines_by_title = {title: [line.strip() for line in lines if line.strip()] for title, lines in parts.items()}
    points = render("agreed_points", parts=lines_by_title.items())
    agreement = render("agreed", heading=AGREED_HEADING, points=trim(points, AGREED_TOKENS)) if points else ""
    return f"{goal.strip()}\n\n{agreement}".rstrip()
