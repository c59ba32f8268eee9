"""What the checks are run on beside the work itself: the work with the tests of the start, the start with those of the work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from helmsman.config import CheckConfig, LoopConfig
from helmsman.records.checks import CheckReport, CheckResult, TrustedRun
from helmsman.verify.new_tests import not_collected, shown_by
from tasks.checks.run import CheckContext, run_checks
from tasks.checks.trusted_run import (
    Range,
    Sides,
    cases_at,
    changed_since_start,
    reverted_paths,
    tests_as_they_were,
    tests_of_the_work,
)
from tasks.repository.setup import SetupFailed

MOST_TESTS = 200
"""Names of tests that fail on the source of the start, as a record holds them."""


@dataclass(frozen=True)
class Target:
    """A commit to check, by which checks, and with which entries in place of its own."""

    commit: str
    tree: str
    config: LoopConfig
    overlay: Sequence[bytes] = ()
    stay: str = ""
    """Commit that the agent's folder is at afterwards, where the checks run there; the one that is checked where none is said."""


Run = Callable[[Target], CheckReport]


class Shown(NamedTuple):
    """What the work's tests show on the source of the start."""

    report: CheckReport | None = None
    """None where there was no test to run."""
    failing: tuple[str, ...] = ()
    """Checks that pass on the work and fail there."""
    tests: tuple[str, ...] = ()
    """Tests that fail there, 200 at most."""


def run_target(check_context: CheckContext, target: Target) -> CheckReport:
    """What the checks say; where the commit's own set-up fails, all of them fail by that."""
    try:
        return run_checks(check_context, target.commit, target.tree, target.config, target.overlay)
    except SetupFailed as error:
        return failed_by_setup(target, error)


def failed_by_setup(target: Target, error: SetupFailed) -> CheckReport:
    results = (
        CheckResult(name=check.title, command=check.command, passed=False, exit_code=None, seconds=0, error=str(error))
        for check in target.config.checks
    )
    return CheckReport(tree=target.tree, results=tuple(results), clean=True)


def run_trusted(work: Range, tree: str, run: Run) -> TrustedRun:
    """Run the checks on the work with the tests of the start, where any of these differs."""
    overlay = tests_as_they_were(work, changed_since_start(work))
    if not overlay:
        return TrustedRun()
    checks = work.config.checks
    config = _named(work.config, "tests of the start")
    report = run(Target(work.commit, tree, config, tuple(overlay.values())))
    own = (one.model_copy(update={"name": check.title}) for one, check in zip(report.results, checks, strict=True))
    return TrustedRun(put_back=reverted_paths(overlay), report=report.model_copy(update={"results": tuple(own)}))


def run_on_start(work: Range, tree: str, changed: Mapping[str, Sides], report: CheckReport, run: Run) -> Shown:
    """Run the work's tests on the source of the start. `report`: what the checks said of the work."""
    overlay = tests_of_the_work(changed, work.config)
    if not overlay:
        return Shown()
    target = Target(work.base, tree, _named(work.config, "start run"), tuple(overlay.values()), stay=work.commit)
    start = run(target)
    failing, tests = shown_by(report, start)
    inside = (name for path in not_collected(overlay, tests) for name in cases_at(work.repository, work.commit, path))
    return Shown(start, failing, tuple(islice((*tests, *inside), MOST_TESTS)))


def with_checks(config: LoopConfig, checks: Sequence[CheckConfig]) -> LoopConfig:
    return config.model_copy(update={"checks": tuple(checks)})


def _named(config: LoopConfig, what: str) -> LoopConfig:
    """For whoever watches."""
    return with_checks(config, [check.model_copy(update={"name": f"{check.title} ({what})"}) for check in config.checks])
