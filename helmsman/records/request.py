"""LoopRequest: the parameters of the loop flow, the same from the command line, the UI and a schedule."""

import json
import re
from typing import Any, cast

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config import Section
from helmsman.naming import LOOP_ID

LONGEST_LOOP_ID = 63


KIND = "__prefect_kind"
"""Key of the tables in which the Prefect UI wraps what is typed into a JSON editor."""
_UNTOUCHED = object()


class Request(Section):
    """Parameters of a flow: from the command line, a schedule, the API or a form of the Prefect UI."""

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


class LoopRequest(Request):
    """What to start or to go on with."""

    repository: str = Field(min_length=1)
    """Path of the repository on the machine that runs the loop."""
    goal: str = ""
    """What shall be true at the end. Empty: the repository's helmsman.toml says it, or the loop exists already."""
    checks: tuple[str, ...] = ()
    """Commands that prove the goal. Empty: those of the repository's configuration, which these replace."""
    loop: str = Field(default="", pattern=f"{LOOP_ID}|^$", max_length=LONGEST_LOOP_ID)
    """Id of the loop. Empty: made from the goal. A cancelled loop that is named here goes on."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further configuration, nested as in helmsman.toml; it wins over the repository's."""
    base: str = Field(default="", max_length=200, pattern=r"^([^\s-]\S*)?$")
    """Branch, tag or commit that a new loop begins with. Empty: what the repository has checked out."""
    reopen: bool = False
    """Go on with a loop that has ended, however it did. A cancelled one needs only its id."""


def is_loop_id(text: str) -> bool:
    return len(text) <= LONGEST_LOOP_ID and re.fullmatch(LOOP_ID, text) is not None
