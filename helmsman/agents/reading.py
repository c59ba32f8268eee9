"""From the text of an agent's file, or from the configuration, to its kind."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from helmsman.config.agent import AgentConfig
from helmsman.errors import OperatorError
from helmsman.layers import complaint_of, did_you_mean, shown
from helmsman.records.agents import TEMPLATE, AgentKind
from helmsman.toml_of import fault_of, toml_of

LARGEST = 16_384
"""Characters of an agent's file; a command line is a few words."""


def read_kind(text: str, where: str) -> AgentKind:
    """The agent of a file in TOML. Raises OperatorError with all that is wrong."""
    if len(text) > LARGEST:
        raise _broken(where, f"it is longer than {LARGEST:,} characters")
    try:
        values = toml_of(text)
    except (ValueError, RecursionError) as error:
        raise _broken(where, fault_of(error, text)[1]) from None
    return _made(values, where)


def template(config: AgentConfig) -> AgentKind:
    """The agent that the configuration describes. Raises OperatorError."""
    if not config.command:
        raise OperatorError(
            'agent.kind = "template" names no command',
            expected='agent.command as a list, for example ["my-agent", "--file", "{prompt_file}"]',
            remedy="give agent.command, or another agent.kind",
        )
    values = {"name": TEMPLATE, "title": config.command[0], "command": config.command}
    return _made({**values, "prompt": config.prompt, "output": config.output}, "the configuration's agent")


def _made(values: Mapping[str, Any], where: str) -> AgentKind:
    known = list(AgentKind.model_fields)
    problems = [f"{shown(key)}: unknown key{did_you_mean(key, known)}" for key in values if key not in known]
    try:
        kind = AgentKind.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems += [_problem(detail) for detail in details]
        raise _broken(where, "\n  ".join(problems)) from None
    if problems:
        raise _broken(where, "\n  ".join(problems))
    return kind


def _problem(error: ErrorDetails) -> str:
    """Of the whole there is no value to show."""
    where = ".".join(map(str, error["loc"]))
    return f"{where}: {complaint_of(error)}" if where else f"command: expected {error['msg']}"


def _broken(where: str, cause: str) -> OperatorError:
    return OperatorError(f"{where} describes no agent: {cause}", remedy="fix it; docs/agents.md shows the form")
