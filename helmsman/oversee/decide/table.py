"""The only place that chooses. One table, in order; the first question that is answered with yes decides."""

from helmsman.oversee.decide import completion, conduct
from helmsman.oversee.decide.situation import Question, Situation
from helmsman.records.verdict import Considered, Decision

QUESTIONS: tuple[Question, ...] = (
    conduct.pain,
    conduct.operator,
    completion.completed,
    completion.completed_before,
    completion.nothing_changed,
    completion.unproven_work,
    completion.blocked,
    conduct.limit,
    conduct.usage_limit,
    conduct.killed,
    conduct.failing_agent,
    conduct.critical,
    completion.rejected,
    completion.cannot_tell,
    completion.person_for_item,
    completion.tries,
    completion.denied,
    conduct.person,
    conduct.share_used,
    conduct.full_hour,
    completion.acknowledged,
    conduct.carry_on,
)


def decide(situation: Situation) -> Decision:
    """Choose what follows an iteration, and say by which way."""
    path: list[Considered] = []
    for one in QUESTIONS:
        decision = one.decide(situation)
        because, otherwise = one.because(situation), one.otherwise(situation)
        held = decision is not None
        path.append(Considered(rule=one.rule, question=one.asks, held=held, because=because, otherwise=otherwise))
        if decision is not None:
            return conduct.on_better_tree(situation, decision).model_copy(update={"path": tuple(path)})
    raise AssertionError("the last question is always answered with yes")
