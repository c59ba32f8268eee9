"""A test is still written down and no runner finds it any more."""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from helmsman.records.findings import Finding, Weight
from helmsman.verify.cases.comparison import Aside, Comparison, compared
from helmsman.verify.cases.model import Case
from helmsman.verify.cases.modules import unnamed_modules
from helmsman.verify.diff import shown
from helmsman.verify.invariants.scene import Scene

MOST_FINDINGS = 30
_RULE = "tests.uncollected"
_HONEST = "Give it back the name and place under which it was found, and make the code pass it."
_PLATFORMS = frozenset(["linux", "windows", "darwin", "unix", "freebsd", "amd64", "arm64", "386", "wasm", "cgo", "race", "go1"])
"""Words of build tags that leave a test in on some machines."""


def tests_uncollected(scene: Scene) -> Iterable[Finding]:
    """BLOCK; WARN for a build tag that names a platform."""
    comparison = compared(scene.diff, scene.tests, scene.commands)
    found = (*_aside(comparison.aside), *map(_commented, comparison.commented), *_gates(comparison), *_modules(scene))
    return islice(found, MOST_FINDINGS)


def _aside(aside: tuple[Aside, ...]) -> Iterator[Finding]:
    """One finding for each reason in each file: a class that lost its name takes all its tests along."""

    def reason(item: Aside) -> tuple[str, str, str]:
        return (item.old.path, item.now.path, item.now.dormant)

    for (_, path, why), items in groupby(sorted(aside, key=reason), key=reason):
        group = list(items)
        first = min(group, key=lambda item: item.now.line)
        name = first.old.name if len(group) == 1 else f"{first.old.name} and {len(group) - 1} more"
        yield Finding(
            rule=_RULE,
            weight=Weight.BLOCK,
            path=path,
            line=first.now.line,
            before=shown(first.old.name),
            after=shown(first.now.name),
            message=shown(f"{name} will not run: {why}"),
            honest=_HONEST,
        )


def _commented(case: Case) -> Finding:
    return Finding(
        rule=_RULE,
        weight=Weight.BLOCK,
        path=case.path,
        line=case.line,
        before=shown(case.assertions[0].text if case.assertions else case.name),
        message=shown(f"{case.name} was commented out"),
        honest="Take the comment marks away and make the code pass it.",
    )


def _gates(comparison: Comparison) -> Iterator[Finding]:
    for side in comparison.sides:
        for gate in side.new.gates:
            if gate not in side.old.gates and side.file.before is not None and side.old.cases:
                platform = not _PLATFORMS.isdisjoint(gate.replace("!", " ").replace("(", " ").replace(")", " ").split())
                yield Finding(
                    rule=_RULE,
                    weight=Weight.WARN if platform else Weight.BLOCK,
                    path=side.file.path,
                    line=1,
                    after=shown(gate),
                    message="a build tag keeps the tests of this file from running",
                    honest="Take the build tag away and make the code pass the tests.",
                )


def _modules(scene: Scene) -> Iterator[Finding]:
    for lost in unnamed_modules(scene.diff, scene.paths):
        yield Finding(
            rule=_RULE,
            weight=Weight.BLOCK,
            path=lost.path,
            before=shown(lost.line),
            message=shown(f"the tests of {lost.module} will not run: no line names this module any more"),
            honest=_HONEST,
        )
