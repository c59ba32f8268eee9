"""One call of an agent, whichever adapter makes it: what is ordered, how the program is run, and what is kept of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from helmsman.errors import TransientError
from helmsman.records.agent import AgentCall, AgentOutcome, KeptSession
from helmsman.records.events import AgentStarted
from helmsman.records.state import LoopState
from tasks.agents.call_folder import CallFolder, finish, set_aside
from tasks.repository.loop_context import LoopContext
from tasks.sandbox.enter import Command
from tasks.system.faults import raising_transient_errors
from tasks.system.journal import publish
from tasks.system.process import Ended, never, run
from tasks.system.secrets import without_secrets

IN_WORLD = frozenset({AgentOutcome.OVERLOADED, AgentOutcome.RATE_LIMITED})
"""Outcomes that may pass by themselves."""


@dataclass(frozen=True)
class Order:
    """One call of the agent that is due."""

    place: LoopContext
    state: LoopState
    prompt: str
    start: str
    """Commit that it begins with."""
    session: KeptSession | None = None
    """The session that it should go on with, where the agent can."""
    credentials: dict[str, str] = field(default_factory=dict[str, str])
    """Variables for Claude Code, from its block."""
    stop: Callable[[], bool] = never
    item: str = ""
    """The own check of the plan's item in hand, where it has one."""
    system: str = ""
    """Appended to its system text, where its program takes that; else the prompt begins with it."""

    @property
    def folder(self) -> CallFolder:
        return CallFolder(self.place.folder.call(self.state.due, self.state.attempt), self.state.uid)


def run_program(
    order: Order,
    command: Command,
    *,
    stdin: bytes,
    idle: float | Callable[[], float] | None,
    on_line: Callable[[bytes], None],
    stop: Callable[[], bool],
) -> Ended:
    """Run the agent's program in the loop's worktree, with what it prints in the call's folder.

    For as long as its own timeout, or what is left of the loop's wall clock, lets it.
    """
    state, folder, limits = order.state, order.folder, order.state.config.limits
    own, hours = state.config.claude.timeout_minutes * 60, limits.wall_clock_hours
    processes: list[int] = []

    def begun(process: int) -> None:
        processes.append(process)
        publish(
            AgentStarted(
                iteration=state.due,
                attempt=state.attempt,
                cost_usd=state.spending.cost_usd,
                tokens=state.spending.tokens,
                cost_limit=limits.cost_usd,
            )
        )

    try:
        with raising_transient_errors():
            return run(
                command.arguments,
                cwd=order.place.worktree,
                env=command.environment,
                tag=order.place.tag(state),
                deadline=own if hours is None else max(min(own, hours * 3600 - state.spending.seconds), 1.0),
                idle=idle,
                stdin=stdin,
                output_file=folder.transcript,
                on_line=on_line,
                on_start=begun,
                stop=stop,
            )
    except TransientError:
        if not processes:  # it has cost nothing, and is no call
            set_aside(folder)
        raise


def kept(folder: CallFolder, call: AgentCall, did_nothing: Callable[[AgentCall], bool]) -> AgentCall:
    """The call, noted as ended. Raises TransientError where the model could not be reached and the call can be made again."""
    call = without_secrets(call)
    if call.outcome in IN_WORLD and did_nothing(call):
        set_aside(folder)
        remedy = "it is tried again by itself"
        raise TransientError(f"the agent could not reach its model ({call.outcome})", found=call.error, remedy=remedy)
    finish(folder, call)
    return call
