"""What was said on the command line about a loop, as configuration."""

import os
import sys
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias

from deployments.options import OPTIONS, default_of
from deployments.start_directory import STANDARD_STREAM, from_start, start_directory
from helmsman.config.layers import Layer, display, from_assignments, merged
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.records.request import LoopRequest
from tasks.agents.catalogue import LoopSettings
from tasks.hats.finding import is_path
from tasks.loop.configure import configure, read_file, resolve_goal_file
from tasks.repository.git import Repository, current_branch, open_repository
from tasks.system.files import LARGEST_FILE
from tasks.system.trust import consent_of

CHECKED_OUT = "."
Said: TypeAlias = Mapping[str, Any]  # values of options by their names in `OPTIONS`; one that is missing was not given


def repository_if_any(repo: Path) -> Repository | None:
    """What is looked at is there without any repository; but one that was named has to be there."""
    try:
        return open_repository(repo)
    except HelmsmanError:
        if repo != start_directory():
            raise
        return None


def configuration(repository: Repository, said: Said, *, goal_later: bool = False) -> LoopSettings:
    """The configuration for a new loop; with `goal_later` it may still lack a goal, as where it is only shown."""
    named = [read_file(said["config"])] if said.get("config") else []
    given = resolve_goal_file(Layer("command line", settings_of(repository, said)), start_directory())
    request = LoopRequest(repository=str(repository.top), settings=dict(given.values))
    weakest = [Layer("not given yet", {"goal": "…"})] if goal_later else []
    return configure(repository.top, request, consent=consent_of(repository.common), stronger=named, weaker=weakest)


def settings_of(repository: Repository, said: Said) -> dict[str, Any]:
    """Options as configuration; the short ones win over --set, whatever that made of their section."""
    branch = said.get("merge", "")
    if branch == CHECKED_OUT and not (branch := current_branch(repository.top)):
        raise OperatorError("no branch is checked out to merge into", remedy="name one: --merge BRANCH")
    short = (
        goal_said(said.get("goal"), said.get("goal_file")),
        checks_said(said),
        {"preset": from_here(said["preset"])} if said.get("preset") else {},
        *keys_said(said),
        {"merge": {"into": branch}} if branch else {},
    )
    return reduce(merged, short, from_assignments(said.get("settings") or ()))


def keys_said(said: Said) -> Iterator[dict[str, Any]]:
    """Options that stand for one key each."""
    for name, row in OPTIONS.items():
        section, _, key = row.get("key", "").partition(".")
        if section and said.get(name, default_of(row)) != default_of(row):
            yield {section: {key: said[name]}}


def from_here(preset: str) -> str:
    """A path is seen from where the command was given; a name is the same everywhere."""
    path = os.path.expanduser(preset)  # noqa: PTH111 - a Path raises where nobody has that name
    return str(from_start(path)) if is_path(preset) else preset


def checks_said(said: Said) -> dict[str, Any]:
    """`--check`, `--hidden` and `--hidden-folder`; `--no-checks` means those that files name as well."""
    checks, hidden, folder = said.get("check") or (), said.get("hidden") or (), said.get("hidden_folder")
    if said.get("no_checks") and checks:
        raise OperatorError("--check and --no-checks exclude each other", remedy="omit one of them")
    if folder and not hidden:
        raise OperatorError("--hidden-folder has no check that runs on it", remedy="pass --hidden CMD as well")
    place = {"folder": str(folder)} if folder else {}
    return {
        **({"checks": list(checks)} if checks else {}),
        **({"allow_no_checks": True, "checks": []} if said.get("no_checks") else {}),
        **({"hidden": [{"command": command, **place} for command in hidden]} if hidden else {}),
    }


def goal_said(goal: str | None, goal_file: Path | None) -> dict[str, Any]:
    """The goal in words, in a file, or on standard input, where quoting cannot go wrong; nothing where nothing is said."""
    if goal is not None or goal_file != STANDARD_STREAM:
        return ({"goal": goal} if goal is not None else {}) | ({"goal_file": str(goal_file)} if goal_file else {})
    piped = sys.stdin.buffer.read(LARGEST_FILE + 1)
    try:
        text, found = piped.decode("utf-8-sig").replace("\r\n", "\n").strip(), "nothing"
    except UnicodeDecodeError as error:
        text, found = "", f"no UTF-8: {error.reason}"
    if len(piped) > LARGEST_FILE:
        text, found = "", f"more than {LARGEST_FILE} bytes"
    if text:
        return {"goal": text}
    raise OperatorError(
        "standard input cannot be used as the goal",
        expected="some words that describe what should be true at the end",
        found=found,
        remedy="pipe the goal in, or give it as the argument",
    )


def unfit_name(what: str, most: int, name: str, remedy: str = "choose another --name, or omit it") -> OperatorError:
    expected = f"lowercase letters, digits and single dashes between them, {most} characters at most"
    return OperatorError(f"that is not a valid name for {what}", expected=expected, found=display(name), remedy=remedy)
