"""What a person is told who has to choose: a contradiction as a fact where rules found it, as a reading where a model did."""

import pytest

from helmsman.oversee.decide import decide
from helmsman.records.control import Conflict, Diagnosis, EscalationLevel, Imperative, Ladder, Oversight
from tests.unit.builders import situation

pytestmark = pytest.mark.feature("S11")
ODD = Imperative(source="AGENTS.md", line=3, text="Answers must be odd.", modality="must")
EVEN = Imperative(source="AGENTS.md", line=4, text="Stored values must be even.", modality="must")
READ = Conflict(kind="pattern", first=ODD, second=EVEN, about="the answer", by="model")


def reason(diagnosis: Diagnosis, conflict: Conflict = READ) -> str:
    ladder = Ladder(rung=EscalationLevel.HUMAN, reason="stuck: nothing was gained")
    return decide(situation(oversight=Oversight(ladder=ladder, diagnosis=diagnosis, conflicts=(conflict,)))).reason


def test_a_reading_that_asks_a_person_is_told_as_one_with_both_sentences() -> None:
    said = reason("double_bind")
    assert (
        "two orders contradict each other: as a model reads it, about the answer, AGENTS.md:3 says 'Answers must be odd.'" in said
    )
    assert "AGENTS.md:4 says 'Stored values must be even.'" in said


def test_a_reading_that_was_only_warned_of_is_not_given_as_the_reason() -> None:
    said = reason("stuck")
    assert "stuck: nothing was gained" in said
    assert "Answers must be odd" not in said


def test_what_rules_found_is_told_as_before() -> None:
    assert "two orders contradict each other: about the answer" in reason("stuck", READ.model_copy(update={"by": "rules"}))
