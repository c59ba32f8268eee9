"""Each detector: the pattern that triggers it, and the closest pattern that does not."""

from collections.abc import Sequence
from typing import Any

import pytest

from helmsman.config import DetectConfig
from helmsman.config.loop import Sensitivity
from helmsman.oversee.cycles import ENVIRONMENT_FAILURES
from helmsman.oversee.detector import Detection, Detector
from helmsman.oversee.detectors import DETECTORS, detect
from helmsman.records.agent import AgentOutcome, FailureClass
from helmsman.records.control import IterationSummary
from helmsman.records.decision import Alert, Severity
from tests.unit.histories import BACK, FORWARD, SIDEWAYS, STILL, Step, error, green, history, red, step, still, waited

pytestmark = pytest.mark.feature("S5")


def alert_of(rule: str, *steps: Step, **config: Any) -> Alert | None:
    """The signal of one detector, which must not be the last word of a broken one."""
    signals, faults = detect(history(*steps), DetectConfig(**config))
    assert faults == ()
    return next((signal for signal in signals if signal.rule == rule), None)


def trees(*names: str, **fields: Any) -> list[Step]:
    return [step(tree=name, **fields) for name in names]


def with_completions(*completions: float, **fields: Any) -> list[Step]:
    return [red(SIDEWAYS, "a", completion=completion, **fields) for completion in completions]


def with_error(extent: int = 3, where: str = "src/app.py:7", movement: Any = SIDEWAYS) -> Step:
    return step(movement, errors=(error(FailureClass.TYPES, where, extent),), failing=("types",))


def with_failures(first: int, of: int = 30) -> Step:
    """So many failing tests that their list is cut; the names on it begin with this number."""
    names = tuple(f"test_{number:02d}" for number in range(first, first + 19))
    return red(SIDEWAYS, *names) | {"failing_tests": of}


def with_message(message: str) -> Step:
    return with_error() | {"errors": (error(FailureClass.TYPES, "src/app.py:7", 3).model_copy(update={"message": message}),)}


LOST = step(BACK, completion=0.4)
BESIDE = step(relevance=0.2)
IDLE = still(tool_calls=0)
DEAR = step(cost_usd=2.0)
CHEAP = step(FORWARD, cost_usd=0.5)
A, B = red(SIDEWAYS, "test_a"), red(SIDEWAYS, "test_b")
REFUSED = step(denials=3)
UNDONE = step(reverted=1)
OLD_GREEN = green(STILL, tree="old")

TRIPPED: dict[str, list[list[Step]]] = {
    "stuck": [
        [step(FORWARD), *[step()] * 3],
        [step()] * 3,
        [still()] * 4,
        [green(FORWARD), *[still(green=True, completion=0.9)] * 3],
        [step(FORWARD), step(), waited(), step(), waited(), step()],
        [step(FORWARD), *[step(completion=0.54)] * 3],
    ],
    "oscillating": [
        with_completions(0.5, 0.7, 0.5, 0.7, 0.5),
        [step(FORWARD, completion=0.7), *with_completions(0.4, 0.6, 0.4, 0.6)],
        [*with_completions(0.2, 0.5, 0.5, 0.2), waited(), *with_completions(0.5, 0.2)],
        [given for _ in range(3) for given in (red(BACK, "a", completion=0.5), OLD_GREEN)],
        [green(), *[given for _ in range(3) for given in (red(BACK, "a", completion=0.5), OLD_GREEN)]],
    ],
    "recurring_trees": [
        trees("a", "b", "a", "b"),
        trees("a", "b", "c", "a", "b", "c"),
        trees("a", "a", "b", "a", "a", "b"),
    ],
    "regressing": [[LOST] * 2, [step(FORWARD), LOST, waited(), LOST]],
    "plateau": [[step(FORWARD), *[step()] * 8], [*[still(green=True)] * 8]],
    "limit_cycle": [
        [A, B | {"failing_tests": 2}, A],
        [red(FORWARD, "test_a"), B, waited(), A],
        [A, A, B, B, A, B],
        [A, B, OLD_GREEN, A, B, OLD_GREEN],
        [A, OLD_GREEN, A, OLD_GREEN],
        [red(SIDEWAYS, name) | {"failing_tests": 1 + place % 3} for place, name in enumerate("abcabc")],
        [step(failing=("make",)), step(failing=("lint",))] * 2,
        [with_failures(0), with_failures(2, of=31), with_failures(0)],
    ],
    "same_error": [
        [with_error()] * 5,
        [with_error(movement=FORWARD), *[with_error()] * 4],
        [with_error(where=f"src/app.py:{line}:1") for line in range(5)],
        [with_error(extent) for extent in (3, 3, 5, 4, 3)],
        [with_error(0)] * 5,
    ],
    "same_words": [
        [with_error()] * 8,
        [with_error(movement=FORWARD), waited(), *[with_error()] * 7],
        [with_error(where=f"src/app.py:{line}") for line in range(8)],
        [with_message(f"took {seconds} s") for seconds in range(8)],
    ],
    "empty_sessions": [[step(FORWARD), IDLE, IDLE], [IDLE, waited(), IDLE], [green(), *[IDLE | {"green": True}] * 2]],
    "off_objective": [[BESIDE] * 2, [step(), BESIDE, BESIDE]],
    "resource_burn": [[CHEAP, CHEAP, *[DEAR] * 3], [CHEAP, CHEAP, *[step(cost_usd=0.4)] * 3]],
    "output_decline": [[*[step()] * 3, step(written=500)]],
    "denied": [[REFUSED] * 2, [still(denials=1), waited(), still(denials=1)]],
    "reverted": [[UNDONE] * 2],
    "growing_diff": [[step(insertions=lines) for lines in (50, 90, 140)]],
    "test_only": [[step(test_only=True)] * 3],
}

ALIKE: dict[str, list[list[Step]]] = {
    "stuck": [
        [step(FORWARD), *[step()] * 2],
        [step(FORWARD), *[green()] * 3],
        [step(FORWARD), step(), step(), step(completion=0.55)],
        [step(FORWARD), step(), step(FORWARD), step(), step()],
        [step(failing_tests=9, passing_tests=1), *[step(failing_tests=8, passing_tests=2)] * 3],
    ],
    "oscillating": [
        with_completions(0.5, 0.7, 0.5, 0.7),
        with_completions(0.5, 0.54, 0.5, 0.54, 0.5, 0.54),
        [*with_completions(0.5, 0.7, 0.5), step(FORWARD, completion=0.75), *with_completions(0.6, 0.65)],
        with_completions(0.5, 0.7, 0.5, 0.7, 0.5, 0.5),
        [given for name in "abc" for given in (red(BACK, name, completion=0.5), green())],
        [given for _ in range(3) for given in (red(BACK, "a", completion=0.5), green())],
    ],
    "recurring_trees": [
        trees("a", "b", "a"),
        trees("a", "a", "a", "a"),
        trees("a", "b", "c", "a", "b", "d"),
        trees("", "b", "", "b"),
        trees("a", "b", "a", "b", "b"),
        [*trees("a"), *trees("a", "a", reverted=2)],
    ],
    "regressing": [[LOST, step(), LOST], [LOST], [LOST | {"undone": True}, LOST], [*[LOST | {"undone": True}] * 2, step()]],
    "plateau": [
        [step(FORWARD), *[step()] * 7],
        [step(FORWARD), *[step()] * 4, green(), *[step()] * 5],
        [step(FORWARD), *[waited()] * 12],
    ],
    "limit_cycle": [
        [A, B],
        [A, B, B, A],
        [A, B, red(FORWARD, "test_a")],
        [A, red(SIDEWAYS, "test_a", "test_b"), A],
        [step(failing=("make", "lint")), step(failing=("make",)), step(failing=("make", "lint"))],
        [A, green(), A],
        [A, green(), B, green()],
        *[[*[step(failing=("e2e",), errors=(error(kind, "e2e/login"),)), OLD_GREEN] * 3] for kind in ENVIRONMENT_FAILURES],
        [given for _ in range(3) for given in (step(failing=("make",)), green())],
        [step(failing=("make",)), green(), A, green()] * 2,
        [A, B, A, B, B],
        [with_failures(0), with_failures(2, of=32), with_failures(0)],
        [with_failures(0), with_failures(2, of=31), with_failures(0, of=33)],
    ],
    "same_words": [
        [with_error()] * 7,
        [*[with_error()] * 7, with_error(movement=FORWARD)],
        [*[with_error()] * 4, with_error(movement=FORWARD), *[with_error()] * 6],
        [with_message(f"no such {'item' if number < 7 else 'name'}") for number in range(8)],
        [with_error(extent) for extent in (3, 3, 3, 3, 3, 3, 3, 2)],
        [with_error(0) | {"failing_tests": 9, "passing_tests": number // 7} for number in range(8)],
        [green()] * 8,
    ],
    "same_error": [
        [with_error()] * 4,
        [with_error(extent) for extent in (9, 8, 7, 6, 5)],
        [with_error(0) | {"failing_tests": 9 - number, "passing_tests": number} for number in range(5)],
        [*[with_error()] * 2, with_error(movement=FORWARD), *[with_error()] * 2],
        [with_error(where=f"src/{name}.py:7") for name in "abcde"],
        [*[with_error()] * 3, step(errors=(error(FailureClass.LINT, "src/app.py:7"),)), *[with_error()] * 2],
    ],
    "empty_sessions": [
        [IDLE],
        [IDLE, still()],
        [IDLE | {"green": True, "asked": True}] * 2,
        [IDLE | {"outcome": AgentOutcome.OVERLOADED}] * 2,
    ],
    "off_objective": [[BESIDE], [still(relevance=0.0)] * 2, [step(FORWARD, relevance=0.1)] * 2, [step(relevance=0.3)] * 2],
    "resource_burn": [
        [CHEAP, step(FORWARD, cost_usd=4.0), *[DEAR] * 3],
        [CHEAP, CHEAP, *[DEAR] * 2],
        [*[CHEAP] * 2, *[green(cost_usd=2.0)] * 5],
        [CHEAP, *[DEAR] * 5],
    ],
    "output_decline": [
        [*[step()] * 2, step(written=500)],
        [*[step()] * 3, step(written=700)],
        [*[step()] * 3, green(written=100)],
        [*[step()] * 3, step(written=100, asked=True)],
        [*[step()] * 3, step(FORWARD, written=100)],
        [*[step()] * 3, step(written=0, outcome=AgentOutcome.OVERLOADED)],
    ],
    "denied": [[REFUSED, step()], [REFUSED, step(), REFUSED]],
    "reverted": [[UNDONE], [UNDONE, step()], [green(reverted=1)] * 3, [step(FORWARD, reverted=2)] * 2],
    "growing_diff": [
        [step(insertions=lines, failing_tests=200 - lines, passing_tests=lines) for lines in (50, 90, 140)],
        [step(insertions=50), step(FORWARD, insertions=90), step(insertions=140)],
        [step(insertions=lines) for lines in (50, 90, 80)],
        [step(insertions=lines, deletions=200) for lines in (50, 90, 140)],
        [green(insertions=lines) for lines in (50, 90, 140)],
    ],
    "test_only": [[step(test_only=True)] * 2, [green(test_only=True)] * 4, [step(FORWARD, test_only=True)] * 3],
}


WARNING = {"off_objective", "resource_burn", "output_decline", "reverted", "growing_diff", "test_only"}


@pytest.mark.feature("S4", "S6", "S14")
@pytest.mark.parametrize("rule", TRIPPED)
def test_a_pattern_trips_its_detector_which_tells_numbers_and_where_it_redirects_what_to_do(rule: str) -> None:
    severity = Severity.WARN if rule in WARNING else Severity.PAUSE if rule == "denied" else Severity.REDIRECT
    for steps in TRIPPED[rule]:
        signal = alert_of(rule, *steps)
        assert signal is not None
        assert signal.severity is severity
        assert any(character.isdigit() for character in signal.message)
        assert (signal.value is not None, signal.threshold is not None) == (True, True)
        assert len(signal.instruction) <= 500
        assert signal.instruction or severity is Severity.WARN


@pytest.mark.feature("S4", "S14")
@pytest.mark.parametrize("rule", ALIKE)
def test_what_only_looks_like_a_pattern_does_not_trip_its_detector(rule: str) -> None:
    assert [steps for steps in ALIKE[rule] if alert_of(rule, *steps)] == []


@pytest.mark.parametrize("rule", TRIPPED)
def test_a_detector_that_is_turned_off_and_a_wait_after_the_pattern_say_nothing(rule: str) -> None:
    for steps in TRIPPED[rule]:
        assert alert_of(rule, *steps, off=(rule,)) is None
        assert alert_of(rule, *steps, waited()) is None


def test_every_detector_has_its_pattern_and_its_look_alike() -> None:
    assert sorted(one.rule for one in DETECTORS) == sorted(TRIPPED) == sorted(ALIKE)


@pytest.mark.parametrize("newest", [green(relevance=0.2), BESIDE | {"checked": False}], ids=["green", "no checks"])
def test_low_relevance_is_only_a_warning_with_progress(newest: Step) -> None:
    signal = alert_of("off_objective", *[BESIDE] * 3, newest)
    assert signal is not None
    assert signal.severity is Severity.WARN


def test_denied_permissions_do_not_pause_work_with_progress() -> None:
    signal = alert_of("denied", REFUSED, green(denials=1))
    assert signal is not None
    assert signal.severity is Severity.WARN


def test_denied_permissions_name_the_settings_that_grant_them() -> None:
    signal = alert_of("denied", *[REFUSED] * 2)
    assert signal is not None
    assert "denied 6 permissions" in signal.message
    assert "claude.allowed_tools" in signal.message


@pytest.mark.parametrize("change", [{"cost_usd": 0.0}, {}], ids=["tokens", "dollars"])
def test_resource_burn_is_reported_in_dollars_if_known(change: dict[str, Any]) -> None:
    steps = [step(FORWARD, tokens=10) | change, step(FORWARD, tokens=30) | change, *[step(tokens=40) | change] * 3]
    signal = alert_of("resource_burn", *steps)
    assert signal is not None
    assert (signal.value, signal.threshold) == ((1.5, 1.0) if not change else (120, 60))


@pytest.mark.feature("S14")
def test_a_limit_cycle_names_what_fails_in_it_and_asks_for_another_design() -> None:
    signal = alert_of("limit_cycle", A, B, A, B)
    assert signal is not None
    assert signal.message.endswith("pytest, test_a, test_b")
    assert "new one" in signal.instruction


def test_one_exchange_of_failures_and_back_is_described() -> None:
    signal = alert_of("limit_cycle", A, B, A)
    assert signal is not None
    assert signal.message == (
        "the same 2 states of the checks alternate, and the first came back after one exchange; "
        "failures in them: pytest, test_a, test_b"
    )


def test_a_hostile_path_is_printed_short_on_one_line() -> None:
    signal = alert_of("same_error", *[with_error(where="a\n\x1b[2J" * 100_000)] * 5)
    assert signal is not None
    assert len(signal.message) < 400
    assert signal.message.isprintable()


SOONER: list[tuple[str, list[Step], list[Step]]] = [
    ("stuck", [step()] * 2, [step()] * 4),
    ("oscillating", with_completions(0.5, 0.7, 0.5, 0.7), with_completions(0.5, 0.7, 0.5, 0.7, 0.5, 0.7)),
    ("regressing", [LOST] * 2, [LOST] * 3),
    ("same_error", [with_error()] * 3, [with_error()] * 8),
    ("denied", [REFUSED] * 2, [REFUSED] * 3),
    ("empty_sessions", [IDLE] * 2, [IDLE] * 3),
    ("plateau", [step()] * 5, [step()] * 12),
    ("same_words", [with_error()] * 5, [with_error()] * 12),
]


@pytest.mark.parametrize(("rule", "high", "low"), SOONER)
def test_sensitivity_says_how_many_iterations_trip_a_detector(rule: str, high: list[Step], low: list[Step]) -> None:
    for sensitivity, least in (("high", high), ("low", low)):
        assert alert_of(rule, *least, sensitivity=sensitivity) is not None
        assert alert_of(rule, *least[:-1], sensitivity=sensitivity) is None


def test_a_failing_detector_is_named_and_the_others_run() -> None:
    def broken(_history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> tuple[Detection, ...]:
        raise ZeroDivisionError

    def heard(_history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> tuple[Detection, ...]:
        return (Detection(""),)

    detectors = [Detector("broken", Severity.WARN, broken), Detector("heard", Severity.LOG, heard)]
    signals, faults = detect(history(step()), DetectConfig(), detectors)
    assert [signal.rule for signal in signals] == ["heard"]
    assert faults == ("the detector broken failed (ZeroDivisionError) and was skipped",)
