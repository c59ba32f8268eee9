"""Telling words: what lessons are stored and looked for by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.words import LONGEST_READ, LONGEST_WORD, MOST_TERMS, terms

pytestmark = pytest.mark.feature("L1")


@pytest.mark.parametrize(
    "words",
    [
        "cache caches cached caching",
        "fix fixes fixed fixing",
        "type typed types typing",
        "migrate migrates migrated migration migrations",
        "parseInvoice parsing_invoice parse-invoices",
        "GitHub github",
    ],
)
def test_forms_of_one_word_have_a_term_in_common(words: str) -> None:
    first, *others = (set(terms(word)) for word in words.split())
    assert all(first & other for other in others)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("src/shop/cart.py::test_empty[3-4]", ("src", "shop", "cart", "py", "test", "empt")),
        ("ParseHTTPResponse", ("pars", "http", "respons", "parsehttprespons")),
        ("It is not what you would have done with the", ()),
        ("404 12ms 3.11 v2 0xdeadbeef 1st 2026-11-22", ()),
        ("at 9fceb02d0ae598e95dc970b74767f19372d61af8 and 9fceb02", ()),
        ("Café NAÏVE cafe\u0301 \ufb01le", ("caf", "naiv", "fil")),
        ("修复测试 bug", ("修复", "复测", "测试", "bug")),
        ("हिन्दी में", ("हिन्दी", "में")),
        ("\ud800\x00\x1bred\u202e", ("red",)),
        ("x" * (LONGEST_WORD + 1), ()),
    ],
)
def test_a_text_has_these_terms(text: str, found: tuple[str, ...]) -> None:
    assert terms(text) == found


def test_a_hostile_megabyte_is_read_no_further_than_its_beginning() -> None:
    for unit in ["a", "aA", "a_", "ab1 ", "\ufdfa", "e\u0301", "\ud800", "ing", "0", "00000000-", "GitHu", "修"]:
        hostile = unit * (1_000_000 // len(unit))
        assert terms(f"{hostile} invoice") == terms(hostile[:LONGEST_READ])


@given(st.text())
def test_terms_are_unique_bounded_and_can_be_stored(text: str) -> None:
    found = terms(text)
    assert len(set(found)) == len(found) <= MOST_TERMS
    for term in found:
        term.encode("utf-8")
        assert 0 < len(term) <= LONGEST_WORD
        assert not any(letter.isspace() or letter in "\"'`%*()" for letter in term)
