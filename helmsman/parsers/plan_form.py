"""Schema of plan items for all formats, and the error for invalid plans."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, cast

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from helmsman.config.layers import did_you_mean, display, problem_of
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.plan import LAST_RANK, LONGEST_ID, MOST_ITEMS, PlanItem

LONGEST_TITLE, LONGEST_DETAILS, SLUG = 300, 8_000, 40
LONGEST_CHECK = 2_000  # maximum characters of a check, which is never truncated: a truncated command proves something else
RANKS: Mapping[str, int] = {"critical": 0, "high": 1, "medium": 2, "low": 3}  # ranks of the usual words for a priority
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # characters that JSON can escape but no command, prompt or state can contain
_ID = re.compile(rf"(?:[A-Za-z0-9][A-Za-z0-9._/-]{{0,{LONGEST_ID - 1}}})?")


class PlanError(ValueError):
    """A plan is invalid."""

    def __init__(self, line: int, why: str) -> None:
        """`line`: counted from 1; 0 if no single line is wrong."""
        self.line, self.why = line, why
        super().__init__(line, why)

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}" if self.line else self.why

    def about(self, path: str) -> OperatorError:
        where = f"{path}:{self.line}" if self.line else path
        return OperatorError(clean(f"{where}: {self.why}"), remedy="fix the plan and commit it; docs/plans.md shows the formats")


def _require(holds: Callable[[str], object], expected: str) -> AfterValidator:
    def checked(value: str) -> str:
        if not holds(value):
            raise PydanticCustomError("plan", cast("Any", expected))
        return value

    return AfterValidator(checked)


def _as_tuple(value: Any) -> Any:
    """Wrap a single value in a tuple, and convert numeric ids to strings."""
    every = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return tuple(str(element) if type(element) is int else element for element in every)


def _without_empty(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in texts if text)


_IS_TEXT = _require(lambda text: not _NO_TEXT.search(text), "text without null characters and lone surrogates")
Text = Annotated[str, _IS_TEXT, AfterValidator(lambda text: text.strip()[:LONGEST_DETAILS])]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_tuple), AfterValidator(_without_empty)]
Title = Annotated[Text, AfterValidator(lambda text: " ".join(text.split())[:LONGEST_TITLE]), _require(bool, "a title")]
Id = Annotated[
    Text, _require(_ID.fullmatch, f"letters, digits and . _ / - (at most {LONGEST_ID}, the first one a letter or a digit)")
]
Check = Annotated[str, Field(max_length=LONGEST_CHECK), _IS_TEXT, AfterValidator(str.strip)]
Acceptance = Annotated[Texts, Field(max_length=50)]
Needs = Annotated[Texts, Field(max_length=200)]


def _rank(word: str) -> int:
    if word.lower() not in RANKS:
        raise PydanticCustomError("plan", cast("Any", f"a whole number or one of {', '.join(RANKS)}"))
    return RANKS[word.lower()]


Priority = Annotated[
    int,
    Field(ge=0, le=LAST_RANK),
    BeforeValidator(lambda value: _rank(value) if isinstance(value, str) else value),
]


class Item(BaseModel):
    """An item in a file: a PlanItem without its line."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: Id = ""
    title: Title
    details: Text = ""
    acceptance: Acceptance = ()
    priority: Priority = LAST_RANK
    needs: Needs = ()
    parallel: bool = False
    verify: bool = False
    check: Check = ""
    done: bool = False


def _aliases(*names: str) -> Any:
    return Field(validation_alias=AliasChoices(*names))


class Story(Item):
    """An item in the format of other loops: the first of these names counts. Other fields are ignored, typing errors are not."""

    model_config = ConfigDict(extra="ignore")

    id: Annotated[Id, BeforeValidator(lambda value: str(value) if isinstance(value, str | int) else "")] = ""
    title: Annotated[Title, _aliases("title", "name", "description")]
    details: Annotated[Text, _aliases("description")] = ""
    notes: Text = ""
    acceptance: Annotated[Acceptance, _aliases("acceptanceCriteria", "acceptance_criteria", "acceptance", "steps")] = ()
    needs: Annotated[Needs, _aliases("needs", "dependsOn", "depends_on", "dependencies")] = ()
    done: Annotated[bool, _aliases("passes", "done")] = False


_STORY_KEYS = [
    name
    for key, field in Story.model_fields.items()
    for name in (map(str, field.validation_alias.choices) if isinstance(field.validation_alias, AliasChoices) else [key])
]
_SLIP = 0.88  # least similarity of a typing error; another loop's `verified` is none of `verify`


def _refuse_slips(values: Mapping[str, Any], line: int) -> None:
    """Raise PlanError for a key that nearly is one of a story's: ignored, it would change what is done, or when."""
    for key in values:
        near = [] if key in _STORY_KEYS else get_close_matches(key[:LONGEST_TITLE], _STORY_KEYS, n=1, cutoff=_SLIP)
        if near:
            raise PlanError(line, f"unknown key {display(key)}; did you mean {near[0]}?")


def item_of(form: type[Item], values: Mapping[str, Any], line: int) -> PlanItem:
    """Validate the item on this line, dropping a description that equals the title. Raises PlanError."""
    if form is Story:
        _refuse_slips(values, line)
    try:
        item = form.model_validate(values)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = str(wrong["loc"][0])
        why = f"{key}: {problem_of(wrong)}"
        if wrong["type"] == "extra_forbidden":
            why = f"unknown key {display(key)}{did_you_mean(key, form.model_fields)}"
        raise PlanError(line, why) from None
    details = item.details
    if isinstance(item, Story):
        own = details if " ".join(details.split())[:LONGEST_TITLE] != item.title else ""
        details = "\n".join(filter(None, (own, item.notes)))[:LONGEST_DETAILS]
    return PlanItem.model_validate({**item.model_dump(), "details": details, "line": line})


def require_few_items(lines: Sequence[int]) -> None:
    """Raise PlanError if there are too many items. `lines`: first line of each item."""
    if len(lines) > MOST_ITEMS:
        raise PlanError(lines[MOST_ITEMS], f"it has {len(lines):,} items, more than {MOST_ITEMS:,}")


def slug(title: str) -> str:
    """Return an id from the first words of a title, stable as long as the title is."""
    slugged = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return (slugged[:SLUG].rpartition("-")[0] if len(slugged) > SLUG and "-" in slugged[:SLUG] else slugged[:SLUG]) or "item"
