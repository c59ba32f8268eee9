"""Tests that several files share: they stand where no runner looks, and run in each file that takes them in."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from helmsman.verify.cases.masks import masked
from helmsman.verify.cases.model import Case
from helmsman.verify.cases.paths import is_test_file, language_of
from helmsman.verify.cases.sides import Pair, Sides
from helmsman.verify.cases.words import alike

_RETOLD = 0.8
"""Share of words from which on a shared test is the one that stood in a file."""
_MOST_FILES = 500
"""Files that are searched for those which take shared tests in."""
_MOST_SHARED = 200
"""Shared tests of one file that each lost one is compared with."""
_GROUPS = {
    "ruby": re.compile(
        r"(?m)^[ \t]*+(?:RSpec\.)?shared_(?:examples(?:_for)?|context)[ (]+[\"':](?P<name>[^\"'\n]{1,200}?)[\"']?\)? do"
    ),
    "javascript": re.compile(
        r"(?m)^(?:export )?(?:default )?(?:async )?(?:function|const|let) (?P<name>\w{1,80})"
        r"|^(?:module\.)?exports\.(?P<also>\w{1,80}) ="
    ),
    "python": re.compile(r"(?m)^class (?P<name>\w{1,80})"),
}
"""What holds shared tests, by its name."""
_TAKING = {
    "ruby": re.compile(
        r"(?<!\w)(?:it_behaves_like|it_should_behave_like|include_examples|include_context)[ (]+[\"':]([^\"'\n]{1,200}?)[\"'\n,)]"
    ),
    "javascript": re.compile(r"(?m)^[ \t]*+(?:await )?(?:\w{1,80}\.)?(\w{1,80})\("),
    "python": re.compile(r"(?m)^class \w{1,80}\(([^)\n]{1,300})\)"),
}
"""What takes them in."""


@dataclass(frozen=True)
class Shared:
    """A test that runs wherever its group is taken in."""

    case: Case
    users: frozenset[str]
    """Paths of the test files that take it in."""


def shared_in(sides: Iterable[Sides], texts: Mapping[str, str]) -> tuple[Shared, ...]:
    """The tests of changed files that no runner looks into, which test files take in."""
    found = [(side, side.file.after or "") for side in sides if any(case.dormant for case in side.new.others)]
    groups = {side.file.path: _groups(side.file.path, text) for side, text in found if not is_test_file(side.file.path, text)}
    if not any(groups.values()):
        return ()
    users = _users(texts)
    return tuple(item for side, _ in found for item in _of_side(side, groups.get(side.file.path, ()), users))


def _groups(path: str, text: str) -> tuple[tuple[int, str], ...]:
    """Line and name of each group."""
    pattern = _GROUPS.get(language_of(path))
    matches = pattern.finditer(text) if pattern is not None else ()
    named = ((match.start(), next(name for name in match.groups() if name is not None)) for match in matches)
    return tuple(_by_line(text, list(named)))


def _by_line(text: str, places: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    line, last = 1, 0
    for position, name in places:
        line += text.count("\n", last, position)
        last = position
        yield line, name


def _users(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Paths of test files by the names of what they take in."""
    found: dict[str, set[str]] = {}
    for path, text in list(texts.items())[:_MOST_FILES]:
        pattern = _TAKING.get(language_of(path)) if is_test_file(path, text) else None
        for names in pattern.findall(masked(text, language_of(path)).code) if pattern is not None else ():
            for name in re.split(r"[,\s]+", names) if language_of(path) == "python" else [names]:
                found.setdefault(name.rpartition(".")[2] if language_of(path) == "python" else name, set()).add(path)
    return found


def _of_side(side: Sides, groups: tuple[tuple[int, str], ...], users: Mapping[str, set[str]]) -> Iterator[Shared]:
    lines = [line for line, _ in groups]
    for case in side.new.others:
        above = bisect_right(lines, case.line)
        paths = users.get(groups[above - 1][1], set[str]()) if above and case.dormant else set[str]()
        if paths:
            yield Shared(case, frozenset(paths))


def taken_in(lost: Iterable[Case], sides: Iterable[Sides], shared: tuple[Shared, ...]) -> Iterator[Pair]:
    """Lost tests that run in their file as before, since it takes in a shared one."""
    if not shared:
        return
    by_user: dict[str, list[Case]] = {}
    for item in shared:
        for path in item.users:
            by_user.setdefault(path, []).append(item.case)
    now = {side.file.old_path or side.file.path: side.file.path for side in sides}
    for case in lost:
        here = by_user.get(now.get(case.path, case.path), [])[:_MOST_SHARED]
        named = sorted(here, key=lambda other: other.bare_name != case.bare_name)
        same = next((other for other in named if _is_same(case, other)), None)
        if same is not None:
            yield Pair(case, same)


def _is_same(old: Case, new: Case) -> bool:
    return old.bare_name == new.bare_name or alike(old.words, new.words) >= _RETOLD
