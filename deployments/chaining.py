"""`helmsman chain`: several loops one after the other, and a first draft of how a goal could be split into such."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from rich.console import Console

from deployments.display import display
from deployments.running import refuse_agent
from helmsman.config import LoopConfig, Section
from helmsman.errors import OperatorError
from helmsman.layers import from_assignments, merged, shown
from helmsman.naming import loop_id
from helmsman.orient.decomposition import chain_file
from helmsman.records.chain import LONGEST_CHAIN_ID, MOST_LINKS, ChainRequest, ChainResult, Link
from helmsman.records.request import LoopRequest
from helmsman.records.result import exit_code
from helmsman.records.verdict import Outcome
from helmsman.texts import SIGNS, clean, counted
from tasks.engine import engine
from tasks.git import Repository, open_repository
from tasks.journal import listening
from tasks.opening import configure, require_checks
from tasks.state_ref import read_state

PROBLEMS_SHOWN = 5


class ChainFile(Section):
    """What stands in the file of a chain."""

    name: str = Field(default="", max_length=LONGEST_CHAIN_ID)
    loops: tuple[Link, ...] = Field(min_length=1, max_length=MOST_LINKS)
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Said:
    """What was said on the command line about a chain."""

    file: Path | None = None
    goals: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    name: str = ""
    settings: tuple[str, ...] = ()


def chain(repo: Path, said: Said, *, as_json: bool) -> int:
    """Drive a chain to its end, or to the loop that breaks it off. What could have been got wrong is refused before it starts."""
    repository = open_repository(repo.absolute())
    request = chain_request(repository, said)
    for config in _configured(repository, request):
        require_checks(config)
        refuse_agent(config)
    result = _drive(request, as_json=as_json)
    return _conclude(repository, result, as_json=as_json)


def draft(repo: Path, said: Said) -> None:
    """Print a chain that the goal could be split into."""
    repository = open_repository(repo.absolute())
    asked = LoopRequest(repository=str(repository.top), goal="\n".join(said.goals), settings=from_assignments(said.settings))
    print(chain_file(configure(repository.top, asked).config), end="")


def chain_request(repository: Repository, said: Said) -> ChainRequest:
    found = _read(said.file) if said.file else ChainFile(loops=_links(said.goals))
    name = said.name or found.name or loop_id(found.loops[0].goal, f"{len(found.loops)}")[:LONGEST_CHAIN_ID].strip("-")
    given = from_assignments(said.settings)
    loops = tuple(_with(link, said.checks, given) for link in found.loops)
    settings, top = merged(found.settings, given), str(repository.top)
    try:
        return ChainRequest(repository=top, chain=name, loops=loops, settings=settings, reopen=True)
    except ValidationError as error:
        raise _refused("the chain cannot be started", error) from error


def _with(link: Link, checks: tuple[str, ...], given: Mapping[str, Any]) -> Link:
    """A loop has its own checks before those that were given for all; of settings, what is given now counts, as everywhere."""
    settings = merged(link.settings, given) if link.settings else {}
    return link.model_copy(update={"checks": link.checks or checks, "settings": settings})


def _links(goals: tuple[str, ...]) -> tuple[Link, ...]:
    if not goals:
        raise OperatorError(
            "there is nothing to do",
            expected="a file of loops, or goals",
            remedy="helmsman chain FILE, or helmsman chain --goal 'first' --goal 'second'",
        )
    try:
        return tuple(Link(goal=goal) for goal in goals)
    except ValidationError as error:
        raise _refused("a goal cannot be read", error) from error


def _read(file: Path) -> ChainFile:
    try:
        return ChainFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise _refused(f"{file} is no chain", error) from error
    except (OSError, ValueError) as error:
        raise OperatorError(
            "the chain cannot be read",
            expected="a TOML file with [[loops]], each with a goal",
            found=f"{file}: {error}",
            remedy="helmsman chain --draft prints one to begin with",
        ) from error


def _refused(what: str, error: ValidationError) -> OperatorError:
    problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:PROBLEMS_SHOWN])
    return OperatorError(
        what, expected="[[loops]], each with a goal, and perhaps checks and settings", found=shown("; ".join(problems))
    )


def _configured(repository: Repository, request: ChainRequest) -> Iterator[LoopConfig]:
    for link in request.loops:
        settings = merged(request.settings, link.settings)
        said = LoopRequest(repository=request.repository, goal=link.goal, checks=link.checks, settings=settings)
        yield configure(repository.top, said).config


def _drive(request: ChainRequest, *, as_json: bool) -> ChainResult:
    console = Console(stderr=as_json, highlight=False)
    with engine() as engine_is_up, display(console) as listener, listening(listener):
        from flows.chain import chain as flow
        from tasks.chaining import broke_off, chain_result
        from tasks.engine_runs import flush

        engine_is_up()
        final = flow(request, return_state=True)
        flush()
    result = chain_result(request)
    if broke_off(final, result):
        final.result(raise_on_failure=True)
    return result


def _conclude(repository: Repository, result: ChainResult, *, as_json: bool) -> int:
    if as_json:
        print(result.model_dump_json())
    else:
        Console(highlight=False).print("\n".join(["", *_lines(result)]), markup=False, soft_wrap=True)
    broken = next((one.loop for one in result.loops if one.outcome is not Outcome.COMPLETED), None)
    return 0 if broken is None else exit_code(read_state(repository, broken)[0])


def _lines(result: ChainResult) -> Iterator[str]:
    yield f"chain      {result.chain}: {result.completed} of {counted(len(result.loops), 'loop')} completed"
    for one in result.loops:
        sign = SIGNS[one.outcome] if one.outcome or one.branch else "not begun"
        yield f"loop       {one.loop}  {sign}  {clean(one.goal)}"
        if one.reason and not result.done:
            yield f"           {clean(one.reason)}"
    last = [one for one in result.loops if one.branch]
    if result.done:
        yield f"next       git diff ...{clean(last[-1].branch)}; git merge {clean(last[-1].branch)}"
    elif last:
        yield f"next       helmsman log {last[-1].loop}; the same command goes on with it"
