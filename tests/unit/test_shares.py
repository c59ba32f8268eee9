"""One budget, several loops: whatever they spend and in whichever order they end, all together stay within it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.group import share

pytestmark = pytest.mark.feature("M5", "E6")

BUDGETS = st.floats(min_value=0.01, max_value=1_000)
USES = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=12)


@given(BUDGETS, USES, st.integers(min_value=1, max_value=5))
def test_loops_that_keep_to_their_shares_keep_to_the_budget_together_however_many_work_at_once(
    budget: float, uses: list[float], workers: int
) -> None:
    held, spent = [0.0] * len(uses), [0.0] * len(uses)
    at_work: list[int] = []
    for number, use in enumerate(uses):
        if len(at_work) == workers:
            ended = at_work.pop(0)
            held[ended] = spent[ended]
        held[number] = share(budget, held, len(uses) - number)
        spent[number] = held[number] * use
        at_work.append(number)
        assert sum(held) <= budget * (1 + 1e-9)
    assert sum(spent) <= budget * (1 + 1e-9)


@given(BUDGETS, USES)
def test_a_budget_is_given_out_whole_where_all_begin_at_once(budget: float, uses: list[float]) -> None:
    held = [0.0] * len(uses)
    for number in range(len(uses)):
        held[number] = share(budget, held, len(uses) - number)
    assert share(budget, held, 1) == pytest.approx(0, abs=1e-6)
    assert held[0] == pytest.approx(held[-1])


def test_what_one_leaves_over_goes_to_those_after_it() -> None:
    assert (share(10, [5, 0], 1), share(10, [1, 0], 1)) == (5, 9)
