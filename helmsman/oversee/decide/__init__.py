"""The decision after an iteration: exactly one, by an ordered table, with its path. Nothing else decides."""

from helmsman.oversee.decide import questions
from helmsman.oversee.decide.situation import QUESTIONS, Question, Situation, with_rollback
from helmsman.records.decision import Decision, PathStep

__all__ = ["QUESTIONS", "Question", "Situation", "decide", "questions"]


def decide(situation: Situation) -> Decision:
    """Choose what follows an iteration and record the path: the first question answered with yes decides."""
    path: list[PathStep] = []
    for question in QUESTIONS:
        because, decision = question.decide(situation)
        otherwise, is_held = question.otherwise(situation), decision is not None
        path.append(PathStep(rule=question.rule, question=question.asks, held=is_held, because=because, otherwise=otherwise))
        if decision is not None:
            return with_rollback(situation, decision).model_copy(update={"path": tuple(path)})
    raise AssertionError("the last question is always answered with yes")
