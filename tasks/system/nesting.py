"""Loops within loops. How deep we are and how deep it may go travels in the environment of whatever a loop starts."""

import re
from collections.abc import Mapping

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from tasks.system.environment import ours

DEPTH = "HELMSMAN_DEPTH"
"""`1/0`: inside of one loop, which allows none inside of it. The outermost loop sets the limit for all below."""
_FORM = re.compile(r"([0-9]{1,3})/([0-9]{1,3})")


def inner_depth(config: LoopConfig, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variable for what this loop starts."""
    depth, limit = _depth(ours() if environment is None else environment)
    return {DEPTH: f"{depth + 1}/{config.limits.nesting if limit is None else limit}"}


def refuse_nested(environment: Mapping[str, str] | None = None) -> None:
    """Raise OperatorError inside of a loop that allows no loop so deep."""
    depth, limit = _depth(ours() if environment is None else environment)
    if limit is not None and depth > limit:
        raise OperatorError(
            "this is the inside of a loop, and a loop in a loop would multiply what both may spend",
            expected=f"{limit} loops inside of another at most (limits.nesting of the outermost)",
            found=f"depth {depth}",
            remedy="do the work here, or let a person start the loop; to allow it: limits.nesting in the outermost loop",
        )


def _depth(environment: Mapping[str, str]) -> tuple[int, int | None]:
    found = _FORM.fullmatch(environment.get(DEPTH, ""))
    return (int(found[1]), int(found[2])) if found else (0, None)
