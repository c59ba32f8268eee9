"""Parameters of the flows: one loop, loops in sequence, loops in parallel."""

import json
import re
from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Any, cast

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from helmsman.config import Section
from helmsman.config.base import satisfies
from helmsman.config.layers import merge_tables, nest
from helmsman.plain import LOOP_ID
from helmsman.records.base import Record
from helmsman.records.decision import Outcome

LONGEST_LOOP_ID = 63


KIND = "__prefect_kind"
"""Key of the tables in which the Prefect UI wraps the text of a JSON editor."""
_UNTOUCHED = object()


class Request(Section):
    """Parameters of a flow: from the command line, a schedule, the API or a form of the Prefect UI."""

    model_config = ConfigDict(field_title_generator=lambda name, _: name.replace("_", " ").capitalize())

    @model_validator(mode="before")
    @classmethod
    def _unwrap_values(cls, values: Any) -> Any:
        """Unwrap parameters of schedules, which Prefect leaves as the form made them (it unwraps those of form runs)."""
        return {} if (unwrapped := _unwrap(values)) is _UNTOUCHED else unwrapped


def _unwrap(value: Any) -> Any:
    """Unwrap a value of a form. Raises ValueError for invalid JSON and for unknown kinds."""
    if isinstance(value, list):
        return [unwrapped for item in cast("list[Any]", value) if (unwrapped := _unwrap(item)) is not _UNTOUCHED]
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    if KIND not in table:
        return {key: unwrapped for key, item in table.items() if (unwrapped := _unwrap(item)) is not _UNTOUCHED}
    if table[KIND] not in {"json", "none", None}:
        raise ValueError(f"a schedule cannot fill in {table[KIND]}")
    text = table.get("value", _UNTOUCHED)  # an unused editor has none
    if table[KIND] != "json" or not isinstance(text, str):
        return _unwrap(text)
    return _unwrap(json.loads(text)) if text.strip() else _UNTOUCHED


# a worker's process starts in the folder of the flows, so a relative path would name that
IS_ABSOLUTE = satisfies(lambda path: path.startswith("/"), "relative", "expected an absolute path")
Folder = Annotated[str, Field(min_length=1, json_schema_extra={"pattern": r"^\s*/"}), AfterValidator(str.strip), IS_ABSOLUTE]
"""Path of a repository. A form may add a line end. With the pattern the server refuses a relative one before a run exists."""


def _one_number(schema: dict[str, Any]) -> None:
    """An optional number field; otherwise the page would show a choice between a number and nothing, and send the default."""
    number, _ = schema.pop("anyOf")
    del schema["default"]
    schema |= number


class LoopRequest(Request):
    """Start or continue a loop. Only Repository is required; empty fields use the repository's helmsman.toml."""

    repository: Folder
    """Absolute path of the repository on the machine that runs the loop."""
    goal: str = ""
    """What the loop should achieve."""
    checks: tuple[str, ...] = ()
    """Commands that verify the goal, instead of those in helmsman.toml."""
    max_iterations: Annotated[int, Field(ge=1)] | None = Field(default=None, json_schema_extra=_one_number)
    """The loop stops after this many iterations."""
    max_dollars: Annotated[float, Field(gt=0)] | None = Field(default=None, json_schema_extra=_one_number)
    """The loop stops when it has cost this many US dollars."""
    preset: str = ""
    """Preset for a kind of work; helmsman presets list shows the names."""
    model: str = ""
    """Model for Claude Code, for example opus. For another agent set agent.model under Settings."""
    ask_before_start: bool = False
    """Ask for confirmation of goal, checks and limits in a form before the first iteration."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Other configuration as JSON, nested as in helmsman.toml: {"gates": {"merge": true}}. The fields above override it."""
    loop: str = Field(default="", title="Loop id", pattern=f"{LOOP_ID}|^$", max_length=LONGEST_LOOP_ID)
    """Id of a new loop, by default made from the goal; or a loop to continue."""
    base: str = Field(default="", max_length=200, pattern=r"^([^\s-]\S*)?$")
    """Branch, tag or commit at which a new loop starts. Empty: the one that is checked out."""
    reopen: bool = False
    """Continue a loop that has ended, with any outcome. A cancelled one needs only its id."""

    @property
    def changes(self) -> dict[str, Any]:
        """Its configuration except goal and checks, nested as in helmsman.toml; applied to continued loops."""
        filled_in = {key: value for field, key in KEYS.items() if (value := getattr(self, field))}
        return reduce(merge_tables, (nest(key, value) for key, value in filled_in.items()), self.settings)

    @property
    def configuration(self) -> dict[str, Any]:
        """Its whole configuration, nested as in helmsman.toml."""
        goal = {"goal": self.goal} if self.goal else {}
        return {**self.changes, **goal, **({"checks": list(self.checks)} if self.checks else {})}


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


MOST_LOOPS = 50
LONGEST_CHAIN_ID = 59
"""Maximum length of a loop's id, minus a dash and three digits."""


class Link(Section):
    """One loop of several."""

    goal: str = Field(min_length=1, max_length=50_000, pattern=r"\S")
    """What this loop should achieve."""
    checks: tuple[str, ...] = ()
    """Commands that verify it, instead of those in helmsman.toml."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Additional configuration of this loop as JSON, nested as in helmsman.toml."""


class ChainRequest(Request):
    """Start or continue loops in sequence, each on the work of the previous one."""

    repository: Folder
    """Absolute path of the repository on the machine that runs the loops."""
    chain: str = Field(pattern=LOOP_ID, max_length=LONGEST_CHAIN_ID)
    """Id of the chain; its loops are ID-1, ID-2… An existing chain is continued; completed loops are not changed."""
    loops: tuple[Link, ...] = Field(min_length=1, max_length=MOST_LOOPS)
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Additional configuration of all loops as JSON, nested as in helmsman.toml: {"merge": {"into": "main"}}."""
    reopen: bool = False
    """Continue loops that ended without success."""

    @property
    def as_group(self) -> "ParallelRequest":
        """A chain is a group that runs in sequence."""
        return ParallelRequest.model_validate(self.model_dump(exclude={"chain"}) | {"group": self.chain, "in_a_row": True})


MOST_ITEMS = 200
"""Items of a plan for a group."""
MOST_WORKERS = 32


class ParallelRequest(Request):
    """Start or continue loops in parallel."""

    repository: Folder
    """Absolute path of the repository on the machine that runs the loops."""
    group: str = Field(pattern=LOOP_ID, max_length=LONGEST_CHAIN_ID)
    """Id of the group; its loops are ID-1, ID-2…, or named after plan items. An existing group is continued; completed loops
    are not changed."""
    loops: tuple[Link, ...] = Field(default=(), max_length=MOST_LOOPS)
    """One goal each. Empty: one loop per open item of the plan that plan.file names, under Settings."""
    workers: int = Field(default=4, ge=1, le=MOST_WORKERS)
    """Number of loops at the same time."""
    best: bool = False
    """Choose the best of the completed loops; only that one is merged, if anything is."""
    in_a_row: bool = False
    """Run in sequence, each loop on the work of the previous one and with the full limits; the first that does not complete ends
    the group."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Additional configuration of all loops as JSON: {"plan": {"file": "plan.toml"}}. limits.cost_usd and limits.tokens are
    a shared budget."""
    reopen: bool = False
    """Continue loops that ended without success."""


class ParallelLoop(Record):
    loop: str
    goal: str
    approach: str = ""
    outcome: Outcome | None = None
    """None: it is under way, or has not begun."""
    reason: str = ""
    branch: str = ""
    cost_usd: float = 0.0
    untold: tuple[str, ...] = ()
    merged: str = ""


class Choice(Record):
    loop: str
    reason: str
    cost_usd: float = 0.0


class ParallelResult(Record):
    """Result of the group, as printed by `--json` and returned by a finished flow run."""

    group: str
    completed: int
    loops: tuple[ParallelLoop, ...]
    chosen: Choice | None = None
    into: str = ""
    problems: tuple[str, ...] = ()

    @property
    def spent(self) -> float:
        """US dollars, including the choice."""
        return sum(loop.cost_usd for loop in self.loops) + (self.chosen.cost_usd if self.chosen else 0.0)

    @property
    def untold(self) -> frozenset[str]:
        return frozenset(name for loop in self.loops for name in loop.untold)

    @property
    def done(self) -> bool:
        """Whether everything requested is reached: of several attempts at one goal, one merged attempt is enough."""
        if self.chosen is None:
            return self.completed == len(self.loops)
        return self.kept is not None and self.kept.outcome is Outcome.COMPLETED and bool(self.kept.merged or not self.into)

    @property
    def kept(self) -> ParallelLoop | None:
        """The best of several attempts."""
        return next((loop for loop in self.loops if self.chosen and loop.loop == self.chosen.loop), None)
