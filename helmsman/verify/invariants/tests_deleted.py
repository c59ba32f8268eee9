"""A test that existed before the loop's work is gone."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from helmsman.records.findings import Finding, Weight
from helmsman.verify.cases.comparison import compared
from helmsman.verify.cases.model import Case
from helmsman.verify.cases.paths import is_source, is_test_file
from helmsman.verify.cases.reading import without_tests
from helmsman.verify.diff import TreeDiff, shown
from helmsman.verify.invariants.scene import Scene

MOST_FINDINGS = 30
_RULE = "tests.deleted"
_HONEST = "Put it back and make the code pass it; if a test must change its form, keep what it asserts."
_NO_LONGER_NEEDED = "If the goal asks for the removal of what it tested, say so in the summary; otherwise put both back."
_DEFINED = re.compile(r"(?<!\w)(?:def|class|func|fn|function|const|struct|interface|enum|trait|fun|void|module)\s+(\w+)")


def tests_deleted(scene: Scene) -> Iterable[Finding]:
    """BLOCK; WARN where the code that the test names was removed too, which only a reader of the goal can judge."""
    comparison = compared(scene.diff, scene.tests, scene.commands)
    dropped = {side.file.path for side in comparison.sides if side.file.status == "D"}
    undefined = _undefined(scene.diff) if comparison.gone else frozenset[str]()
    return islice((*_unread(scene.diff), *_findings(comparison.gone, dropped, undefined)), MOST_FINDINGS)


def _findings(gone: tuple[Case, ...], dropped: set[str], undefined: frozenset[str]) -> Iterator[Finding]:
    for path, cases in groupby(sorted(gone, key=lambda case: (case.path, case.line)), key=lambda case: case.path):
        group = list(cases)
        yield from [_of_file(path, group, undefined)] if path in dropped else [_of_case(case, undefined) for case in group]


def _of_case(case: Case, undefined: frozenset[str]) -> Finding:
    moot = not case.words.names.isdisjoint(undefined)
    return Finding(
        rule=_RULE,
        weight=Weight.WARN if moot else Weight.BLOCK,
        path=case.path,
        line=case.line,
        before=_first_assertion(case),
        message=shown(f"{case.name} was deleted") + (" with the code that it tested" if moot else ""),
        honest=_NO_LONGER_NEEDED if moot else _HONEST,
    )


def _of_file(path: str, cases: list[Case], undefined: frozenset[str]) -> Finding:
    moot = all(not case.words.names.isdisjoint(undefined) for case in cases)
    tests = "1 test" if len(cases) == 1 else f"{len(cases)} tests"
    return Finding(
        rule=_RULE,
        weight=Weight.WARN if moot else Weight.BLOCK,
        path=path,
        line=cases[0].line,
        before=_first_assertion(cases[0]),
        message=f"the file was deleted with {tests}" + (" and the code that they tested" if moot else ""),
        honest=_NO_LONGER_NEEDED if moot else _HONEST,
    )


def _first_assertion(case: Case) -> str:
    return shown(case.assertions[0].text if case.assertions else case.name)


def _unread(diff: TreeDiff) -> Iterator[Finding]:
    """A deleted test file whose text was not read may have held nothing."""
    for file in diff:
        if file.status == "D" and file.before is None and is_test_file(file.path):
            message = "a test file was deleted that could not be read"
            yield Finding(rule=_RULE, weight=Weight.WARN, path=file.path, message=message, honest=_HONEST)


def _undefined(diff: TreeDiff) -> frozenset[str]:
    """Names that program text defined before and defines nowhere in the diff now."""
    sources = [file for file in diff if is_source(file.path) or is_source(file.old_path)]
    before = {name for file in sources for name in _DEFINED.findall(without_tests(file.path, file.before or ""))}
    return frozenset(before.difference(*(_DEFINED.findall(without_tests(file.path, file.after or "")) for file in diff)))
