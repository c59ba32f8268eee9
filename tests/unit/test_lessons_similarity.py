"""Whether two sentences say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.similarity import alike, same
from tests.unit.paraphrases import DIFFERENT, HELD_OUT_DIFFERENT, HELD_OUT_SAME, SAME

pytestmark = pytest.mark.feature("L3")
SENTENCES = sorted({sentence for pair in (*SAME, *DIFFERENT) for sentence in pair})


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_paraphrase_is_the_same(one: str, other: str) -> None:
    assert same(one, other), alike(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_only_looks_alike_is_not_the_same(one: str, other: str) -> None:
    assert not same(one, other), alike(one, other)


def test_nine_of_ten_pairs_that_shaped_no_rule_are_told_right() -> None:
    wrong = [pair for pair in HELD_OUT_SAME if not same(*pair)] + [pair for pair in HELD_OUT_DIFFERENT if same(*pair)]
    assert len(wrong) <= (len(HELD_OUT_SAME) + len(HELD_OUT_DIFFERENT)) / 10, wrong


def test_the_tables_are_large_enough_to_mean_something() -> None:
    assert len(SAME) >= 40
    assert len(DIFFERENT) >= 60


@given(st.sampled_from(SENTENCES) | st.text(), st.sampled_from(SENTENCES) | st.text())
def test_likeness_is_a_share_and_has_no_direction(one: str, other: str) -> None:
    assert 0 <= alike(one, other) <= 1
    assert alike(one, other) == alike(other, one)


@given(st.text())
def test_a_sentence_says_what_it_says(text: str) -> None:
    assert alike(text, text) == 1
    assert alike(f"  {text}\n", text) == 1


@given(st.sampled_from(SENTENCES))
def test_capitals_and_a_full_stop_change_nothing(sentence: str) -> None:
    assert same(sentence, f"{sentence[0].upper()}{sentence[1:]}.")


def test_sentences_of_the_tables_are_alike_in_few_pairs_beside_those_that_are_meant() -> None:
    meant = {frozenset(pair) for pair in SAME}
    firsts = [one for one, _ in SAME]
    found = [(one, other) for one in firsts for other in firsts if one < other and same(one, other)]
    assert [pair for pair in found if frozenset(pair) not in meant] == []


@pytest.mark.parametrize("unit", ["a ", "not ", "before ", "a.b", "a_b::", "`x", "to from ", "aB", "1.", "[[", ", "])
def test_a_hostile_megabyte_is_compared_in_bounds(unit: str) -> None:
    hostile = unit * (1_000_000 // len(unit))
    assert alike(hostile, hostile[:8000]) == alike(hostile[:8000], hostile)
