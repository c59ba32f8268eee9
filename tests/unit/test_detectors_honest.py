"""Legitimate ways of working trip nothing, at no moment of theirs."""

import pytest

from helmsman.config import DetectConfig
from helmsman.oversee.detectors import detect
from helmsman.oversee.diagnosis import diagnose
from helmsman.oversee.learning import learn
from helmsman.oversee.plan_gap import divergence
from helmsman.records.control import Diagnosis, IterationSummary, Learning
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import WorkingMemory
from tests.unit.histories import LEGITIMATE, history, step

pytestmark = pytest.mark.feature("S4", "S5", "S10", "S14")
EVERY_ONE = pytest.mark.parametrize("lived", LEGITIMATE.values(), ids=LEGITIMATE)


def growing(lived: tuple[IterationSummary, ...]) -> list[tuple[IterationSummary, ...]]:
    """The history as it was after each of its iterations."""
    return [lived[:end] for end in range(len(lived) + 1)]


@EVERY_ONE
def test_no_detector_says_anything_of_legitimate_work(lived: tuple[IterationSummary, ...]) -> None:
    assert [detect(past, DetectConfig()) for past in growing(lived)] == [((), ())] * (len(lived) + 1)


@EVERY_ONE
def test_legitimate_work_is_never_called_stuck_or_amnesiac(lived: tuple[IterationSummary, ...]) -> None:
    assert {diagnose(past, ()) for past in growing(lived)} <= {Diagnosis.NONE, Diagnosis.PRODUCTIVE}


@EVERY_ONE
def test_legitimate_work_is_never_called_a_failure_to_learn(lived: tuple[IterationSummary, ...]) -> None:
    learnt: tuple[Learning, ...] = ()
    told: list[Alert] = []
    for past in growing(lived):
        learnt, signals = learn(learnt, past, intervened=True)
        told += signals
    assert {signal.severity for signal in told} <= {Severity.LOG}
    assert all(item.level < 2 for item in learnt)


@pytest.mark.feature("M9")
@pytest.mark.parametrize("gap", ["", "Mend src/parser.py", "Think about the design"])
def test_a_plan_that_names_too_few_files_asks_nothing_of_the_tree(gap: str) -> None:
    asked: list[str] = []
    memory = WorkingMemory(remaining_gap=gap)
    assert divergence(memory, lambda path: bool(asked.append(path)), history(step()), "") is None
    assert asked == []
