"""The loops of a repository, one a line under a head."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from helmsman.plain import clean
from helmsman.records.state import LoopState
from helmsman.texts import SIGNS, age, money

HEAD = ("LOOP", "STATE", "ITERATIONS", "COST", "CHANGED", "BRANCH", "GOAL")
GOAL_SHOWN = 60


class Listed(NamedTuple):
    """A loop, and what its state does not say."""

    state: LoopState
    driven: bool = False
    interrupted: bool = False
    """Whether its driver died."""
    unverified: str = ""
    """What was found in the place of a state that Helmsman signed."""


def list_lines(loops: Sequence[Listed], now: datetime) -> Iterator[str]:
    """Each column is as wide as what stands in it."""
    rows = [HEAD, *(_row(one, now) for one in loops)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(one: Listed, now: datetime) -> tuple[str, ...]:
    state = one.state
    sign = "▶ running" if one.driven and state.outcome is None else "✘ interrupted" if one.interrupted else SIGNS[state.outcome]
    spent = state.spending.cost_usd
    mark = f"(unverified: {clean(one.unverified)}) " if one.unverified else ""
    return (
        state.loop,
        sign,
        f"{state.iteration} of {state.config.limits.iterations}",
        "not told" if "cost" in state.untold and not spent else money(spent),
        f"{age((now - state.updated_at).total_seconds())} ago",
        clean(state.branch),
        f"{mark}{clean(state.config.goal.strip().splitlines()[0])[:GOAL_SHOWN]}",
    )
