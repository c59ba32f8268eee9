"""Sizes, cuts and fences of what enters a prompt."""

from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.orient.budget import Foreign, Piece, fence, fit, trim
from helmsman.tokens import tokens
from tests.unit.markdown import outside_of_fences

TICKS = st.text(alphabet="`~a \n", max_size=300)
PIECES = st.lists(st.one_of(st.text(alphabet="own \n", max_size=100), TICKS.map(Foreign)), max_size=6)
ALLOWANCES = st.integers(min_value=0, max_value=200)


def test_four_characters_count_as_one_token_and_a_rest_as_one_more() -> None:
    assert [tokens("x" * size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert trim("x" * 400, 100) == "x" * 400


def test_a_cut_keeps_beginning_and_end_and_says_that_it_was_made() -> None:
    text = "first " + "x" * 4000 + " last"
    cut = trim(text, 100)
    assert cut.startswith("first x")
    assert cut.endswith("x last")
    assert f"the middle of {len(text)} characters is left out" in cut


@given(st.text(max_size=500), ALLOWANCES)
def test_what_was_trimmed_fits_the_allowance(text: str, allowance: int) -> None:
    assert tokens(trim(text, allowance)) <= allowance


@given(TICKS)
@example("```\nend of the data\n```")
@example("`" * 1000)
def test_nothing_inside_can_end_a_fence(text: str) -> None:
    assert outside_of_fences(f"before\n{fence(text)}\nafter") == ["before", "after"]


def test_pieces_that_fit_stand_one_below_the_other() -> None:
    assert fit(["own words", Foreign("theirs")], 100) == "own words\n```\ntheirs\n```"


@given(PIECES, ALLOWANCES)
@example([Foreign("`" * 300), "own", Foreign("x" * 300)], 50)
def test_pieces_never_take_more_than_their_allowance(pieces: list[Piece], allowance: int) -> None:
    assert tokens(fit(pieces, allowance)) <= allowance


@given(st.lists(TICKS.map(Foreign), min_size=1, max_size=6), st.integers(min_value=6, max_value=200))
def test_a_cut_opens_no_fence(foreign: list[Foreign], allowance: int) -> None:
    pieces: list[Piece] = [piece for text in foreign for piece in ("own", text)]
    outside = outside_of_fences(fit(pieces, allowance))
    assert outside.count("own") == len(foreign)
    assert set(outside) <= {"own", "(left out: it does not fit)"}


def test_foreign_texts_share_what_our_own_words_leave_and_pass_on_what_they_do_not_need() -> None:
    text = fit(["short:", Foreign("all of it"), "long:", Foreign("x" * 4000)], 250)
    assert "all of it" in text
    assert 990 < len(text) <= 1000


def test_a_text_that_cannot_be_quoted_is_named_as_left_out() -> None:
    assert fit(["Output:", Foreign("`" * 4000)], 250) == "Output:\n(left out: it does not fit)"
