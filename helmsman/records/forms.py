"""The forms that gates are answered by, as pydantic models: their titles, help and defaults are what a person reads in the UI."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from helmsman.config.layers import from_assignments
from helmsman.errors import OperatorError
from helmsman.records.gates import GATES, LONGEST_GUIDANCE, Gate, GateKind

LONGEST_NAME = 100
LONGEST_SETTINGS = 4000
LEFT = "-"
"""An answer that leaves a question to whoever does the work."""
LEAVE = f"Empty: the question stays open. {LEFT} leaves it to the agent."
_NEXT = re.compile(r";\s*(?=[a-z_]+(?:\.[a-z_]+)*=)")
"""A semicolon separates where a key follows it. Keys are in small letters, so that `CI=1` in a command is none."""


NAME: Any = Field(default="", title="Your name", description="For the record. Optional.", max_length=LONGEST_NAME)


class Form(BaseModel):
    """What the form of every gate of a loop has."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    decision: str = Field(title="Decision")
    guidance: str = Field(
        default="",
        title="Guidance",
        description="Guidance for the next iteration. Optional.",
        max_length=LONGEST_GUIDANCE,
    )
    settings: str = Field(
        default="",
        title="Changed settings",
        description="KEY=VALUE, several separated by semicolons or lines, for example limits.iterations=40; goal=… "
        "helmsman config shows every key.",
        max_length=LONGEST_SETTINGS,
    )
    by: str = NAME

    @field_validator("settings")
    @classmethod
    def _are_assignments(cls, settings: str) -> str:
        try:
            from_assignments(_lines(settings))
        except OperatorError as error:
            raise ValueError(str(error)) from error
        return settings

    def changed(self) -> dict[str, Any]:
        """The settings, nested as in helmsman.toml."""
        return from_assignments(_lines(self.settings))


_AS_IT_IS = "0 leaves the limit as it is."


class BudgetForm(Form):
    """How much more a loop may use."""

    more_iterations: int = Field(default=0, ge=0, le=10_000, title="Iterations more", description=_AS_IT_IS)
    more_usd: float = Field(default=0, ge=0, le=100_000, title="US dollars more", description=_AS_IT_IS)
    more_hours: float = Field(default=0, ge=0, le=10_000, title="Hours more", description=_AS_IT_IS)
    more_tokens: int = Field(default=0, ge=0, title="Tokens more", description=_AS_IT_IS)


EXTENSIONS: Mapping[str, str] = {
    "more_iterations": "iterations",
    "more_usd": "cost_usd",
    "more_hours": "wall_clock_hours",
    "more_tokens": "tokens",
}
"""Field of the budget form -> key below `limits`."""


@cache
def form_for(kind: GateKind) -> type[Form]:
    """The form of such a gate. The decision is required and has no default: an empty form decides nothing."""
    base = BudgetForm if kind is GateKind.BUDGET else Form
    one_of: Any = Literal[tuple(map(str, GATES[kind].choices))]  # pyright: ignore[reportInvalidTypeForm] - from the table
    decision = one_of, Field(title="Decision", description="One of the choices above.")
    create = cast("Callable[..., type[Form]]", create_model)
    return create(f"{base.__name__}{kind.title().replace('-', '')}", __base__=base, decision=decision)


def read_form(gate: Gate, given: Mapping[str, Any]) -> Form:
    """Validate a filled-in form. Raises OperatorError with the field named."""
    return _validated(form_for(gate.kind), given)


@cache
def answers_form(questions: tuple[str, ...]) -> type[BaseModel]:
    """The form of an alignment's questions: they come first, and none has to be answered."""
    asked: dict[str, Any] = {
        f"answer_{at}": (str, Field(default="", title=question, description=LEAVE)) for at, question in enumerate(questions, 1)
    }
    create = cast("Callable[..., type[BaseModel]]", create_model)
    return create("Answers", __config__=Form.model_config, **asked, by=(str, NAME))


def read_answers(questions: tuple[str, ...], given: Mapping[str, Any]) -> Mapping[str, str]:
    """Answers by question, without those that stay open; empty text: whoever does the work decides."""
    form = _validated(answers_form(questions), given)
    said = {question: str(getattr(form, f"answer_{at}")) for at, question in enumerate(questions, 1)}
    return {question: "" if answer == LEFT else answer for question, answer in said.items() if answer}


F = TypeVar("F", bound=BaseModel)


def _validated(form: type[F], given: Mapping[str, Any]) -> F:
    try:
        return form.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the form'}: {one['msg']}" for one in error.errors()[:5])
        raise OperatorError("the answer cannot be read", found=problems, remedy="fix the field and answer again") from error


def extension(form: Form, limits: BaseModel) -> dict[str, Any]:
    """The limits that a budget form raises, by their keys below `limits`. One that is not set needs no raising."""
    more = {key: getattr(form, field, 0) for field, key in EXTENSIONS.items()}
    return {key: getattr(limits, key) + by for key, by in more.items() if by and getattr(limits, key) is not None}


def _lines(settings: str) -> list[str]:
    return [part.strip() for line in settings.splitlines() for part in _NEXT.split(line) if part.strip()]
