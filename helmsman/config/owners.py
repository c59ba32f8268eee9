"""Owners of the keys, and operator's keys set by files of the repository."""

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
"""Keys with a list of tables that contain operator's keys."""


class Setting(NamedTuple):
    """An operator's setting requested by a file of the repository."""

    key: str
    value: str
    """As JSON."""
    line: int = 0
    """0: not known. It is no part of what is agreed to."""


class TrustRequest(NamedTuple):
    """Requests of one file of the repository."""

    file: str
    settings: tuple[Setting, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of exactly this content, under which consent is stored."""
        content = [self.file, sorted((setting.key, setting.value) for setting in self.settings)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class ConsentMissing(OperatorError):  # noqa: N818 - what was found, as in Fenced
    """Files of the repository set operator's keys without consent."""

    def __init__(self, requested: Iterable[TrustRequest], remedy: str) -> None:
        """Keep the requests, so that a person can be asked."""
        self.requested = tuple(requested)
        lines = [line for request in self.requested for line in setting_lines(request)]
        super().__init__("\n  ".join(["the repository's files set keys that only the operator may set", *lines]), remedy=remedy)


def setting_lines(requested: TrustRequest) -> Iterator[str]:
    """Each setting with its file and line."""
    for setting in requested.settings:
        where = f"{requested.file}:{setting.line}" if setting.line else requested.file
        yield f"{where}: {setting.key} = {short_line(setting.value, LONGEST_SHOWN)}"


def violations(pairs: Iterable[tuple[str, Any]]) -> list[Setting]:
    """Operator's keys among (dotted key, value), including those in lists of tables."""
    settings = list[Setting]()
    for key, value in pairs:
        if OWNERS.get(key) is Owner.OPERATOR:
            settings.append(Setting(key, as_json(value)))
        elif key in _LISTS and isinstance(value, list | tuple):
            settings += _violations_in_list(key, cast("list[Any]", value))
    return settings


def as_json(value: Any) -> str:
    """Equal text for equal values, regardless of the order of keys."""
    return json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)


def _violations_in_list(key: str, items: list[Any]) -> Iterator[Setting]:
    owned = [name for name, _, owner in fields(_LISTS[key]) if owner is Owner.OPERATOR]
    for at, item in enumerate(items):
        if isinstance(item, Mapping):
            table = cast("Mapping[str, Any]", item)
            yield from (Setting(f"{key}[{at}].{name}", as_json(table[name])) for name in owned if name in table)


OWNERS: Mapping[str, Owner] = {key: owner for key, field, owner in fields(LoopConfig) if not section_of(field)}
"""Every key, in declaration order."""
