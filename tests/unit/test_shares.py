"""One budget, several loops: whatever they spend and in whichever order they end, all together stay within it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.group import Account, share

pytestmark = pytest.mark.feature("M5", "E6")

BUDGETS = st.floats(min_value=0.01, max_value=1_000)
USES = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=12)


@given(BUDGETS, USES, st.integers(min_value=1, max_value=5))
def test_loops_that_keep_to_their_shares_keep_to_the_budget_together_however_many_work_at_once(
    budget: float, uses: list[float], workers: int
) -> None:
    accounts = [Account() for _ in uses]
    at_work: list[int] = []
    for number, use in enumerate(uses):
        if len(at_work) == workers:
            accounts = _ended(accounts, at_work.pop(0))
        limit = share(budget, accounts, len(uses) - number)
        accounts[number] = Account(spent=limit * use, limit=limit, at_work=True)
        at_work.append(number)
        assert sum(account.held for account in accounts) <= budget * (1 + 1e-9)
    assert sum(account.spent for account in accounts) <= budget * (1 + 1e-9)


@given(BUDGETS, USES)
def test_a_budget_is_given_out_whole_where_all_begin_at_once(budget: float, uses: list[float]) -> None:
    accounts = [Account() for _ in uses]
    for number in range(len(uses)):
        accounts[number] = Account(limit=share(budget, accounts, len(uses) - number), at_work=True)
    assert share(budget, accounts, 1) == pytest.approx(0, abs=1e-6)
    assert accounts[0].limit == pytest.approx(accounts[-1].limit)


def test_what_one_leaves_over_goes_to_those_after_it() -> None:
    first = Account(spent=1, limit=5, at_work=True)
    assert share(10, [first, Account()], 1) == 5
    assert share(10, [replace(first, at_work=False), Account()], 1) == 9


def _ended(accounts: list[Account], number: int) -> list[Account]:
    return [replace(one, at_work=one.at_work and place != number) for place, one in enumerate(accounts)]
