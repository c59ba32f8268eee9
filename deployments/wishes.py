"""From options to configuration: what was said on the command line about a loop."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmsman.layers import Layer, Resolved, from_assignments
from helmsman.records.request import LoopRequest
from tasks.config_files import read_file, resolve_goal_file
from tasks.git import Repository
from tasks.opening import configure


@dataclass(frozen=True)
class Wishes:
    """What was said on the command line about a new loop."""

    goal: str | None = None
    goal_file: Path | None = None
    checks: tuple[str, ...] = ()
    no_checks: bool = False
    in_place: bool = False
    max_iterations: int | None = None
    name: str = ""
    config: Path | None = None
    settings: tuple[str, ...] = ()


def wished(repository: Repository, wishes: Wishes, *, goal_later: bool = False) -> Resolved:
    """The configuration for a new loop; with `goal_later` it may still lack a goal, as where it is only shown."""
    named = [read_file(wishes.config)] if wishes.config else []
    said = resolve_goal_file(Layer("command line", _said(wishes)), Path())
    request = LoopRequest(repository=str(repository.top), settings=dict(said.values))
    weakest = [Layer("not given yet", {"goal": "…"})] if goal_later else []
    return configure(repository.top, request, stronger=named, weaker=weakest)


def _said(wishes: Wishes) -> dict[str, Any]:
    """Options as configuration; the short ones win over --set."""
    said = from_assignments(wishes.settings)
    said |= {"goal": wishes.goal} if wishes.goal is not None else {}
    said |= {"goal_file": str(wishes.goal_file)} if wishes.goal_file else {}
    said |= {"checks": list(wishes.checks)} if wishes.checks else {}
    said |= {"allow_no_checks": True} if wishes.no_checks else {}
    if wishes.in_place:
        said["workspace"] = {**said.get("workspace", {}), "in_place": True}
    if wishes.max_iterations is not None:
        said["limits"] = {**said.get("limits", {}), "iterations": wishes.max_iterations}
    return said
