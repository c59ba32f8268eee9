"""Which agent a loop drives, where it is not Claude Code."""

from typing import ClassVar, Literal

from pydantic import Field

from helmsman.config.base import Owner, RepositoryKey, Section

Format = Literal["text", "json", "codex", "copilot", "cursor", "gemini", "messages", "opencode", "events"]
"""What a program prints, and so which reader understands it."""
PromptWay = Literal["stdin", "argument", "file"]
"""How a program gets its prompt."""


class AgentConfig(Section):
    """The agent's program. What `claude.*` says of time (timeout, idle timeout, grace) holds for every agent."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: str = Field(default="claude", min_length=1, max_length=40)
    """`claude`, one that comes with Helmsman (`codex`, `gemini`, `opencode`, `copilot`, `amp`, `cursor-agent`), a file's name
    in .helmsman/agents, or `template` for the command below. It is read when a loop is created."""
    binary: str = ""
    """Path of its program. Empty: the usual name on PATH."""
    model: RepositoryKey[str] = ""
    """Model that it is told to use. Empty: its own default."""
    arguments: tuple[str, ...] = ()
    """Further arguments, for example `["-c", "model_reasoning_effort=high"]`."""
    environment: tuple[str, ...] = ()
    """Names of further environment variables that it may see."""
    command: tuple[str, ...] = ()
    """For `template`: program and arguments; `{model}`, `{prompt}` and `{prompt_file}` are filled in; no shell reads it."""
    prompt: PromptWay = "stdin"
    """For `template`: how the program gets its prompt. An argument holds 128 KiB at most."""
    output: Format = "text"
    """For `template`: what it prints: its last words as text, one JSON object, or the events of a program named here."""
