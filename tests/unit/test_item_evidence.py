"""What shows that an item of a plan is done where it has no check: a test that names it, or a person's word."""

import pytest

from helmsman.oversee.answers import apply_answer
from helmsman.oversee.decide import Situation, decide
from helmsman.oversee.gates import due_gate
from helmsman.parsers.plan_order import is_named_by
from helmsman.records.advance import advance
from helmsman.records.claims import Claims
from helmsman.records.decision import Outcome
from helmsman.records.gates import Answer, Choice
from helmsman.records.plan import ItemSketch, PlanProgress
from tests.unit import builders
from tests.unit.builders import NOW
from tests.unit.test_plan_items import NOTED, PLAIN, decided, found, loop, weighed

pytestmark = pytest.mark.feature("M8")


@pytest.mark.parametrize(
    ("test", "name", "title", "named"),
    [
        ("tests/test_login.py::test_us_001_login", "US-001", "Log in", True),
        ("testUS001Login", "US-001", "Log in", True),
        ("test_us_0011", "US-001", "Log in", False),
        ("test_log_in_now", "US-001", "Log in now", True),
        ("test1", "T1", "Write", False),
        ("test_1_2", "1.2", "Write dates", False),
        ("test_write_dates", "1.2", "Write dates", True),
        ("test_print_dates", "print-dates", "Print dates", True),
    ],
)
def test_a_test_names_an_item_by_its_id_or_where_that_is_but_a_number_by_its_title(
    test: str, name: str, title: str, *, named: bool
) -> None:
    assert is_named_by(test, name, title) is named


def test_a_person_is_asked_of_an_item_that_only_the_agents_word_speaks_for_and_their_word_ticks_it() -> None:
    before = loop(plan=PlanProgress(now="T001", total=2, tries={"T001": 1}, sketch=(ItemSketch(id="T001", title="Parse"),)))
    evidence = weighed(before, found(PLAIN, claims=NOTED))
    decision = decide(Situation(before, evidence, (), NOW))
    assert (decision.rule, decision.outcome) == ("plan.person", Outcome.WAITING)
    after = advance(before, builders.record(decision, **dict(evidence)))
    gate = due_gate(after, NOW)
    assert gate is not None
    assert "T001 of the plan (Write the parser)" in gate.question
    asked = after.model_copy(update={"gate": gate})
    for done, outcome in ((0, None), (1, Outcome.COMPLETED)):
        state = asked.model_copy(update={"plan": asked.plan.model_copy(update={"done": done})})
        said = Answer(gate=gate.key, kind=gate.kind, choice=Choice.APPROVE, via="engine", at=NOW)
        ticked = apply_answer(state, said, NOW)
        assert (ticked.outcome, ticked.plan.done, ticked.plan.ticked, ticked.plan.tries) == (outcome, done + 1, {"T001": 1}, {})
    judged_one = decided(before, evidence.model_copy(update={"claims": Claims()}))
    assert judged_one.kind == "continue"
