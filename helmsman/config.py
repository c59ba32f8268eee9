"""LoopConfig: the one frozen tree of goals, limits and thresholds. Beside each default stands what it is and where it is from."""

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    """A part of the configuration: frozen, no unknown keys, documented field by field."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True)


def _none_when_unlimited(value: Any) -> Any:
    """TOML has no null: "none" and inf say that there is no limit."""
    return None if value in ("none", float("inf")) else value


Dollars = Annotated[Annotated[float, Field(gt=0)] | None, BeforeValidator(_none_when_unlimited)]
Hours = Annotated[Annotated[float, Field(gt=0)] | None, BeforeValidator(_none_when_unlimited)]
Count = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_none_when_unlimited)]


class ClaudeConfig(Section):
    """The agent: the Claude Code command line in print mode."""

    binary: str = ""
    """Path of the CLI. Empty: `claude` on PATH, else the one bundled in claude-agent-sdk."""
    block: str = ""
    """Name of a ClaudeCode block in Prefect that holds credentials and environment. Empty: the environment's own."""
    model: str = ""
    """Model name or alias. Empty: the CLI's own default."""
    fallback_model: str = ""
    """Model that the CLI falls back to when the first is overloaded. Empty: none."""
    permission_mode: Literal["bypassPermissions", "acceptEdits", "dontAsk", "auto"] = "bypassPermissions"
    """How the CLI treats permissions; nobody is there to answer a question, so asking modes are not offered."""
    allowed_tools: tuple[str, ...] = ()
    """Tools allowed without a question, in the CLI's syntax, for example `Bash(git status:*)`."""
    disallowed_tools: tuple[str, ...] = ("Bash(git push:*)",)
    """Tools refused even when permissions are bypassed. Pushing is the loop's business, not the agent's."""
    setting_sources: tuple[Literal["user", "project", "local"], ...] = ("project",)
    """Which settings of the CLI apply; `project` keeps the repository's CLAUDE.md."""
    append_system_prompt: str = ""
    """Text appended to the CLI's system prompt."""
    max_turns: Count = None
    """Turns of one call at most. "none": no limit but the time."""
    max_cost_usd: Dollars = None
    """US dollars of one call at most; the rest of the loop's budget binds as well."""
    timeout_minutes: float = Field(default=15, ge=1, le=120)
    """Wall-clock minutes of one call (15 is what the oldest public loop settled on)."""
    idle_timeout_minutes: float = Field(default=5, gt=0, le=120)
    """Minutes without a line of output before the call counts as hung; a retry of the CLI's own is a line."""
    stop_grace_seconds: float = Field(default=5, gt=0, le=60)
    """Seconds between TERM and KILL; the CLI was seen to need up to 1.6 to end its tools, and a cancel must be through in 10."""
    environment: tuple[str, ...] = ()
    """Names of further environment variables that the agent may see."""


class CheckConfig(Section):
    """One command that proves something; exit code 0 passes."""

    command: str = Field(min_length=1)
    """A shell command, run by `sh` in the root of the worktree."""
    name: str = ""
    """What people call it. Empty: the command itself."""
    timeout_seconds: float = Field(default=600, gt=0, le=86_400)
    """Seconds until the command is ended and counts as failed."""
    parallel: bool = False
    """Whether it may run beside other checks that say the same."""
    report: str = ""
    """Path of a JUnit XML file that the command writes, relative to the worktree. Empty: its output is read."""
    environment: tuple[str, ...] = ()
    """Names of further environment variables that the command may see."""

    @property
    def title(self) -> str:
        return self.name or self.command


def _checks_from_commands(value: Any) -> Any:
    """Let a check be written as a bare command."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        return items
    return tuple({"command": item} if isinstance(item, str) else item for item in cast("list[Any]", items))


Checks = Annotated[tuple[CheckConfig, ...], BeforeValidator(_checks_from_commands)]


class CompletionConfig(Section):
    """When the agent counts as asking to be done. Asking is never enough: the checks decide."""

    promise: str = Field(default="<promise>COMPLETE</promise>", min_length=4)
    """Text in the agent's last message that asks to be done; EXIT_SIGNAL: true does the same."""


class LimitsConfig(Section):
    """What a loop may spend. It warns at `warn_at`, alarms at `alarm_at` and stops at the limit itself."""

    iterations: int = Field(default=30, ge=1)
    """Iterations that count; waiting for a usage limit does not."""
    wall_clock_hours: Hours = 12
    """Hours that a driver of the loop was at work or waiting: a night. "none": no limit."""
    cost_usd: Dollars = 50
    """US dollars by the CLI's own account. "none": no limit."""
    tokens: Count = None
    """Tokens in and out, cache reads included. "none": no limit."""
    calls_per_hour: int = Field(default=100, ge=1)
    """Agent calls in any 60 minutes; beyond it the loop waits, it does not stop."""
    agent_failures: int = Field(default=3, ge=1)
    """Agent calls in a row that came to nothing (crash, hang, refusal) before the loop stops."""
    warn_at: float = Field(default=0.7, gt=0, le=1)
    """Share of a limit at which the loop warns."""
    alarm_at: float = Field(default=0.9, gt=0, le=1)
    """Share of a limit at which the loop alarms."""
    many_iterations: int = Field(default=50, ge=1)
    """A limit of iterations above this is warned of at the start."""


class UsageLimitConfig(Section):
    """How the loop waits when the provider's usage limit is reached."""

    margin_seconds: float = Field(default=60, ge=0)
    """Seconds added to the announced reset, for clocks that differ."""
    unknown_wait_minutes: float = Field(default=60, gt=0)
    """Minutes to wait when the message names no reset."""
    longest_wait_hours: float = Field(default=24 * 8, gt=0)
    """Hours to wait at most; the longest window seen is a week."""


class RetryConfig(Section):
    """Retries of what the world broke: network, overload, 5xx. Nothing else is ever retried."""

    attempts: int = Field(default=8, ge=0, le=50)
    """Tries after the first; with the delays below they bridge about half an hour of outage."""
    first_delay_seconds: float = Field(default=10, gt=0)
    """Seconds before the first retry; doubled each time."""
    longest_delay_seconds: float = Field(default=300, gt=0)
    """Seconds between retries at most."""
    jitter: float = Field(default=0.3, ge=0, le=1)
    """Share by which delays vary, so that many loops do not return at once."""


class WorkspaceConfig(Section):
    """Where the agent works."""

    in_place: bool = False
    """Work on the current branch in the repository's own checkout instead of in a worktree."""
    root: str = ""
    """Folder that holds the worktrees. Empty: `helmsman/worktrees` in the user's state folder."""


class RemoteConfig(Section):
    """Whether branch and state travel, so that another machine can go on."""

    push: bool = False
    """Push branch and state together, atomically, after every iteration."""
    name: str = Field(default="origin", min_length=1)
    """The remote's name."""


class PromptConfig(Section):
    """How much the agent is told."""

    orientation_tokens: int = Field(default=6000, ge=500)
    """Tokens of orientation (history, failures, memory) at most; four characters count as one."""
    history_commits: int = Field(default=10, ge=0, le=200)
    """Commits of the branch that are shown."""


class LoopConfig(Section):
    """Everything that a loop is told before it starts."""

    goal: str = Field(min_length=1, pattern=r"\S")
    """What shall be true at the end."""
    checks: Checks = ()
    """The commands that prove it; all must exit with 0."""
    allow_no_checks: bool = False
    """Start without any check. Nothing is verified then, and the loop says so."""
    completion: CompletionConfig = CompletionConfig()
    claude: ClaudeConfig = ClaudeConfig()
    limits: LimitsConfig = LimitsConfig()
    usage_limit: UsageLimitConfig = UsageLimitConfig()
    retry: RetryConfig = RetryConfig()
    workspace: WorkspaceConfig = WorkspaceConfig()
    remote: RemoteConfig = RemoteConfig()
    prompt: PromptConfig = PromptConfig()
