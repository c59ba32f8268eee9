"""LoopRequest: the parameters of the loop flow, the same from the command line, the UI and a schedule."""

import re
from typing import Any

from pydantic import Field

from helmsman.config import Section
from helmsman.naming import LOOP_ID

LONGEST_LOOP_ID = 63


class LoopRequest(Section):
    """What to start or to go on with."""

    repository: str = Field(min_length=1)
    """Path of the repository on the machine that runs the loop."""
    goal: str = ""
    """What shall be true at the end. Empty: the repository's helmsman.toml says it, or the loop exists already."""
    checks: tuple[str, ...] = ()
    """Commands that prove it, in addition to nothing: given here, they replace those of the repository's configuration."""
    loop: str = Field(default="", pattern=f"{LOOP_ID}|^$", max_length=LONGEST_LOOP_ID)
    """Id of the loop. Empty: made from the goal. One that exists is gone on with."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further configuration, nested as in helmsman.toml; it wins over the repository's."""
    base: str = Field(default="", max_length=200, pattern=r"^([^\s-]\S*)?$")
    """Branch, tag or commit that a new loop begins with. Empty: what the repository has checked out."""
    reopen: bool = False
    """Go on with a loop that has ended."""


def is_loop_id(text: str) -> bool:
    return len(text) <= LONGEST_LOOP_ID and re.fullmatch(LOOP_ID, text) is not None
