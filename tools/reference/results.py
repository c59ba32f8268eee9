"""Possible results of a question of the decision table, read from the functions that answer it."""

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from helmsman.oversee.decide import Question
from helmsman.records.decision import Outcome

OUTCOMES = {outcome.name: outcome.value for outcome in Outcome}
CONTINUATIONS = {"wait": "wait", "proceed": "continue"}


def possible_results(question: Question) -> list[str]:
    """Outcomes, `wait` and `continue`, in the order of this list."""
    names = set(_names(question.decide))
    return [
        *(result for name, result in OUTCOMES.items() if name in names),
        *(result for name, result in CONTINUATIONS.items() if name in names),
    ]


def _names(function: Any, seen: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Names in a function, and in the functions of its module that it calls."""
    if not isinstance(function, FunctionType) or function in seen:
        return
    for name in _names_in_code(function.__code__):
        yield name
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType) and called.__module__ == function.__module__:
            yield from _names(called, seen | {function})


def _names_in_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in_code(constant)
