"""The user's trust in repositories: one file in the user's state folder, outside of every repository."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationError

from helmsman.config.owners import ConsentMissing, TrustRequest
from helmsman.errors import OperatorError
from tasks.system.files import locked, read_plain, write_atomic
from tasks.system.paths import state_home, user_config_file

Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
LARGEST = 1 << 24  # maximum bytes of the file; a repository needs a few hundred
PRIVATE = 0o600
TRIGGERED_REMEDY = (
    "remove it, and push again; or set it yourself: in the receiver's file of repositories (set = {…}),"
    " or in the environment or the user configuration file of the worker"
)


class Trust(BaseModel, frozen=True, extra="forbid"):
    """The user's consent for one repository."""

    commands: bool = False  # its own commands may run here: checks, set-up
    content: tuple[Fingerprint, ...] = ()  # fingerprints of what its files may set; helmsman/config/owners.py makes them


class _TrustFile(BaseModel, frozen=True, extra="forbid"):
    version: Literal[1] = 1
    repositories: dict[str, Trust] = Field(default_factory=dict[str, Trust])
    """By `consent_key`: usually the resolved path of the git folder that all of a repository's worktrees share."""


def trust_file() -> Path:
    return state_home() / "trust.json"


def trust_of(key: Path) -> Trust:
    """The user's consent. Raises OperatorError if trust.json cannot be read."""
    return _load().repositories.get(_key_of(key), Trust())


def consent_of(key: Path) -> frozenset[str]:
    """Fingerprints of the content that the user agreed to."""
    return frozenset(trust_of(key).content)


def trust_commands(key: Path) -> None:
    """Allow the repository's own commands from now on."""
    _update(key, lambda trust: trust.model_copy(update={"commands": True}))


def agree_to(key: Path, requested: Iterable[TrustRequest]) -> None:
    """Allow the repository's files to set exactly this, and its commands."""
    new = [request.fingerprint for request in requested]
    _update(key, lambda trust: Trust(commands=True, content=tuple(dict.fromkeys((*trust.content, *new)))))


def revoke(key: Path) -> None:
    """Delete the consent for the repository."""
    _update(key, lambda _: None)


def require_agreement(requested: Iterable[TrustRequest], consent: frozenset[str] | None) -> None:
    """Raise ConsentMissing for files with settings without consent. `consent`: None for a run triggered from outside."""
    refused = [request for request in requested if request.settings and (consent is None or request.fingerprint not in consent)]
    if refused:
        manual = f"set keys of the configuration yourself: in {user_config_file()}, in the environment (HELMSMAN_…) or with --set"
        remedy = f"review it, then allow exactly this with `helmsman trust`; or {manual}"
        raise ConsentMissing(refused, TRIGGERED_REMEDY if consent is None else remedy)


def _key_of(key: Path) -> str:
    return os.fsdecode(key.resolve())


def _load() -> _TrustFile:
    path = trust_file()
    try:
        return _TrustFile.model_validate_json(read_plain(path, LARGEST)) if path.exists() else _TrustFile()
    except (OSError, ValidationError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise OperatorError(
            f"{path} cannot be read, so the trusted repositories are unknown",
            expected="the file as helmsman trust writes it",
            found=problem,
            remedy="repair it, or move it away and run `helmsman trust` again",
        ) from None


def _update(key: Path, change: Callable[[Trust], Trust | None]) -> None:
    """Update the file under its lock. An unreadable file stays as it is."""
    path, name = trust_file(), _key_of(key)
    with locked(path.with_name(f"{path.name}.lock"), PRIVATE):  # for concurrent commands
        known = _load()
        after = change(known.repositories.pop(name, Trust()))
        repositories = known.repositories | ({name: after} if after else {})
        write_atomic(path, _TrustFile(repositories=repositories).model_dump_json(indent=1), mode=PRIVATE)
