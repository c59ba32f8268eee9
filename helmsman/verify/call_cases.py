"""Test cases of the form call-equals-literal: which function is called with what, and what it has to give."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MOST_CASES = 500
"""Of one file."""


ANY = object()
"""Expected of a call whose answer no test compares with a literal."""


class Function(NamedTuple):
    """One that tests call, by how they import it."""

    module: str
    """By its name, or its path where the language imports files."""
    name: str
    """Empty where the module itself is called."""

    @property
    def title(self) -> str:
        return self.name or self.module


class Case(NamedTuple):
    """`f(1, key=2) == 3`."""

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expected: Any


Values = tuple[tuple[Any, ...], dict[str, Any]]
"""Arguments by place and by name."""


class Calls(NamedTuple):
    """A function, the calls of its tests, and those beside them."""

    function: Function
    own: tuple[Case, ...]
    near: tuple[Values, ...]


def grouped(cases: Sequence[Case]) -> Mapping[Function, list[Case]]:
    """By function, each call once."""
    found = dict[Function, dict[str, Case]]()
    for case in cases:
        known, call = found.setdefault(case.function, {}), repr((case.args, case.kwargs))
        if call not in known or known[call].expected is ANY:
            known[call] = case
    return {function: list(known.values()) for function, known in found.items()}
