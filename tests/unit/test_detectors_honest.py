"""Legitimate ways of working trip nothing, at no moment of theirs."""

import pytest

from helmsman.config import DetectConfig
from helmsman.oversee.detectors import detect
from helmsman.oversee.diagnosis import diagnose
from helmsman.oversee.learning import learn
from helmsman.oversee.plan_gap import divergence
from helmsman.records.control import Learning
from helmsman.records.decision import Severity
from helmsman.records.iteration import WorkingMemory
from tests.unit.histories import LEGITIMATE, history, step

pytestmark = pytest.mark.feature("S4", "S5", "S10", "S14")


def test_legitimate_work_is_neither_told_of_nor_called_stuck_or_amnesiac_or_a_failure_to_learn() -> None:
    for name, lived in LEGITIMATE.items():
        learnt: tuple[Learning, ...] = ()
        for end in range(len(lived) + 1):
            past = lived[:end]
            assert detect(past, DetectConfig()) == ((), ()), name
            assert diagnose(past, ()) in {"none", "productive"}, name
            learnt, told = learn(learnt, past, intervened=True)
            assert {signal.severity for signal in told} <= {Severity.LOG}, name
        assert all(item.level < 2 for item in learnt), name


@pytest.mark.feature("M9")
@pytest.mark.parametrize("gap", ["", "Mend src/parser.py", "Think about the design"])
def test_a_plan_that_names_too_few_files_asks_nothing_of_the_tree(gap: str) -> None:
    asked: list[str] = []
    memory = WorkingMemory(remaining_gap=gap)
    assert divergence(memory, lambda path: bool(asked.append(path)), history(step()), "") is None
    assert asked == []
