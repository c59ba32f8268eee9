"""LoopRequest: the parameters of the loop flow, the same from the command line, the UI and a schedule."""

import json
import re
from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Any, cast

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config import Section
from helmsman.layers import merged
from helmsman.naming import LOOP_ID

LONGEST_LOOP_ID = 63


KIND = "__prefect_kind"
"""Key of the tables in which the Prefect UI wraps what is typed into a JSON editor."""
_UNTOUCHED = object()


def title(field: str) -> str:
    """What the form calls a field."""
    return field.replace("_", " ").capitalize()


class Request(Section):
    """Parameters of a flow: from the command line, a schedule, the API or a form of the Prefect UI."""

    model_config = ConfigDict(field_title_generator=lambda name, _: title(name))

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, values: Any) -> Any:
        """Prefect unwraps the parameters of runs that a form starts, and leaves those of schedules as the form made them."""
        return {} if (plain := _plain(values)) is _UNTOUCHED else plain


def _plain(value: Any) -> Any:
    """A value as whoever filled in the form meant it. Raises PydanticCustomError for text that is no JSON, and other kinds."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        if KIND in table:
            return _meant(table)
        return {key: plain for key, one in table.items() if (plain := _plain(one)) is not _UNTOUCHED}
    if isinstance(value, list):
        return [plain for one in cast("list[Any]", value) if (plain := _plain(one)) is not _UNTOUCHED]
    return value


def _meant(wrapped: dict[str, Any]) -> Any:
    if wrapped[KIND] not in {"json", "none", None}:
        raise PydanticCustomError(
            "form_kind", "a plain value or JSON: schedules do not fill in {kind}", {"kind": str(wrapped[KIND])}
        )
    if "value" not in wrapped:  # an editor that nobody typed into
        return _UNTOUCHED
    text = wrapped["value"]
    if wrapped[KIND] != "json" or not isinstance(text, str):
        return _plain(text)
    try:
        return _plain(json.loads(text)) if text.strip() else _UNTOUCHED
    except (ValueError, RecursionError) as error:
        raise PydanticCustomError("form_json", "JSON ({why})", {"why": str(error)}) from None


def _one_number(schema: dict[str, Any]) -> None:
    """A field for a number that stays empty; the page would show a choice between a number and nothing, and send the default."""
    number, _ = schema.pop("anyOf")
    del schema["default"]
    schema |= number


class LoopRequest(Request):
    """Start a loop, or go on with one. Only Repository has to be filled in: what is left empty is as helmsman.toml there says."""

    repository: str = Field(min_length=1)
    """Path of the repository on the machine that runs the loop."""
    goal: str = ""
    """What shall be true at the end."""
    checks: tuple[str, ...] = ()
    """Commands that prove the goal, instead of those in helmsman.toml."""
    max_iterations: Annotated[int, Field(ge=1)] | None = Field(default=None, json_schema_extra=_one_number)
    """The loop stops after so many."""
    max_dollars: Annotated[float, Field(gt=0)] | None = Field(default=None, json_schema_extra=_one_number)
    """The loop stops when the agent has cost so many US dollars."""
    preset: str = ""
    """Hats, words and settings for a kind of work: a name that helmsman presets list shows."""
    model: str = ""
    """Model that Claude Code works with, for example opus. That of another agent is agent.model, under Settings."""
    ask_before_start: bool = False
    """Have goal, checks and limits confirmed in a form before the first iteration."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """All other configuration as JSON, nested as in helmsman.toml: {"gates": {"merge": true}}. The fields above win over it."""
    loop: str = Field(default="", title="Loop id", pattern=f"{LOOP_ID}|^$", max_length=LONGEST_LOOP_ID)
    """Name of a new loop, made from the goal if empty; or a loop to go on with."""
    base: str = Field(default="", max_length=200, pattern=r"^([^\s-]\S*)?$")
    """Branch, tag or commit that a new loop begins with. Empty: what the repository has checked out."""
    reopen: bool = False
    """Go on with a loop that has ended, however it did. A cancelled one needs only its id."""

    @property
    def changes(self) -> dict[str, Any]:
        """What it says of the configuration but for goal and checks, nested as in helmsman.toml; a loop that goes on takes it."""
        filled_in = {key: value for field, key in KEYS.items() if (value := getattr(self, field))}
        return reduce(merged, (_nested(key, value) for key, value in filled_in.items()), self.settings)

    @property
    def said(self) -> dict[str, Any]:
        """All of it that is configuration, nested as in helmsman.toml."""
        goal = {"goal": self.goal} if self.goal else {}
        return {**self.changes, **goal, **({"checks": list(self.checks)} if self.checks else {})}


def _nested(key: str, value: Any) -> dict[str, Any]:
    section, _, name = key.rpartition(".")
    return {section: {name: value}} if section else {name: value}


KEYS: Mapping[str, str] = {
    "max_iterations": "limits.iterations",
    "max_dollars": "limits.cost_usd",
    "preset": "preset",
    "model": "claude.model",
    "ask_before_start": "gates.plan",
}
"""Optional fields of the form -> keys of the configuration."""


def is_loop_id(text: str) -> bool:
    return len(text) <= LONGEST_LOOP_ID and re.fullmatch(LOOP_ID, text) is not None
