"""Common base of all configuration sections."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any, ClassVar, LiteralString, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

LONGEST_HOURS = 24 * 366 * 100
"""A century: added to today's date the result is still a valid date, and no wait is longer."""

STORED = {"stored": True}
"""Validation context for stored states: values that older versions allowed stay valid, so that their loops can continue."""


class Owner(StrEnum):
    """Who may set a key. A clone's files set the repository's keys; an operator's key in them needs the operator's consent."""

    REPOSITORY = "repository"
    OPERATOR = "operator"


T = TypeVar("T")
OperatorKey = Annotated[T, Owner.OPERATOR]
"""A key that names a program, an environment, credentials, an address or a place outside of the repository."""
RepositoryKey = Annotated[T, Owner.REPOSITORY]
"""A repository's key in an operator's section."""


class Section(BaseModel):
    """A part of the configuration: frozen, no unknown keys, documented field by field."""

    owner: ClassVar[Owner] = Owner.REPOSITORY
    """Of its keys that do not name another."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        validate_default=True,
        allow_inf_nan=False,  # JSON has neither: a stored loop could not be read again
    )


def _none_when_unlimited(value: Any) -> Any:
    """TOML has no null: "none" and inf mean no limit."""
    return None if value in ("none", float("inf")) else value


def satisfies(holds: Callable[[str], object], kind: LiteralString, expected: LiteralString) -> AfterValidator:
    """Validator that rejects a text unless `holds` is true. `kind`: type of the error; `expected`: its message."""

    def check(text: str) -> str:
        if not holds(text):
            raise PydanticCustomError(kind, expected)
        return text

    return AfterValidator(check)


Words = Annotated[str, Field(min_length=1), satisfies(str.strip, "blank", "some words")]
Dollars = Annotated[Annotated[float, Field(gt=0)] | None, BeforeValidator(_none_when_unlimited)]
Hours = Annotated[Annotated[float, Field(gt=0)] | None, BeforeValidator(_none_when_unlimited)]
Share = Annotated[Annotated[float, Field(gt=0, le=1)] | None, BeforeValidator(_none_when_unlimited)]
Count = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_none_when_unlimited)]


def fields(model: type[Section], prefix: str = "") -> Iterator[tuple[str, FieldInfo, Owner]]:
    """Every field below a section as (dotted key, field, owner), in declaration order; a section precedes its fields."""
    for name, field in model.model_fields.items():
        yield prefix + name, field, next((mark for mark in field.metadata if isinstance(mark, Owner)), model.owner)
        section = section_of(field)
        if section:
            yield from fields(section, f"{prefix}{name}.")


def section_of(field: FieldInfo) -> type[Section] | None:
    """The section class of a field, or None for a leaf."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None
