"""Drive a loop from the command line: validate early, start the engine, show progress, return an exit status."""

import os
import secrets
import select
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import reduce
from importlib import import_module
from io import FileIO
from pathlib import Path
from typing import Any

from rich.console import Console

from deployments.answer import waits_for_answer
from deployments.choosing import driver_of, interruption
from deployments.dialogue import confirm, has_terminal, say
from deployments.live import display
from deployments.output import fields, print_result, show_on
from deployments.settings import configuration, invalid_name, key_settings, remote_settings
from deployments.trust import COMMANDS, is_trusted, may_ask, refuse_untrusted, require_consent, with_consent
from helmsman.agents import describe_briefly
from helmsman.config import LoopConfig, RemoteConfig
from helmsman.config.layers import from_assignments, merge_tables
from helmsman.errors import Cancelled, OperatorError, TransientError
from helmsman.oversee.answers import reconfigure
from helmsman.oversee.merging import is_merge_due
from helmsman.plain import clean_lines, loop_id
from helmsman.records.agents import Agent, AgentKind
from helmsman.records.decision import Outcome
from helmsman.records.events import PreparationStarted
from helmsman.records.request import LONGEST_LOOP_ID, LoopRequest, is_loop_id
from helmsman.records.result import EXIT_CODES, exit_code, result_of
from helmsman.records.state import LoopState
from helmsman.render.lines import next_lines
from helmsman.texts import SIGNS, format_money, result_lines
from tasks.agents.catalogue import find_program
from tasks.agents.claude import LOG_IN, call_environment, is_logged_out, refuse_root
from tasks.agents.project_settings import names_key_program, require_project_settings
from tasks.engine.embedded import engine_error, engine_start_text, is_embedded, require_address
from tasks.loop.alignment_file import refuse_open_questions
from tasks.loop.remote_handover import bring_branch, pull_state, require_new_name
from tasks.loop.start import create_loop, require_no_secret
from tasks.models.sending import asks_claude_code
from tasks.repository.git import Repository, commit_and_tree, open_repository, read_ref
from tasks.repository.loop_context import loop_folder, worktree_of
from tasks.repository.remote import has_remote
from tasks.repository.state_ref import Fenced, accept_state, read_state, show_state, state_ref, unverified_error
from tasks.repository.worktree import describe_uncommitted
from tasks.sandbox.probe import require_sandbox
from tasks.system.environment import SESSION_VARIABLES, find_binary, neutral_directory, own_environment, refuse_nested
from tasks.system.faults import transient_error
from tasks.system.journal import listening
from tasks.system.lock import exclusive_driver
from tasks.system.trust import trust_commands

RESUME = "helmsman resume"
OUTPUT = "output.log"  # output of a background driver, next to the loop's journal
RUNNING = "+"  # what a background driver writes once the loop runs. Anything else is the exit status of one that failed
SHORTEST_COMMIT = 7  # digits of an abbreviated commit id, as git shows it
NO_MESSAGE, SILENT = "", "…"  # a driver that exited without a message, and one that has not written yet
LONGEST_MESSAGE = 16
PATIENCE_SECONDS = 100  # an embedded engine with an empty database can take a minute. Editors time out after two
OUTPUT_SHOWN = 4000  # bytes


def result_or_raise(final: Any) -> Any:
    """Result of a flow run. Raises the exception of a run that failed before or after it wrote its final state."""
    if isinstance(result := final.result(raise_on_failure=False), BaseException):
        raise result
    return result


@contextmanager
def engine_here() -> Generator[Callable[[str, Any], Any]]:
    """Yield a function that runs one of our flows by name in this process. The engine starts while Prefect is imported."""
    from tasks.engine.embedded import engine

    with engine() as engine_is_up:

        def run(name: str, request: Any) -> Any:
            flow = getattr(import_module(f"flows.{name}"), name)
            from tasks.engine.runs import flush, without_heartbeats

            engine_is_up()
            with without_heartbeats() if is_embedded() else nullcontext():
                final = flow(request, return_state=True)
            flush()
            return final

        yield run


def start(repo: Path, *, yes: bool, as_json: bool = False, detach: bool = False, **options: Any) -> int:
    """Create a loop and drive it, here or in the background. User errors are reported before the engine starts."""
    repository = open_repository(repo)
    ask = may_ask(repository, yes=yes, as_json=as_json)
    resolved = with_consent(repository, lambda: configuration(repository, options), ask=ask)
    config = resolved.config
    head, _ = commit_and_tree(repository.top)
    with_consent(repository, lambda: require_project_settings(repository, head, config), ask=ask)
    if not yes:
        refuse_untrusted(repository, ask=ask)
    refuse_agent(config, resolved.agent.kind if resolved.agent else None, repository.top)
    refuse_open_questions(repository, config.alignment)
    require_address()
    name = _choose_name(repository, options.get("name", ""), config.goal)
    if options.get("name"):
        require_new_name(repository, name, config.remote)
    if left_out := "" if config.workspace.in_place else describe_uncommitted(repository):
        say(f"The loop starts from the last commit, without {left_out}")
    if ask:
        _confirm(repository, config, name, resolved.agent)
    elif not (yes or detach or has_terminal()):
        raise OperatorError("there is no terminal to ask whether to start", remedy="pass --yes to start without asking")
    trust_commands(repository.consent_key)
    state = create_loop(repository, resolved, name, datetime.now(UTC))
    request = LoopRequest(repository=str(repository.top), loop=state.loop)
    return (start_background if detach else drive)(repository, request, as_json=as_json)


def resume(
    repo: Path, loop: str, *, yes: bool, as_json: bool = False, detach: bool = False, accepted: str = "", **options: Any
) -> int:
    """Resume a loop, here or in a background process. `accepted`: commit of a state to sign first."""
    with suggesting_resume(loop):
        repository = open_repository(repo)
        settings = reduce(merge_tables, key_settings(options), from_assignments(options.get("settings") or ()))
        is_known = is_loop_id(loop) and read_ref(repository.common, state_ref(loop)) is not None
        # before any question: an unknown loop runs nothing
        remote = remote_settings(settings) if is_known else _remote_of_unknown(repository, loop)
        require_consent(repository, yes=yes, as_json=as_json)
        if not is_known:
            pull_state(repository, loop, remote, locked=False)
        with exclusive_driver(loop_folder(repository, loop).lock, loop):
            require_verified(repository, loop, accepted)
            if is_known and has_remote(repository, remote.name):  # also for a loop that began without remote.push
                pull_state(repository, loop, remote, locked=True)
            state, _ = read_state(repository, loop)
            bring_branch(repository, state)
            if _has_nothing_to_do(repository, state):
                return _report_result(state, as_json=as_json, why=f"loop {loop} is completed; there is nothing left to do")
            config = state.config if state.outcome is Outcome.COMPLETED else reconfigure(state, settings)
            if waits_for_answer(repository, state, config):
                hint = "; nothing was changed: pass --set with the answer" if settings else ""
                _report_result(state, as_json=as_json, why=f"loop {loop} waits for your answer; `resume` cannot answer{hint}")
                return EXIT_CODES[Outcome.WAITING]
            require_no_secret(config)  # before the engine starts: nobody would read an error from inside the run
            refuse_agent(config, state.agent.kind if state.agent else None, repository.top)
        if interrupted_at := interruption(repository, state):
            show_on(Console(stderr=as_json, highlight=False), [f"interrupted {interrupted_at}"])
        request = LoopRequest(repository=str(repository.top), loop=loop, settings=settings, reopen=True)
        return (start_background if detach else drive)(repository, request, as_json=as_json)


def _remote_of_unknown(repository: Repository, loop: str) -> RemoteConfig:
    """The remote that may have a loop from another clone. Raises OperatorError without such a remote."""
    remote = configuration(repository, {}, goal_later=True).config.remote
    if not (remote.push and is_loop_id(loop)):
        show_state(repository, loop)  # raises
    return remote


def _has_nothing_to_do(repository: Repository, state: LoopState) -> bool:
    """Whether a resume would do nothing: completed, and nothing to merge, push, deliver or clean up. Needs no engine.

    The driver removes the worktree last, so a missing worktree shows that it finished.
    """
    workspace, has_follow_up = state.config.workspace, state.config.remote.push or state.issue is not None or is_merge_due(state)
    is_removed = not workspace.in_place and not worktree_of(repository, state.loop, workspace).exists()
    return state.outcome is Outcome.COMPLETED and is_removed and not has_follow_up


def refuse_agent(config: LoopConfig, kind: AgentKind | None, top: Path) -> None:
    """Raise OperatorError if the agent cannot start. `kind`: None for Claude Code."""
    refuse_nested()
    require_sandbox(config.sandbox)
    if kind:
        find_program(kind, config.agent, top)
        refuse_judge(config)
    else:
        find_binary(config.claude)
        environment = call_environment(config)
        refuse_root(config.claude, environment)
        if not names_key_program(top) and is_logged_out(config.claude, environment):
            raise OperatorError("the agent has no credentials", found="Claude Code is not logged in", remedy=LOG_IN)


def refuse_judge(config: LoopConfig) -> None:
    """Raise OperatorError if the judge needs Claude Code and it is not installed: the work would never be judged."""
    if not asks_claude_code(config):
        return
    try:
        find_binary(config.claude)
    except OperatorError as error:
        problem = f"the judge uses Claude Code: {error.problem}"
        remedy = f'{error.remedy}; or set ANTHROPIC_API_KEY, with judge.way = "api" or "auto"'
        raise OperatorError(problem, expected=error.expected, found=error.found, remedy=remedy) from None


def _choose_name(repository: Repository, requested: str, goal: str) -> str:
    if requested and not is_loop_id(requested):
        raise invalid_name("a loop", LONGEST_LOOP_ID, requested)
    name = requested or loop_id(goal, secrets.token_hex(2))
    if read_ref(repository.common, state_ref(name)):
        driver = driver_of(repository, name)
        what_next = f"watch it: helmsman watch {name}" if driver else f"continue with: helmsman resume {name}"
        raise OperatorError(
            f"a loop named {name} already exists",
            found=f"driven by {driver}" if driver else "",
            remedy=f"{what_next}; or choose another --name",
        )
    return name


def _confirm(repository: Repository, config: LoopConfig, name: str, agent: Agent | None) -> None:
    limits = config.limits
    budget = format_money(limits.cost_usd) if limits.cost_usd is not None else "no cost limit"
    rows = (
        ("goal", config.goal.strip().splitlines()[0]),
        ("preset", config.preset),
        ("plan", config.plan.file),
        *(("check", check.command) for check in config.checks),
        ("trust", "" if is_trusted(repository) else f"not confirmed for this repository yet. {COMMANDS}"),
        ("works", "in this checkout" if config.workspace.in_place else f"on branch helmsman/{name}, in a worktree"),
        ("merges", f"into {config.merge.into}, once it is proven" if config.merge.into else ""),
        ("limits", f"{limits.iterations} iterations, {budget}, {limits.wall_clock_hours or 'unlimited'} hours"),
        ("agent", describe_briefly(agent.kind) if agent else f"permissions: {config.claude.permission_mode}"),
    )
    say(*fields(rows))
    if not confirm(f"Start loop {name} in {repository.top}?", usually=True):
        raise OperatorError("not started", remedy="pass --yes to start without asking")


def drive(repository: Repository, request: LoopRequest, *, as_json: bool) -> int:
    console = Console(stderr=as_json, highlight=False)
    with engine_here() as run, display(console, [request.loop]) as view, listening(view), suggesting_resume(request.loop):
        view(PreparationStarted(what=engine_start_text(f"loop {request.loop}")))
        result_or_raise(run("loop", request))  # the loop exists by now, and its name may not have been shown
    return _report_result(read_state(repository, request.loop)[0], as_json=as_json)


@contextmanager
def suggesting_resume(loop: str) -> Generator[None]:
    """Add the resume command to a transient error or an interruption that ends a loop: its work is kept."""
    try:
        yield
    except Fenced:
        raise
    except KeyboardInterrupt as stopped:
        raise Cancelled("interrupted", remedy=f"continue with: {RESUME} {loop}") from stopped
    except Exception as error:
        shown = transient_error(error) or engine_error(error) or error
        if not isinstance(shown, TransientError):
            raise
        if RESUME not in str(shown):
            shown.remedy = "; then ".join(filter(None, [shown.remedy, f"continue with: {RESUME} {loop}"]))
        if shown is error:
            raise
        raise shown from error


def _report_result(state: LoopState, *, as_json: bool, why: str = "") -> int:
    """Print the result and return the exit status. `why`: the reason why nothing was driven."""
    console, result = Console(stderr=as_json, highlight=False), result_of(state, state_ref(state.loop))
    show_on(console, [why] if why else [])
    if as_json:
        print_result(result, (), as_json=True)
    else:
        show_on(console, ["", *result_lines(result), *next_lines(result, state.gate)])
    return exit_code(state)


# An unverified state: a person reviews it once and accepts exactly that commit.


def require_verified(repository: Repository, loop: str, accepted: str) -> None:
    """Sign an unverified state again if a person accepts it. The caller holds the lock.

    `accepted`: the commit named on the command line, so that a script accepts no other state.
    Raises Unverified if nobody accepts it, and OperatorError if that commit is not the loop's state.
    """
    shown = show_state(repository, loop)
    problem = unverified_error(repository, shown)
    if accepted and not (len(accepted) >= SHORTEST_COMMIT and shown.commit.startswith(accepted.lower())):
        raise OperatorError(
            f"--accept-state does not match the state of loop {loop}",
            expected=shown.commit[:12],
            found=accepted[:80],
            remedy=f"look at it first: git show {state_ref(loop)}:state.json",
        )
    if problem is None:
        return
    if not accepted:
        # a keypress does not accept a state that this machine knows to be forged
        if not shown.unverified or shown.forged or not has_terminal():
            raise problem
        result = result_of(shown.state, state_ref(loop), shown.unverified)
        say(*result_lines(result), f"settings   git show {result.state_ref}:state.json")
        if not confirm("Continue from this state, and sign it with this machine's key?"):
            raise problem
    accept_state(repository, loop)


# `--detach`: a driver in its own session that is not our child process.


def start_background(repository: Repository, request: LoopRequest, *, as_json: bool) -> int:
    """Start a driver and wait until the loop runs. Returns 0, or the exit status of a driver that ended before that."""
    folder = loop_folder(repository, request.loop).root
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / OUTPUT
    with path.open("ab", buffering=0) as output:
        before = output.tell()
        try:
            message = read_status(_background_driver(request, output), PATIENCE_SECONDS)
        except KeyboardInterrupt:
            continues = f"loop {request.loop} continues in the background"
            sys.stderr.write(f"\n{continues}; end it with: helmsman cancel {request.loop}\n")
            raise
    with path.open("rb") as file:  # the tail of this driver's output so far
        file.seek(max(before, os.fstat(file.fileno()).st_size - OUTPUT_SHOWN))
        printed = clean_lines(file.read().decode(errors="replace")).strip()
    if message == NO_MESSAGE:
        problem = f"the process that drives loop {request.loop} ended during start-up"
        raise TransientError(problem, found=printed or "no output", remedy=f"helmsman resume {request.loop}")
    status = None if message in {RUNNING, SILENT} else int(message)
    if status is not None:
        (sys.stderr if status or as_json else sys.stdout).write(f"{printed}\n")
    if status is not None and not as_json:
        return status
    driver = driver_of(repository, request.loop)
    result = result_of(read_state(repository, request.loop)[0], state_ref(request.loop))
    stands = f"▶ under way – driven by {driver}" if driver else "… its engine is still starting"
    rows = (
        ("loop", result.loop),
        ("outcome", SIGNS[result.outcome] if result.outcome else stands),
        ("branch", result.branch),
        ("output", str(path)),
        ("next", f"helmsman status {result.loop}; helmsman watch {result.loop}; helmsman cancel {result.loop}"),
    )
    print_result({**result.model_dump(mode="json"), "driver": driver, "output": str(path)}, fields(rows), as_json=as_json)
    return status or 0


def _background_driver(request: LoopRequest, output: FileIO) -> int:
    """Start a driver and return the read end of its status pipe. The process started here forks the driver and exits."""
    read_end, write_end = os.pipe()
    try:
        starting = subprocess.Popen(
            [sys.executable, "-P", "-m", "deployments.driver", "detached", str(write_end), request.model_dump_json()],
            cwd=neutral_directory(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={name: value for name, value in own_environment().items() if name not in SESSION_VARIABLES},
            pass_fds=[write_end],
            start_new_session=True,
        )
        try:
            starting.wait()
        except KeyboardInterrupt:  # Ctrl-C does not reach its session: the driver continues, and the caller reports that
            starting.wait()
            raise
    finally:
        os.close(write_end)
    return read_end


def read_status(pipe: int, patience: float) -> str:
    """Read the driver's first message from the pipe; SILENT after `patience` seconds."""
    try:
        ready, _, _ = select.select([pipe], [], [], patience)
        return os.read(pipe, LONGEST_MESSAGE).decode().strip() if ready else SILENT
    finally:
        os.close(pipe)
