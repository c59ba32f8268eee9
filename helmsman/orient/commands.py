"""From the names and texts of a project's files to the commands that may prove something about it. Nothing is run here.

What a file says only ever chooses among words of ours: no name of a target, script or folder reaches a command unless it is known
or plain. So a hostile repository can make us run what its own files say under a usual name, and nothing that it writes there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from helmsman.orient.projects import python_tools, runners, scripts, usual
from helmsman.orient.projects.kinds import Candidate, Discovery, Folder, Kind, Passed

MOST_CANDIDATES = 16
"""Commands at most; whoever has more of them knows better which ones count."""
MOST_FOLDERS = 20
"""Folders below the root that are looked into at most."""
TEXTS = runners.READ | python_tools.READ | usual.READ | scripts.READ
"""Names of the files whose text is worth reading."""
_SOURCES: tuple[runners.Source, ...] = (*runners.OWN, python_tools.python, usual.usual_commands)
"""The project's own words first; behind them what its tools' files stand for."""
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")
_FOREIGN = frozenset(
    {"node_modules", "vendor", "third_party", "examples", "docs", "doc", "tests", "test", "spec", "bench", "fixtures"}
)
"""Folders of others, or of no project of its own."""


@dataclass(frozen=True)
class Found:
    """What the files of a project say."""

    candidates: tuple[Candidate, ...] = ()
    """By kind, and for each kind the most telling one first."""
    passed: tuple[Passed, ...] = ()


def may_hold_a_project(name: str) -> bool:
    """Whether a folder right below the root is looked into: it has a plain name and is not known for something else."""
    return _PLAIN.fullmatch(name) is not None and name not in _FOREIGN


def find_commands(folders: Mapping[str, Folder]) -> Found:
    """The commands of the root, whose name is empty. Where it has none for tests: its scripts, else what the folders
    below it have, else the steps of its CI.
    """
    root = folders.get("", Folder())
    below = [name for name in sorted(folders) if may_hold_a_project(name)]
    found = list(_in_folder("", root))
    if not _has_tests(found):
        found += scripts.scripts(root)
    if not _has_tests(found):
        found += [one for name in below[:MOST_FOLDERS] for one in _in_folder(name, folders[name])]
    if not _has_tests(found):
        found += scripts.steps(root)
    first: dict[str, Candidate] = {}
    for one in found:
        if isinstance(one, Candidate):
            first.setdefault(one.command, one)
    by_kind = sorted(first.values(), key=lambda candidate: [*Kind].index(candidate.kind))
    return Found(tuple(by_kind[:MOST_CANDIDATES]), tuple(one for one in found if isinstance(one, Passed)))


def _has_tests(found: Sequence[Discovery]) -> bool:
    return any(isinstance(one, Candidate) and one.kind is Kind.TESTS for one in found)


def worth_keeping(working: Mapping[Candidate, bool]) -> tuple[Candidate, ...]:
    """Of those that work, in their order, each that none before it covers."""
    kept: list[Candidate] = []
    for candidate, works in working.items():
        if works and not any(other.covers(candidate) for other in kept):
            kept.append(candidate)
    return tuple(kept)


def _in_folder(name: str, folder: Folder) -> Iterator[Discovery]:
    for source in _SOURCES:
        yield from (_moved(found, name) for found in source(folder))


def _moved(found: Discovery, name: str) -> Discovery:
    if not name:
        return found
    if isinstance(found, Passed):
        return replace(found, where=f"{name}/{found.where}")
    return replace(found, command=f"cd {name} && {found.command}", where=f"{name}/{found.where}", folder=name)
