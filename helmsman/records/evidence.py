"""What went into an iteration and what came back."""

from datetime import datetime
from enum import StrEnum

from helmsman.records.base import Record
from helmsman.records.plan import PlanTouched
from helmsman.records.processes import Survivor
from helmsman.records.session import ContextUse, ErrorVector, StopAttempt
from helmsman.records.usage import Usage


class AgentOutcome(StrEnum):
    """How one call of the agent ended, read from exit code, events and clocks; never from what it claims."""

    FINISHED = "finished"
    """It ended its turn by itself."""
    MAX_TURNS = "max_turns"
    """It used up the turns of one call."""
    CALL_BUDGET = "call_budget"
    """It used up the dollars of one call."""
    TIMED_OUT = "timed_out"
    """It ran longer than the call may."""
    HUNG = "hung"
    """It printed nothing for longer than the idle timeout."""
    ROTATED = "rotated"
    """The loop ended the session in good order because a fresh one serves better."""
    CONTEXT_FULL = "context_full"
    """Its context window was full and could not be compacted."""
    USAGE_LIMIT = "usage_limit"
    """The subscription's window is used up until a reset."""
    RATE_LIMITED = "rate_limited"
    """429 without a usage limit."""
    OVERLOADED = "overloaded"
    """5xx, 529 or no connection, after the CLI's own retries."""
    AUTHENTICATION = "authentication"
    """No or refused credentials."""
    BILLING = "billing"
    """No credit, or the account is on hold."""
    BAD_MODEL = "bad_model"
    """The model does not exist or may not be used."""
    REJECTED_REQUEST = "rejected_request"
    """The API refused the request for its content (400, 413)."""
    REFUSED_START = "refused_start"
    """The CLI refused to start: flag, root user, settings file."""
    UNKNOWN_SESSION = "unknown_session"
    """The session to resume is not known."""
    BLOCKED_BY_HOOK = "blocked_by_hook"
    """A hook of the repository or user stopped it."""
    ABORTED = "aborted"
    """It was interrupted from outside."""
    CRASHED = "crashed"
    """It died, or ended without a result."""


NEVER_AT_WORK = frozenset(
    {
        AgentOutcome.USAGE_LIMIT,
        AgentOutcome.AUTHENTICATION,
        AgentOutcome.BILLING,
        AgentOutcome.BAD_MODEL,
        AgentOutcome.REFUSED_START,
        AgentOutcome.BLOCKED_BY_HOOK,
    }
)
"""Endings after which the loop waits or stops whatever the tree looks like."""
BROKEN_OFF = frozenset({AgentOutcome.RATE_LIMITED, AgentOutcome.OVERLOADED, AgentOutcome.CRASHED, AgentOutcome.ABORTED})
"""Endings that the provider, the agent's program or a signal caused. Where no file was changed, they say nothing of the work."""


class UsageWindow(Record):
    """How much of one of the subscription's windows is used."""

    name: str
    """five_hour, seven_day, … as the CLI names it."""
    utilization: float
    """Share that is used, 0 to 1."""
    resets_at: datetime | None = None


class RateLimit(Record):
    """The last word of the CLI on the subscription's windows."""

    status: str
    """allowed, allowed_warning or rejected."""
    window: str = ""
    """five_hour, seven_day, … as the CLI names it."""
    resets_at: datetime | None = None
    utilization: float | None = None
    """Share of the window that is used, 0 to 1."""
    windows: tuple[UsageWindow, ...] = ()
    """Every window whose share was told, 10 at most."""


class CommandRun(Record):
    """A command that the agent ran."""

    command: str
    """Its first 300 characters."""
    failed: bool


class Guarded(Record):
    """A tool call that a guard rail had something to say about."""

    rule: str
    tool: str
    detail: str
    """What it was called with, in a line of 120 characters at most."""
    denied: bool
    """It did not run; else it was only advised on."""


class AgentCall(Record):
    """One call of the agent's program, folded from its event stream. Bounded whatever the stream holds."""

    outcome: AgentOutcome
    exit_code: int | None
    seconds: float
    error: str = ""
    """The CLI's own words when the outcome is not `finished`, 2,000 characters at most."""
    session_id: str = ""
    model: str = ""
    cli_version: str = ""
    usage: Usage = Usage()
    turns: int = 0
    tools: tuple[tuple[str, int], ...] = ()
    """Tool names with how often each was called, most used first, 50 at most."""
    commands: tuple[CommandRun, ...] = ()
    """Commands that came to an end, oldest first, the last 50."""
    edited: tuple[str, ...] = ()
    """Paths that its file tools wrote to with success, as the agent named them, 200 at most."""
    looked: tuple[str, ...] = ()
    """Paths that it read with success, as it named them, 200 at most."""
    final_text: str = ""
    """The last message of the main thread, its last 8,000 characters."""
    permission_denials: tuple[str, ...] = ()
    """Tools that were denied, 20 at most."""
    guarded: tuple[Guarded, ...] = ()
    """Tool calls that guard rails denied or advised on, 50 at most."""
    silent_hooks: tuple[str, ...] = ()
    """Hooks that its program had to call and did not: from then on no guard rail was active."""
    api_retries: int = 0
    context: ContextUse = ContextUse()
    errors: tuple[ErrorVector, ...] = ()
    """Failures of its tools, each once, the one seen last at the end, 20 at most."""
    failures_in_row: int = 0
    """The longest run of tool calls that failed one after the other."""
    stops: tuple[StopAttempt, ...] = ()
    """Its attempts to end its turn that the checks were asked about, 10 at most."""
    rotated: str = ""
    """Why the loop ended the session for the sake of a fresh one; empty where it did not."""
    pain: str = ""
    """Why the loop ended the session at once: a destructive command ran, a budget was blown. Empty where it did not."""
    resumed: bool = False
    """Whether it went on with the session of an earlier call."""
    rate_limit: RateLimit | None = None
    survivors: tuple[Survivor, ...] = ()
    """Processes that it or an earlier call started and that could not be ended, 20 at most of each call."""
    untold: tuple[str, ...] = ()
    """What its program does not tell, as `Capability` names it: what is missing then is unknown, not nothing."""

    @property
    def unguarded(self) -> str:
        """That guard rails did not act throughout, in words; empty where they did."""
        silent = ", ".join(self.silent_hooks)
        return f"guard rails were not active in this iteration: the agent's program did not call {silent}" if silent else ""

    @property
    def tool_calls(self) -> int:
        return sum(count for _, count in self.tools)


class Interrupted(Record):
    """A call that began and never ended, because the process that made it died or was cancelled."""

    start: str
    """Commit at which it began."""
    started_at: datetime
    ended_at: datetime
    """When it was last heard of."""
    usage: Usage = Usage()
    """As far as its messages tell; the dollars by list prices."""


class Commit(Record):
    """One commit by its id and first line."""

    id: str
    subject: str


class Change(Record):
    """What an iteration did to the tree, read from git."""

    start: str
    """Commit at which the iteration began."""
    commit: str
    """Commit at which it ended."""
    tree: str
    commits: tuple[Commit, ...] = ()
    """Newest first, 50 at most."""
    files: tuple[str, ...] = ()
    """Changed paths, 200 at most."""
    files_changed: int = 0
    insertions: int = 0
    deletions: int = 0
    leftovers_committed: bool = False
    """Whether the agent left work uncommitted that Helmsman committed for it."""


class Execution(Record):
    """The agent's call and what it changed."""

    call: AgentCall
    change: Change
    put_back: tuple[str, ...] = ()
    """Protected paths that were changed and have been put back, 20 at most."""
    transcript: str = ""
    """Path of the compressed event stream, relative to the loop's own folder."""
    plan: PlanTouched | None = None
    """What it did to the plan's file, where it did anything."""

    @property
    def worth_checking(self) -> bool:
        """Whether the agent got to work at all; where it did not, checks would only repeat what is known. Pain waits for none."""
        return self.call.outcome not in NEVER_AT_WORK and not self.call.pain


class Salvage(Record):
    """Work in flight of a process that died, kept on a ref."""

    iteration: int
    attempt: int
    ref: str
    commit: str
    files: int
