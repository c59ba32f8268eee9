"""What follows an iteration: exactly one decision, by an ordered table, with the way that led to it. Nothing else chooses."""

from helmsman.oversee.decide import questions
from helmsman.oversee.decide.situation import QUESTIONS, Question, Situation, on_better_tree
from helmsman.records.decision import Considered, Decision

__all__ = ["QUESTIONS", "Question", "Situation", "decide", "questions"]


def decide(situation: Situation) -> Decision:
    """Choose what follows an iteration, and say by which way: the first question that is answered with yes decides."""
    path: list[Considered] = []
    for one in QUESTIONS:
        because, decision = one.decide(situation)
        otherwise, held = one.otherwise(situation), decision is not None
        path.append(Considered(rule=one.rule, question=one.asks, held=held, because=because, otherwise=otherwise))
        if decision is not None:
            return on_better_tree(situation, decision).model_copy(update={"path": tuple(path)})
    raise AssertionError("the last question is always answered with yes")
