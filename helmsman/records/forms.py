"""Forms that answer gates, as pydantic models: titles, help and defaults appear in the UI."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from helmsman.config.layers import from_assignments
from helmsman.errors import OperatorError, format_invalid
from helmsman.records.gates import GATES, LONGEST_GUIDANCE, Gate, GateKind

LONGEST_NAME = 100
LONGEST_SETTINGS = 4000
LEFT = "-"
"""An answer that leaves the question to the agent."""
LEAVE = f"Empty: the question stays open. {LEFT} leaves it to the agent."
_NEXT = re.compile(r";\s*(?=[a-z_]+(?:\.[a-z_]+)*=)")
"""A semicolon separates assignments only before a key. Keys are lowercase, so `CI=1` in a command is not one."""


NAME: Any = Field(default="", title="Your name", description="For the record. Optional.", max_length=LONGEST_NAME)


class Form(BaseModel):
    """Base of all gate forms."""

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
    def _check_assignments(cls, settings: str) -> str:
        try:
            from_assignments(_split_assignments(settings))
        except OperatorError as error:
            raise ValueError(str(error)) from error
        return settings

    def changed(self) -> dict[str, Any]:
        """The settings, nested as in helmsman.toml."""
        return from_assignments(_split_assignments(self.settings))


_UNCHANGED = "0 leaves the limit as it is."


class BudgetForm(Form):
    """How much more a loop may use."""

    more_iterations: int = Field(default=0, ge=0, le=10_000, title="Iterations more", description=_UNCHANGED)
    more_usd: float = Field(default=0, ge=0, le=100_000, title="US dollars more", description=_UNCHANGED)
    more_hours: float = Field(default=0, ge=0, le=10_000, title="Hours more", description=_UNCHANGED)
    more_tokens: int = Field(default=0, ge=0, title="Tokens more", description=_UNCHANGED)


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


def read_form(gate: Gate, values: Mapping[str, Any]) -> Form:
    """Validate a completed form. Raises OperatorError that names the field."""
    return _validate(form_for(gate.kind), values)


@cache
def answers_form(questions: tuple[str, ...]) -> type[BaseModel]:
    """The form with an alignment's questions, which come first and are optional."""
    fields: dict[str, Any] = {
        f"answer_{at}": (str, Field(default="", title=question, description=LEAVE)) for at, question in enumerate(questions, 1)
    }
    create = cast("Callable[..., type[BaseModel]]", create_model)
    return create("Answers", __config__=Form.model_config, **fields, by=(str, NAME))


def read_answers(questions: tuple[str, ...], values: Mapping[str, Any]) -> Mapping[str, str]:
    """Answers by question, without open ones; an empty text leaves the decision to the agent."""
    form = _validate(answers_form(questions), values)
    answers = {question: str(getattr(form, f"answer_{at}")) for at, question in enumerate(questions, 1)}
    return {question: "" if answer == LEFT else answer for question, answer in answers.items() if answer}


F = TypeVar("F", bound=BaseModel)


def _validate(form: type[F], values: Mapping[str, Any]) -> F:
    try:
        return form.model_validate(values)
    except ValidationError as error:
        raise OperatorError(
            "the answer is not valid", found=format_invalid(error, 5), remedy="fix the field and answer again"
        ) from error


def extension(form: Form, limits: BaseModel) -> dict[str, Any]:
    """Limits raised by a budget form, by their keys below `limits`. Unlimited ones are skipped."""
    increases = {key: getattr(form, field, 0) for field, key in EXTENSIONS.items()}
    return {
        key: getattr(limits, key) + amount for key, amount in increases.items() if amount and getattr(limits, key) is not None
    }


def _split_assignments(settings: str) -> list[str]:
    return [part.strip() for line in settings.splitlines() for part in _NEXT.split(line) if part.strip()]
