"""A group on one page: every loop, why it stands so, and nothing of what it quotes taken for a mark."""

import pytest

from helmsman.records.decision import Outcome
from helmsman.records.request import Choice, ParallelLoop, ParallelResult
from helmsman.render.artifacts import group_page

pytestmark = [pytest.mark.feature("M5"), pytest.mark.feature("H5")]

DONE = ParallelLoop(
    loop="g-1", goal="one", outcome=Outcome.COMPLETED, branch="helmsman/g-1", cost_usd=1.5, merged="0123456789abcdef"
)
STOPPED = ParallelLoop(
    loop="g-2", goal="a | b", outcome=Outcome.STOPPED, reason="limits.iterations: <b>3</b> of 3", branch="b", cost_usd=0.5
)
UNTOLD = ParallelLoop(loop="g-3", goal="three", approach="Tests first.", branch="c", untold=("cost",))


def test_every_loop_has_a_row_with_what_became_of_it() -> None:
    page = group_page(ParallelResult(group="g", completed=1, loops=(DONE, STOPPED, UNTOLD), problems=("g-4: died",)))
    assert "1 of 3 loops completed, $2.00" in page
    assert "merged as 0123456789" in page
    assert "dollars not told" in page
    assert "▶ under way" in page
    assert "Tests first" in page
    assert "- g-4: died" in page


@pytest.mark.feature("X3")
def test_what_is_quoted_ends_no_cell_and_becomes_no_mark() -> None:
    page = group_page(ParallelResult(group="g", completed=1, loops=(STOPPED,)))
    assert "a \\| b" in page
    assert "<b>" not in page


def test_the_best_is_named_with_the_reason_and_what_choosing_cost() -> None:
    chosen = Choice(loop="g-1", reason="by rule: 4 lines changed in 1 file", cost_usd=0.5)
    page = group_page(ParallelResult(group="g", completed=1, loops=(DONE,), chosen=chosen))
    assert "**best:** g-1: by rule" in page
    assert "$2.00" in page
