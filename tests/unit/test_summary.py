"""The first page of a loop: is it done, what proves it, what fails, and what comes next."""

import pytest

from helmsman.records.checks import TestCounts
from helmsman.records.state import LoopState
from helmsman.render.artifacts import summary
from tests.unit import builders
from tests.unit.rendered import read
from tests.unit.shown import troubled_gate

pytestmark = pytest.mark.feature("H5")
RED = builders.check(passed=False, counts=TestCounts(passed=40, failed=2, failing=("test_total", "test_tax")))


def rows(state: LoopState) -> dict[str, str]:
    """What stands at each name."""
    return {row[0]: row[1] for row in read(summary(state)).tables[0][1:]}


def test_a_loop_at_work_says_what_fails_and_that_nothing_is_asked() -> None:
    found = rows(builders.state(iteration=2, checks=builders.report(RED, builders.check(passed=True))))
    assert list(found) == ["Done", "Proof", "Fails", "Cost", "Branch", "Next"]
    assert (found["Done"], found["Proof"]) == ("not yet", "1 of 2 checks green, 40 tests passed; not proven yet")
    assert all(name in found["Fails"] for name in ("test_total", "test_tax"))
    assert "nothing is asked" in found["Next"]


def test_a_completed_one_says_what_proves_it_and_an_asking_one_where_to_answer() -> None:
    green = builders.report(builders.check(passed=True))
    done = rows(builders.state(ending=builders.STOP, checks=green, verified="c" * 40))
    assert done["Done"].startswith("yes: ")
    assert done["Proof"] == f"1 of 1 check green; proven at {'c' * 12}"
    assert "Fails" not in done
    asking = rows(builders.state(gate=troubled_gate("How?")))
    assert "How" in asking["Done"]
    assert "Resume in the menu" in asking["Next"]
