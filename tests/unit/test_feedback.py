"""How good the feedback is that the next iteration can steer by."""

import pytest

from helmsman.guardrails.context import rotation_reason
from helmsman.oversee.progress import feedback_of
from helmsman.records.agent import AgentOutcome, ContextUse, ErrorVector, FailureClass
from helmsman.records.control import IterationSummary, Movement
from tests.unit.builders import NOW

pytestmark = pytest.mark.feature("S12")
FULL = rotation_reason(ContextUse(tokens=190_000, window=200_000, heard=100_000, noise=1_000))


def moment(*kinds: FailureClass, green: bool = False, checked: bool = True, passing: int = 0) -> IterationSummary:
    return IterationSummary(
        iteration=3,
        at=NOW,
        outcome=AgentOutcome.FINISHED,
        movement=Movement.STILL,
        completion=0.5,
        green=green,
        checked=checked,
        passing_tests=passing,
        errors=tuple(ErrorVector(kind=kind) for kind in kinds),
    )


def test_the_evidence_says_how_good_the_feedback_is() -> None:
    cases = {
        "green": (moment(green=True, passing=9), "green"),
        "one test fails": (moment(FailureClass.TEST, passing=8), "failing"),
        "all fail": (moment(FailureClass.TEST), "failing"),
        "unknown": (moment(), "failing"),
        "no build": (moment(FailureClass.SYNTAX, FailureClass.MISSING_MODULE), "broken"),
        "one part builds": (moment(FailureClass.BUILD, passing=8), "failing"),
        "tests run": (moment(FailureClass.BUILD, FailureClass.TEST), "failing"),
        "types": (moment(FailureClass.TYPES), "failing"),
        "unchecked": (moment(FailureClass.BUILD, checked=False), "none"),
    }
    for case, (seen, quality) in cases.items():
        assert feedback_of(seen, "") == quality
        assert feedback_of(seen, FULL) == quality, case
