"""Merging: where a loop's proven work goes by itself."""

import re

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import OperatorKey, Section

_BRANCH = re.compile(r"(?!-)[\w./+@#%=,-]+")
_NEVER = re.compile(r"^[/.]|[/.]$|\.\.|//|/\.|@\{|\.lock(?:/|$)|^@$|^HEAD$|^refs/")
"""What git refuses in the name of a branch, and names that git reads as something else than a branch."""
_OURS = "helmsman/"


class MergeConfig(Section):
    """Whether the loop merges its own work once it is proven, and into what."""

    into: str = Field(default="", max_length=200)
    """Branch that proven work is merged into, by its short name, once every check passes on exactly the tree that the branch will
    have. The judge's rejections then demand another approach instead of waiting for a person, unless `gates.merge` has one asked.
    Empty: nothing is merged."""
    push: OperatorKey[bool] = False
    """Merge onto what the remote (`remote.name`) holds of that branch, and push it; the local branch comes along where it can."""
    tries: int = Field(default=3, ge=1, le=20)
    """Merges that may fail, by a conflict or by checks, before a person is asked."""
    wait_minutes: float = Field(default=30, ge=0, le=24 * 60)
    """Minutes to wait for other loops that merge. Then the merge is tried beside theirs, which costs time and spoils nothing."""

    @field_validator("into")
    @classmethod
    def _names_a_branch(cls, into: str) -> str:
        if into and (not _BRANCH.fullmatch(into) or _NEVER.search(into)):
            raise PydanticCustomError("no_branch", "the short name of a branch, for example main")
        if into.startswith(_OURS):
            raise PydanticCustomError("own_branch", "a branch of yours; helmsman/… belongs to loops")
        return into
