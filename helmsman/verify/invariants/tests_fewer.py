"""Fewer tests ran than this loop has seen."""

from collections.abc import Iterable, Iterator

from helmsman.records.checks import CheckResult
from helmsman.records.findings import Finding, Weight
from helmsman.verify.cases.paths import is_test_file
from helmsman.verify.diff import shown
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene

_REPORTER = Reporter("tests.fewer", "Let the same tests run as before; say in the summary which tests were merged or became one.")


def tests_fewer(scene: Scene) -> Iterable[Finding]:
    """BLOCK for a check that passed while no test file changed, for then something keeps its tests from running.

    WARN where test files changed, since merged and parametrised tests count differently, and where the check failed, since a
    runner that stops early runs fewer.
    """
    return most_important(_findings(scene)) if scene.report is not None else ()


def _findings(scene: Scene) -> Iterator[Finding]:
    edited = any(is_test_file(path, text or "") for path, text in _texts(scene))
    for result in scene.report.results if scene.report is not None else ():
        most, ran = scene.most_tests.get(result.command, 0), _ran(result)
        if result.timed_out or result.error or ran >= most:
            continue
        certain = result.passed and not edited and result.counts is not None
        yield _finding(result, most, Weight.BLOCK if certain else Weight.HINT)


def _texts(scene: Scene) -> Iterator[tuple[str, str | None]]:
    for file in scene.diff:
        yield file.path, file.after
        yield file.old_path or file.path, file.before


def _ran(result: CheckResult) -> int:
    """Skipped ones did not run."""
    return 0 if result.counts is None else result.counts.executed


def _finding(result: CheckResult, most: int, weight: Weight) -> Finding:
    unread = " that could be counted" if result.counts is None else ""
    spot = Spot(shown(result.command), before=f"{most} tests", after=f"{_ran(result)} tests")
    return _REPORTER.tell(weight, spot, f"check {result.name} ran {_ran(result)} tests{unread} where it ran {most}")
