"""The files that `helmsman init` writes: their text, and putting them where nothing is."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from helmsman.config import CheckConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.first_files import DEFAULT_TIMEOUT, Aside, FirstCheck, FirstSetUp, helmsman_toml, rubric_md
from helmsman.orient.projects.kinds import Kind
from helmsman.parsers.rubric import read_rubric
from helmsman.texts import counted, duration
from tasks.checking.detecting import Fate, Tried
from tasks.loops.config_files import RUBRIC, read_layers

TOML = "helmsman.toml"
ROOM_TO_GROW = 5
"""Times what it took that a check may take: the machine may be busier then, and tests become more."""
OF_A_SLOW_ONE = 1800
"""Seconds for a check that is kept though it did not come to its end when it was tried."""


@dataclass(frozen=True)
class Plan:
    """What is to be written down."""

    goal: str
    """Empty: none yet."""
    kept: tuple[Tried, ...]
    left: tuple[Tried, ...]
    criteria: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A file, and what became of it."""

    name: str
    text: str
    obstacle: str = ""
    """Why it is left as it is; empty where it is written."""


def pages(plan: Plan, obstacles: Mapping[str, str], setup: FirstSetUp | None = None) -> tuple[Page, Page]:
    """Both files as text. Raises OperatorError for criteria that no rubric can hold."""
    asides = [Aside(tried.candidate.command, f"{tried.candidate.where}: {outcome(tried)}") for tried in plan.left]
    toml = helmsman_toml(plan.goal, list(_checks(plan.kept)), asides, setup)
    rubric = rubric_md(plan.criteria)
    if plan.criteria and (flaws := read_rubric(rubric).problems):
        raise OperatorError(
            "the acceptance criteria cannot be written into RUBRIC.md",
            found="; ".join(flaw.cause for flaw in flaws[:5]),
            remedy="; ".join(dict.fromkeys(flaw.remedy for flaw in flaws[:5])),
        )
    return Page(TOML, toml, obstacles.get(TOML, "")), Page(RUBRIC, rubric, obstacles.get(RUBRIC, ""))


def outcome(tried: Tried) -> str:
    """What came of a command, in a few words."""
    if tried.fate is Fate.WORKS:
        ran = "" if tried.tests is None else f", {counted(tried.tests, 'test') if tried.tests else 'no tests'}"
        return f"works, {duration(tried.seconds)}{ran}"
    if tried.fate is Fate.TOO_SLOW:
        return f"too slow, ended after {duration(tried.seconds)}"
    if tried.fate is Fate.FAILS and tried.failed:
        return f"fails now: {tried.failed} of {counted(tried.tests or 0, 'test')}"
    return str(tried.fate) + (f", exit {tried.exit_code}" if tried.exit_code is not None else "")


def _checks(kept: Sequence[Tried]) -> Iterator[FirstCheck]:
    """A kind is the name of its first check; another of that kind is called by its command."""
    named = set[Kind]()
    for tried in kept:
        candidate = tried.candidate
        name = "" if candidate.kind in named else str(candidate.kind)
        named.add(candidate.kind)
        config = CheckConfig(command=candidate.command, name=name, timeout_seconds=_timeout(tried))
        yield FirstCheck(config, f"{candidate.where}: {outcome(tried)}")


def _timeout(tried: Tried) -> float:
    slow = OF_A_SLOW_ONE if tried.fate is Fate.TOO_SLOW else 0
    return max(DEFAULT_TIMEOUT, slow, ceil(tried.seconds * ROOM_TO_GROW))


# --- on the disk --------------------------------------------------------------------------------------------------


def obstacles(top: Path, *, force: bool) -> dict[str, str]:
    """By name, why a file is not written. Whatever lies there under its name counts, a link that leads nowhere too."""
    if force:
        return {}
    found = {name: "it is there already" for name in (TOML, RUBRIC) if os.path.lexists(top / name)}
    if TOML not in found and _has_settings_in_pyproject(top):
        found[TOML] = "pyproject.toml has [tool.helmsman], and helmsman.toml would take the place of all of it"
    return found


def _has_settings_in_pyproject(top: Path) -> bool:
    with suppress(HelmsmanError):  # a file that cannot be read is told by every other command
        return any(layer.source.startswith("pyproject.toml") for layer in read_layers(top))
    return False


def put(top: Path, page: Page, *, force: bool) -> None:
    """Write a page. With `force` it takes the place of what is there, in one step; a link is replaced, not followed."""
    path = top / page.name
    try:
        (_replace if force else _create)(path, page.text)
    except OSError as error:
        raise OperatorError(
            f"{path} cannot be written", found=str(error.strerror), remedy="make room for it, or make the folder writable"
        ) from error


def _create(path: Path, text: str) -> None:
    """Half a file would be in the way of the next time."""
    with path.open("x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            path.unlink()
            raise


def _replace(path: Path, text: str) -> None:
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
