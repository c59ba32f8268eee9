"""Merging of observations into lessons, and their promotion and retirement."""

from datetime import datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.merge import ENOUGH_USES, LOWEST_SUCCESS, credit, learn, lesson_similarity, merge, review, text_similarity
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import MOST_SOURCES, Lesson, LessonKind, Observation, TaskType, Tier
from tests.unit.builders import HOUR, NOW
from tests.unit.memory_builders import lesson, observation, subject

pytestmark = pytest.mark.feature("L3")
STRATEGY, ANTIPATTERN, CONVENTION = LessonKind


def antipattern(failure: FailureClass | None = FailureClass.TEST, *tests: str, **fields: Any) -> Observation:
    given = {"kind": ANTIPATTERN, "failure": failure, "good": False, "subject": subject(tests=tests), **fields}
    return observation("Where test failures come again: read the failing test.", **given)


def new_lesson(seen: Observation, at: datetime = NOW) -> Lesson:
    return learn((), seen, "l1", at)


def is_same(one: Observation, other: Observation) -> bool:
    return learn([new_lesson(one)], other, "l2", NOW).id == "l1"


def grow(lesson: Lesson, seen: Observation, at: datetime = NOW, *, told: bool = False) -> Lesson:
    return merge(lesson, new_lesson(seen, at), prompted=told)


SAYING = ("Cache the parsed configuration", "Cache parsed configurations", "Do not cache the parsed configuration")
OBSERVATIONS = st.builds(
    observation,
    st.sampled_from(SAYING),
    confidence=st.floats(0, 1),
    kind=st.sampled_from(LessonKind),
    source=st.sampled_from("abcdefgh"),
    by=st.sampled_from(["rules", "model", "person"]),
    failure=st.sampled_from([None, FailureClass.TEST, FailureClass.BUILD]),
    subject=st.builds(
        subject,
        project=st.sampled_from(["shop", "blog"]),
        task_type=st.sampled_from(TaskType),
        tests=st.sampled_from([(), ("a",)]),
    ),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cache the parsed configuration", "Caching parsed configurations."),
        ("Normalise line endings before parsing", "normalise the line ending before it is parsing"),
        ("Fix the off-by-one in parse_range", "Fixed an off-by-one in `parse_range`"),
    ],
)
def test_sentences_with_the_same_words_in_the_same_order_merge(one: str, other: str) -> None:
    assert is_same(observation(one, by="model"), observation(other, by="model"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Sort the keys of the report ascending", "Sort the keys of the report descending"),
        ("Edit the generated files of the client", "Do not edit the generated files of the client"),
        ("Run the slow tests with the network", "Run the slow tests without the network"),
        ("Rename Customer to Account", "Rename Account to Customer"),
        ("Run the linter before the formatter", "Run the linter after the formatter"),
        ("Fix tests/test_cart.py::test_empty", "Fix tests/test_cart.py::test_full"),
        ("Handle None in format_name of the report", "Handle None in format_date of the report"),
        ("Set the limit of retries to 3", "Set the limit of retries to 10"),
        ("Install dependencies of the shop with `npm ci`", "Install dependencies of the shop with `npm i`"),
        ("Don't mock the clock in tests of the scheduler", "Mock the clock in tests of the scheduler"),
        ("修", "复"),
        ("", "Cache the parsed configuration"),
    ],
)
def test_texts_that_differ_in_name_number_negation_or_order_do_not_merge(one: str, other: str) -> None:
    assert not is_same(observation(one, by="model"), observation(other, by="model"))


@pytest.mark.parametrize("unit", ["a ", "not ", "a.b", "a_b::", "`x", "1.", "[["])
def test_a_hostile_megabyte_is_compared_in_bounds(unit: str) -> None:
    hostile = unit * (1_000_000 // len(unit))
    assert text_similarity(hostile, hostile[:8000]) == text_similarity(hostile[:8000], hostile)


@given(OBSERVATIONS, OBSERVATIONS)
def test_similarity_is_a_share_and_symmetric(one: Observation, other: Observation) -> None:
    assert 0 <= lesson_similarity(new_lesson(one), new_lesson(other)) <= 1
    assert lesson_similarity(new_lesson(one), new_lesson(other)) == lesson_similarity(new_lesson(other), new_lesson(one))


@pytest.mark.parametrize(
    "fields",
    [
        {"project": "blog"},
        {"task_type": TaskType.FEATURE},
        {"kind": CONVENTION},
    ],
)
def test_projects_kinds_of_work_and_kinds_of_lesson_do_not_merge(fields: dict[str, Any]) -> None:
    assert lesson_similarity(lesson(), lesson(**fields)) == 0
    assert lesson_similarity(lesson(tier="semantic"), lesson(tier="semantic", **fields)) == 0
    assert lesson_similarity(lesson(), lesson()) == 1


def test_strategies_are_compared_by_their_quotation() -> None:
    first = observation(
        "This got earlier work there: “Cache the parsed configuration”. It ended test failures. Tools: Read, Edit."
    )
    second = observation("This got earlier work there: “Caching parsed configurations”. Changed: “a.py”. Tools: Bash.")
    third = observation("This got earlier work there: “Escape user input in SQL”. It ended test failures. Tools: Read, Edit.")
    assert is_same(first, second)
    assert not is_same(first, third)


def test_antipatterns_merge_by_class_and_test() -> None:
    assert is_same(antipattern(), antipattern())
    assert is_same(antipattern(FailureClass.TEST, "test_a"), antipattern(FailureClass.TEST, "test_a", confidence=0.3))
    assert not is_same(antipattern(), antipattern(FailureClass.BUILD))
    assert not is_same(antipattern(FailureClass.TEST, "test_a"), antipattern(FailureClass.TEST, "test_b"))
    assert not is_same(antipattern(FailureClass.TEST, "test_a"), antipattern())
    assert grow(new_lesson(antipattern()), antipattern(FailureClass.BUILD)).failure is FailureClass.TEST


def test_progress_confirms_a_lesson_and_its_absence_an_antipattern() -> None:
    assert new_lesson(observation(good=True)).successes == 1
    assert new_lesson(observation(good=False)).successes == 0
    assert new_lesson(antipattern(good=False)).successes == 1
    assert new_lesson(antipattern(good=True)).successes == 0


def test_merging_averages_confidence_over_all_observations() -> None:
    grown = new_lesson(observation(confidence=0.9))
    for confidence in (0.6, 0.3):
        grown = grow(grown, observation(confidence=confidence, source="u2"))
    assert grown.confidence == pytest.approx(0.6)
    assert grown.observed == 3


def test_one_loop_is_one_use_however_often_it_repeats_itself() -> None:
    grown = new_lesson(observation())
    grown = grow(grown, observation())
    assert (grown.observed, grown.uses, grown.sources) == (2, 1, ("u1",))
    grown = grow(grown, observation(source="u2"), NOW + HOUR)
    assert (grown.observed, grown.uses, grown.successes, grown.sources) == (3, 2, 2, ("u1", "u2"))
    assert grown.updated_at == NOW + HOUR


def _grown(observations: tuple[Observation, ...]) -> Lesson:
    first, *others = observations
    lesson = new_lesson(first)
    for other in others:
        lesson = grow(lesson, other)
    return lesson


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 1)), min_size=1, max_size=5), st.sets(st.sampled_from("abcd")))
def test_the_order_of_observations_does_not_matter(given_: list[tuple[str, float]], good: set[str]) -> None:
    seen = tuple(observation(source=source, confidence=confidence, good=source in good) for source, confidence in given_)
    whole = _grown(seen)
    for order in permutations(seen):
        other = _grown(order)
        assert (other.observed, other.uses, other.successes) == (whole.observed, whole.uses, whole.successes)
        assert set(other.sources) == set(whole.sources)
        assert other.confidence == pytest.approx(whole.confidence)
        assert 0 <= other.confidence <= 1
        assert other.successes <= other.uses <= other.observed


def test_sources_and_tests_are_bounded_and_the_newest_sources_stay() -> None:
    seen = tuple(observation(source=f"u{number}", subject=subject(tests=(f"test_{number}",))) for number in range(50))
    grown = _grown(seen)
    assert grown.sources == tuple(f"u{number}" for number in range(50 - MOST_SOURCES, 50))
    assert len(grown.tests) == 20
    assert grown.uses == 50


def test_a_models_text_is_replaced_by_that_of_rules() -> None:
    rules, model = (observation(f"words of {by}", by=by, confidence=0.5) for by in ("rules", "model"))
    assert grow(new_lesson(model), rules).text == "words of rules"
    assert grow(new_lesson(rules), model).text == "words of rules"


@given(st.booleans(), st.integers(-5, 5))
def test_a_recalled_lesson_is_credited_with_the_result(good: bool, hours: int) -> None:
    before = lesson(uses=3, successes=2, used_at=NOW)
    after = credit(before, good=good, now=NOW + timedelta(hours=hours))
    assert (after.uses, after.successes, after.observed, after.confidence) == (4, 2 + good, before.observed, before.confidence)
    assert after.used_at == NOW + timedelta(hours=max(hours, 0))


# --- who is told of it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uses", "successes", "retired"), [(5, 1, True), (5, 2, False), (4, 0, False), (10, 3, True), (10, 4, False), (100, 39, True)]
)
def test_a_lesson_that_fails_too_often_is_retired(uses: int, successes: int, retired: bool) -> None:
    after = review(lesson(uses=uses, successes=successes))
    assert bool(after.retired) is retired
    if retired:
        assert f"{successes} of {uses} uses" in after.retired


def test_a_retired_lesson_stays_retired() -> None:
    for reason in ("a person said so", "it went well in 1 of 6 uses"):
        one = lesson(retired=reason, confidence=1.0, uses=9, successes=9)
        assert review(one) == one


@given(
    st.floats(0, 1),
    st.integers(0, 60),
    st.data(),
    st.sampled_from(Tier),
    st.sampled_from(["rules", "model"]),
)
def test_the_rules_hold_for_every_lesson(confidence: float, uses: int, data: st.DataObject, tier: Tier, by: str) -> None:
    successes = data.draw(st.integers(0, uses))
    before = lesson(confidence=confidence, uses=uses, successes=successes, tier=tier, by=by)
    after = review(before)
    failing = uses >= ENOUGH_USES and successes < LOWEST_SUCCESS * uses
    assert bool(after.retired) == failing
    assert (after.tier is Tier.SEMANTIC) == (tier is Tier.SEMANTIC or (confidence >= 0.6 and uses >= 2))
    assert review(after) == after
