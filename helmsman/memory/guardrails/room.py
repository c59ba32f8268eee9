"""How many guardrails stand at a time, and which of them give way."""

from collections.abc import Sequence
from datetime import datetime

from helmsman.memory.guardrails.effect import Verdict, persons, verdict
from helmsman.memory.guardrails.failed import in_vain
from helmsman.records.lessons import Episode, Guardrail

GAVE_WAY = "gave way"
_WORTH = (Verdict.INEFFECTIVE, Verdict.UNNEEDED, Verdict.OPEN, Verdict.EFFECTIVE)


def room(
    new: str, standing: Sequence[Guardrail], episodes: Sequence[Episode], most: int, now: datetime
) -> list[Guardrail] | None:
    """Those that give way to a new one, retired; None where too few can: a person's stay, and so does what this loop needs."""
    excess = len(standing) + 1 - most
    free = sorted((one for one in standing if not persons(one) and not _needed(one, episodes)), key=_worth)
    if excess > len(free):
        return None
    return [retired_as(f"{GAVE_WAY} to {new}: {_in_words(one)}", one, now) for one in free[: max(excess, 0)]]


def retired_as(why: str, one: Guardrail, now: datetime) -> Guardrail:
    return one.model_copy(update={"retired": why, "retired_at": now})


def _needed(one: Guardrail, episodes: Sequence[Episode]) -> bool:
    """Whether its class fails now: else two classes would push each other out by turns."""
    useless = verdict(one) in {Verdict.INEFFECTIVE, Verdict.UNNEEDED}
    return not useless and one.failure is not None and any(in_vain(one.failure, episode) for episode in episodes)


def _worth(one: Guardrail) -> tuple[int, datetime]:
    """The least effective first, of equals the one that was told the longest ago."""
    return _WORTH.index(verdict(one)), one.loaded_at or one.created_at


def _in_words(one: Guardrail) -> str:
    last = f"told last on {one.loaded_at:%Y-%m-%d}" if one.loaded_at else "never told"
    return f"{verdict(one)}, {last}"
