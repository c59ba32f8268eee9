"""A guardrail that could not be followed together with what is ordered already is refused, with both sentences."""

from collections.abc import Sequence

import pytest

from helmsman.memory.learned_guardrails import advice, contradiction, create
from helmsman.oversee.imperatives import read_imperatives
from helmsman.records.agent import FailureClass
from helmsman.records.control import Imperative
from tests.unit.builders import NOW
from tests.unit.guardrail_cases import LINT, PROJECT, guardrail, vain
from tests.unit.honest_projects import PROJECTS, orders_of

pytestmark = [pytest.mark.feature("L5"), pytest.mark.feature("S11")]
DOCUMENTS = [orders_of(project) for project in PROJECTS]


def orders(text: str, source: str = "AGENTS.md") -> Sequence[Imperative]:
    return read_imperatives(source, text)


def test_a_guardrail_against_a_prohibition_is_refused_with_both_sentences() -> None:
    forbidden = orders("- Use tabs.\n- Never run the project's formatter.\n")
    found = create(PROJECT, vain(3, LINT), (), {LINT: (3, 3)}, forbidden, 8, NOW)
    assert found.guardrails == ()
    (refused,) = found.refused
    assert refused.guardrail.failure is LINT
    assert "Never run the project's formatter" in refused.why
    assert "AGENTS.md:2" in refused.why
    assert "Run the project's formatter" in refused.why


def test_a_guardrail_against_an_active_one_is_refused() -> None:
    hers = guardrail(failure=None, by="person", instruction="Never run the project's formatter.")
    found = create(PROJECT, vain(3, LINT), (hers,), {LINT: (3, 3)}, (), 8, NOW)
    assert found.guardrails == ()
    assert "(guardrails.md:1)" in found.refused[0].why


def test_contradictions_between_existing_instructions_are_ignored() -> None:
    others = [
        pair for number in range(9) for pair in (*orders(f"Always use `a{number}`.", "goal"), *orders(f"Never use `a{number}`."))
    ]
    assert contradiction("Run the linter.", others) is None
    late = (*others, *orders("Run the formatter."))
    found = contradiction("Never run the formatter.", late)
    assert found is not None
    assert {found.first.text, found.second.text} == {"Never run the formatter.", "Run the formatter."}


def test_our_advice_contradicts_no_honest_project() -> None:
    for kind in FailureClass:
        found = [conflict for known in DOCUMENTS if (conflict := contradiction(advice()[kind]["do"], known))]
        assert found == []


def test_our_advice_does_not_contradict_itself() -> None:
    for kind in FailureClass:
        others = [guardrail(instruction=said["do"]) for other, said in advice().items() if other != kind]
        assert contradiction(advice()[kind]["do"], (), others) is None
