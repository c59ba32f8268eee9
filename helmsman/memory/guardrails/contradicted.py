"""An instruction that contradicts what is ordered already must not stand beside it."""

from collections.abc import Sequence

from helmsman.oversee.conflicts import MOST_CONFLICTS, MOST_ORDERS, conflicts
from helmsman.oversee.imperatives import imperatives
from helmsman.records.lessons import Guardrail
from helmsman.records.oversight import Conflict, Imperative

PROPOSED = "a new guardrail"
STANDING = "guardrails.md"
_AT_ONCE = 100


def contradiction(instruction: str, orders: Sequence[Imperative], standing: Sequence[Guardrail] = ()) -> Conflict | None:
    """The first order or standing guardrail that cannot be followed together with an instruction, both sentences in it."""
    proposed = imperatives(PROPOSED, instruction)
    if not proposed:
        return None
    known = [order for one in standing for order in imperatives(STANDING, one.instruction)]
    every = list(dict.fromkeys((*orders[:MOST_ORDERS], *known)))
    found = (_among(proposed, every[start : start + _AT_ONCE]) for start in range(0, len(every), _AT_ONCE))
    return next((conflict for conflict in found if conflict is not None), None)


def _among(proposed: Sequence[Imperative], orders: Sequence[Imperative]) -> Conflict | None:
    """Contradictions of the orders among themselves say nothing of ours, but may fill the list and hide it."""
    found = conflicts((*proposed, *orders))
    ours = next((one for one in found if (one.first in proposed) != (one.second in proposed)), None)
    if ours is not None or len(found) < MOST_CONFLICTS or len(orders) <= 1:
        return ours
    half = len(orders) // 2
    return _among(proposed, orders[:half]) or _among(proposed, orders[half:])
