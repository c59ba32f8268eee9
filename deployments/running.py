"""Driving a loop from the command line: refuse early, start the engine, show what happens, end with an exit status."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from deployments.accepting import require_verified
from deployments.answering import waits_for_answer
from deployments.choosing import driver_of, interruption
from deployments.detaching import drive_apart
from deployments.dialogue import YES, is_anybody_there, say, typed
from deployments.show.display import display
from deployments.show.lines import show_on
from deployments.trust import COMMANDS, consenting, is_trusted, may_ask, refuse_programs, refuse_untrusted, settle
from deployments.wishes import Wishes, wished
from helmsman.agents.telling import in_short
from helmsman.config import LoopConfig
from helmsman.errors import OperatorError, WorldError
from helmsman.layers import from_assignments, shown
from helmsman.naming import loop_id
from helmsman.oversee.answers import reconfigured
from helmsman.oversee.landing import landing_due
from helmsman.plain import clean
from helmsman.records.agents import Agent, AgentKind
from helmsman.records.request import LONGEST_LOOP_ID, LoopRequest, is_loop_id
from helmsman.records.result import EXIT_CODES, exit_code, result_of
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.render import next_lines
from helmsman.texts import money, result_lines
from tasks.agents.claude import as_it_is_called, refuse_root
from tasks.agents.claude_binary import find_binary
from tasks.agents.finding import find_program
from tasks.agents.project_settings import require_project_settings
from tasks.alignment.aligning import refuse_open_questions
from tasks.engine.embedded import engine, engine_error, engine_in_words, require_address
from tasks.lock import drive_alone
from tasks.loops.creating import create_loop, require_no_secret
from tasks.loops.opening import now_utc
from tasks.loops.travelling import refuse_taken, take_up
from tasks.models.judge import asks_claude_code
from tasks.places import loop_folder, worktree_of
from tasks.processes.nesting import refuse_nested
from tasks.repository.git import Repository, commit_and_tree, open_repository, read_ref
from tasks.repository.state_ref import Fenced, read_state, state_ref
from tasks.sandbox.trial import require_sandbox
from tasks.system.trust import trust_commands
from tasks.system_errors import world_error
from tasks.telling.journal import listening

WAY_ON = "helmsman resume"


def start(repo: Path, wishes: Wishes, *, yes: bool, as_json: bool, detach: bool = False) -> int:
    """Begin a loop and drive it, here or apart. What a person could have got wrong is refused before the engine starts."""
    repository = open_repository(repo)
    ask = may_ask(yes=yes, as_json=as_json)
    consenting(repository, lambda: refuse_programs(repository), ask=ask)
    resolved = consenting(repository, lambda: wished(repository, wishes), ask=ask)
    config = resolved.config
    head, _ = commit_and_tree(repository.top)
    consenting(repository, lambda: require_project_settings(repository, head, config), ask=ask)
    if not yes:
        refuse_untrusted(repository, ask=ask)
    refuse_agent(config, resolved.agent.kind if resolved.agent else None, repository.top)
    refuse_open_questions(repository, config.alignment)
    require_address()
    name = _free_name(repository, wishes.name, config.goal)
    if wishes.name:
        refuse_taken(repository, name, config.remote)
    if ask:
        _confirm(repository, config, name, resolved.agent)
    elif not (yes or detach or is_anybody_there()):
        raise OperatorError("nobody is there to be asked whether to start", remedy="--yes starts without asking")
    trust_commands(repository.common)
    state = create_loop(repository, resolved, name, now_utc(), new=True)
    request = LoopRequest(repository=str(repository.top), loop=state.loop)
    return (drive_apart if detach else drive)(repository, request, as_json=as_json)


def go_on(
    repo: Path, loop: str, assignments: tuple[str, ...], *, yes: bool, as_json: bool, accepted: str = "", detach: bool = False
) -> int:
    """Resume a loop, here or by a process of its own. `accepted`: the commit of a state that is to be signed first."""
    with telling_way_on(loop):
        return _go_on(repo, loop, assignments, yes=yes, accepted=accepted, as_json=as_json, detach=detach)


def _go_on(repo: Path, loop: str, assignments: tuple[str, ...], *, yes: bool, accepted: str, as_json: bool, detach: bool) -> int:
    repository = open_repository(repo)
    settle(repository, yes=yes, ask=may_ask(yes=yes, as_json=as_json))
    if is_loop_id(loop) and not read_ref(repository.common, state_ref(loop)):  # begun in another clone, perhaps
        take_up(repository, loop, wished(repository, Wishes(), goal_later=True).config.remote, held=False)
    with drive_alone(loop_folder(repository, loop).lock, loop):
        require_verified(repository, loop, accepted)
        state, _ = read_state(repository, loop)
        if _is_done(repository, state):
            return _told(state, f"loop {loop} is completed, and nothing is left to do", as_json=as_json)
        settings = from_assignments(assignments)
        config = state.config if state.outcome is Outcome.COMPLETED else reconfigured(state, settings)
        if waits_for_answer(repository, state, config):
            kept = ", and nothing was changed: --set goes with the answer" if settings else ""
            _told(state, f"loop {loop} waits for your answer, which resume does not give{kept}", as_json=as_json)
            return EXIT_CODES[Outcome.WAITING]
        require_no_secret(config)  # said before the engine starts; from inside the run nobody would read of it
        refuse_agent(config, state.agent.kind if state.agent else None, repository.top)
    if told := interruption(repository, state):
        show_on(Console(stderr=as_json, highlight=False), [f"interrupted {told}"])
    request = LoopRequest(repository=str(repository.top), loop=loop, settings=settings, reopen=True)
    return (drive_apart if detach else drive)(repository, request, as_json=as_json)


def _told(state: LoopState, words: str, *, as_json: bool) -> int:
    """Say why there is nothing to drive, and how the loop stands."""
    console = Console(stderr=as_json, highlight=False)
    show_on(console, [words])
    return _conclude(state, console, as_json=as_json)


def _is_done(repository: Repository, state: LoopState) -> bool:
    """Whether a resume would do nothing: completed, and nothing to merge, push, deliver or clear away. Cheap: no engine starts.

    The worktree is removed last of all, so one that is gone shows that the driver came to its end.
    """
    workspace, follows = state.config.workspace, state.config.remote.push or state.issue is not None or landing_due(state)
    gone = not workspace.in_place and not worktree_of(repository, state.loop, workspace).exists()
    return state.outcome is Outcome.COMPLETED and gone and not follows


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
    limits = config.limits
    budget = money(limits.cost_usd) if limits.cost_usd is not None else "no limit of dollars"
    lines = (
        f"goal       {clean(config.goal.strip().splitlines()[0])}",
        *([f"preset     {clean(config.preset)}"] if config.preset else ()),
        *([f"plan       {clean(config.plan.file)}"] if config.plan.file else ()),
        *(f"check      {clean(check.command)}" for check in config.checks),
        *(() if is_trusted(repository) else (f"trust      not asked for this repository yet. {COMMANDS}",)),
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
    console, name = Console(stderr=as_json, highlight=False), f"loop {request.loop}"
    with engine() as engine_is_up, display(console, engine_in_words(name)) as listener, listening(listener):
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
        show_on(console, ["", *result_lines(result), *next_lines(result, state.gate)])
    return exit_code(state)
