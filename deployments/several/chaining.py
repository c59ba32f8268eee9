"""`helmsman chain`: several loops one after the other, and a first draft of how a goal could be split into such."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.console import Console

from deployments.several.links import link, made, name_of, read_links, refuse_both, require_startable, with_given
from deployments.show.display import display
from deployments.trust import may_ask, settle
from helmsman.config import Section
from helmsman.errors import OperatorError
from helmsman.layers import from_assignments, merged
from helmsman.orient.decomposition import chain_file
from helmsman.plain import clean
from helmsman.records.chain import LONGEST_CHAIN_ID, MOST_LINKS, ChainRequest, ChainResult, Link
from helmsman.records.request import LoopRequest
from helmsman.records.result import exit_code, result_of
from helmsman.records.verdict import Outcome
from helmsman.render import next_lines
from helmsman.texts import SIGNS, counted, merged_text
from tasks.engine.embedded import engine, engine_in_words
from tasks.loops.opening import configure
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import read_state, state_ref
from tasks.system.secrets import without_secrets
from tasks.system.trust import consent_of
from tasks.telling.journal import listening

REFUSAL = "the chain cannot be started"


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


def chain(repo: Path, said: Said, *, yes: bool, as_json: bool) -> int:
    """Drive a chain to its end, or to the loop that breaks it off. What could have been got wrong is refused before it starts."""
    repository = open_repository(repo)
    settle(repository, yes=yes, ask=may_ask(yes=yes, as_json=as_json))
    request = chain_request(repository, said)
    require_startable(repository, request.loops, request.settings)
    result = _drive(request, as_json=as_json)
    return _conclude(repository, result, as_json=as_json)


def draft(repo: Path, said: Said) -> None:
    """Print a chain that the goal could be split into."""
    if said.file:
        raise OperatorError("a draft is made of a goal", found=str(said.file), remedy="helmsman chain --draft --goal GOAL")
    repository = open_repository(repo)
    asked = LoopRequest(repository=str(repository.top), goal="\n".join(said.goals), settings=from_assignments(said.settings))
    print(chain_file(configure(repository.top, asked, consent=consent_of(repository.common)).config), end="")


def chain_request(repository: Repository, said: Said) -> ChainRequest:
    """What is asked for, as the flow takes it. Raises OperatorError."""
    refuse_both(said.file, said.goals)
    found = _read(said.file) if said.file else made(ChainFile, REFUSAL, loops=_links(said.goals))
    given = from_assignments(said.settings)
    return made(
        ChainRequest,
        REFUSAL,
        repository=str(repository.top),
        chain=name_of("chain", said.name or found.name, found.loops[0].goal, len(found.loops)),
        loops=tuple(with_given(one, said.checks, given) for one in found.loops),
        settings=merged(found.settings, given),
        reopen=True,
    )


def _read(file: Path) -> ChainFile:
    return read_links(file, ChainFile, "chain", "give goals with --goal; helmsman chain --draft prints such a file")


def _links(goals: tuple[str, ...]) -> tuple[Link, ...]:
    if not goals:
        raise OperatorError(
            "there is nothing to do",
            expected="a file of loops, or goals",
            remedy="helmsman chain FILE, or helmsman chain --goal 'first' --goal 'second'",
        )
    return tuple(map(link, goals))


def _drive(request: ChainRequest, *, as_json: bool) -> ChainResult:
    console, name = Console(stderr=as_json, highlight=False), f"chain {request.chain}"
    with engine() as engine_is_up, display(console, engine_in_words(name)) as listener, listening(listener):
        from flows.chain import chain as flow
        from tasks.engine.runs import flush
        from tasks.groups.chaining import broke_off, chain_result

        engine_is_up()
        final = flow(without_secrets(request), return_state=True)
        flush()
    result = chain_result(request)
    if broke_off(final, result):
        final.result(raise_on_failure=True)
    return result


def _conclude(repository: Repository, result: ChainResult, *, as_json: bool) -> int:
    if as_json:
        print(result.model_dump_json())
    else:
        Console(highlight=False).print("\n".join(["", *chain_lines(repository, result)]), markup=False, soft_wrap=True)
    broken = next((one.loop for one in result.loops if one.outcome is not Outcome.COMPLETED), None)
    return 0 if broken is None else exit_code(read_state(repository, broken)[0])


def chain_lines(repository: Repository, result: ChainResult) -> Iterator[str]:
    """What a person reads once it is over."""
    yield f"chain      {result.chain}: {result.completed} of {counted(len(result.loops), 'loop')} completed"
    for one in result.loops:
        sign = SIGNS[one.outcome] if one.outcome or one.branch else "not begun"
        yield f"loop       {one.loop}  {sign}  {clean(one.goal)}"
        if one.reason and not result.done:
            yield f"           {clean(one.reason)}"
    last = [one for one in result.loops if one.branch]
    if result.done:
        state, _ = read_state(repository, last[-1].loop)  # its branch holds the work of all of them
        if state.merged:
            yield f"merged     {merged_text(state.merged)}"
        yield from next_lines(result_of(state, state_ref(state.loop)))
    elif last:
        yield f"next       helmsman log {last[-1].loop}; the same command goes on with it"
