"""The form of an item, one for all kinds of plans, and what is said where a plan cannot be followed."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import AfterValidator, AliasChoices, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from helmsman.config.layers import did_you_mean, display, problem_of
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.plan import LAST_RANK, LONGEST_ID, MOST_ITEMS, PlanItem

LONGEST_TITLE = 300
LONGEST_DETAILS = 8_000
LONGEST_CHECK = 2_000
"""A check counts whole or not at all: of a command that was cut, nobody knows what it proves."""
SLUG = 40
RANKS: Mapping[str, int] = {"critical": 0, "high": 1, "medium": 2, "low": 3}
"""What the usual words for a priority come to."""
_NO_WORD = re.compile(r"[^a-z0-9]+")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._/-]{{0,{LONGEST_ID - 1}}}")
_LINE = "\0line"
"""A name that no file gives a key: `line` itself is not theirs to set."""
_EXPECTED_ID = f"letters, digits and . _ / - (at most {LONGEST_ID}, the first one a letter or a digit)"


class PlanError(ValueError):
    """A plan that cannot be followed."""

    def __init__(self, line: int, why: str) -> None:
        """Line from 1; 0 where no single line is to blame."""
        self.line, self.why = line, why
        super().__init__(line, why)

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}" if self.line else self.why

    def about(self, path: str) -> OperatorError:
        where = f"{path}:{self.line}" if self.line else path
        return OperatorError(clean(f"{where}: {self.why}"), remedy="fix the plan and commit it; docs/plans.md shows its forms")


def _require(*, holds: bool, expected: str) -> None:
    if not holds:
        raise PydanticCustomError("plan", cast("Any", expected))


def _text(value: str) -> str:
    """What JSON can escape and no command, prompt or state can hold is refused."""
    _require(holds=not _NO_TEXT.search(value), expected="text without null characters and halves of characters")
    return value.strip()[:LONGEST_DETAILS]


def _title(value: str) -> str:
    title = " ".join(value.split())[:LONGEST_TITLE]
    _require(holds=bool(title), expected="a title")
    return title


def _id(value: str) -> str:
    _require(holds=not value or bool(_ID.fullmatch(value)), expected=_EXPECTED_ID)
    return value


def _listed(value: Any) -> Any:
    """One text may stand for a list of it, and ids may be numbers."""
    every = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return tuple(str(one) if type(one) is int else one for one in every)


def _ranked(value: Any) -> Any:
    return RANKS.get(value.lower(), value) if isinstance(value, str) else value


def _without_empty(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in texts if text)


Text = Annotated[str, AfterValidator(_text)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed), AfterValidator(_without_empty)]


class Item(PlanItem):
    """An item as a file gives it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: Annotated[Text, AfterValidator(_id)] = ""
    title: Annotated[Text, AfterValidator(_title)]
    details: Text = ""
    acceptance: Annotated[Texts, Field(max_length=50)] = ()
    priority: Annotated[int, Field(ge=0, le=LAST_RANK), BeforeValidator(_ranked)] = LAST_RANK
    needs: Annotated[Texts, Field(max_length=200)] = ()
    check: Annotated[str, Field(max_length=LONGEST_CHECK), AfterValidator(_text)] = ""
    line: Annotated[int, Field(validation_alias=_LINE)] = 0

    def as_item(self) -> PlanItem:
        return PlanItem.model_validate(self.model_dump())


def _named(*names: str) -> Any:
    return Field(validation_alias=AliasChoices(*names))


class Story(Item):
    """One as other loops write it: by these names the first that is there counts. Any others are left alone."""

    model_config = ConfigDict(extra="ignore")

    id: Annotated[Text, AfterValidator(_id), BeforeValidator(lambda one: str(one) if isinstance(one, str | int) else "")] = ""
    title: Annotated[Text, AfterValidator(_title), _named("title", "name", "description")]
    details: Annotated[Text, _named("description")] = ""
    notes: Text = ""
    acceptance: Annotated[
        Texts, Field(max_length=50), _named("acceptanceCriteria", "acceptance_criteria", "acceptance", "steps")
    ] = ()
    needs: Annotated[Texts, Field(max_length=200), _named("needs", "dependsOn", "depends_on", "dependencies")] = ()
    done: Annotated[bool, _named("passes", "done")] = False

    def as_item(self) -> PlanItem:
        """A description that is the title as well is told once."""
        own = self.details if " ".join(self.details.split())[:LONGEST_TITLE] != self.title else ""
        details = "\n".join(filter(None, (own, self.notes)))[:LONGEST_DETAILS]
        return PlanItem.model_validate({**self.model_dump(), "details": details})


def item_of(form: type[Item], values: Mapping[str, Any], line: int) -> PlanItem:
    """The item that begins on this line. Raises PlanError."""
    try:
        return form.model_validate({**values, _LINE: line}).as_item()
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = str(wrong["loc"][0])
        why = f"{key}: {problem_of(wrong)}"
        if wrong["type"] == "extra_forbidden":
            why = f"unknown key {display(key)}{did_you_mean(key, form.model_fields.keys() - {'line'})}"
        raise PlanError(line, why) from None


def require_few_items(lines: Sequence[int]) -> None:
    """Where the items of a plan begin."""
    if len(lines) > MOST_ITEMS:
        raise PlanError(lines[MOST_ITEMS], f"{len(lines):,} items, {MOST_ITEMS:,} may be")


def slug(title: str) -> str:
    """An id for an item that has none: its first words. It stays as long as its title does."""
    words = _NO_WORD.sub("-", title.lower()).strip("-")
    return (words[:SLUG].rpartition("-")[0] if len(words) > SLUG and "-" in words[:SLUG] else words[:SLUG]) or "item"
