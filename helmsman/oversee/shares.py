"""How several loops share one budget: each is given a share as it begins, and what one leaves over goes to those after it.

The shares of all that are at work and what the others have spent never come to more than the budget. So no loop has to know of
another, and a driver that dies leaves no debt behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WORTHWHILE = 0.05
"""Share of the budget below which going on with a loop that has used up its own is worth nothing."""


@dataclass(frozen=True)
class Account:
    """What one loop has of the budget."""

    spent: float = 0.0
    limit: float = 0.0
    """What it was told that it may spend; 0 before it has begun."""
    at_work: bool = False
    """Whether it may still spend up to its limit."""

    @property
    def held(self) -> float:
        return max(self.limit, self.spent) if self.at_work else self.spent


def unshared(budget: float, accounts: Sequence[Account]) -> float:
    """What nobody has spent or may spend."""
    return max(budget - sum(account.held for account in accounts), 0.0)


def share(budget: float, accounts: Sequence[Account], waiting: int) -> float:
    """What the next of `waiting` loops may spend: an equal part of what is left."""
    return unshared(budget, accounts) / max(waiting, 1)


def worthwhile(budget: float, amount: float) -> bool:
    """Whether somebody could do something with so much."""
    return amount >= WORTHWHILE * budget
