"""From options to configuration: what was said on the command line about a loop."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from deployments.goals import goal_said
from deployments.start_directory import from_start, start_directory
from helmsman.errors import OperatorError
from helmsman.layers import Layer, Resolved, from_assignments, merged
from helmsman.records.request import LoopRequest
from tasks.hats.finding import is_path
from tasks.loops.config_files import read_file, resolve_goal_file
from tasks.loops.opening import configure
from tasks.repository.git import Repository, current_branch
from tasks.system.trust import consent_of

CHECKED_OUT = "."
KEYS = "limits.iterations", "limits.calls_per_hour", "claude.timeout_minutes", "gates.milestone_every", "completion.promise"
"""Keys of the configuration that have an option of their own, in the order of those."""


@dataclass(frozen=True)
class Wishes:
    """What was said on the command line about a new loop."""

    goal: str | None = None
    goal_file: Path | None = None
    checks: tuple[str, ...] = ()
    no_checks: bool = False
    hidden: tuple[str, ...] = ()
    hidden_folder: Path | None = None
    in_place: bool = False
    keys: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options that stand for one key of the configuration each, `section.name`; None: not given."""
    merge: str = ""
    name: str = ""
    config: Path | None = None
    settings: tuple[str, ...] = ()
    preset: str = ""
    plan: str = ""
    agent: str = ""


def wished(repository: Repository, wishes: Wishes, *, goal_later: bool = False) -> Resolved:
    """The configuration for a new loop; with `goal_later` it may still lack a goal, as where it is only shown."""
    named = [read_file(wishes.config)] if wishes.config else []
    said = resolve_goal_file(Layer("command line", _said(repository, wishes)), start_directory())
    request = LoopRequest(repository=str(repository.top), settings=dict(said.values))
    weakest = [Layer("not given yet", {"goal": "…"})] if goal_later else []
    return configure(repository.top, request, consent=consent_of(repository.common), stronger=named, weaker=weakest)


def from_here(preset: str) -> str:
    """A path is seen from where the command was given; a name is the same everywhere."""
    path = os.path.expanduser(preset)  # noqa: PTH111 - a Path raises where nobody has that name
    return str(from_start(path)) if is_path(preset) else preset


def _said(repository: Repository, wishes: Wishes) -> dict[str, Any]:
    """Options as configuration; the short ones win over --set, whatever that made of their section."""
    short = (
        goal_said(wishes.goal, wishes.goal_file),
        _checks(wishes),
        hidden_said(wishes.hidden, wishes.hidden_folder),
        {"preset": from_here(wishes.preset)} if wishes.preset else {},
        {"plan": {"file": wishes.plan}} if wishes.plan else {},
        {"agent": {"kind": wishes.agent}} if wishes.agent else {},
        {"workspace": {"in_place": True}} if wishes.in_place else {},
        *({section: {name: value}} for section, name, value in _given(wishes.keys)),
        merged_into(repository, wishes.merge),
    )
    return reduce(merged, short, from_assignments(wishes.settings))


def _checks(wishes: Wishes) -> dict[str, Any]:
    """`--no-checks` means those that files name as well."""
    if wishes.no_checks and wishes.checks:
        raise OperatorError("--check and --no-checks contradict each other", remedy="leave one of them out")
    if wishes.no_checks:
        return {"allow_no_checks": True, "checks": []}
    return {"checks": list(wishes.checks)} if wishes.checks else {}


def hidden_said(commands: Sequence[str], folder: Path | None) -> dict[str, Any]:
    """`--hidden` and `--hidden-folder` as configuration."""
    if folder and not commands:
        raise OperatorError("--hidden-folder has no check that runs on it", remedy="give --hidden CMD as well")
    place = {"folder": str(folder)} if folder else {}
    return {"hidden": [{"command": command, **place} for command in commands]} if commands else {}


def _given(keys: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for key, value in keys.items():
        section, _, name = key.partition(".")
        if value is not None:
            yield section, name, value


def merged_into(repository: Repository, name: str) -> dict[str, Any]:
    """`--merge` as configuration; nothing where it was not given."""
    if not name:
        return {}
    branch = current_branch(repository.top) if name == CHECKED_OUT else name
    if not branch:
        raise OperatorError("no branch is checked out to merge into", remedy="name one: --merge BRANCH")
    return {"merge": {"into": branch}}
