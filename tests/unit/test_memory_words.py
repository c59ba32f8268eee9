"""Search terms of lessons, and the kind of work of a goal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.episodes import LONGEST_READ as LONGEST_GOAL
from helmsman.memory.episodes import task_type
from helmsman.memory.words import LONGEST_READ, LONGEST_WORD, MOST_TERMS, terms
from helmsman.records.lessons import TaskType

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


def test_only_the_beginning_of_a_hostile_megabyte_is_read() -> None:
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


# What kind of work a goal asks for


OTHER_NAMES = {"cleanup": "refactor", "test-fix": "test_fix", "dependencies": "migration"}


@pytest.mark.parametrize(
    ("goal", "kind"),
    [
        ("Add CSV export to the invoices page", "feature"),
        ("Fix the crash when the cart is empty. Document it.", "bugfix"),
        ("# Cart\n\n1. Total() raises IndexError for an empty cart", "bugfix"),
        ("Please make the tests pass", "test_fix"),
        ("Your task is to add unit tests for the cart", "tests"),
        ("Implement the missing functions so that all tests pass", "feature"),
        ("refactor(billing): smaller classes", "refactor"),
        ("Reports are slow", "performance"),
        ("Upgrade Django to version 5", "migration"),
        ("Investigate why builds differ", "research"),
    ],
)
def test_the_kind_of_a_goal_follows_from_its_verb_and_object(goal: str, kind: str) -> None:
    assert task_type(goal, ("test_add",)) == kind


def test_an_unusual_goal_is_other_work_or_fixes_failing_tests() -> None:
    assert task_type("Orders above 100 euros ship for free") is TaskType.OTHER
    assert task_type("Orders above 100 euros ship for free", ("test_add",)) is TaskType.TEST_FIX


@pytest.mark.parametrize("name", [*TaskType, *OTHER_NAMES])
def test_a_preset_determines_the_kind_for_any_goal(name: str) -> None:
    assert task_type("Add CSV export", preset=name) == OTHER_NAMES.get(name, name)


UNITS = ["add ", "make tests ", "write a ", "from to ", "[[", "\u2028"]


@given(st.text() | st.sampled_from(UNITS).map(lambda unit: unit * 100_000))
def test_any_goal_has_a_kind_by_its_beginning(goal: str) -> None:
    assert task_type(goal) is task_type(goal[:LONGEST_GOAL])
