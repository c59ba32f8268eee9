"""Personas and presets: the role of the agent in an iteration, and settings for one kind of work."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import satisfies
from helmsman.plain import PLAIN_NAME, prose
from helmsman.records.agent import FailureClass
from helmsman.records.base import Record

IMPLEMENTER = "implementer"
"""The default persona, unless a preset names another."""
LONGEST_NAME = 40
MOST_HATS, OTHERS = 16, 6
"""Personas of a preset, and how many are predefined: the default, four for the ladder, and one for merges."""
LONGEST_PROMPT, LONGEST_GUIDANCE = 2_000, 4_000
"""Characters of a persona's prompt, and of a preset's guidance for every iteration."""
_TOOL = r"^[A-Za-z][\w.-]{0,99}(\([^()\r\n]{1,200}\))?$"
_MODEL = r"^([A-Za-z0-9][\w.:@/\[\]-]{0,99})?$"


def is_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME and re.fullmatch(PLAIN_NAME, text) is not None


def _plain(text: Any) -> Any:
    """Text as a terminal shows it, stripped."""
    return prose(text).strip() if isinstance(text, str) else text


_ONE_LINE = satisfies(
    lambda text: text.isprintable() and text.strip() == text,
    "line",
    "one line of printable text without spaces around it",
)
_APART = satisfies(
    lambda tool: "," not in tool and tool.isprintable(),
    "tool",
    "a tool name, optionally with a pattern in parentheses, without a comma",  # they go to the program in one word
)
Name = Annotated[str, Field(pattern=PLAIN_NAME, max_length=LONGEST_NAME)]
Title = Annotated[str, Field(min_length=1, max_length=60), _ONE_LINE]
Words = Annotated[str, Field(min_length=1, max_length=300)]
Line = Annotated[Words, _ONE_LINE]
Tool = Annotated[str, Field(pattern=_TOOL), _APART]
Many = Annotated[int, Field(strict=True, ge=1, le=100)]
Holds = Literal[True] | None


class Condition(Record):
    """Condition of a persona: everything that it names must hold. It must name something."""

    phase: tuple[Literal["work", "research"], ...] = ()
    rung: tuple[Literal["patch", "refactor", "redesign"], ...] = ()
    checks: tuple[Literal["red", "green", "none"], ...] = ()
    """Results of the checks on the start tree of the iteration; none: they have not run."""
    failing: tuple[FailureClass, ...] = ()
    """Classes of failure in the last checks; one of them is enough."""
    in_row: Many | None = None
    """Minimum iterations in a row that ended with one of these classes, without fewer failures of it."""
    idle: Many | None = None
    rejections: Many | None = None
    findings: Holds = None
    untrue: Holds = None
    taken_back: Holds = None
    first: Holds = None
    replan: Holds = None
    conflict: Holds = None
    """Proven work conflicts with the changes of others."""
    item: tuple[Words, ...] = Field(default=(), max_length=20)
    """Markers (`[VERIFY]`, `[P]`) or words of a title: the current plan item has one of them."""

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of its conditions."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) not in ((), None))

    @model_validator(mode="after")
    def _check_in_row(self) -> Self:
        if self.in_row and not self.failing:
            raise PydanticCustomError("in_row", "failing together with in_row, to name what is counted")
        return self


class Hat(Record):
    name: Name
    title: Title
    when: tuple[Condition, ...] = Field(default=(), max_length=10)
    """At least one must hold. Empty: it is used as a preset's usual hat, or if the escalation level asks for it."""
    priority: int = Field(default=50, strict=True, ge=0, le=100)
    """The matching hat with the highest priority is used; of equals, the first one in the preset."""
    model: str = Field(default="", pattern=_MODEL)
    allowed_tools: tuple[Tool, ...] = Field(default=(), max_length=50)
    """Additional tools that are always allowed."""
    disallowed_tools: tuple[Tool, ...] = Field(default=(), max_length=50)
    """Additional tools that are denied."""
    prompt: Annotated[str, Field(min_length=1, max_length=LONGEST_PROMPT), BeforeValidator(_plain)]

    @field_validator("when")
    @classmethod
    def _check_conditions(cls, when: tuple[Condition, ...]) -> tuple[Condition, ...]:
        if not all(condition.asked for condition in when):
            raise PydanticCustomError("condition", "at least one condition in each table; omit [[when]] for none")
        return when


class PresetSheet(Record):
    name: Name
    title: Title
    about: Line
    usual: Name = IMPLEMENTER
    hats: tuple[Name, ...] = Field(default=(), max_length=MOST_HATS - OTHERS)
    """The other hats by name. Hats of the escalation levels are always included."""
    checks: tuple[Line, ...] = Field(default=(), max_length=6)
    """What a check of this kind of work should show, for the person who configures the commands."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Configuration, nested as in helmsman.toml; every other source overrides it."""
    guidance: Annotated[str, Field(max_length=LONGEST_GUIDANCE), BeforeValidator(_plain)] = ""


class Preset(Record):
    """A preset with its personas, as stored by a loop, independent of the files."""

    sheet: PresetSheet
    hats: tuple[Hat, ...] = Field(max_length=MOST_HATS)
    """The usual hat first, then those of the preset in order, then those that only an escalation level asks for."""
    source: str = ""
    replaces: str | None = ""
    """The `claude.model` that a hat's model replaces. None: the operator's own choice, which is kept."""

    @property
    def name(self) -> str:
        return self.sheet.name


class ChosenHat(Record):
    name: str
    title: str = ""
    why: str
    preset: str = ""
