"""Which repositories this user trusts, and to what: one file in the user's state folder, outside of every repository."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationError

from helmsman.config.owners import NotAgreed, Requested
from helmsman.errors import OperatorError
from tasks.system.files import locked, read_plain, write_atomic
from tasks.system.paths import state_home, user_config_file

Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
LARGEST = 1 << 24  # bytes of the file; a repository takes a few hundred
PRIVATE = 0o600
TRIGGERED = (
    "take it out, and push again; or set it yourself: in the receiver's file of repositories (set = {…}),"
    " or in the environment or the user configuration file of the worker"
)


class Trust(BaseModel, frozen=True, extra="forbid"):
    """What a user agreed to of one repository."""

    commands: bool = False  # its own commands may run here: checks, set-up
    content: tuple[Fingerprint, ...] = ()  # fingerprints of what its files may set; helmsman/config/owners.py makes them


class _TrustFile(BaseModel, frozen=True, extra="forbid"):
    version: Literal[1] = 1
    repositories: dict[str, Trust] = Field(default_factory=dict[str, Trust])
    """By the real path of the git folder that all of a repository's worktrees share."""


def trust_file() -> Path:
    return state_home() / "trust.json"


def trust_of(common: Path) -> Trust:
    """What the user agreed to. Raises OperatorError where trust.json cannot be read."""
    return _read().repositories.get(_name(common), Trust())


def consent_of(common: Path) -> frozenset[str]:
    """Fingerprints of the content that the user agreed to."""
    return frozenset(trust_of(common).content)


def trust_commands(common: Path) -> None:
    """Let the repository's own commands run here from now on."""
    _change(common, lambda trust: trust.model_copy(update={"commands": True}))


def agree_to(common: Path, requested: Iterable[Requested]) -> None:
    """Let the repository's files set exactly this; it is a yes to its commands as well."""
    new = [one.fingerprint for one in requested]
    _change(common, lambda trust: Trust(commands=True, content=tuple(dict.fromkeys((*trust.content, *new)))))


def revoke(common: Path) -> None:
    """Forget all that was agreed to."""
    _change(common, lambda _: None)


def require_agreed(requested: Iterable[Requested], consent: frozenset[str] | None) -> None:
    """Raise NotAgreed for files that ask for what nobody agreed to. `consent`: None where a run was triggered from outside."""
    refused = [one for one in requested if one.settings and (consent is None or one.fingerprint not in consent)]
    if refused:
        own = f"set keys of the configuration yourself: in {user_config_file()}, in the environment (HELMSMAN_…) or with --set"
        remedy = f"review it, then allow exactly this with `helmsman trust`; or {own}"
        raise NotAgreed(refused, TRIGGERED if consent is None else remedy)


def _name(common: Path) -> str:
    return os.fsdecode(common.resolve())


def _read() -> _TrustFile:
    path = trust_file()
    try:
        return _TrustFile.model_validate_json(read_plain(path, LARGEST)) if path.exists() else _TrustFile()
    except (OSError, ValidationError) as error:
        found = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise OperatorError(
            f"{path} cannot be read, so the trusted repositories are unknown",
            expected="the file as helmsman trust writes it",
            found=found,
            remedy="repair it, or move it away and run `helmsman trust` again",
        ) from None


def _change(common: Path, change: Callable[[Trust], Trust | None]) -> None:
    """A file that cannot be read is left as it is."""
    path, name = trust_file(), _name(common)
    with locked(path.with_name(f"{path.name}.lock"), PRIVATE):  # two commands that agree at the same time both count
        known = _read()
        after = change(known.repositories.pop(name, Trust()))
        repositories = known.repositories | ({name: after} if after else {})
        write_atomic(path, _TrustFile(repositories=repositories).model_dump_json(indent=1), mode=PRIVATE)
