"""A test that existed before the loop's work is gone."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from helmsman.records.findings import Finding
from helmsman.texts import counted
from helmsman.verify.cases.comparison import compared
from helmsman.verify.cases.model import Case
from helmsman.verify.cases.paths import is_source, is_test_file
from helmsman.verify.cases.reading import cases_in, without_tests
from helmsman.verify.diff import TreeDiff, shown
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene

_REPORTER = Reporter(
    "tests.deleted", "Put it back and make the code pass it; if a test must change its form, keep what it asserts."
)
_NO_LONGER_NEEDED = "If the goal asks for the removal of what it tested, say so in the summary; otherwise put both back."
_DEFINED = re.compile(r"(?<!\w)(?:def|class|func|fn|function|const|struct|interface|enum|trait|fun|void|module)\s+(\w+)")


def tests_deleted(scene: Scene) -> Iterable[Finding]:
    """BLOCK; WARN where the code that the test names was removed too, which only a reader of the goal can judge."""
    comparison = compared(scene.diff, scene.tests, scene.commands)
    dropped = {side.file.path for side in comparison.sides if side.file.status == "D"}
    undefined = _undefined(scene.diff) if comparison.gone else frozenset[str]()
    return most_important(chain(_unread(scene.diff), _findings(comparison.gone, dropped, undefined)))


def _findings(gone: tuple[Case, ...], dropped: set[str], undefined: frozenset[str]) -> Iterator[Finding]:
    for path, cases in groupby(sorted(gone, key=lambda case: (case.path, case.line)), key=lambda case: case.path):
        group = list(cases)
        yield from [_of_file(group, undefined)] if path in dropped else [_of_case(case, undefined) for case in group]


def _of_case(case: Case, undefined: frozenset[str]) -> Finding:
    moot = not case.words.names.isdisjoint(undefined)
    return _gone(case, f"{case.name} was deleted", " with the code that it tested" if moot else "")


def _of_file(cases: list[Case], undefined: frozenset[str]) -> Finding:
    moot = all(not case.words.names.isdisjoint(undefined) for case in cases)
    message = f"the file was deleted with {counted(len(cases), 'test')}"
    return _gone(cases[0], message, " and the code that they tested" if moot else "")


def _gone(case: Case, message: str, with_code: str) -> Finding:
    """`with_code`: that the code went too, in words; empty where it is still there."""
    spot = Spot(case.path, case.line, before=case.assertions[0].text if case.assertions else case.name)
    if with_code:
        return _REPORTER.hint(spot, f"{shown(message, 160)}{with_code}", _NO_LONGER_NEEDED)
    return _REPORTER.block(spot, message)


def _unread(diff: TreeDiff) -> Iterator[Finding]:
    """What was deleted without having been read may have held nothing; what was read and no longer can be held these tests."""
    no_room = frozenset(diff.no_room)
    for file in diff:
        if file.status == "D" and file.before is None and is_test_file(file.path):
            yield _REPORTER.hint(Spot(file.path), "a test file was deleted that could not be read")
        elif file.status != "D" and file.after is None and (tests := cases_in(file.old_path or file.path, file.before or "")):
            yield _unreadable(file.path, counted(len(tests), "test"), no_room=file.path in no_room)


def _unreadable(path: str, tests: str, *, no_room: bool) -> Finding:
    if no_room:
        message = f"{tests} could not be compared: all changed files together are too large to be read"
        return _REPORTER.hint(Spot(path), message, "Change less at a time, and keep what is generated out of the repository.")
    message = f"no rule can read {tests} any more: the file is too large now, or no text"
    return _REPORTER.block(Spot(path), message, "Keep tests as text, in files of a size that somebody writes.")


def _undefined(diff: TreeDiff) -> frozenset[str]:
    """Names that program text defined before and defines nowhere in the diff now."""
    sources = [file for file in diff if is_source(file.path) or is_source(file.old_path)]
    before = {name for file in sources for name in _DEFINED.findall(without_tests(file.path, file.before or ""))}
    return frozenset(before.difference(*(_DEFINED.findall(without_tests(file.path, file.after or "")) for file in diff)))
