"""Properties of all detectors: robust, independent of waits and of old iterations, silent for legitimate work."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import DetectConfig
from helmsman.config.layers import Layer, resolve
from helmsman.config.loop import DetectorName
from helmsman.errors import OperatorError
from helmsman.oversee.detectors import DETECTORS, detect
from helmsman.oversee.diagnosis import diagnose
from helmsman.oversee.learning import learn
from helmsman.oversee.plan_gap import plan_alert
from helmsman.records.agent import AgentOutcome, ErrorVector, FailureClass
from helmsman.records.control import Diagnosis, IterationSummary, Learning, Movement
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import WorkingMemory
from tests.unit.histories import LEGITIMATE, green, history, step

pytestmark = pytest.mark.feature("S5", "S10")
NAMES = st.sampled_from("abc")
WHERE = st.sampled_from(["a", "a:1", "b:1", "b:22:3", "c:4"])
ERRORS = st.builds(ErrorVector, kind=st.sampled_from([*FailureClass][:3]), where=WHERE, extent=st.integers(0, 3))


def steps(**other: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Iterations from a small world, so that patterns are frequent."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "movement": st.sampled_from([*Movement, Movement.SIDEWAYS, Movement.STILL]),
        "outcome": st.sampled_from([AgentOutcome.FINISHED, AgentOutcome.FINISHED, AgentOutcome.CRASHED]),
        "completion": st.sampled_from([0.2, 0.5, 0.52, 0.9]),
        "checked": st.sampled_from([True, True, True, False]),
        "green": st.booleans(),
        "tree": NAMES,
        "commit": NAMES,
        "files": st.lists(NAMES, max_size=2).map(tuple),
        "files_changed": st.integers(0, 1),
        "insertions": st.integers(0, 9),
        "failing": st.lists(NAMES, max_size=2).map(tuple),
        "failing_tests": st.integers(0, 2),
        "errors": st.lists(ERRORS, max_size=2).map(tuple),
        "tool_calls": st.integers(0, 1),
        "denials": st.integers(0, 1),
        "reverted": st.integers(0, 1),
        "written": st.sampled_from([10, 1000]),
        "relevance": st.sampled_from([0.1, 1.0]),
        "asked": st.booleans(),
        "test_only": st.booleans(),
        "cost_usd": st.sampled_from([0.0, 0.5, 9.0]),
    }
    return st.fixed_dictionaries({**fields, **other})


HISTORIES = st.lists(steps(), max_size=14).map(lambda rows: history(*rows))
HUGE = st.integers(-(10**12), 10**12)
ANY_FLOAT = st.floats()
ANY_ERROR = st.builds(ErrorVector, kind=st.sampled_from(FailureClass), where=st.text(), message=st.text(), extent=HUGE)
ARBITRARY = steps(
    iteration=HUGE,
    completion=ANY_FLOAT,
    cost_usd=ANY_FLOAT,
    relevance=ANY_FLOAT,
    tokens=HUGE,
    written=HUGE,
    insertions=HUGE,
    failing_tests=HUGE,
    passing_tests=HUGE,
    denials=HUGE,
    reverted=HUGE,
    tree=st.text(),
    failing=st.lists(st.text()).map(tuple),
    errors=st.lists(ANY_ERROR).map(tuple),
)


def learnt_from(past: tuple[IterationSummary, ...]) -> tuple[list[Alert], tuple[Learning, ...]]:
    learnt: tuple[Learning, ...] = ()
    told: list[Alert] = []
    for end in range(1, len(past) + 1):
        learnt, signals = learn(learnt, past[:end], intervened=True)
        told += signals
    return told, learnt


@given(HISTORIES, st.data())
def test_a_wait_anywhere_before_the_newest_iteration_does_not_matter(
    past: tuple[IterationSummary, ...], data: st.DataObject
) -> None:
    newest = past[-1:] if past and past[-1].movement is not Movement.WAITED else ()
    if newest:
        (wait,) = history({"movement": Movement.WAITED, "tree": "waited", "completion": 0.0})
        at = data.draw(st.integers(0, len(past) - 1))
        assert detect((*past[:at], wait, *past[at:]), DetectConfig()) == detect(past, DetectConfig())


@given(st.lists(ARBITRARY, max_size=12).map(lambda rows: history(*rows)))
def test_no_summary_breaks_a_detector(past: tuple[IterationSummary, ...]) -> None:
    signals, faults = detect(past, DetectConfig())
    assert faults == ()
    told, levels = learnt_from(past)
    assert all(len(signal.message) < 1500 and len(signal.instruction) <= 500 for signal in (*signals, *told))
    assert len(levels) <= len(FailureClass)
    assert diagnose(past, signals) in get_args(Diagnosis)


@given(HISTORIES, HISTORIES)
def test_old_iterations_do_not_matter(long_ago: tuple[IterationSummary, ...], past: tuple[IterationSummary, ...]) -> None:
    between = history(*[green()] * 60)
    assert detect((*long_ago, *between, *past), DetectConfig()) == detect((*between, *past), DetectConfig())


@pytest.mark.feature("S4", "S14")
def test_legitimate_work_raises_no_alert_or_diagnosis() -> None:
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
    assert plan_alert(memory, lambda path: bool(asked.append(path)), history(step()), "") is None
    assert asked == []


@pytest.mark.feature("S4")
def test_the_configuration_knows_the_detectors_that_there_are_in_their_order() -> None:
    assert tuple(one.rule for one in DETECTORS) == get_args(DetectorName)


@pytest.mark.feature("S4")
@pytest.mark.parametrize("wrong", ["stuk", "amnesiac", "", "x" * 100_000, "{names}", "\x1b[2J", 3])
def test_what_is_no_detector_is_refused_with_its_place_and_the_names_that_there_are(wrong: object) -> None:
    with pytest.raises(OperatorError) as caught:
        resolve([Layer("helmsman.toml", {"goal": "g", "detect": {"off": ["stuck", wrong]}})])
    said = str(caught.value)
    assert "detect.off[1] (helmsman.toml): expected 'denied', 'limit_cycle', " in said
    assert "or 'test_only', found " in said
    assert len(said) < 600
    assert "\x1b" not in said
