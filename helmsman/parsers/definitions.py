"""Files of hats, presets and agents: from their text to a record. All that is wrong is told at once, with its line."""

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
from helmsman.records.hats import Condition, Hat, Sheet
from helmsman.toml_of import fault_of, line_of, toml_of

MARK = "+++"
LARGEST = 16_384  # characters of a file of ours; a persona is a few sentences, a command line a few words
NOT_HERE: Mapping[str, str] = {
    "goal": "a goal belongs to a loop",
    "goal_file": "a goal belongs to a loop",
    "preset": "a preset cannot name another one",
}
"""Keys of the configuration that a preset does not set, and why."""
R = TypeVar("R", bound=Record)
Problems = Iterable[tuple[int, str]]  # with their lines; 0 where there is no file
_SOURCE = re.compile(r" \([^()]*\): ")


class _File(NamedTuple):
    """A file: its TOML, with lines counted as in the file, what that says, and the Markdown below."""

    toml: str
    values: dict[str, Any]
    body: str = ""

    def line(self, key: str) -> int:
        return line_of(self.toml, key) or 1


def read_hat(text: str, where: str) -> Hat:
    """The hat of a file. Raises OperatorError."""
    found = _file(text, where, front_matter=True)
    when: Any = found.values.get("when", [])
    values: dict[str, Any] = {**found.values, "when": [when] if isinstance(when, dict) else when}  # one table or several of them
    return _made(Hat, found._replace(values=values), where, body="prompt")


def read_sheet(text: str, where: str) -> Sheet:
    """The sheet of a preset's file, its settings tried. Raises OperatorError."""
    found = _file(text, where, front_matter=True)
    settings: Any = found.values.get("settings", {})
    rest, problems = cast("dict[str, Any]", settings if isinstance(settings, dict) else {}), list[tuple[int, str]]()
    for key in NOT_HERE.keys() & rest.keys():
        problems.append((found.line(f"settings.{key}"), f"settings.{key}: not in a preset: {NOT_HERE[key]}"))
    try:
        resolve([Layer("preset", {key: rest[key] for key in rest if key not in NOT_HERE}), Layer("any", {"goal": "any"})])
    except OperatorError as error:
        for complaint in error.problem.split("\n  ")[1:]:
            key, cause = _SOURCE.split(complaint, maxsplit=1)
            problems.append((found.line(f"settings.{key}"), f"settings.{key}: {cause}"))
    return _made(Sheet, found, where, problems, body="guidance")


def read_kind(text: str, where: str) -> AgentKind:
    """The agent of a file in TOML. Raises OperatorError."""
    return _made(AgentKind, _file(text, where), where)


def template(config: AgentConfig) -> AgentKind:
    """The agent that the configuration describes. Raises OperatorError."""
    if not config.command:
        raise OperatorError(
            'agent.kind = "template" names no command',
            expected='agent.command as a list, for example ["my-agent", "--file", "{prompt_file}"]',
            remedy="give agent.command, or another agent.kind",
        )
    values = {"name": TEMPLATE, "title": config.command[0], "command": config.command}
    return _made(AgentKind, _File("", {**values, "prompt": config.prompt, "output": config.output}), "the configuration's agent")


def _file(text: str, where: str, *, front_matter: bool = False) -> _File:
    """TOML, or the front matter between two marks and what is below it."""
    if len(text) > LARGEST:
        raise _broken(where, [(1, f"it is longer than {LARGEST:,} characters")])
    body = ""
    if front_matter:
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        if lines[0].rstrip() != MARK:
            raise _broken(where, [(1, f"it begins with no line of {MARK}, which opens its front matter")])
        end = next((number for number, line in enumerate(lines) if number and line.rstrip() == MARK), None)
        if end is None:
            raise _broken(where, [(1, f"no line of {MARK} closes its front matter")])
        # an empty line for the mark, so that lines count as in the file
        text, body = "\n".join(["", *lines[1:end]]), "\n".join(lines[end + 1 :])
    try:
        return _File(text, toml_of(text), body)
    except (ValueError, RecursionError) as error:
        raise _broken(where, [fault_of(error, text)]) from None


def _made(record: type[R], found: _File, where: str, problems: Problems = (), body: str = "") -> R:
    """The record. `body`: its field that the Markdown is for, which is no key."""
    wrong, known = list(problems), {*record.model_fields, *Condition.model_fields} - {body}
    if body in found.values:
        wrong.append((found.line(body), f"{display(body)}: unknown key; what stands below the front matter is that"))
    try:
        made = record.model_validate({**found.values, **({body: found.body} if body else {})}, extra="forbid")
    except ValidationError as error:
        wrong += [_problem(detail, found, known) for detail in error.errors(include_url=False)]
        raise _broken(where, wrong) from None
    if wrong:
        raise _broken(where, wrong)
    return made


def _problem(error: ErrorDetails, found: _File, known: Iterable[str]) -> tuple[int, str]:
    *above, last = [str(part) for part in error["loc"]] or [""]
    line = found.line(".".join(str(part) for part in error["loc"] if not isinstance(part, int)))
    if error["type"] == "extra_forbidden":
        return line, f"{''.join(f'{name}.' for name in above)}{display(last)}: unknown key{did_you_mean(last, known)}"
    # of the whole there is no value to show: it is about the words of a command
    return line, f"{'.'.join((*above, last))}: {problem_of(error)}" if error["loc"] else f"command: expected {error['msg']}"


def _broken(where: str, problems: Problems) -> OperatorError:
    told = [f"{where}:{line}: {cause}" for line, cause in sorted(problems)]
    form = "docs/agents.md" if where.endswith(".toml") else "docs/presets.md"
    return OperatorError("\n  ".join(told), remedy=f"fix the file; {form} shows its form")
