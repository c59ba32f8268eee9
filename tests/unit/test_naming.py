"""Ids made from goals."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.naming import LONGEST_SLUG, loop_id
from helmsman.records.request import LOOP_ID


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("Make the tests pass", "make-the-tests-pass-1a2b3c"),
        ("Größe & Café: überprüfen!", "große-cafe".replace("ß", "") + "-uberprufen-1a2b3c"),
        ("all of the words that still fit and no half word", "all-of-the-words-that-still-fit-1a2b3c"),
        ("x" * 100, "x" * LONGEST_SLUG + "-1a2b3c"),
        ("目标", "loop-1a2b3c"),
        ("", "loop-1a2b3c"),
    ],
)
def test_an_id_reads_like_the_first_words_of_its_goal(goal: str, expected: str) -> None:
    assert loop_id(goal, "1a2b3c") == expected


@given(st.text())
def test_an_id_is_safe_in_refs_folders_and_keys_whatever_the_goal(goal: str) -> None:
    name = loop_id(goal, "1a2b3c")
    assert re.fullmatch(LOOP_ID, name)
    assert len(name) <= LONGEST_SLUG + len("-1a2b3c")
