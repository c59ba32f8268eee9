"""The languages whose functions are called again with inputs beside those of their tests, and how."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from helmsman.verify import go_calls, javascript_calls, python_calls
from helmsman.verify.call_cases import Calls, Case

Texts = Mapping[str, str]
"""Files by their paths."""


class Language(NamedTuple):
    """How calls are read from its tests, and made again by a program that its interpreter runs."""

    name: str
    file: str
    """Of that program, in the root of the checkout or in a folder of its own."""
    tests: tuple[str, ...]
    """Suffixes of its test files."""
    is_source: Callable[[str], bool]
    cases: Callable[[Texts, Texts, Collection[str]], list[Case]]
    """Of tests, changed sources, and the paths of all files."""
    literals: Callable[[str, str], list[Any]]
    interpreter: Callable[[Sequence[str]], str]
    """As words of a shell, by the commands of the checks."""
    script: Callable[[Sequence[Calls], Sequence[str], str], str]
    """Of calls, paths of tests, and how the line begins that has the answers."""
    written: Callable[[Any], str] = repr
    """A literal as the language has it."""
    further: tuple[str, ...] = ()
    """Files that are read with the tests."""


CALLED = (
    Language(
        name="Python",
        file=".helmsman-calls.py",
        tests=(".py",),
        is_source=python_calls.is_python_source,
        cases=python_calls.cases,
        literals=python_calls.literals,
        interpreter=python_calls.interpreter,
        script=python_calls.script,
    ),
    Language(
        name="JavaScript",
        file=".helmsman-calls.mjs",
        tests=(".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts"),
        is_source=javascript_calls.is_source,
        cases=javascript_calls.cases,
        literals=javascript_calls.literals,
        interpreter=javascript_calls.interpreter,
        script=javascript_calls.script,
        written=javascript_calls.written,
    ),
    Language(
        name="Go",
        file="helmsman-calls/main.go",
        tests=("_test.go",),
        is_source=go_calls.is_source,
        cases=go_calls.cases,
        literals=go_calls.literals,
        interpreter=go_calls.interpreter,
        script=go_calls.script,
        written=go_calls.written,
        further=("go.mod",),
    ),
)
NAMES = f"{', '.join(language.name for language in CALLED[:-1])} and {CALLED[-1].name}"
