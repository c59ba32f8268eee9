"""Scenes in a line, for the rules about sources and configuration."""

from collections.abc import Mapping
from typing import Any

from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.scene import Rule, Scene

Files = Mapping[str, str | None]


def scene(after: Files, before: Files | None = None, **fields: Any) -> Scene:
    """What changed: texts by path, as they are and as they were; None where a file is gone."""
    old = before or {}
    files = tuple(_file(path, old.get(path), after.get(path)) for path in dict.fromkeys((*after, *old)))
    paths = frozenset(file.path for file in files if file.after is not None)
    return Scene(diff=TreeDiff(files), paths=paths, **fields)


def _file(path: str, before: str | None, after: str | None) -> FileDiff:
    return FileDiff(path, before, after, "A" if before is None else "D" if after is None else "M")


def findings(rule: Rule, after: Files, before: Files | None = None, **fields: Any) -> list[Finding]:
    return list(rule(scene(after, before, **fields)))


def weights(rule: Rule, after: Files, before: Files | None = None, **fields: Any) -> list[str]:
    """`block` and `warn`, in the order in which they are told."""
    return [finding.weight.value for finding in findings(rule, after, before, **fields)]


def blocked(rule: Rule, after: Files, before: Files | None = None, **fields: Any) -> list[Finding]:
    return [finding for finding in findings(rule, after, before, **fields) if finding.weight is Weight.BLOCK]
