"""Where the agent works, and whether its work travels."""

from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from helmsman.config.base import Section, Words


def _no_option(name: str) -> str:
    if name.startswith("-"):
        raise PydanticCustomError("option", "a remote's name, which does not begin with a dash")
    return name


RemoteName = Annotated[Words, AfterValidator(_no_option)]


class WorkspaceConfig(Section):
    """Where the agent works."""

    in_place: bool = False
    """Work on the current branch in the repository's own checkout instead of in a worktree."""
    root: str = ""
    """Folder that holds the worktrees. Empty: `helmsman/worktrees` in the user's state folder."""


class RemoteConfig(Section):
    """Whether branch and state travel, so that another machine can go on."""

    push: bool = False
    """Push branch and state together, atomically, after every call of the agent and every iteration; begin with what is there."""
    name: RemoteName = "origin"
    """The remote's name. It does not begin with a dash: git would take it for an option, and some of those run commands."""
