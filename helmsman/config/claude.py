"""Claude Code: how it is called, steered while it works, and when its context is full."""

from typing import Literal

from pydantic import Field

from helmsman.config.base import Count, Dollars, OperatorKey, Section


class ClaudeConfig(Section):
    """The agent: the Claude Code command line in print mode."""

    binary: OperatorKey[str] = ""
    """Path of the CLI. Empty: `claude` on PATH, else the one bundled in claude-agent-sdk."""
    block: OperatorKey[str] = ""
    """Name of a ClaudeCode block in Prefect that holds credentials and environment. Empty: the environment's own."""
    model: str = ""
    """Model name or alias. Empty: the CLI's own default."""
    fallback_model: str = ""
    """Model that the CLI falls back to when the first is overloaded. Empty: none."""
    permission_mode: OperatorKey[Literal["bypassPermissions", "acceptEdits", "dontAsk", "auto"]] = "bypassPermissions"
    """How the CLI treats permissions; nobody is there to answer a question, so asking modes are not offered."""
    allowed_tools: OperatorKey[tuple[str, ...]] = ()
    """Tools allowed without a question, in the CLI's syntax, for example `Bash(git status:*)`."""
    disallowed_tools: OperatorKey[tuple[str, ...]] = ("Bash(git push:*)",)
    """Tools refused even when permissions are bypassed. Pushing is the loop's business, not the agent's."""
    setting_sources: OperatorKey[tuple[Literal["user", "project", "local"], ...]] = ("project",)
    """Which settings of the CLI apply; `project` keeps the repository's CLAUDE.md."""
    append_system_prompt: str = ""
    """Text appended to the CLI's system prompt."""
    max_turns: Count = None
    """Turns of one call at most. "none": no limit but the time."""
    max_cost_usd: Dollars = None
    """US dollars of one call at most; the rest of the loop's budget binds as well. They are counted from its tokens by list
    prices as it works; the call ends before its next tool call. A model without a known price is held to it by the CLI."""
    timeout_minutes: float = Field(default=60, ge=1, le=240)
    """Wall-clock minutes of one call."""
    idle_timeout_minutes: float = Field(default=5, gt=0, le=120)
    """Minutes without a line of output before the call counts as hung; a retry of the CLI's own is a line. While a command of the
    agent runs, that command's own time limit is added."""
    stop_grace_seconds: float = Field(default=5, gt=0, le=60)
    """Seconds between TERM and KILL; the CLI was seen to need up to 1.6 to end its tools, and a cancel must be through in 10."""
    environment: OperatorKey[tuple[str, ...]] = ()
    """Names of further environment variables that the agent may see."""
    session: Literal["fresh", "resume", "hybrid"] = "fresh"
    """`fresh`: each iteration begins with an empty context. `resume`: it goes on with the last session until its context is full.
    `hybrid`: it goes on where the last iteration got further, and begins anew where it did not."""
    session_hours: float = Field(default=24, gt=0)
    """Hours after its last use until a session is not resumed any more (24 is what a public loop uses)."""


class SteeringConfig(Section):
    """Control inside an iteration."""

    hooks: OperatorKey[bool] = True
    """Answer the CLI's hooks: guard rails deny or advise on tool calls. No sandbox. Without it nothing below acts."""
    failures_in_row: int = Field(default=5, ge=2)
    """Tool calls that fail one after the other until the agent is told to change its approach."""
    stop_seconds: float = Field(default=120, ge=0, le=3600)
    """Seconds that checks may take in all when the agent says that it is done; those that fail are handed back. 0: none runs."""
    stop_blocks: int = Field(default=2, ge=0, le=7)
    """Times that a session is sent back to work because checks fail although it says that it is done."""


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
