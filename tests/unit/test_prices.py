"""The table of prices, and what tokens cost by it."""

import pytest

from helmsman.prices import PRICES, known_price, priced
from helmsman.records.base import Usage

pytestmark = pytest.mark.feature("E6", "V7")


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("sonnet[1m]", "claude-sonnet-5-5"),
        ("claude-opus-5", "claude-opus-5"),
        ("claude-opus-9", None),
        ("claude-opus-4-1", None),
        ("my-gateway/opus", None),
        ("", None),
    ],
)
def test_a_price_belongs_to_exactly_one_model(model: str, known: str | None) -> None:
    assert known_price(model) == (PRICES[known] if known else None)


def test_the_dollars_are_those_of_the_four_kinds_of_tokens() -> None:
    million = Usage(input_tokens=10**6, cache_creation_tokens=10**6, cache_read_tokens=10**6, output_tokens=10**6)
    assert priced(million, "claude-opus-5-5").cost_usd == pytest.approx(4 + 5 + 0.2 + 20)
    assert priced(million, "claude-opus-5-5", hourly=10**6).cost_usd == pytest.approx(4 + 8 + 0.2 + 20)
    assert priced(million, "nobody-knows") == million
