"""`helmsman parallel`: several loops at the same time, and one view of them all."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.console import Console

from deployments.several.links import link, made, name_of, read_links, refuse_both, require_startable, with_given
from deployments.several.view import watching_group
from deployments.trust import may_ask, settle
from deployments.wishes import merged_into
from helmsman.config import Section
from helmsman.errors import OperatorError
from helmsman.layers import from_assignments, merged
from helmsman.orient.approaches import approaches
from helmsman.plain import clean
from helmsman.records.chain import LONGEST_CHAIN_ID, Link
from helmsman.records.parallel import MOST_LOOPS, MOST_WORKERS, ParallelRequest, ParallelResult
from helmsman.records.verdict import Outcome
from helmsman.texts import SIGNS, counted, dollars_told
from tasks.engine.embedded import engine
from tasks.groups.parallel import Group, opened
from tasks.repository.git import Repository, open_repository
from tasks.system.secrets import without_secrets

REFUSAL = "the group cannot be started"


class ParallelFile(Section):
    """What stands in the file of a group."""

    name: str = Field(default="", max_length=LONGEST_CHAIN_ID)
    loops: tuple[Link, ...] = Field(default=(), max_length=MOST_LOOPS)
    workers: int = Field(default=4, ge=1, le=MOST_WORKERS)
    best: bool = False
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Said:
    """What was said on the command line about a group."""

    file: Path | None = None
    goals: tuple[str, ...] = ()
    approaches: tuple[str, ...] = ()
    best_of: int = 0
    checks: tuple[str, ...] = ()
    workers: int | None = None
    merge: str = ""
    plan: str = ""
    name: str = ""
    settings: tuple[str, ...] = ()


def parallel(repo: Path, said: Said, *, yes: bool, as_json: bool) -> int:
    """Drive a group to its end. What could have been got wrong is refused before anything starts."""
    repository = open_repository(repo)
    settle(repository, yes=yes, ask=may_ask(yes=yes, as_json=as_json))
    request = parallel_request(repository, said)
    group = opened(request, repository)
    require_startable(repository, group.links, request.settings)
    result = _drive(group, as_json=as_json)
    return _conclude(result, as_json=as_json)


def parallel_request(repository: Repository, said: Said) -> ParallelRequest:
    """What is asked for, as the flow takes it. Raises OperatorError."""
    refuse_both(said.file, (*said.goals, *said.approaches, said.best_of))
    found = _read(said.file) if said.file else made(ParallelFile, REFUSAL, loops=_links(said), best=said.best_of > 0)
    given = _given(repository, said)
    loops = tuple(with_given(one, said.checks, given) for one in found.loops)
    settings = merged(found.settings, given)
    first = loops[0].goal if loops else f"plan {said.plan}"
    return made(
        ParallelRequest,
        REFUSAL,
        repository=str(repository.top),
        group=name_of("group", said.name or found.name, first, len(loops)),
        loops=loops,
        workers=said.workers or found.workers,
        best=found.best,
        settings=settings if loops or not said.checks else merged(settings, {"checks": list(said.checks)}),
        reopen=True,
    )


def _given(repository: Repository, said: Said) -> dict[str, Any]:
    """Settings that were given for all of them; the short options win over --set."""
    planned = {"plan": {"file": said.plan}} if said.plan else {}
    return merged(merged(from_assignments(said.settings), merged_into(repository, said.merge)), planned)


def _read(file: Path) -> ParallelFile:
    return read_links(file, ParallelFile, "group of loops", "give a goal with --goal; docs/parallel.md shows such a file")


def _links(said: Said) -> tuple[Link, ...]:
    """One loop for each goal; or one goal with as many approaches as are wanted; none where a plan has them."""
    if said.plan and (said.goals or said.best_of or said.approaches):
        raise OperatorError(
            "a plan says itself what is to be done",
            expected="--plan, or goals",
            remedy="leave --goal, --best-of and --approach out",
        )
    if said.plan:
        return ()
    goal, *more = said.goals or ("",)
    if not goal:
        raise OperatorError(
            "there is nothing to do",
            expected="a file of loops, or goals",
            remedy="helmsman parallel FILE, or helmsman parallel --goal 'one' --goal 'other', or --goal 'one' --best-of 3",
        )
    count = max(said.best_of, len(said.approaches))
    if not count:
        return tuple(map(link, said.goals))
    if more:
        raise OperatorError(
            "several approaches are for one goal", expected="one --goal", found=f"{len(said.goals)} goals", remedy="name one"
        )
    return tuple(link(goal, {"prompt": {"approach": approach}}) for approach in approaches(said.approaches, count))


def _drive(group: Group, *, as_json: bool) -> ParallelResult:
    console, request = Console(stderr=as_json, highlight=False), group.request
    with engine() as engine_is_up, watching_group(group.repository, group.names, console):
        from flows.parallel import parallel as flow
        from tasks.engine.runs import flush

        engine_is_up()
        final = flow(without_secrets(request), return_state=True)
        flush()
    told = final.result(raise_on_failure=False)
    if isinstance(told, BaseException):
        raise told
    return ParallelResult.model_validate(told)


def _conclude(result: ParallelResult, *, as_json: bool) -> int:
    if as_json:
        print(result.model_dump_json())
    else:
        Console(highlight=False).print("\n".join(["", *_lines(result)]), markup=False, soft_wrap=True)
    if result.done:
        return 0
    outcomes = {one.outcome for one in ((result.kept,) if result.kept else result.loops)}
    return next((status for outcome, status in STATUSES if outcome in outcomes), 1)


NEXT_SHOWN = 5
STATUSES = ((Outcome.CANCELLED, 130), (Outcome.WAITING, 4), (Outcome.EJECTED, 5), (Outcome.BLOCKED, 8), (Outcome.STOPPED, 3))
"""Exit statuses by what the loops that did not complete came to, the most telling first; else 1."""


def _lines(result: ParallelResult) -> Iterator[str]:
    spent = dollars_told(result.spent, result.untold)
    yield f"group      {result.group}: {result.completed} of {counted(len(result.loops), 'loop')} completed, {spent}"
    for one in result.loops:
        sign = SIGNS[one.outcome] if one.outcome else "under way" if one.branch else "not begun"
        yield f"loop       {one.loop}  {sign}  {dollars_told(one.cost_usd, one.untold)}  {clean(one.goal)}"
        if one.approach:
            yield f"           approach: {clean(one.approach)}"
        if one.reason and one.outcome is not Outcome.COMPLETED:
            yield f"           {clean(one.reason)}"
        if one.merged:
            yield f"           merged as {one.merged[:10]}"
    if result.chosen:
        yield f"best       {result.chosen.loop}: {clean(result.chosen.reason)}"
    yield from (f"problem    {clean(words)}" for words in result.problems)
    yield from _next(result)


def _next(result: ParallelResult) -> Iterator[str]:
    left = [one for one in result.loops if one.outcome is not Outcome.COMPLETED]
    unmerged = [one for one in result.loops if one.outcome is Outcome.COMPLETED and one.branch and not one.merged]
    if result.kept:
        left, unmerged = [one for one in left if one == result.kept], [one for one in unmerged if one == result.kept]
    if not result.done and (left or unmerged):
        yield f"next       helmsman status {(left or unmerged)[0].loop}; the same command goes on with what is left"
        return
    yield from (f"next       git diff ...{clean(one.branch)}; git merge {clean(one.branch)}" for one in unmerged[:NEXT_SHOWN])
