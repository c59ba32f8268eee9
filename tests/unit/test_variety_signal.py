"""The warning about falling flexibility."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.variety import THRESHOLD, score, variety_alert
from helmsman.records.control import Variety
from helmsman.records.decision import Severity

pytestmark = pytest.mark.feature("S15")

BASE = Variety(files=40, lines=5000, suppressions=8, skips=1, casts=15, imports=240, public_names=150, dead=3, tests=200)


def trend(*steps: dict[str, int], start: Variety = BASE) -> list[Variety]:
    """A tree, and what each step adds to its counts."""
    found = [start]
    for step in steps:
        found.append(found[-1].model_copy(update={name: getattr(found[-1], name) + more for name, more in step.items()}))
    return found


def has_warning(found: Sequence[Variety], *, green: bool = True) -> bool:
    return variety_alert(found, green) is not None


BAD = {
    "suppressions": {"suppressions": 3, "lines": 20},
    "skips": {"skips": 2},
    "casts": {"casts": 8, "lines": 40},
    "dead": {"dead": 4, "lines": 20},
    "coupling": {"imports": 96},
}


@pytest.mark.parametrize("step", BAD.values(), ids=BAD.keys())
def test_each_kind_of_lost_flexibility_is_eventually_a_warning(step: dict[str, int]) -> None:
    found = trend(step, step, step, step)
    assert has_warning(found)
    assert score(found[-1]) <= score(found[0]) - THRESHOLD


def test_tests_that_go_while_the_code_stays_are_warned_of_from_where_they_are_scarce() -> None:
    step = {"tests": -20}
    assert has_warning(trend(step, step, step, step, start=BASE.model_copy(update={"tests": 100})))
    assert not has_warning(trend(step, step, step, step, start=BASE.model_copy(update={"tests": 1000})))


def test_the_warning_names_what_grew_and_by_how_much() -> None:
    step = {"suppressions": 4, "casts": 2, "lines": 25}
    signal = variety_alert(trend(step, step, step, step), green=True)
    assert signal is not None
    assert (signal.rule, signal.severity, signal.threshold) == ("variety.falling", Severity.WARN, THRESHOLD)
    assert "suppressions from 1.6 to 4.7 per 1,000 lines (8 to 24)" in signal.message
    assert signal.instruction.startswith("Before you add to the code, make it easier to change")
    assert "fix what the suppressions hide" in signal.instruction


HONEST: dict[str, list[dict[str, int]]] = {
    "nothing changes": [{}] * 6,
    "a feature with its tests": [{"lines": 250, "files": 2, "imports": 6, "public_names": 9, "tests": 10, "casts": 1}] * 6,
    "a refactor that splits files": [{"files": 6, "lines": 50, "imports": 15, "public_names": 6}] * 5,
    "dead code is deleted": [{"dead": -1, "lines": -150, "public_names": -2}] * 3 + [{}],
    "a large part is deleted with its tests": [{"lines": -400, "files": -3, "tests": -16, "imports": -7, "public_names": -10}]
    * 4,
    "one justified suppression": [{}, {"suppressions": 1, "lines": 30}, {}, {}, {}],
    "a suppression an iteration, with code": [{"suppressions": 1, "lines": 300, "tests": 10}] * 4,
    "one bad iteration": [{}, {"suppressions": 12}, {}, {}],
    "a feature whose tests come last": [{"lines": 200, "files": 1}] * 3 + [{"tests": 30}],
    "typing is introduced, with a few casts": [{"suppressions": -1, "casts": 2, "lines": 60}] * 4,
    "everything doubles": [{name: number // 4 for name, number in BASE.model_dump().items()}] * 4,
}


@pytest.mark.parametrize("steps", HONEST.values(), ids=HONEST.keys())
def test_honest_work_is_never_warned_of(steps: list[dict[str, int]]) -> None:
    found = trend(*steps)
    assert not any(has_warning(found[:length]) for length in range(len(found) + 1))


COUNTS = st.builds(
    Variety,
    files=st.integers(1, 500),
    lines=st.integers(1, 50_000),
    suppressions=st.integers(0, 500),
    skips=st.integers(0, 100),
    casts=st.integers(0, 500),
    imports=st.integers(0, 5000),
    public_names=st.integers(0, 5000),
    dead=st.integers(0, 100),
    tests=st.integers(0, 5000),
)


@given(st.lists(COUNTS | st.just(Variety()), max_size=12), st.booleans())
def test_any_trend_gives_a_bounded_answer(found: list[Variety], green: bool) -> None:
    signal = variety_alert(found, green)
    assert signal is None or (len(signal.message) < 1000 and len(signal.instruction) <= 500 and green)
