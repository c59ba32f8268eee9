"""A test is still written down and no runner finds it any more."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from helmsman.records.findings import Finding, Weight
from helmsman.verify.cases.comparison import Aside, Comparison, compared
from helmsman.verify.cases.model import Case
from helmsman.verify.cases.modules import unnamed_modules
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene

_REPORTER = Reporter("tests.uncollected", "Give it back the name and place under which it was found, and make the code pass it.")
_PLATFORMS = frozenset(["linux", "windows", "darwin", "unix", "freebsd", "amd64", "arm64", "386", "wasm", "cgo", "race", "go1"])
"""Words of build tags that leave a test in on some machines."""


def tests_uncollected(scene: Scene) -> Iterable[Finding]:
    """BLOCK; WARN for a build tag that names a platform."""
    comparison = compared(scene.diff, scene.tests, scene.commands)
    commented = map(_commented, comparison.commented)
    return most_important(chain(_aside(comparison.aside), commented, _gates(comparison), _modules(scene)))


def _aside(aside: tuple[Aside, ...]) -> Iterator[Finding]:
    """One finding for each reason in each file: a class that lost its name takes all its tests along."""

    def reason(item: Aside) -> tuple[str, str, str]:
        return (item.old.path, item.now.path, item.now.dormant)

    for (_, path, why), items in groupby(sorted(aside, key=reason), key=reason):
        group = list(items)
        first = min(group, key=lambda item: item.now.line)
        name = first.old.name if len(group) == 1 else f"{first.old.name} and {len(group) - 1} more"
        yield _REPORTER.block(Spot(path, first.now.line, first.now.name, first.old.name), f"{name} will not run: {why}")


def _commented(case: Case) -> Finding:
    spot = Spot(case.path, case.line, before=case.assertions[0].text if case.assertions else case.name)
    return _REPORTER.block(spot, f"{case.name} was commented out", "Take the comment marks away and make the code pass it.")


def _gates(comparison: Comparison) -> Iterator[Finding]:
    for side in comparison.sides:
        for gate in side.new.gates:
            if gate not in side.old.gates and side.file.before is not None and side.old.cases:
                platform = not _PLATFORMS.isdisjoint(re.findall(r"\w+", gate))
                yield _REPORTER.tell(
                    Weight.HINT if platform else Weight.BLOCK,
                    Spot(side.file.path, 1, gate),
                    "a build tag keeps the tests of this file from running",
                    "Take the build tag away and make the code pass the tests.",
                )


def _modules(scene: Scene) -> Iterator[Finding]:
    for lost in unnamed_modules(scene.diff, scene.paths):
        message = f"the tests of {lost.module} will not run: no line names this module any more"
        yield _REPORTER.block(Spot(lost.path, before=lost.line), message)
