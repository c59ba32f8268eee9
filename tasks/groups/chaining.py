"""A chain of loops: which of them is due, read from the states of its loops alone, so that nothing else can be lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import State, StateType

from helmsman.layers import merged
from helmsman.plain import clean
from helmsman.records.decision import Outcome
from helmsman.records.events import LinkStarted
from helmsman.records.request import ChainedLoop, ChainRequest, ChainResult, Link, LoopRequest
from helmsman.records.state import LoopState
from helmsman.texts import counted
from tasks.engine.end_states import EndState
from tasks.groups.parallel import in_a_line, require_same_goal
from tasks.observers.journal import publish
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import known_state
from tasks.worktrees.workplace import has_left


def next_loop(request: ChainRequest, driven: str = "") -> LoopRequest | None:
    """The first loop that has not completed, once the one before it has left; None where all have, and the last has left.

    `driven`: the loop that this run has driven to its end. Raises OperatorError where the chain is another one.
    """
    repository = open_repository(Path(request.repository))
    before: LoopState | None = None
    for number, link in enumerate(request.loops, 1):
        state = known_state(repository, request.name(number))
        if state is None and (leaving := _leaving(request, before, driven)):
            return leaving
        if state is not None:
            require_same_goal("chain", request.chain, state, link)
        if state is None or state.outcome is not Outcome.COMPLETED:
            name = request.name(number)
            publish(LinkStarted(loop=name, number=number, loops=len(request.loops), goal=link.goal))
            if state is None:
                return _begun(request, link, name, before)
            settings = merged(request.settings, link.settings) if request.reopen else {}
            return LoopRequest(repository=request.repository, loop=name, settings=settings, reopen=request.reopen)
        before = state
    return _leaving(request, before, driven)


def chain_result(request: ChainRequest) -> ChainResult:
    """How it stands."""
    loops = tuple(_stands(open_repository(Path(request.repository)), request))
    completed = sum(one.outcome is Outcome.COMPLETED for one in loops)
    return ChainResult(chain=request.chain, completed=completed, loops=loops)


def chained(request: ChainRequest, last: State[dict[str, Any]] | None = None) -> State[dict[str, Any]]:
    """How the flow run ends: as the loop that broke the chain off, or well."""
    result = chain_result(request)
    data = result.model_dump(mode="json")
    told = f"{result.completed} of {counted(len(result.loops), 'loop')} completed"
    if result.done or last is None:
        return EndState(type=StateType.COMPLETED, name="Completed", message=told, data=data)
    broken = next(one for one in result.loops if one.outcome is not Outcome.COMPLETED)
    return EndState(type=last.type, name=last.name, message=f"{told}; {broken.loop}: {last.message}", data=data)


def broke_off(final: State[Any], result: ChainResult) -> bool:
    """Whether a flow run failed by itself, be it that it could not begin a loop: then no loop's end says why."""
    raised = final.is_final() and final.data is not None and isinstance(final.result(raise_on_failure=False), BaseException)
    stopped_at = next((one for one in result.loops if one.outcome is not Outcome.COMPLETED), None)
    return raised or (stopped_at is not None and stopped_at.outcome is None)


def _leaving(request: ChainRequest, before: LoopState | None, driven: str) -> LoopRequest | None:
    """One that completed may have died before it left what it leaves, or while it asked: it does that first, and nothing else."""
    if before is None or before.loop == driven or has_left(request.repository, before):
        return None
    return LoopRequest(repository=request.repository, loop=before.loop)


def _begun(request: ChainRequest, link: Link, name: str, before: LoopState | None) -> LoopRequest:
    """On the work of the one before it; where that is in place, it is what is checked out."""
    settings = merged(request.settings, link.settings)
    base = before.branch if before and not before.config.workspace.in_place else ""
    return LoopRequest(repository=request.repository, goal=link.goal, checks=link.checks, loop=name, settings=settings, base=base)


def _stands(repository: Repository, request: ChainRequest) -> Iterator[ChainedLoop]:
    for number, link in enumerate(request.loops, 1):
        name, state = request.name(number), known_state(repository, request.name(number))
        goal = in_a_line(link)
        if state is None:
            yield ChainedLoop(loop=name, goal=goal)
            continue
        why = state.ending or state.waiting
        reason = f"{why.rule}: {clean(why.reason)}" if why else ""
        yield ChainedLoop(loop=name, goal=goal, outcome=state.outcome, reason=reason, branch=state.branch)
