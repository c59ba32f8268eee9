"""The command line of a call. Each value stays a single argument: no shell is involved."""

import re
from collections.abc import Mapping, Sequence

from helmsman.errors import OperatorError
from helmsman.records.agents import AgentKind

LONGEST_ARGUMENT = 128 * 1024 - 1
"""Bytes of one argument on Linux, without the terminating zero."""
_PLACEHOLDER = re.compile(r"\{(model|prompt|prompt_file)\}")
_OPTIONS, _PROMPT = "{options}", "{prompt}"


def command_line(
    kind: AgentKind, *, program: str, model: str, further: Sequence[str], prompt: str, prompt_file: str
) -> list[str]:
    """Program and arguments. `further`: the operator's own. Raises OperatorError for a missing model or an oversized prompt."""
    prompt = prompt.replace("\0", "\N{REPLACEMENT CHARACTER}")  # not allowed in an argument
    values = {"model": model, "prompt": prompt, "prompt_file": prompt_file}
    parts = list(kind.command[1:])
    if kind.prompt == "argument" and not any(_PROMPT in part for part in parts):
        parts.append(_PROMPT)
    model_options = kind.model_options if model else ()
    _require_model(kind, model)
    at = parts.index(_OPTIONS) if _OPTIONS in parts else _options_index(parts)
    before, after = parts[:at], [part for part in parts[at:] if part != _OPTIONS]
    line = [program, *_fill_in(before, values), *_fill_in(model_options, values), *further, *_fill_in(after, values)]
    _require_fitting_prompt(kind, line)
    return line


def _options_index(parts: Sequence[str]) -> int:
    """Index for options: before a prompt at the end of the line."""
    return len(parts) - bool(parts and parts[-1] == _PROMPT)


def _fill_in(parts: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Replace all placeholders at once, so that braces in values are not replaced."""
    return [_PLACEHOLDER.sub(lambda placeholder: values[placeholder[1]], part) for part in parts]


def _require_fitting_prompt(kind: AgentKind, line: Sequence[str]) -> None:
    """Check the longest argument, including text around the prompt. Raises OperatorError."""
    size = max(len(part.encode()) for part in line)
    if size > LONGEST_ARGUMENT:
        raise OperatorError(
            f"the prompt is too long for {kind.name}, which takes it as an argument",
            expected=f"{LONGEST_ARGUMENT:,} bytes at most, the system's limit for one argument",
            found=f"{size:,} bytes",
            remedy="shorten the goal, or pass the agent's prompt by stdin or file",
        )


def _require_model(kind: AgentKind, model: str) -> None:
    if not model and any("{model}" in part for part in kind.command):
        raise OperatorError(
            f"the command of {kind.name} needs a model, but none is configured",
            expected="agent.model",
            remedy="set agent.model, or remove {model} from the command",
        )
