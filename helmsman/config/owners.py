"""Who owns a key, and which of the operator's keys a file of the repository asks for."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from helmsman.config.base import Owner, Section, fields, section_of
from helmsman.config.goals import CheckConfig
from helmsman.config.loop import LoopConfig
from helmsman.errors import OperatorError
from helmsman.plain import short_line

LONGEST_SHOWN = 200
_LISTS: Mapping[str, type[Section]] = {"checks": CheckConfig}
"""Keys that hold a list of tables with an operator's key in them."""


class Setting(NamedTuple):
    """One thing that a file of the repository asks for, and that is the operator's to decide."""

    key: str
    value: str
    """As JSON."""
    line: int = 0
    """0: not known. It is no part of what is agreed to."""


class Requested(NamedTuple):
    """What one file of the repository asks for."""

    file: str
    settings: tuple[Setting, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of exactly this content; consent is stored by it."""
        content = [self.file, sorted((one.key, one.value) for one in self.settings)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class NotAgreed(OperatorError):  # noqa: N818 - what was found, as in Fenced
    """Files of the repository ask for what nobody has agreed to."""

    def __init__(self, requested: Iterable[Requested], remedy: str) -> None:
        """Keep what is asked for, so that a person can be asked."""
        self.requested = tuple(requested)
        lines = [line for one in self.requested for line in asked_lines(one)]
        super().__init__("\n  ".join(["the repository's files set what only the operator may set", *lines]), remedy=remedy)


def asked_lines(requested: Requested) -> Iterator[str]:
    """Each setting with its file and line."""
    for one in requested.settings:
        where = f"{requested.file}:{one.line}" if one.line else requested.file
        yield f"{where}: {one.key} = {short_line(one.value, LONGEST_SHOWN)}"


def violations(pairs: Iterable[tuple[str, Any]]) -> list[Setting]:
    """Of (dotted key, value) those that only the operator sets; of a list of tables those inside of it."""
    found = list[Setting]()
    for key, value in pairs:
        if OWNERS.get(key) is Owner.OPERATOR:
            found.append(Setting(key, as_json(value)))
        elif key in _LISTS and isinstance(value, list | tuple):
            found += _within(key, cast("list[Any]", value))
    return found


def as_json(value: Any) -> str:
    """The same text for the same value, whoever wrote it in which order."""
    return json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)


def _within(key: str, items: list[Any]) -> Iterator[Setting]:
    owned = [name for name, _, owner in fields(_LISTS[key]) if owner is Owner.OPERATOR]
    for at, item in enumerate(items):
        if isinstance(item, Mapping):
            table = cast("Mapping[str, Any]", item)
            yield from (Setting(f"{key}[{at}].{name}", as_json(table[name])) for name in owned if name in table)


OWNERS: Mapping[str, Owner] = {key: owner for key, field, owner in fields(LoopConfig) if not section_of(field)}
"""Every key, in declaration order."""
