"""Rules that are tables of patterns: what each row must keep so that no line is passed over."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmsman.verify import invariants
from helmsman.verify.invariants.reading.patterns import Pattern

pytestmark = pytest.mark.feature("V5")


def _rows() -> Iterator[Pattern]:
    for found in pkgutil.walk_packages(invariants.__path__, f"{invariants.__name__}."):
        tables: list[Any] = [value for value in vars(import_module(found.name)).values() if isinstance(value, tuple)]
        yield from (row for table in tables for row in table if isinstance(row, Pattern))


SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
ROWS = tuple(dict.fromkeys(_rows()))


def test_there_are_tables() -> None:
    assert len(ROWS) > 100


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.word}-{row.what}")
@settings(max_examples=10, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_whatever_a_row_matches_has_the_word_in_it_by_which_files_are_passed_over(row: Pattern, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(row.regex, alphabet=st.characters(codec="ascii")))
    found = row.regex.search(text)
    assert found is not None
    if "(?i:" in row.regex.pattern:  # letters of either case are meant, and the usual ones are looked for
        assert row.word.casefold() in found[0].casefold()
    else:
        assert row.word in found[0]
