"""What every adapter of an agent needs: how its program is run for a call, what ends that, and what is kept of what it said."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from helmsman.errors import Cancelled, WorldError
from helmsman.parsers.agent_ending import EndedBy
from helmsman.records.events import AgentStarted
from helmsman.records.evidence import AgentOutcome
from helmsman.records.processes import Survivor
from helmsman.records.state import LoopState
from tasks.agents.call_folder import CallFolder, set_aside
from tasks.agents.order import Order
from tasks.observers.journal import publish
from tasks.processes.process import Ended, run
from tasks.sandbox.entering import Command
from tasks.session.pain_watch import Watch, tokens_left
from tasks.system.secrets import redact
from tasks.system.supervised import still_alive
from tasks.system_errors import blaming_the_world

IN_WORLD = frozenset({AgentOutcome.OVERLOADED, AgentOutcome.RATE_LIMITED})
"""Outcomes that may pass by themselves."""


def run_program(
    order: Order,
    command: Command,
    folder: CallFolder,
    *,
    stdin: bytes,
    idle: float | Callable[[], float] | None,
    on_line: Callable[[bytes], None],
    stop: Callable[[], bool],
) -> Ended:
    """Run the agent's program in the loop's worktree, with what it prints in the call's folder."""
    state = order.state
    with _begun(folder, state) as begun:
        return run(
            command.arguments,
            cwd=order.place.worktree,
            env=command.environment,
            tag=order.place.tag(state),
            deadline=_call_seconds(state),
            idle=idle,
            grace=state.config.claude.stop_grace_seconds,
            stdin=stdin,
            output_file=folder.transcript,
            on_line=on_line,
            on_start=begun,
            stop=stop,
        )


@contextmanager
def _begun(folder: CallFolder, state: LoopState) -> Generator[Callable[[int], None]]:
    """What tells that the program runs. What the world breaks before that has cost nothing, and is no call."""
    processes: list[int] = []

    def begun(process: int) -> None:
        processes.append(process)
        publish(
            AgentStarted(
                iteration=state.due,
                attempt=state.attempt,
                process_id=process,
                cost_usd=state.spending.cost_usd,
                tokens=state.spending.tokens,
                cost_limit=state.config.limits.cost_usd,
            )
        )

    try:
        with blaming_the_world():
            yield begun
    except WorldError:
        if not processes:
            set_aside(folder)
        raise


def left_running(order: Order, ended: Ended) -> tuple[Survivor, ...]:
    """Processes of this call and of earlier ones that live on because they could not be ended."""
    return (*ended.survivors, *still_alive(order.state.survivors))


def _call_seconds(state: LoopState) -> float:
    """Seconds that this call may take: its own timeout, or what is left of the loop's wall clock."""
    own, hours = state.config.claude.timeout_minutes * 60, state.config.limits.wall_clock_hours
    return own if hours is None else max(min(own, hours * 3600 - state.spending.seconds), 1.0)


def watch_for_pain(order: Order, environment: Mapping[str, str], used: Callable[[], int]) -> Watch:
    """What ends the session at once. `used`: its tokens so far."""
    state, home = order.state, environment.get("HOME", "")
    worktree, since = str(order.place.worktree), state.created_at.timestamp()
    return Watch(state.config.pain, worktree, home, used, tokens_left(state), since=since)


def wording(order: Order) -> Callable[[str], str]:
    """How details of tool calls are told: paths from the top of the worktree, and no secret."""
    top = f"{order.place.worktree}/"
    return lambda detail: redact(detail.replace(top, ""))


def ended_by(ended: Ended, *, by_its_own_account: bool) -> EndedBy:
    """How a call ended, as a record has it. Raises Cancelled where it was stopped and there is nothing to record of its end."""
    if ended.by == "stop" and not by_its_own_account:
        raise Cancelled("cancelled while the agent was at work")
    return "itself" if ended.by == "stop" else ended.by
