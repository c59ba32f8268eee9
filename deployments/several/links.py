"""Loops that are started together, as a file or the command line names them: read, refused, and seen to be able to start."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from deployments.running import refuse_agent
from helmsman.config import Section
from helmsman.errors import OperatorError
from helmsman.layers import merged, shown
from helmsman.records.chain import Link
from helmsman.records.request import LoopRequest
from helmsman.toml_of import toml_of
from tasks.agents.finding import find_agent
from tasks.beneath import read_plain
from tasks.loops.creating import require_checks
from tasks.loops.opening import configure
from tasks.repository.git import Repository

PROBLEMS_SHOWN = 5
LARGEST_FILE = 1024 * 1024
"""Bytes; a file that is longer ends in the middle of a line, and says so."""

_File = TypeVar("_File", bound=Section)


def read_links(file: Path, form: type[_File], what: str, remedy: str) -> _File:
    """A TOML file with loops. Raises OperatorError with the place of every flaw."""
    try:
        return form.model_validate(toml_of(read_plain(file, LARGEST_FILE).decode("utf-8-sig")))
    except ValidationError as error:
        raise refused(f"{file} is no {what}", error) from error
    except (OSError, ValueError, RecursionError) as error:
        raise OperatorError(
            f"the {what} cannot be read",
            expected="a TOML file with [[loops]], each with a goal",
            found=f"{file}: {error}",
            remedy=remedy,
        ) from error


def link(goal: str, settings: Mapping[str, Any] | None = None) -> Link:
    """A loop for a goal. Raises OperatorError."""
    try:
        return Link(goal=goal, settings=dict(settings or {}))
    except ValidationError as error:
        raise refused("a goal cannot be read", error) from error


def with_given(link: Link, checks: tuple[str, ...], given: Mapping[str, Any]) -> Link:
    """A loop has its own checks before those that were given for all; of settings, what is given now counts, as everywhere."""
    settings = merged(link.settings, given) if link.settings else {}
    return link.model_copy(update={"checks": link.checks or checks, "settings": settings})


def refused(what: str, error: ValidationError) -> OperatorError:
    problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:PROBLEMS_SHOWN])
    return OperatorError(
        what, expected="[[loops]], each with a goal, and perhaps checks and settings", found=shown("; ".join(problems))
    )


def require_startable(repository: Repository, links: Sequence[Link], settings: Mapping[str, Any]) -> None:
    """Raise OperatorError where one of the loops could not start, before any of them does."""
    for one in links:
        said = LoopRequest(
            repository=str(repository.top), goal=one.goal, checks=one.checks, settings=merged(settings, one.settings)
        )
        config = configure(repository.top, said).config
        require_checks(config)
        refuse_agent(config, find_agent(repository.top, config.agent), repository.top)
