"""What a person's word takes off a loop: they have looked, and what was held against it is over."""

from datetime import datetime

from helmsman.oversee.ladder import resumed
from helmsman.records.oversight import Diagnosis, Oversight, Strategy
from helmsman.records.state import LoopState


def relieved(state: LoopState, now: datetime) -> LoopState:
    """A person has looked and goes on: what was counted is forgotten, the ladder comes down to where they send it."""
    earlier = state.oversight
    anew = {
        "idle": 0,
        "ladder": resumed(earlier.ladder, state.due, now),
        "strategy": Strategy(),
        "diagnosis": Diagnosis.NONE,
        "learning": (),
        "issues": (),
        "instructions": (),
        "redirected": (),
        **_settled(earlier),
    }
    return state.model_copy(update={"oversight": earlier.model_copy(update=anew)})


def _settled(earlier: Oversight) -> dict[str, object]:
    """A model's reading on which a person has decided is not held against the orders again; they may have left them as they were.

    It is not asked about them again either. What rules found stands as long as the orders do.
    """
    if earlier.diagnosis is not Diagnosis.DOUBLE_BIND or earlier.sought is None:
        return {}
    ruled = tuple(conflict for conflict in earlier.conflicts if conflict.by == "rules")
    return {"conflicts": ruled, "sought": earlier.sought.model_copy(update={"conflicts": ()})}
