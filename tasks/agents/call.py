"""One call of an agent by any adapter: the order, running the program, its tool calls, and recording the result.

Tool calls are published for people, counted against the call's budget, and watched for reasons to abort.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from helmsman.errors import Cancelled, TransientError
from helmsman.parsers.agent_actions import ToolInvocation, ToolPatience, ToolResult, detail_of
from helmsman.parsers.agent_dialects import DialectReader
from helmsman.parsers.agent_ending import EndCause
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.agent import AgentCall, AgentOutcome, KeptSession
from helmsman.records.base import Usage
from helmsman.records.events import AgentStarted, ToolCalled, ToolReturned, UsageCounted
from helmsman.records.state import LoopState
from helmsman.texts import format_money
from tasks.agents.call_folder import KILLED, CallFolder, discard_call, finish
from tasks.agents.safety import Watch, tokens_left
from tasks.agents.steering import Steering
from tasks.repository.loop_context import LoopContext
from tasks.sandbox.enter import Command
from tasks.system.faults import raising_transient_errors
from tasks.system.journal import publish
from tasks.system.process import ProcessResult, never_stop, run
from tasks.system.secrets import redact, without_secrets
from tasks.system.supervised import still_alive

LEAST = 0.01
"""Smallest budget of a call in US dollars, so that a due call can be made."""
LONGEST_ID = 100
Follower = ToolPatience | Steering | Watch
"""Objects that follow tool calls."""

TRANSIENT = frozenset({AgentOutcome.OVERLOADED, AgentOutcome.RATE_LIMITED})
"""Transient outcomes."""


@dataclass(frozen=True)
class Order:
    """A due call of the agent."""

    place: LoopContext
    state: LoopState
    prompt: str
    start: str
    """Commit that the call starts from."""
    session: KeptSession | None = None
    """The session to resume, where the agent supports that."""
    credentials: dict[str, str] = field(default_factory=dict[str, str])
    """Variables for Claude Code, from its block."""
    stop: Callable[[], bool] = never_stop
    item: str = ""
    """The check of the current plan item, if any."""
    system: str = ""
    """Appended to the system prompt; for programs without one, the start of the prompt."""

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
) -> ProcessResult:
    """Run the agent's program in the loop's worktree, with its output in the call's folder.

    Limited by its own timeout and by the rest of the loop's wall clock. Raises TransientError.
    """
    state, folder, limits = order.state, order.folder, order.state.config.limits
    own, hours = state.config.claude.timeout_minutes * 60, limits.wall_clock_hours
    processes: list[int] = []

    def on_start(process: int) -> None:
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
                on_start=on_start,
                stop=stop,
            )
    except TransientError:
        if not processes:  # it did not start, cost nothing, and is not a call
            discard_call(folder)
        raise


def record_end(folder: CallFolder, call: AgentCall, did_nothing: Callable[[AgentCall], bool]) -> AgentCall:
    """Record the call as ended. Raises TransientError where the model was unreachable and the call can be repeated."""
    call = without_secrets(call)
    if call.outcome in TRANSIENT and did_nothing(call):
        discard_call(folder)
        remedy = "Helmsman retries by itself"
        raise TransientError(f"the agent could not reach its model ({call.outcome})", found=call.error, remedy=remedy)
    finish(folder, call)
    return call


def allowed_cost(state: LoopState) -> float | None:
    """Budget of the due call in US dollars: the rest of the loop's; None without a limit."""
    limit = state.config.limits.cost_usd
    return None if limit is None else max(limit - state.spending.cost_usd, LEAST)


def display_detail(detail: str, worktree: str) -> str:
    """The text for people: with paths relative to the worktree and secrets redacted."""
    return redact(detail.replace(f"{worktree}/", ""))


class Meter:
    """Meters one call. The CLI has its own limit, but then tells the agent its remaining budget after each tool call."""

    def __init__(self, allowed: float | None) -> None:
        """Start at zero. `allowed`: budget in US dollars."""
        self.used_up = ""
        """Why the session must end; empty while it may continue."""
        self._allowed, self._usage = allowed, Usage()

    def read(self, usage: Usage, *, continues: bool) -> None:
        """Take the usage so far. `continues`: the session calls its model again; only then it has to be ended."""
        if usage != self._usage:
            self._usage = usage
            publish(UsageCounted(usage=usage))
        if continues and self._allowed is not None and usage.cost_usd >= self._allowed and not self.used_up:
            self.used_up = f"used {format_money(usage.cost_usd)} of this call's budget of {format_money(self._allowed)}"

    def conclude(self, call: AgentCall) -> AgentCall:
        """The call, with the outcome CALL_BUDGET where its budget ended it."""
        if not self.used_up or call.outcome not in KILLED:
            return call
        return call.model_copy(update={"outcome": AgentOutcome.CALL_BUDGET, "error": self.used_up})


class Listener:
    """Handles the tool calls of one call, for any program."""

    def __init__(
        self, order: Order, environment: Mapping[str, str], reader: ClaudeReader | DialectReader, allowed: float | None
    ) -> None:
        """Set up meter and watch. `allowed`: budget in US dollars."""
        state, worktree = order.state, str(order.place.worktree)
        since, home = state.created_at.timestamp(), environment.get("HOME", "")
        self.meter = Meter(allowed)
        self.watch = Watch(state.config.pain, worktree, home, lambda: reader.usage.tokens, tokens_left(state), since=since)
        self.followers: list[Follower] = [self.watch]
        self._order, self._reader, self._worktree = order, reader, worktree

    @property
    def must_end(self) -> bool:
        return bool(self.watch.pain or self.meter.used_up)

    def handle(self, events: Sequence[ToolInvocation | ToolResult]) -> None:
        for event in events:
            if isinstance(event, ToolInvocation):
                detail = detail_of(without_secrets(event.arguments))  # redact before it is truncated
                publish(
                    ToolCalled(
                        tool=event.tool, detail=display_detail(detail, self._worktree), id=redact(event.identity[:LONGEST_ID])
                    )
                )
            else:
                publish(ToolReturned(id=redact(event.identity[:LONGEST_ID]), failed=event.failed))
            for follower in self.followers:
                follower.announce(event) if isinstance(event, ToolInvocation) else follower.conclude(event)

    def ended_by(self, ended: ProcessResult) -> EndCause:
        """How a call ended, for its record. Raises Cancelled where it was stopped without an end to record."""
        if ended.by == "stop" and not (self._reader.finished or self.must_end):
            raise Cancelled("cancelled while the agent was working")
        return "itself" if ended.by == "stop" else ended.by

    def conclude(self, call: AgentCall, ended: ProcessResult) -> AgentCall:
        """The call with its end's reason, and processes of this and earlier calls that could not be killed."""
        survivors = (*ended.survivors, *still_alive(self._order.state.survivors))
        return self.meter.conclude(call).model_copy(update={"pain": self.watch.pain, "survivors": survivors})
