"""One call of an agent, whichever adapter makes it: what is ordered, how the program is run, what is heard of it and kept.

What is heard is told to people, counted against the call's money, and watched for what must end it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from helmsman.errors import Cancelled, TransientError
from helmsman.parsers.agent_actions import Called, ToolPatience, ToolResult, detail_of
from helmsman.parsers.agent_dialects import DialectReader
from helmsman.parsers.agent_ending import EndedBy
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.agent import AgentCall, AgentOutcome, KeptSession
from helmsman.records.base import Usage
from helmsman.records.events import AgentStarted, ToolCalled, ToolReturned, UsageCounted
from helmsman.records.state import LoopState
from helmsman.texts import money
from tasks.agents.call_folder import STOPPED, CallFolder, finish, set_aside
from tasks.agents.safety import Watch, tokens_left
from tasks.agents.steering import Steering
from tasks.repository.loop_context import LoopContext
from tasks.sandbox.enter import Command
from tasks.system.faults import raising_transient_errors
from tasks.system.journal import publish
from tasks.system.process import Ended, never, run
from tasks.system.secrets import redact, without_secrets
from tasks.system.supervised import still_alive

LEAST = 0.01
"""US dollars that any call may cost, so that one which is due can be made."""
LONGEST_ID = 100
Follower = ToolPatience | Steering | Watch
"""Who hears of tool calls beside people."""

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
        remedy = "Helmsman retries by itself"
        raise TransientError(f"the agent could not reach its model ({call.outcome})", found=call.error, remedy=remedy)
    finish(folder, call)
    return call


def allowed_cost(state: LoopState, of_call: float | None = None) -> float | None:
    """US dollars that the call which is due may cost: its own limit, or what is left of the loop's; None without either."""
    limit = state.config.limits.cost_usd
    left = None if limit is None else limit - state.spending.cost_usd
    costs = [cost for cost in (of_call, left) if cost is not None]
    return max(min(costs), LEAST) if costs else None


def worded(detail: str, worktree: str) -> str:
    """As people are told of it: paths from the top of the worktree, and no secret."""
    return redact(detail.replace(f"{worktree}/", ""))


class Meter:
    """Counts one call. The CLI would hold a limit by itself, but then tells the agent after each tool call what is left."""

    def __init__(self, allowed: float | None) -> None:
        """Nothing is used yet. `allowed`: US dollars."""
        self.used_up = ""
        """Why the session must end; empty where it may go on."""
        self._allowed, self._usage = allowed, Usage()

    def read(self, usage: Usage, *, goes_on: bool) -> None:
        """It has used so much. `goes_on`: it is about to ask its model again; a session that ends its turn needs no end."""
        if usage != self._usage:
            self._usage = usage
            publish(UsageCounted(usage=usage))
        if goes_on and self._allowed is not None and usage.cost_usd >= self._allowed and not self.used_up:
            self.used_up = f"used {money(usage.cost_usd)} of the {money(self._allowed)} that this call is allowed to cost"

    def conclude(self, call: AgentCall) -> AgentCall:
        """The call under its own name where its money was what ended it."""
        if not self.used_up or call.outcome not in STOPPED:
            return call
        return call.model_copy(update={"outcome": AgentOutcome.CALL_BUDGET, "error": self.used_up})


class Listener:
    """Hears of the tool calls of one call, whichever program makes them."""

    def __init__(
        self, order: Order, environment: Mapping[str, str], reader: ClaudeReader | DialectReader, allowed: float | None
    ) -> None:
        """Nothing has been said yet. `allowed`: US dollars."""
        state, worktree = order.state, str(order.place.worktree)
        since, home = state.created_at.timestamp(), environment.get("HOME", "")
        self.meter = Meter(allowed)
        self.watch = Watch(state.config.pain, worktree, home, lambda: reader.usage.tokens, tokens_left(state), since=since)
        self.followers: list[Follower] = [self.watch]
        self._order, self._reader, self._worktree = order, reader, worktree

    @property
    def must_end(self) -> bool:
        return bool(self.watch.pain or self.meter.used_up)

    def tell(self, heard: Sequence[Called | ToolResult]) -> None:
        for one in heard:
            if isinstance(one, Called):
                detail = detail_of(without_secrets(one.arguments))  # which cuts
                publish(ToolCalled(tool=one.tool, detail=worded(detail, self._worktree), id=redact(one.identity[:LONGEST_ID])))
            else:
                publish(ToolReturned(id=redact(one.identity[:LONGEST_ID]), failed=one.failed))
            for follower in self.followers:
                follower.announce(one) if isinstance(one, Called) else follower.conclude(one)

    def ended_by(self, ended: Ended) -> EndedBy:
        """How a call ended, as a record has it. Raises Cancelled where it was stopped and there is no end to record."""
        if ended.by == "stop" and not (self._reader.finished or self.must_end):
            raise Cancelled("cancelled while the agent was working")
        return "itself" if ended.by == "stop" else ended.by

    def conclude(self, call: AgentCall, ended: Ended) -> AgentCall:
        """With what ended it, and the processes of this call and of earlier ones that could not be ended."""
        survivors = (*ended.survivors, *still_alive(self._order.state.survivors))
        return self.meter.conclude(call).model_copy(update={"pain": self.watch.pain, "survivors": survivors})
