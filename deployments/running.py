"""Driving a loop from the command line: refuse early, start the engine, show what happens, end with an exit status."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from deployments.choosing import driver_of
from deployments.detaching import drive_apart
from deployments.dialogue import YES, is_anybody_there, say, typed
from deployments.show.display import display
from deployments.wishes import Wishes, wished
from helmsman.agents.telling import in_short
from helmsman.config import LoopConfig
from helmsman.errors import OperatorError, WorldError
from helmsman.layers import from_assignments, shown
from helmsman.naming import loop_id
from helmsman.oversee.answers import reconfigured
from helmsman.plain import clean
from helmsman.records.agents import Agent, AgentKind
from helmsman.records.request import LONGEST_LOOP_ID, LoopRequest, is_loop_id
from helmsman.records.result import exit_code, result_of
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.texts import money, next_lines, result_lines
from tasks.agents.claude import as_it_is_called, refuse_root
from tasks.agents.claude_binary import find_binary
from tasks.agents.finding import find_program
from tasks.alignment.aligning import refuse_open_questions
from tasks.engine.embedded import engine, engine_error, require_address
from tasks.lock import drive_alone
from tasks.loops.creating import create_loop
from tasks.loops.opening import now_utc
from tasks.loops.travelling import refuse_taken, take_up
from tasks.models.judge import asks_claude_code
from tasks.places import loop_folder
from tasks.processes.nesting import refuse_nested
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.state_ref import Fenced, read_state, state_ref
from tasks.sandbox.trial import require_sandbox
from tasks.system_errors import world_error
from tasks.telling.journal import listening

WAY_ON = "helmsman resume"


def start(repo: Path, wishes: Wishes, *, ask: bool, as_json: bool, detach: bool = False) -> int:
    """Begin a loop and drive it, here or apart. What a person could have got wrong is refused before the engine starts."""
    repository = open_repository(repo.absolute())
    resolved = wished(repository, wishes)
    config = resolved.config
    refuse_agent(config, resolved.agent.kind if resolved.agent else None, repository.top)
    refuse_open_questions(repository, config.alignment)
    require_address()
    name = _free_name(repository, wishes.name, config.goal)
    if wishes.name:
        refuse_taken(repository, name, config.remote)
    if ask:
        _confirm(repository, config, name, resolved.agent)
    state = create_loop(repository, config, name, now_utc(), preset=resolved.preset, agent=resolved.agent, new=True)
    request = LoopRequest(repository=str(repository.top), loop=state.loop)
    return (drive_apart if detach else drive)(repository, request, as_json=as_json)


def go_on(repo: Path, loop: str, assignments: tuple[str, ...], *, as_json: bool, detach: bool = False) -> int:
    """Resume a loop, here or by a process of its own."""
    with telling_way_on(loop):
        return _go_on(repo, loop, assignments, as_json=as_json, detach=detach)


def _go_on(repo: Path, loop: str, assignments: tuple[str, ...], *, as_json: bool, detach: bool) -> int:
    repository = open_repository(repo.absolute())
    if is_loop_id(loop) and not read_ref(repository.common, state_ref(loop)):  # begun in another clone, perhaps
        take_up(repository, loop, wished(repository, Wishes(), goal_later=True).config.remote, held=False)
    state, _ = read_state(repository, loop)
    with drive_alone(loop_folder(repository, loop).lock, loop):
        refuse_agent(state.config, state.agent.kind if state.agent else None, repository.top)
    settings = from_assignments(assignments)
    if state.outcome is not Outcome.COMPLETED:
        reconfigured(state, settings)  # said before the engine starts; from inside the run nobody would read of it
    request = LoopRequest(repository=str(repository.top), loop=loop, settings=settings, reopen=True)
    return (drive_apart if detach else drive)(repository, request, as_json=as_json)


def refuse_agent(config: LoopConfig, kind: AgentKind | None, top: Path) -> None:
    """Where its program is not there. `kind`: None for Claude Code, which may refuse to start as well."""
    refuse_nested()
    require_sandbox(config.sandbox)
    if kind:
        find_program(kind, config.agent, top)
        refuse_judge(config)
        return
    find_binary(config.claude)
    refuse_root(config.claude, as_it_is_called(config))


def refuse_judge(config: LoopConfig) -> None:
    """Where another agent works and the judge needs Claude Code, which is not there: the work would be done and never judged."""
    if not asks_claude_code(config):
        return
    try:
        find_binary(config.claude)
    except OperatorError as error:
        raise OperatorError(
            f"the judge is asked by Claude Code: {error.problem}",
            expected=error.expected,
            found=error.found,
            remedy=f'{error.remedy}; or set ANTHROPIC_API_KEY, with judge.way = "api" or "auto"',
        ) from None


def _free_name(repository: Repository, wished_name: str, goal: str) -> str:
    if wished_name and not is_loop_id(wished_name):
        raise OperatorError(
            "--name is no name for a loop",
            expected=f"small letters, digits and single dashes between them, {LONGEST_LOOP_ID} characters at most",
            found=shown(wished_name),
            remedy="give another --name, or none",
        )
    name = wished_name or loop_id(goal, secrets.token_hex(2))
    if read_ref(repository.common, state_ref(name)):
        driver = driver_of(repository, name)
        what_next = f"watch it: helmsman watch {name}" if driver else f"go on with it: helmsman resume {name}"
        raise OperatorError(
            f"there is a loop {name} already",
            found=f"driven by {driver.name}" if driver else "",
            remedy=f"{what_next}; or give another --name",
        )
    return name


def _confirm(repository: Repository, config: LoopConfig, name: str, agent: Agent | None) -> None:
    """Enter is a yes; whoever closes the terminal's input instead has not agreed."""
    if not is_anybody_there():
        return
    limits = config.limits
    budget = money(limits.cost_usd) if limits.cost_usd is not None else "no limit of dollars"
    lines = (
        f"goal       {clean(config.goal.strip().splitlines()[0])}",
        *([f"preset     {clean(config.preset)}"] if config.preset else ()),
        *([f"plan       {clean(config.plan.file)}"] if config.plan.file else ()),
        *(f"check      {clean(check.command)}" for check in config.checks),
        f"works      {'in this checkout' if config.workspace.in_place else f'on branch helmsman/{name}, in a worktree'}",
        *([f"merges     into {config.merge.into}, once it is proven"] if config.merge.into else ()),
        f"limits     {limits.iterations} iterations, {budget}, {limits.wall_clock_hours or 'unlimited'} hours",
        f"agent      {in_short(agent.kind) if agent else f'permissions: {config.claude.permission_mode}'}",
    )
    say(*lines)
    answered = typed(f"Start loop {name} in {repository.top}? [Y/n]")
    if answered is None or answered.lower() not in {"", *YES}:
        raise OperatorError("not started", remedy="--yes starts without asking")


def drive(repository: Repository, request: LoopRequest, *, as_json: bool) -> int:
    """Run the flow in this process. The engine comes up while Prefect is being imported."""
    console = Console(stderr=as_json, highlight=False)
    with engine() as engine_is_up, display(console) as listener, listening(listener):
        from flows.loop import loop
        from tasks.engine.runs import flush

        with telling_way_on(request.loop):
            engine_is_up()  # the loop has begun by then, and nobody may have heard of its name
            final = loop(request, return_state=True)
            flush()
            told = final.result(raise_on_failure=False)
            if isinstance(told, BaseException):  # what broke the flow before it could write its end, or behind that
                raise told
    return _conclude(read_state(repository, request.loop)[0], console, as_json=as_json)


@contextmanager
def telling_way_on(loop: str) -> Generator[None]:
    """Say with whatever the world does to a loop how to go on with it once that is over: its work is kept."""
    try:
        yield
    except Fenced:
        raise
    except Exception as error:
        told = world_error(error) or engine_error(error) or error
        if not isinstance(told, WorldError):
            raise
        if WAY_ON not in str(told):
            told.remedy = "; then ".join(filter(None, [told.remedy, f"go on with the loop: {WAY_ON} {loop}"]))
        if told is error:
            raise
        raise told from error


def _conclude(state: LoopState, console: Console, *, as_json: bool) -> int:
    result = result_of(state, state_ref(state.loop))
    if as_json:
        print(result.model_dump_json())
    else:
        console.print("\n".join(["", *result_lines(result), *next_lines(result)]), markup=False, soft_wrap=True)
    return exit_code(state)
