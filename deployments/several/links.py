"""Loops that are started together, as a file or the command line names them: read, refused, and seen to be able to start."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from deployments.running import refuse_agent
from helmsman.config import Section
from helmsman.errors import OperatorError
from helmsman.layers import complaint_of, merged, shown
from helmsman.naming import loop_id
from helmsman.plain import short_line
from helmsman.records.chain import LONGEST_CHAIN_ID, Link
from helmsman.records.request import LoopRequest, is_loop_id
from helmsman.toml_of import toml_of
from tasks.agents.finding import find_agent
from tasks.loops.creating import require_checks, require_no_secret
from tasks.loops.opening import configure
from tasks.repository.git import Repository
from tasks.system.files import read_plain
from tasks.system.trust import consent_of

PROBLEMS_SHOWN = 5
LARGEST_FILE = 1024 * 1024
"""Bytes; a file that is longer ends in the middle of a line, and says so."""

_Form = TypeVar("_Form", bound=Section)


def read_links(file: Path, form: type[_Form], what: str, remedy: str) -> _Form:
    """A TOML file with loops. Raises OperatorError with the place of every flaw."""
    try:
        return form.model_validate(toml_of(read_plain(file, LARGEST_FILE).decode("utf-8-sig")))
    except ValidationError as error:
        raise _refused(f"{file} is no {what}", error) from error
    except (OSError, ValueError, RecursionError) as error:
        raise OperatorError(
            f"the {what} cannot be read",
            expected="a TOML file with [[loops]], each with a goal",
            found=f"{file}: {error}",
            remedy=remedy,
        ) from error


def made(form: type[_Form], refusal: str, **fields: Any) -> _Form:
    """What the command line says, as such a file would say it. Raises OperatorError with every flaw."""
    try:
        return form(**fields)
    except ValidationError as error:
        raise _refused(refusal, error) from error


def link(goal: str, settings: Mapping[str, Any] | None = None) -> Link:
    """A loop for a goal. Raises OperatorError."""
    return made(Link, "a goal cannot be read", goal=goal, settings=dict(settings or {}))


def refuse_both(file: Path | None, goals: Sequence[object]) -> None:
    """Goals beside a file: one of both would be forgotten in silence."""
    if file and any(goals):
        raise OperatorError(
            "a file of loops says itself what is to be done",
            expected="a file, or goals",
            found=f"{file}, and goals beside it",
            remedy="write them into the file, or leave it out",
        )


def name_of(what: str, given: str, first: str, loops: int) -> str:
    """The id that was given; else one that is made of the first goal. Raises OperatorError for one that no loop could have."""
    name = given or loop_id(first, f"{loops}")[:LONGEST_CHAIN_ID].strip("-")
    if not is_loop_id(name) or len(name) > LONGEST_CHAIN_ID:
        raise OperatorError(
            f"that is no name for a {what}",
            expected=f"small letters, digits and single dashes between them, {LONGEST_CHAIN_ID} characters at most",
            found=shown(name),
            remedy="give another --name, or none",
        )
    return name


def with_given(link: Link, checks: tuple[str, ...], given: Mapping[str, Any]) -> Link:
    """A loop has its own checks before those that were given for all; of settings, what is given now counts, as everywhere."""
    settings = merged(link.settings, given) if link.settings else {}
    return link.model_copy(update={"checks": link.checks or checks, "settings": settings})


def _refused(what: str, error: ValidationError) -> OperatorError:
    problems = (f"{'.'.join(map(str, one['loc']))}: {complaint_of(one)}" for one in error.errors()[:PROBLEMS_SHOWN])
    return OperatorError(
        what,
        expected="loops, each with a goal, and perhaps checks and settings",
        found=short_line("; ".join(problems)),
        remedy="correct it and start again; nothing was started",
    )


def require_startable(repository: Repository, links: Sequence[Link], settings: Mapping[str, Any]) -> None:
    """Raise OperatorError where one of the loops could not start, before any of them does."""
    for one in links:
        said = LoopRequest(
            repository=str(repository.top), goal=one.goal, checks=one.checks, settings=merged(settings, one.settings)
        )
        config = configure(repository.top, said, consent=consent_of(repository.common)).config
        require_no_secret(config)
        require_checks(config)
        refuse_agent(config, find_agent(repository.top, config.agent), repository.top)
