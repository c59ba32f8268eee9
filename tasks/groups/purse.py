"""The purse of a group: what its loops may spend together, what each was promised, and what others have left over."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from helmsman.config import LimitsConfig
from helmsman.oversee.group import Account, share, unshared, worthwhile
from helmsman.records.state import LoopState

SHARED = ("cost_usd", "tokens")
"""Limits that bind all loops together, by their names in the configuration and in what a loop has spent."""
FOR_WANT = tuple(f"limits.{name}" for name in SHARED)

Shares = Mapping[str, float]


@dataclass
class Purse:
    """Loops are told by their place in the group."""

    limits: LimitsConfig
    promised: dict[int, Shares] = field(default_factory=dict[int, Shares])
    """To those that are at work: their state tells only a moment later."""

    def grant(self, places: Sequence[int], waiting: int, states: Sequence[LoopState | None], at_work: Collection[int]) -> None:
        """Promise each of these loops a share. `waiting` counts them and those that begin later."""
        for name in SHARED:
            accounts = self._accounts(name, states, at_work)
            for passed, place in enumerate(places):
                limit = self._limit(name, accounts, place, waiting - passed)
                known = {key: value for key, value in self.promised.get(place, {}).items() if key != name}
                self.promised[place] = {**known, **({} if limit is None else {name: limit})}

    def has_more(self, state: LoopState, states: Sequence[LoopState | None], own: Shares) -> bool:
        """Whether a loop that has stopped for want of it could go on with what others left, nobody being at work.

        `own`: limits of the loop alone, which no share goes beyond.
        """
        if state.ending is None or state.ending.rule not in FOR_WANT:
            return False
        name = state.ending.rule.removeprefix("limits.")
        budget, limit = getattr(self.limits, name), getattr(state.config.limits, name)
        if name in own and limit is not None and limit >= own[name]:
            return False
        return budget is not None and worthwhile(budget, unshared(budget, self._accounts(name, states, ())))

    def _accounts(self, name: str, states: Sequence[LoopState | None], at_work: Collection[int]) -> list[Account]:
        return [self._account(name, place, state, at_work=place in at_work) for place, state in enumerate(states)]

    def _account(self, name: str, place: int, state: LoopState | None, *, at_work: bool) -> Account:
        spent = getattr(state.spending, name) if state else 0.0
        if at_work:
            return Account(spent, self.promised.get(place, {}).get(name, 0.0), at_work=True)
        goes_on = state is not None and state.ending is None
        return Account(spent, (getattr(state.config.limits, name) or 0.0) if state and goes_on else 0.0, at_work=goes_on)

    def _limit(self, name: str, accounts: list[Account], place: int, waiting: int) -> float | None:
        """What a loop may spend in all, its account changed for the next one; None where nothing is limited."""
        budget, mine = getattr(self.limits, name), accounts[place]
        if budget is None:
            return None
        if not mine.at_work:  # one that died goes on with what it had
            accounts[place] = Account(mine.spent, mine.spent + share(budget, accounts, waiting), at_work=True)
        return accounts[place].held
