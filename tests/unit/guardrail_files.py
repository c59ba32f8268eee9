"""A guardrails.md with two guardrails, beside a retired one, and what a person does to it."""

from collections.abc import Sequence

from helmsman.memory.guardrails_page import Edits, read, render
from helmsman.records.lessons import Guardrail
from tests.unit.builders import NOW
from tests.unit.guardrail_cases import LINT, PROJECT, TYPES, guardrail

ONE = guardrail(
    id="g0000000a",
    trigger="When tests in `tests/test_x.py` are touched or fail",
    instruction="Read the failing test first.",
    origin="loop mend-it: test failures in 3 iterations",
)
TWO = guardrail(id="g0000000b", failure=LINT, instruction="Run the formatter, then the linter.")
GONE = guardrail(id="g0000000c", failure=TYPES, instruction="Types first.", retired="ineffective: 8 of 8", retired_at=NOW)
KNOWN = (ONE, TWO, GONE)


def file(rest: str = "", standing: Sequence[Guardrail] = (ONE, TWO)) -> str:
    return render(standing, rest)


def edits(text: str, known: Sequence[Guardrail] = KNOWN) -> Edits:
    return read(text, known, PROJECT, NOW)


def changed(old: str, new: str, text: str | None = None) -> Edits:
    """After a person put something else in the place of what stands there once."""
    text = text or file()
    assert text.count(old) == 1, text
    return edits(text.replace(old, new))
