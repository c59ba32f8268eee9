"""What the next iteration is told of work that was taken back: in how many iterations it had got worse."""

import pytest

from helmsman.orient.brief import brief
from helmsman.records.control import Failed
from tests.unit.builders import orientation, state
from tests.unit.histories import BACK, FORWARD, SIDEWAYS, Step, history, step, waited

pytestmark = pytest.mark.feature("S17")
FAILED = Failed(iteration=4, ref="refs/x", commit="f" * 40, back_to="a" * 40, why="it fell", rule="regressing")
FELL = step(BACK, undone=True)


def told(*steps: Step) -> str:
    return brief(state(failed=FAILED, history=history(*steps), iteration=len(steps)), orientation()).prompt


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([step(FORWARD), FELL], "The last iteration made the checks worse, so that work was taken off."),
        ([step(FORWARD), FELL, FELL], "2 iterations in a row made the checks worse, so that work was taken off."),
        ([step(FORWARD), FELL, FELL, FELL], "3 iterations in a row made the checks worse"),
        ([step(BACK), step(SIDEWAYS, undone=True), FELL, FELL], "2 iterations in a row made the checks worse"),
        ([step(FORWARD), FELL, FELL, waited()], "2 iterations in a row made the checks worse"),
        ([], "The last iteration made the checks worse"),
    ],
    ids=["one", "two", "three", "after one that stood", "then a wait", "nothing is remembered"],
)
def test_the_number_is_that_of_the_iterations_which_made_it_worse(steps: list[Step], words: str) -> None:
    assert words in told(*steps)
