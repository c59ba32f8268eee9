"""The only place that chooses. One table, in order; the first question that is answered with yes decides."""

from helmsman.oversee.decide import blocked, completion, conduct, world
from helmsman.oversee.decide.situation import Question, Situation
from helmsman.records.verdict import Considered, Decision

QUESTIONS: tuple[Question, ...] = (
    conduct.PAIN,
    world.OPERATOR,
    completion.COMPLETED,
    completion.COMPLETED_BEFORE,
    completion.NOTHING_CHANGED,
    completion.UNPROVEN_WORK,
    blocked.BLOCKED,
    world.LIMIT,
    world.USAGE_LIMIT,
    world.KILLED_AT_ONCE,
    world.FAILING_AGENT,
    conduct.CRITICAL,
    completion.REJECTED,
    completion.CANNOT_TELL,
    completion.PERSON_FOR_ITEM,
    completion.TRIES,
    completion.DENIED,
    conduct.PERSON,
    world.SHARE_USED,
    world.FULL_HOUR,
    completion.ACKNOWLEDGED,
    conduct.GO_ON,
)


def decide(situation: Situation) -> Decision:
    """Choose what follows an iteration, and say by which way."""
    path: list[Considered] = []
    for question in QUESTIONS:
        decision = question.decide(situation)
        path.append(_considered(question, situation, held=decision is not None))
        if decision is not None:
            return conduct.on_better_tree(situation, decision).model_copy(update={"path": tuple(path)})
    raise AssertionError("the last question is always answered with yes")


def _considered(question: Question, situation: Situation, *, held: bool) -> Considered:
    return Considered(
        rule=question.rule,
        question=question.asks,
        held=held,
        because=question.because(situation),
        otherwise=question.otherwise(situation),
    )
