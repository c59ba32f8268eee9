"""Where the agent works, and whether its work travels."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from helmsman.config.base import OperatorKey, Owner, Section, Words


def _names_a_remote(name: str) -> str:
    if name.startswith("-"):
        raise PydanticCustomError("option", "a remote's name, which does not begin with a dash")
    if name.startswith(("/", ".", "~")) or ":" in name:
        raise PydanticCustomError("address", "the name of a configured remote, and no path or URL")
    return name


RemoteName = Annotated[Words, AfterValidator(_names_a_remote)]


class WorkspaceConfig(Section):
    """Where the agent works."""

    in_place: OperatorKey[bool] = False
    """Work on the current branch in the repository's own checkout instead of in a worktree."""
    root: OperatorKey[str] = ""
    """Folder that holds the worktrees, from the repository's top. Empty: `helmsman/worktrees` in the user's state folder."""
    setup: tuple[Words, ...] = ()
    """Commands that make a fresh checkout ready, such as `npm ci`: run by `sh` in the agent's worktree when it is made, and in
    the clean checkout that the checks run in, there again where a lock file or a manifest has changed."""
    teardown: tuple[Words, ...] = ()
    """Commands that undo what `setup` made outside of the checkout; run before a checkout is removed."""
    clean: OperatorKey[bool] = True
    """Decide in a clean checkout of the commit, with a home, caches and a PATH that the agent did not write to. Off: checks run
    in the agent's folder, where what is ignored and what lies in your home decides as well; every verdict then says so."""


class RemoteConfig(Section):
    """Whether branch and state travel, so that another machine can go on."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    push: bool = False
    """Push branch and state together, atomically, after every call of the agent and every iteration; begin with what is there."""
    name: RemoteName = "origin"
    """The name of a remote of the repository, as `git remote` lists it; never a path or a URL. It does not begin with a dash: git
    would take it for an option, and some of those run commands."""
