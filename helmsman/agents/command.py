"""The command line of a call. What is filled in stays one argument, whatever it holds: no shell reads it."""

import re
from collections.abc import Mapping, Sequence

from helmsman.errors import OperatorError
from helmsman.records.agents import AgentKind

LONGEST_ARGUMENT = 128 * 1024 - 1
"""Bytes of one argument under Linux, without the zero at its end."""
_FILLED = re.compile(r"\{(model|prompt|prompt_file)\}")
_OPTIONS, _PROMPT = "{options}", "{prompt}"


def command_line(
    kind: AgentKind, *, program: str, model: str, further: Sequence[str], prompt: str, prompt_file: str
) -> list[str]:
    """Program and arguments. `further`: arguments of the operator's own. Raises OperatorError where it cannot be filled in."""
    prompt = prompt.replace("\0", "\N{REPLACEMENT CHARACTER}")  # no argument can hold it
    values = {"model": model, "prompt": prompt, "prompt_file": prompt_file}
    parts = list(kind.command[1:])
    if kind.prompt == "argument" and not any(_PROMPT in part for part in parts):
        parts.append(_PROMPT)
    chosen = kind.model_options if model else ()
    _require_model(kind, model)
    at = parts.index(_OPTIONS) if _OPTIONS in parts else _end(parts)
    before, after = parts[:at], [part for part in parts[at:] if part != _OPTIONS]
    line = [program, *_filled(before, values), *_filled(chosen, values), *further, *_filled(after, values)]
    _require_short(kind, line)
    return line


def _end(parts: Sequence[str]) -> int:
    """Options stand before a prompt that ends the line."""
    return len(parts) - bool(parts and parts[-1] == _PROMPT)


def _filled(parts: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """All places at once: braces in what is filled in are nobody's."""
    return [_FILLED.sub(lambda place: values[place[1]], part) for part in parts]


def _require_short(kind: AgentKind, line: Sequence[str]) -> None:
    """What stands around a prompt in its argument counts as well."""
    size = max(len(part.encode()) for part in line)
    if size > LONGEST_ARGUMENT:
        raise OperatorError(
            f"the prompt is too long for {kind.name}, which takes it as an argument",
            expected=f"{LONGEST_ARGUMENT:,} bytes at most, which is all that the system lets one argument hold",
            found=f"{size:,} bytes",
            remedy="shorten the goal, or describe the agent with its prompt by stdin or file",
        )


def _require_model(kind: AgentKind, model: str) -> None:
    if not model and any("{model}" in part for part in kind.command):
        raise OperatorError(
            f"the command of {kind.name} names a model, and none is configured",
            expected="agent.model",
            remedy="set agent.model, or take {model} out of the command",
        )
