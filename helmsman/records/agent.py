"""One call of the agent: its input, observations during the call, and results."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from helmsman.plain import clean
from helmsman.records.base import Record, Usage
from helmsman.records.plan import PlanEdit


class FailureClass(StrEnum):
    """Class of a failure, read from the output of a tool. The class identifies a recurring failure; the text does not."""

    TEST = "test"
    BUILD = "build"
    """A compiler, linker or build tool stopped, or test files could not be imported."""
    TYPES = "types"
    LINT = "lint"
    SYNTAX = "syntax"
    MISSING_MODULE = "missing_module"
    MISSING_FILE = "missing_file"
    MISSING_COMMAND = "missing_command"
    USAGE = "usage"
    EDIT = "edit"
    """A file tool could not apply a change: text not found, file not read before."""
    PERMISSION = "permission"
    NETWORK = "network"
    TIMEOUT = "timeout"
    RESOURCES = "resources"
    GIT = "git"
    EXCEPTION = "exception"
    OTHER = "other"


class ErrorVector(Record):
    """One failure: class, place and message, so that a repetition is recognized."""

    kind: FailureClass
    where: str = ""
    """Test, file with line, program or host: the first one that the output names, 200 characters at most."""
    message: str = ""
    """Its first significant line without parts that differ between runs (numbers, addresses, times), 300 characters at most."""
    extent: int = 0
    """Number of failures, as counted by the output; 0 if unknown."""
    times: int = 1


class Compaction(Record):
    """A compaction by the CLI of its own context."""

    trigger: str
    """`auto` or `manual`."""
    before: int
    """Tokens before and after it."""
    after: int = 0


class ContextUse(Record):
    """Use of the main thread's context window."""

    tokens: int = 0
    """At the last message."""
    peak: int = 0
    """At the fullest message."""
    window: int = 0
    """Size of the model's window in tokens, as reported by the CLI; 0 if unknown."""
    heard: int = 0
    """Tokens of tool results."""
    noise: int = 0
    """Of those: error output, repeated output, and files that were read again unchanged."""
    compactions: tuple[Compaction, ...] = ()

    @property
    def noise_share(self) -> float:
        return self.noise / self.heard if self.heard else 0.0


class StopAttempt(Record):
    """An attempt of the agent to end its turn, with the results of the checks."""

    blocked: bool
    why: str
    failing: tuple[str, ...] = ()
    failing_tests: int = 0
    seconds: float = 0.0


class KeptSession(Record):
    """A session of the CLI that the next iteration may continue."""

    id: str
    used_at: datetime
    total: Usage = Usage()
    """Total over all calls of the session, as reported by the CLI."""
    calls: int = 1


class Drift(Record):
    """What the agent did, compared with the task: the purpose of a system is what it does."""

    deeds: int = 0
    related: int = 0
    """Number of its actions that relate to the task by path or word."""
    strangers: tuple[str, ...] = ()
    """Changed files that are unrelated to the task, 10 at most."""

    @property
    def relevance(self) -> float:
        """0 to 1; 1 if there was nothing to judge."""
        return self.related / self.deeds if self.deeds else 1.0


class LastCall(Record):
    """What the next iteration needs to know about the last session."""

    errors: tuple[ErrorVector, ...] = ()
    rotated: str = ""
    drift: Drift = Drift()
    context: ContextUse = ContextUse()
    unguarded: str = ""
    words: str = ""
    """The agent's last message, 600 characters at most; for people, never for another agent."""
    blocked: bool = False


MOST_SURVIVORS = 20


class Survivor(Record):
    """A surviving process: another user's, hanging in the kernel, or unknown because the process that contained it was killed."""

    pid: int
    started: float
    """Seconds since 1970; 0 if unknown. Together with the pid it identifies a process, because pids are reused."""
    name: str


def format_survivors(survivors: Iterable[Survivor]) -> str:
    """Names with process ids, on one line."""
    return ", ".join(
        f"{clean(survivor.name)} (pid {survivor.pid})" if survivor.started else clean(survivor.name) for survivor in survivors
    )


class AgentOutcome(StrEnum):
    """How one agent call ended, by exit code, events and timers; never by its claims."""

    FINISHED = "finished"
    MAX_TURNS = "max_turns"
    CALL_BUDGET = "call_budget"
    TIMED_OUT = "timed_out"
    HUNG = "hung"
    """It printed nothing for longer than the idle timeout."""
    ROTATED = "rotated"
    """The loop ended the session in good order because a fresh one serves better."""
    CONTEXT_FULL = "context_full"
    USAGE_LIMIT = "usage_limit"
    RATE_LIMITED = "rate_limited"
    """429 without a usage limit."""
    OVERLOADED = "overloaded"
    """5xx, 529 or no connection, after the CLI's own retries."""
    AUTHENTICATION = "authentication"
    BILLING = "billing"
    BAD_MODEL = "bad_model"
    REJECTED_REQUEST = "rejected_request"
    REFUSED_START = "refused_start"
    UNKNOWN_SESSION = "unknown_session"
    BLOCKED_BY_HOOK = "blocked_by_hook"
    ABORTED = "aborted"
    CRASHED = "crashed"


NO_WORK_OUTCOMES = frozenset(
    {
        AgentOutcome.USAGE_LIMIT,
        AgentOutcome.AUTHENTICATION,
        AgentOutcome.BILLING,
        AgentOutcome.BAD_MODEL,
        AgentOutcome.REFUSED_START,
        AgentOutcome.BLOCKED_BY_HOOK,
    }
)
"""Endings after which the loop waits or stops, regardless of the tree."""
CALL_FAILURES = frozenset({AgentOutcome.RATE_LIMITED, AgentOutcome.OVERLOADED, AgentOutcome.CRASHED, AgentOutcome.ABORTED})
"""Endings caused by the provider, the agent's program or a signal. Without a changed file they say nothing about the work."""


class UsageWindow(Record):
    """Usage of one of the subscription's windows."""

    name: str
    """Its name in the CLI: five_hour, seven_day, …"""
    utilization: float
    resets_at: datetime | None = None


class RateLimit(Record):
    """The last report of the CLI about the subscription's windows."""

    status: str
    """allowed, allowed_warning or rejected."""
    window: str = ""
    resets_at: datetime | None = None
    utilization: float | None = None
    windows: tuple[UsageWindow, ...] = ()
    """Every window with a reported share, 10 at most."""


class CommandRun(Record):
    command: str
    failed: bool


class Guarded(Record):
    """A tool call that a guard rail denied or advised on."""

    rule: str
    tool: str
    detail: str
    """Its arguments, in a line of 120 characters at most."""
    denied: bool


FAILURES_IN_ROW = 5
"""Failed tool calls in a row after which the agent is told to change its approach."""


class AgentCall(Record):
    """One call of the agent's program, aggregated from its event stream. Bounded, whatever the stream contains."""

    outcome: AgentOutcome
    exit_code: int | None
    seconds: float
    error: str = ""
    """Error message of the CLI if the outcome is not `finished`, 2,000 characters at most."""
    session_id: str = ""
    model: str = ""
    cli_version: str = ""
    usage: Usage = Usage()
    turns: int = 0
    tools: tuple[tuple[str, int], ...] = ()
    """Tool names with how often each was called, most used first, 50 at most."""
    commands: tuple[CommandRun, ...] = ()
    """The last 50 commands that ended, oldest first."""
    edited: tuple[str, ...] = ()
    """Paths that its file tools wrote, as the agent named them, 200 at most."""
    looked: tuple[str, ...] = ()
    """Paths that it read, as it named them, 200 at most."""
    final_text: str = ""
    """The last message of the main thread, its last 8,000 characters."""
    permission_denials: tuple[str, ...] = ()
    guarded: tuple[Guarded, ...] = ()
    """Tool calls that guard rails denied or advised on, 50 at most."""
    silent_hooks: tuple[str, ...] = ()
    """Hooks that its program should have called and did not; no guard rail was active from then on."""
    context: ContextUse = ContextUse()
    errors: tuple[ErrorVector, ...] = ()
    """Distinct failures of its tools, most recent last, 20 at most."""
    failures_in_row: int = 0
    stops: tuple[StopAttempt, ...] = ()
    """Its attempts to end its turn that led to a run of the checks, 10 at most."""
    rotated: str = ""
    pain: str = ""
    """Critical event that ended the session at once: a destructive command, an exceeded budget. Empty: none."""
    resumed: bool = False
    rate_limit: RateLimit | None = None
    survivors: tuple[Survivor, ...] = ()
    """Processes that it or an earlier call started and that could not be ended, 20 at most of each call."""
    untold: tuple[str, ...] = ()
    """What its program does not report, by names of `Capability`: such values are unknown, not zero."""

    @property
    def unguarded(self) -> str:
        """Message that guard rails were not always active; empty if they were."""
        silent = ", ".join(self.silent_hooks)
        return f"guard rails were not active in this iteration: the agent's program did not call {silent}" if silent else ""

    @property
    def tool_calls(self) -> int:
        return sum(count for _, count in self.tools)


class InterruptedCall(Record):
    """A call that never ended, because its process died or was cancelled."""

    start: str
    started_at: datetime
    ended_at: datetime
    usage: Usage = Usage()
    """As far as its messages tell; the dollars by list prices."""


class Commit(Record):
    id: str
    subject: str


class CommitRange(Record):
    """The start and end commit of an iteration."""

    start: str = ""
    commit: str = ""
    tree: str = ""
    files: tuple[str, ...] = ()
    files_changed: int = 0
    insertions: int = 0
    deletions: int = 0


class Change(CommitRange):
    """The changes of an iteration, from git."""

    commits: tuple[Commit, ...] = ()
    """Newest first, 50 at most."""
    leftovers_committed: bool = False


class Execution(Record):
    call: AgentCall
    change: Change
    put_back: tuple[str, ...] = ()
    """Protected paths that were changed and restored, 20 at most."""
    transcript: str = ""
    """Path of the compressed event stream, relative to the loop's own folder."""
    plan: PlanEdit | None = None

    @property
    def needs_checks(self) -> bool:
        """Whether the agent got to work; otherwise checks would repeat what is known. Critical events do not wait for checks."""
        return self.call.outcome not in NO_WORK_OUTCOMES and not self.call.pain


class Salvage(Record):
    """Unfinished work of a dead process, kept on a ref."""

    iteration: int
    attempt: int
    ref: str
    commit: str
    files: int
