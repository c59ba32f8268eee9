"""Driving a loop from the command line: refuse early, start the engine, show what happens, end with an exit status."""

import secrets
import sys
from pathlib import Path

from rich.console import Console

from deployments.detaching import drive_apart
from deployments.display import display
from deployments.wishes import Wishes, wished
from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.layers import from_assignments, shown
from helmsman.naming import loop_id
from helmsman.records.request import LONGEST_LOOP_ID, LoopRequest, is_loop_id
from helmsman.records.result import exit_code, result_of
from helmsman.records.state import LoopState
from helmsman.texts import clean, money, next_lines, result_lines
from tasks.aligning import refuse_open_questions
from tasks.claude import refuse_root
from tasks.claude_binary import find_binary
from tasks.engine import engine
from tasks.environment import agent_environment, ours
from tasks.git import Repository, open_repository, read_ref
from tasks.journal import listening
from tasks.lock import drive_alone
from tasks.nesting import refuse_nested
from tasks.opening import create_loop, now_utc
from tasks.places import loop_folder
from tasks.state_ref import read_state, state_ref


def start(repo: Path, wishes: Wishes, *, ask: bool, as_json: bool, detach: bool = False) -> int:
    """Begin a loop and drive it, here or apart. What a person could have got wrong is refused before the engine starts."""
    repository = open_repository(repo.absolute())
    resolved = wished(repository, wishes)
    config = resolved.config
    refuse_agent(config)
    refuse_open_questions(repository, config.alignment)
    name = _free_name(repository, wishes.name, config.goal)
    if ask:
        _confirm(repository, config, name)
    state = create_loop(repository, config, name, now_utc(), preset=resolved.preset, new=True)
    request = LoopRequest(repository=str(repository.top), loop=state.loop)
    return (drive_apart if detach else drive)(repository, request, as_json=as_json)


def go_on(repo: Path, loop: str, assignments: tuple[str, ...], *, as_json: bool, detach: bool = False) -> int:
    """Resume a loop, here or by a process of its own."""
    repository = open_repository(repo.absolute())
    state, _ = read_state(repository, loop)
    with drive_alone(loop_folder(repository, loop).lock, loop):
        refuse_agent(state.config)
    settings = from_assignments(assignments)
    request = LoopRequest(repository=str(repository.top), loop=loop, settings=settings, reopen=True)
    return (drive_apart if detach else drive)(repository, request, as_json=as_json)


def refuse_agent(config: LoopConfig) -> None:
    refuse_nested()
    find_binary(config.claude)
    refuse_root(config.claude, agent_environment(ours(), config.claude.environment))


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
        raise OperatorError(
            f"there is a loop {name} already", remedy=f"go on with it: helmsman resume {name}; or give another --name"
        )
    return name


def _confirm(repository: Repository, config: LoopConfig, name: str) -> None:
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return
    limits = config.limits
    budget = money(limits.cost_usd) if limits.cost_usd is not None else "no limit of dollars"
    lines = (
        f"goal       {clean(config.goal.strip().splitlines()[0])}",
        *([f"preset     {clean(config.preset)}"] if config.preset else ()),
        *(f"check      {clean(check.command)}" for check in config.checks),
        f"works      {'in this checkout' if config.workspace.in_place else f'on branch helmsman/{name}, in a worktree'}",
        *([f"merges     into {config.merge.into}, once it is proven"] if config.merge.into else ()),
        f"limits     {limits.iterations} iterations, {budget}, {limits.wall_clock_hours or 'unlimited'} hours",
        f"agent      permissions: {config.claude.permission_mode}",
    )
    sys.stderr.write("\n".join(lines) + f"\nStart loop {name} in {repository.top}? [Y/n] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"", "y", "yes"}:
        raise OperatorError("not started", remedy="--yes starts without asking")


def drive(repository: Repository, request: LoopRequest, *, as_json: bool) -> int:
    """Run the flow in this process. The engine comes up while Prefect is being imported."""
    console = Console(stderr=as_json, highlight=False)
    with engine() as engine_is_up, display(console) as listener, listening(listener):
        from flows.loop import loop
        from tasks.engine_runs import flush

        engine_is_up()
        final = loop(request, return_state=True)
        flush()
    state, _ = read_state(repository, request.loop)
    if state.ending is None:
        final.result(raise_on_failure=True)  # what broke the flow before it could write its end
    return _conclude(state, console, as_json=as_json)


def _conclude(state: LoopState, console: Console, *, as_json: bool) -> int:
    result = result_of(state, state_ref(state.loop))
    if as_json:
        print(result.model_dump_json())
    else:
        console.print("\n".join(["", *result_lines(result), *next_lines(result)]), markup=False, soft_wrap=True)
    return exit_code(state)
