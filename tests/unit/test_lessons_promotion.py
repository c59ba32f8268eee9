"""Which lessons are told to other loops, and which no more."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.promotion import ENOUGH_USES, LONGEST_UNSEEN, LOWEST_SUCCESS, UNSEEN, reviewed
from helmsman.records.lessons import LessonKind, Tier
from tests.unit.builders import HOUR, NOW
from tests.unit.lived import lesson

pytestmark = pytest.mark.feature("L3")


@pytest.mark.parametrize(
    ("confidence", "uses", "tier"),
    [
        (0.6, 2, Tier.SEMANTIC),
        (0.9, 7, Tier.SEMANTIC),
        (0.59, 2, Tier.EPISODIC),
        (0.6, 1, Tier.EPISODIC),
        (1.0, 1, Tier.EPISODIC),
        (0.0, 9, Tier.EPISODIC),
    ],
)
def test_a_lesson_is_promoted_at_confidence_and_uses(confidence: float, uses: int, tier: Tier) -> None:
    assert reviewed(lesson(confidence=confidence, uses=uses, successes=uses), NOW).tier is tier


def test_a_promoted_lesson_stays_promoted() -> None:
    assert reviewed(lesson(tier=Tier.SEMANTIC, confidence=0.3), NOW).tier is Tier.SEMANTIC


@pytest.mark.parametrize(
    ("uses", "successes", "retired"), [(5, 1, True), (5, 2, False), (4, 0, False), (10, 3, True), (10, 4, False), (100, 39, True)]
)
def test_a_lesson_that_fails_too_often_is_retired(uses: int, successes: int, retired: bool) -> None:
    after = reviewed(lesson(uses=uses, successes=successes), NOW)
    assert bool(after.retired) is retired
    if retired:
        assert f"{successes} of {uses} uses" in after.retired


def test_the_reason_says_what_an_antipattern_is_measured_by() -> None:
    failed = lesson(kind=LessonKind.ANTIPATTERN, uses=6, successes=1)
    assert reviewed(failed, NOW).retired == "it did not recur in 1 of 6 uses, fewer than 40%"


def test_what_nobody_met_for_long_is_retired_and_comes_back_when_it_is_met() -> None:
    late = NOW + LONGEST_UNSEEN + HOUR
    gone = reviewed(lesson(), late)
    assert gone.retired.startswith(UNSEEN)
    assert reviewed(gone, late) == gone
    met = gone.model_copy(update={"updated_at": late})
    assert reviewed(met, late).retired == ""


def test_having_been_told_keeps_a_lesson() -> None:
    assert reviewed(lesson(used_at=NOW + LONGEST_UNSEEN), NOW + LONGEST_UNSEEN + HOUR).retired == ""


def test_whoever_retired_it_for_another_reason_has_the_last_word() -> None:
    for reason in ("a person said so", "it went well in 1 of 6 uses"):
        one = lesson(retired=reason, confidence=1.0, uses=9, successes=9)
        assert reviewed(one, NOW) == one


def test_a_persons_lesson_is_never_retired_by_rules() -> None:
    assert reviewed(lesson(by="person", uses=50, successes=0), NOW + 3 * LONGEST_UNSEEN).retired == ""


@given(
    st.floats(0, 1),
    st.integers(0, 60),
    st.data(),
    st.integers(0, 400),
    st.sampled_from(Tier),
    st.sampled_from(["rules", "model"]),
)
def test_the_rules_hold_for_every_lesson(
    confidence: float, uses: int, data: st.DataObject, days: int, tier: Tier, by: str
) -> None:
    successes = data.draw(st.integers(0, uses))
    before = lesson(confidence=confidence, uses=uses, successes=successes, tier=tier, by=by)
    after = reviewed(before, NOW + timedelta(days=days))
    failing = uses >= ENOUGH_USES and successes < LOWEST_SUCCESS * uses
    assert bool(after.retired) == (failing or timedelta(days=days) > LONGEST_UNSEEN)
    assert (after.tier is Tier.SEMANTIC) == (tier is Tier.SEMANTIC or (confidence >= 0.6 and uses >= 2))
    assert reviewed(after, NOW + timedelta(days=days)) == after
