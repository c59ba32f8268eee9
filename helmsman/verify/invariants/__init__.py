"""Invariants against metric gaming: each rule is a function of a scene in a file of its own."""

from collections.abc import Iterable
from dataclasses import replace

from helmsman.records.findings import Finding
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.always_equal import always_equal
from helmsman.verify.invariants.assertions_weakened import assertions_weakened
from helmsman.verify.invariants.collection import collection
from helmsman.verify.invariants.detection import detection
from helmsman.verify.invariants.hard_coded import hard_coded
from helmsman.verify.invariants.patched import patched
from helmsman.verify.invariants.protected_files import protected
from helmsman.verify.invariants.reading.reporter import Reporter, Spot
from helmsman.verify.invariants.scene import Rule, Scene
from helmsman.verify.invariants.stubs import stubs
from helmsman.verify.invariants.suppressions import suppressions
from helmsman.verify.invariants.tests_deleted import tests_deleted
from helmsman.verify.invariants.tests_fewer import tests_fewer
from helmsman.verify.invariants.tests_skipped import tests_skipped
from helmsman.verify.invariants.tests_uncollected import tests_uncollected

_REPORTER = Reporter("nested_too_deeply", "Write it in steps that a person can read.")
RULES: tuple[Rule, ...] = (
    tests_deleted,
    tests_uncollected,
    tests_skipped,
    assertions_weakened,
    tests_fewer,
    hard_coded,
    detection,
    patched,
    stubs,
    suppressions,
    protected,
    collection,
    always_equal,
)


def findings(scene: Scene, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Everything that any rule finds."""
    return tuple(finding for rule in rules for finding in _found(rule, scene))


def _found(rule: Rule, scene: Scene) -> tuple[Finding, ...]:
    """What a rule finds; of a file that is nested too deeply for it, that it is: nothing else must go unseen for that."""
    try:
        return tuple(rule(scene))
    except RecursionError:
        return tuple(finding for file in scene.diff for finding in _found_alone(rule, scene, file))


def _found_alone(rule: Rule, scene: Scene, file: FileDiff) -> tuple[Finding, ...]:
    try:
        return tuple(rule(replace(scene, diff=TreeDiff((file,)))))
    except RecursionError:
        return (_REPORTER.block(Spot(file.path, None), f"{file.path} is nested too deeply to be looked at"),)
