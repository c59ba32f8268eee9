"""LoopConfig: the one frozen tree of goals, limits and thresholds. Beside each default stands what it is and where it is from."""

from typing import Annotated, Any, Literal, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError


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
    session: Literal["fresh", "resume", "hybrid"] = "fresh"
    """`fresh`: each iteration begins with an empty context. `resume`: it goes on with the last session until its context is full.
    `hybrid`: it goes on where the last iteration got further, and begins anew where it did not."""
    session_hours: float = Field(default=24, gt=0)
    """Hours after its last use until a session is not resumed any more (24 is what a public loop uses)."""


class SteeringConfig(Section):
    """Control inside an iteration."""

    hooks: bool = True
    """Answer the CLI's hooks: guard rails deny or advise on tool calls. No sandbox. Without it nothing below acts."""
    failures_in_row: int = Field(default=5, ge=2)
    """Tool calls that fail one after the other until the agent is told to change its approach."""
    stop_seconds: float = Field(default=120, ge=0, le=3600)
    """Seconds that checks may take in all when the agent wants to end its turn; those that fail are handed back. 0: none runs."""
    stop_blocks: int = Field(default=3, ge=0, le=7)
    """Times that a session is sent back to work because checks fail. The CLI itself ends a session at the ninth."""
    stop_no_progress: int = Field(default=2, ge=1)
    """Times in a row that it is sent back with no fewer failures, until it may end."""


class ContextConfig(Section):
    """When the agent's context counts as full."""

    window: Count = None
    """Tokens that the model's context window holds. "none": what the CLI told, else what is known of the model."""
    warn_at: float = Field(default=0.6, gt=0, le=1)
    """Share of the window from which the agent is told to write down what it knows (60 and 80 %: where public loops rotate)."""
    rotate_at: float = Field(default=0.8, gt=0, le=1)
    """Share of the window from which the session is ended and the next iteration begins with an empty context."""
    noise_at: float = Field(default=0.7, gt=0, le=1)
    """Share of what tools answered that is error output or repetition from which the session is ended at `warn_at` already."""
    noise_tokens: int = Field(default=20_000, ge=0)
    """Tokens of tool answers from which their noise counts at all."""


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
    tolerate_flaky: bool = False
    """Whether a check that fails and then passes on the same tree counts as passed."""

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


class FlakyConfig(Section):
    """Which failing checks are run once more on the same tree: those with a test that did not fail before."""

    largest_failing_set: int = Field(default=5, ge=0)
    """Failing tests at most; more of them do not fail by chance. 0: nothing is run again."""


class CompletionConfig(Section):
    """When the agent counts as asking to be done. Asking is never enough: the checks decide."""

    promise: str = Field(default="<promise>COMPLETE</promise>", min_length=4)
    """Text in the agent's last message that asks to be done; EXIT_SIGNAL: true does the same."""
    indicators: int = Field(default=0, ge=0, le=5)
    """Dual gate: of the last five iterations this many must look complete before asking counts. 0: asking is enough."""
    test_only_limit: Count = 3
    """Iterations in a row that change nothing but tests while every gate is green; then the work counts as done."""
    ask_limit: Count = 5
    """Requests in a row under green checks that something else denies; then the loop stops for a person to look."""
    required_tests: tuple[str, ...] = ()
    """Names of tests that must be in the tree and must have run, unskipped, before the loop completes."""
    force_max: bool = False
    """Go on improving after the work is proven, until the iterations are used up."""


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
    nesting: int = Field(default=0, ge=0, le=9)
    """Loops that may be started inside of this one, one within the other. 0: the agent starts none."""
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


class CriterionConfig(Section):
    """One thing that the judge has to see."""

    id: str = Field(default="", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$|^$", max_length=60)
    """What people and the judge call it. Empty: c1, c2 and so on, in order."""
    text: str = Field(min_length=1, max_length=4000)
    """What must be true, in a sentence that can be answered with yes or no."""
    weight: float = Field(default=1, gt=0)
    """What it counts in the score; every criterion must be met whatever its weight."""
    needed: int = Field(default=1, ge=1, le=9)
    """Votes that must say that it is met."""
    votes: int = Field(default=1, ge=1, le=9)
    """Votes that are asked for."""
    tests: tuple[str, ...] = ()
    """Names of tests that prove it; they become required tests."""
    checks: tuple[str, ...] = ()
    """Names or commands of checks that prove it as well; for people and for the audit."""

    @model_validator(mode="after")
    def _not_more_needed_than_asked(self) -> Self:
        if self.needed > self.votes:
            raise ValueError(f"needs {self.needed} of {self.votes} votes")
        return self


def _criteria_from_texts(value: Any) -> Any:
    """Let a criterion be written as a bare sentence; number those that have no id."""
    if not isinstance(value, list | tuple):
        return value
    return tuple(_named(item, number) for number, item in enumerate(cast("list[Any]", value), 1))


def _named(item: Any, number: int) -> Any:
    if isinstance(item, str):
        return {"text": item, "id": f"c{number}"}
    if not isinstance(item, dict):
        return item
    given = cast("dict[str, Any]", item)
    return given | {"id": given.get("id") or f"c{number}"}


Criteria = Annotated[tuple[CriterionConfig, ...], BeforeValidator(_criteria_from_texts)]

JUDGE_MODEL = "claude-opus-5-5"
"""The only place that names the judge's default model."""


class JudgeConfig(Section):
    """An independent model that has to agree before a loop completes. It is asked where there are criteria."""

    criteria: Criteria = ()
    """What it has to see, each answered by itself. None: there is no judge."""
    envisioning: str = Field(default="", max_length=20_000)
    """The picture of the finished work, in prose; from `## Envisioning` of RUBRIC.md."""
    way: Literal["auto", "api", "claude"] = "auto"
    """`api`: the Messages API with a key. `claude`: the CLI, on its subscription. `auto`: the API where a key is known."""
    block: str = ""
    """Name of a Judge block in Prefect that holds credentials for the judge alone. Empty: those of the agent."""
    model: str = Field(default=JUDGE_MODEL, min_length=1)
    """Model that judges."""
    rejections: int = Field(default=5, ge=1)
    """Rejections in a row before the loop waits for a person."""
    reset_strategy: bool = False
    """After that many rejections demand another approach instead of waiting for a person."""
    source_tokens: int = Field(default=24_000, ge=1000)
    """Tokens of changed files that it is shown; four characters count as one."""
    output_tokens: int = Field(default=8_000, ge=500)
    """Tokens of check output that it is shown."""
    answer_tokens: int = Field(default=16_000, ge=500)
    """Tokens of its answer at most, its thinking included; an answer that is cut off there is a rejection."""
    timeout_seconds: float = Field(default=300, gt=0, le=3600)
    """Seconds that one vote may take."""

    @field_validator("criteria")
    @classmethod
    def _each_id_once(cls, criteria: tuple[CriterionConfig, ...]) -> tuple[CriterionConfig, ...]:
        names = [criterion.id for criterion in criteria]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"ids must differ, found twice: {', '.join(twice)}")
        return criteria


class InvariantsConfig(Section):
    """Which ways of making checks pass count as gaming them."""

    off: tuple[str, ...] = ()
    """Rules that are told and do not block, for example `suppressions`; a name stands for all rules that begin with it."""
    allow: tuple[str, ...] = ()
    """Glob patterns of paths that the goal permits to change freely; nothing that is found there blocks."""
    protect: tuple[str, ...] = ()
    """Glob patterns of further paths that must stay as they are."""
    revert: bool = False
    """Put protected paths back at the end of every iteration, instead of only telling."""


class LoopConfig(Section):
    """Everything that a loop is told before it starts."""

    goal: str = Field(min_length=1)
    """What shall be true at the end."""
    checks: Checks = ()
    """The commands that prove it; all must exit with 0."""
    allow_no_checks: bool = False
    """Start without any check. Nothing is verified then, and the loop says so."""
    flaky: FlakyConfig = FlakyConfig()
    completion: CompletionConfig = CompletionConfig()
    judge: JudgeConfig = JudgeConfig()
    invariants: InvariantsConfig = InvariantsConfig()
    claude: ClaudeConfig = ClaudeConfig()
    steering: SteeringConfig = SteeringConfig()
    context: ContextConfig = ContextConfig()
    limits: LimitsConfig = LimitsConfig()
    usage_limit: UsageLimitConfig = UsageLimitConfig()
    retry: RetryConfig = RetryConfig()
    workspace: WorkspaceConfig = WorkspaceConfig()
    remote: RemoteConfig = RemoteConfig()
    prompt: PromptConfig = PromptConfig()

    @field_validator("goal")
    @classmethod
    def _says_something(cls, goal: str) -> str:
        if not goal.strip():
            raise PydanticCustomError("blank", "some words")
        return goal
