"""No secret in any text of a record, before it is cut and escaped for people: after that it would not be known again."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from helmsman.records.base import Record
from tasks.secrets_kept import SECRET_NAME, SHORTEST, redact

R = TypeVar("R", bound=Record)


def without_secrets(what: R, environment: Mapping[str, str]) -> R:
    """The same record, with names in the place of secrets. Each text is gone through only where one of them can be in it."""
    told = what.model_dump(mode="json")
    everything = "\n".join(_texts(told))
    if not any(trace in everything for trace in _traces(environment)):
        return what
    return type(what).model_validate(_mapped(told, lambda text: redact(text, environment)))


def _traces(environment: Mapping[str, str]) -> set[str]:
    """Beginnings and ends of secrets: as much as is left of one at least where a text was cut."""
    secrets = (line.strip() for name, value in environment.items() if SECRET_NAME.search(name) for line in value.splitlines())
    return {trace for line in secrets if len(line) >= SHORTEST for trace in (line[:SHORTEST], line[-SHORTEST:])}


def _texts(told: Any) -> Iterator[str]:
    match told:
        case str():
            yield told
        case dict():
            for name, value in told.items():  # pyright: ignore[reportUnknownVariableType] - JSON
                yield from (*_texts(name), *_texts(value))
        case list():
            for value in told:  # pyright: ignore[reportUnknownVariableType] - JSON
                yield from _texts(value)
        case _:
            pass


def _mapped(told: Any, change: Callable[[str], str]) -> Any:
    match told:
        case str():
            return change(told)
        case dict():
            return {change(name): _mapped(value, change) for name, value in told.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case list():
            return [_mapped(value, change) for value in told]  # pyright: ignore[reportUnknownVariableType] - JSON
        case _:
            return told
