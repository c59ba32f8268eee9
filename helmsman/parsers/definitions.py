"""Parse files of hats, presets and agents into records. All errors are reported at once, with their lines."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from helmsman.config import AgentConfig
from helmsman.config.layers import Layer, did_you_mean, display, problem_of, resolve
from helmsman.errors import OperatorError
from helmsman.records.agents import TEMPLATE, AgentKind
from helmsman.records.base import Record
from helmsman.records.hats import Condition, Hat, PresetSheet
from helmsman.toml_text import describe_error, find_line, parse_toml

MARK = "+++"
LARGEST = 16_384  # maximum characters of a file; a persona is a few sentences, a command line a few words
NOT_IN_PRESETS: Mapping[str, str] = {
    "goal": "a goal belongs to a loop",
    "goal_file": "a goal belongs to a loop",
    "preset": "a preset cannot name another one",
}
"""Configuration keys that a preset must not set, with the reason."""
R = TypeVar("R", bound=Record)
Problems = Iterable[tuple[int, str]]  # with their lines; 0 if there is no file
_SOURCE = re.compile(r" \([^()]*\): ")


class _File(NamedTuple):
    """A file: its TOML, with line numbers as in the file, the parsed values, and the Markdown below."""

    toml: str
    values: dict[str, Any]
    body: str = ""

    def line(self, key: str) -> int:
        return find_line(self.toml, key) or 1


def read_hat(text: str, where: str) -> Hat:
    """Parse a hat's file. Raises OperatorError."""
    file = _parse_file(text, where, front_matter=True)
    when: Any = file.values.get("when", [])
    values: dict[str, Any] = {**file.values, "when": [when] if isinstance(when, dict) else when}  # one table or several
    return _validate(Hat, file._replace(values=values), where, body="prompt")


def read_sheet(text: str, where: str) -> PresetSheet:
    """Parse a preset's file and validate its settings. Raises OperatorError."""
    file = _parse_file(text, where, front_matter=True)
    settings: Any = file.values.get("settings", {})
    rest, problems = cast("dict[str, Any]", settings if isinstance(settings, dict) else {}), list[tuple[int, str]]()
    for key in NOT_IN_PRESETS.keys() & rest.keys():
        problems.append((file.line(f"settings.{key}"), f"settings.{key}: not in a preset: {NOT_IN_PRESETS[key]}"))
    try:
        resolve([Layer("preset", {key: rest[key] for key in rest if key not in NOT_IN_PRESETS}), Layer("any", {"goal": "any"})])
    except OperatorError as error:
        for complaint in error.problem.split("\n  ")[1:]:
            key, cause = _SOURCE.split(complaint, maxsplit=1)
            problems.append((file.line(f"settings.{key}"), f"settings.{key}: {cause}"))
    return _validate(PresetSheet, file, where, problems, body="guidance")


def read_kind(text: str, where: str) -> AgentKind:
    """Parse an agent's TOML file. Raises OperatorError."""
    return _validate(AgentKind, _parse_file(text, where), where)


def template_kind(config: AgentConfig) -> AgentKind:
    """Build the agent kind from the configuration. Raises OperatorError."""
    if not config.command:
        raise OperatorError(
            'agent.kind = "template" needs agent.command',
            expected='agent.command as a list, for example ["my-agent", "--file", "{prompt_file}"]',
            remedy="set agent.command, or choose another agent.kind",
        )
    values = {"name": TEMPLATE, "title": config.command[0], "command": config.command}
    return _validate(
        AgentKind, _File("", {**values, "prompt": config.prompt, "output": config.output}), "the configuration's agent"
    )


def _parse_file(text: str, where: str, *, front_matter: bool = False) -> _File:
    """Split a file into TOML, or front matter between two marks, and the text below."""
    if len(text) > LARGEST:
        raise _error_for(where, [(1, f"it is longer than {LARGEST:,} characters")])
    body = ""
    if front_matter:
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        if lines[0].rstrip() != MARK:
            raise _error_for(where, [(1, f"the first line is not {MARK}, which opens the front matter")])
        end = next((number for number, line in enumerate(lines) if number and line.rstrip() == MARK), None)
        if end is None:
            raise _error_for(where, [(1, f"no second line of {MARK} closes the front matter")])
        # an empty line instead of the mark keeps line numbers
        text, body = "\n".join(["", *lines[1:end]]), "\n".join(lines[end + 1 :])
    try:
        return _File(text, parse_toml(text), body)
    except (ValueError, RecursionError) as error:
        raise _error_for(where, [describe_error(error, text)]) from None


def _validate(record: type[R], file: _File, where: str, problems: Problems = (), body: str = "") -> R:
    """Validate a record. `body`: the field for the Markdown, which is not a key."""
    errors, known = list(problems), {*record.model_fields, *Condition.model_fields} - {body}
    if body in file.values:
        errors.append((file.line(body), f"{display(body)}: unknown key; write it as text below the front matter"))
    try:
        validated = record.model_validate({**file.values, **({body: file.body} if body else {})}, extra="forbid")
    except ValidationError as error:
        errors += [_describe_error(detail, file, known) for detail in error.errors(include_url=False)]
        raise _error_for(where, errors) from None
    if errors:
        raise _error_for(where, errors)
    return validated


def _describe_error(error: ErrorDetails, file: _File, known: Iterable[str]) -> tuple[int, str]:
    *parents, last = [str(part) for part in error["loc"]] or [""]
    line = file.line(".".join(str(part) for part in error["loc"] if not isinstance(part, int)))
    if error["type"] == "extra_forbidden":
        return line, f"{''.join(f'{name}.' for name in parents)}{display(last)}: unknown key{did_you_mean(last, known)}"
    # an error of the whole record has no value to show: it is about the words of a command
    return line, f"{'.'.join((*parents, last))}: {problem_of(error)}" if error["loc"] else f"command: expected {error['msg']}"


def _error_for(where: str, problems: Problems) -> OperatorError:
    messages = [f"{where}:{line}: {cause}" for line, cause in sorted(problems)]
    form = "docs/agents.md" if where.endswith(".toml") else "docs/presets.md"
    return OperatorError("\n  ".join(messages), remedy=f"fix the file; {form} shows the format")
