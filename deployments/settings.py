"""Loop configuration from command-line options."""

import os
import sys
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias

from deployments.options import OPTIONS, default_of
from deployments.start_directory import STANDARD_STREAM, from_start, start_directory
from helmsman.config import RemoteConfig
from helmsman.config.layers import Layer, Resolved, display, from_assignments, from_environment, merge_tables, resolve
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.records.request import LoopRequest
from tasks.agents.catalogue import LoopSettings
from tasks.hats.finding import is_path
from tasks.loop.configure import configure, read_file, read_user_layer, resolve_goal_file
from tasks.repository.git import Repository, current_branch, open_repository
from tasks.system.environment import own_environment
from tasks.system.files import LARGEST_FILE
from tasks.system.trust import consent_of

CHECKED_OUT = "."
Options: TypeAlias = Mapping[str, Any]  # option values by their names in `OPTIONS`; a missing one was not given


def repository_if_any(repo: Path) -> Repository | None:
    """The repository, or None if the start directory is not in one. Raises if a repository given explicitly does not exist."""
    try:
        return open_repository(repo)
    except HelmsmanError:
        if repo != start_directory():
            raise
        return None


def configuration(repository: Repository, options: Options, *, goal_later: bool = False) -> LoopSettings:
    """Configuration for a new loop; with `goal_later` the goal may be missing, as when it is only displayed."""
    named = [read_file(options["config"])] if options.get("config") else []
    given = resolve_goal_file(Layer("command line", settings_of(repository, options)), start_directory())
    request = LoopRequest(repository=str(repository.top), settings=dict(given.values))
    weakest = [Layer("not given yet", {"goal": "…"})] if goal_later else []
    return configure(repository.top, request, consent=consent_of(repository.consent_key), stronger=named, weaker=weakest)


def operator_settings(*stronger: Layer) -> Resolved:
    """The environment and the user's own configuration file alone, for what no repository decides."""
    environment = Layer("environment", from_environment(own_environment()))
    return resolve([*stronger, environment, *read_user_layer(), Layer("not given yet", {"goal": "…"})])


def remote_settings(given: Mapping[str, Any]) -> RemoteConfig:
    """The operator's remote, with the settings of the command line."""
    return operator_settings(Layer("command line", {"remote": given.get("remote", {})})).config.remote


def settings_of(repository: Repository, options: Options) -> dict[str, Any]:
    """Options as configuration; dedicated options take precedence over --set."""
    branch = options.get("merge", "")
    if branch == CHECKED_OUT and not (branch := current_branch(repository.top)):
        raise OperatorError("no branch is checked out to merge into", remedy="name one: --merge BRANCH")
    dedicated = (
        goal_settings(options.get("goal"), options.get("goal_file")),
        check_settings(options),
        {"preset": resolve_preset(options["preset"])} if options.get("preset") else {},
        *key_settings(options),
        {"merge": {"into": branch}} if branch else {},
    )
    return reduce(merge_tables, dedicated, from_assignments(options.get("settings") or ()))


def key_settings(options: Options) -> Iterator[dict[str, Any]]:
    """Settings of options that set exactly one key."""
    for name, row in OPTIONS.items():
        section, _, key = row.get("key", "").partition(".")
        if section and options.get(name, default_of(row)) != default_of(row):
            yield {section: {key: options[name]}}


def resolve_preset(preset: str) -> str:
    """Resolve a preset path relative to the start directory; return a name unchanged."""
    path = os.path.expanduser(preset)  # noqa: PTH111 - Path.expanduser raises for an unknown user
    return str(from_start(path)) if is_path(preset) else preset


def check_settings(options: Options) -> dict[str, Any]:
    """Settings of `--check`, `--hidden` and `--hidden-folder`; `--no-checks` also drops checks from files."""
    checks, hidden, folder = options.get("check") or (), options.get("hidden") or (), options.get("hidden_folder")
    if options.get("no_checks") and checks:
        raise OperatorError("--check and --no-checks exclude each other", remedy="omit one of them")
    if folder and not hidden:
        raise OperatorError("--hidden-folder has no check that runs on it", remedy="pass --hidden CMD as well")
    place = {"folder": str(folder)} if folder else {}
    return {
        **({"checks": list(checks)} if checks else {}),
        **({"allow_no_checks": True, "checks": []} if options.get("no_checks") else {}),
        **({"hidden": [{"command": command, **place} for command in hidden]} if hidden else {}),
    }


def goal_settings(goal: str | None, goal_file: Path | None) -> dict[str, Any]:
    """Goal as text, from a file, or from standard input, which needs no quoting; empty if none is given."""
    if goal is not None or goal_file != STANDARD_STREAM:
        return ({"goal": goal} if goal is not None else {}) | ({"goal_file": str(goal_file)} if goal_file else {})
    data = sys.stdin.buffer.read(LARGEST_FILE + 1)
    try:
        text, found = data.decode("utf-8-sig").replace("\r\n", "\n").strip(), "nothing"
    except UnicodeDecodeError as error:
        text, found = "", f"no UTF-8: {error.reason}"
    if len(data) > LARGEST_FILE:
        text, found = "", f"more than {LARGEST_FILE} bytes"
    if text:
        return {"goal": text}
    raise OperatorError(
        "standard input cannot be used as the goal",
        expected="some words that describe what should be true at the end",
        found=found,
        remedy="pipe the goal in, or give it as the argument",
    )


def invalid_name(what: str, most: int, name: str, remedy: str = "choose another --name, or omit it") -> OperatorError:
    expected = f"lowercase letters, digits and single dashes between them, {most} characters at most"
    return OperatorError(f"that is not a valid name for {what}", expected=expected, found=display(name), remedy=remedy)
