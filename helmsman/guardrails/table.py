"""The rows of guardrails.toml."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from helmsman.guardrails.rules import Rule


class Row(NamedTuple):
    """A kind of command that is denied; guardrails.toml says what each part means."""

    rule: Rule
    reason: str
    commands: frozenset[str]
    git: frozenset[str]
    wrappers: frozenset[str]
    flags: str
    unless: frozenset[str]
    unless_flags: str
    when: str
    anywhere: bool


@cache
def table() -> dict[str, Any]:
    return tomllib.loads(files("helmsman.guardrails").joinpath("guardrails.toml").read_text("utf-8"))


@cache
def rows() -> tuple[Row, ...]:
    return tuple(
        Row(
            rule=Rule(row["rule"]),
            reason=row["reason"].format(**table()["texts"]),
            commands=frozenset(row.get("commands", ("",))),
            git=frozenset(row.get("git", ())),
            wrappers=frozenset(row.get("wrappers", ())),
            flags=row.get("with", ""),
            unless=frozenset(row.get("unless", "").split()),
            unless_flags=row.get("unless_with", ""),
            when=row.get("when", ""),
            anywhere=row.get("anywhere", False),
        )
        for row in table()["deny"]
    )
