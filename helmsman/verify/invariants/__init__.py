"""Invariants against metric gaming: each rule is a function of a scene in a file of its own."""

from helmsman.records.findings import Finding
from helmsman.verify.invariants.always_equal import always_equal
from helmsman.verify.invariants.assertions_weakened import assertions_weakened
from helmsman.verify.invariants.collection import collection
from helmsman.verify.invariants.conflict_markers import conflict_markers
from helmsman.verify.invariants.detection import detection
from helmsman.verify.invariants.hard_coded import hard_coded
from helmsman.verify.invariants.patched import patched
from helmsman.verify.invariants.protected_files import protected
from helmsman.verify.invariants.scene import Rule, Scene
from helmsman.verify.invariants.stubs import stubs
from helmsman.verify.invariants.suppressions import suppressions
from helmsman.verify.invariants.tests_deleted import tests_deleted
from helmsman.verify.invariants.tests_fewer import tests_fewer
from helmsman.verify.invariants.tests_skipped import tests_skipped
from helmsman.verify.invariants.tests_uncollected import tests_uncollected

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
    conflict_markers,
)


def findings(scene: Scene) -> tuple[Finding, ...]:
    """Everything that any rule finds."""
    return tuple(finding for rule in RULES for finding in rule(scene))
