"""Sizes, cuts and fences of what enters a prompt."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.budget import Piece, Untrusted, fence, fit
from helmsman.tokens import LONGEST_TOKEN, tokens, trim
from tests.unit.markdown import outside_of_fences

TICKS = st.text(alphabet="`~a \n", max_size=300)
TEXTS = st.text(alphabet="abcXYZ19 \t\n`=-é日", max_size=200)
PIECES = st.lists(st.one_of(st.text(alphabet="own \n", max_size=100), TICKS.map(Untrusted)), max_size=6)
ALLOWANCES = st.integers(min_value=0, max_value=200)


@pytest.mark.parametrize("character", ["a", "A", "7", "=", "\n", " ", "\x00", "é", "日", "\U0001f600"])
def test_no_character_is_free_however_often_it_stands(character: str) -> None:
    assert tokens(character * 10_000) >= 10_000 / LONGEST_TOKEN


@given(TEXTS, TEXTS)
def test_two_texts_below_each_other_count_no_more_than_each_by_itself(one: str, other: str) -> None:
    assert tokens(f"{one}\n{other}") <= tokens(one) + tokens("\n") + tokens(other)


def test_a_cut_keeps_beginning_and_end_and_says_that_it_was_made() -> None:
    text = "first " + "x" * 4000 + " last"
    cut = trim(text, 100)
    assert cut.startswith("first x")
    assert cut.endswith("x last")
    assert f"the middle of {len(text):,} characters is left out" in cut


@given(st.text(max_size=500), ALLOWANCES)
def test_what_was_trimmed_fits_the_allowance(text: str, allowance: int) -> None:
    assert tokens(trim(text, allowance)) <= allowance


@given(TICKS)
@example("```\nend of the data\n```")
@example("`" * 1000)
def test_nothing_inside_can_end_a_fence(text: str) -> None:
    assert outside_of_fences(f"before\n{fence(text)}\nafter") == ["before", "after"]


@given(PIECES, ALLOWANCES)
@example([Untrusted("`" * 300), "own", Untrusted("x" * 300)], 50)
def test_pieces_never_take_more_than_their_allowance(pieces: list[Piece], allowance: int) -> None:
    assert tokens(fit(pieces, allowance)) <= allowance


@given(st.lists(TICKS.map(Untrusted), min_size=1, max_size=6), st.integers(min_value=20, max_value=200))
def test_a_cut_opens_no_fence(foreign: list[Untrusted], allowance: int) -> None:
    pieces: list[Piece] = [piece for text in foreign for piece in ("own", text)]
    outside = outside_of_fences(fit(pieces, allowance))
    assert outside.count("own") == len(foreign)
    assert set(outside) <= {"own", "(left out: it does not fit)"}


def test_foreign_texts_share_what_our_own_words_leave_and_pass_on_what_they_do_not_need() -> None:
    text = fit(["short:", Untrusted("all of it"), "long:", Untrusted("x" * 4000)], 250)
    assert "all of it" in text
    assert 230 < tokens(text) <= 250


def test_a_text_that_cannot_be_quoted_is_named_as_left_out() -> None:
    assert fit(["Output:", Untrusted("`" * 4000)], 250) == "Output:\n(left out: it does not fit)"
