"""Possible results of a question of the decision table, read from the functions that answer it."""

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from helmsman.oversee.decide import Question
from helmsman.records.decision import Outcome

OUTCOMES = {outcome.name: outcome.value for outcome in Outcome}
WAYS = {"wait": "wait", "proceed": "continue"}


def ways_of(question: Question) -> list[str]:
    """Outcomes, `wait` and `continue`, in the order of this list."""
    names = set(_names(question.decide))
    return [*(word for name, word in OUTCOMES.items() if name in names), *(word for name, word in WAYS.items() if name in names)]


def _names(function: Any, seen: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Names in a function, and in the functions of its module that it calls."""
    if not isinstance(function, FunctionType) or function in seen:
        return
    for name in _of_code(function.__code__):
        yield name
        beside = function.__globals__.get(name)
        if isinstance(beside, FunctionType) and beside.__module__ == function.__module__:
            yield from _names(beside, seen | {function})


def _of_code(compiled: CodeType) -> Iterator[str]:
    yield from compiled.co_names
    for inner in compiled.co_consts:
        if isinstance(inner, CodeType):
            yield from _of_code(inner)
