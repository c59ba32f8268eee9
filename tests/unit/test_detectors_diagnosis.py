"""Why the same thing comes again: a stable cycle that gets on is told from a stuck one, and both from sessions that forget."""

import pytest

from helmsman.config import DetectConfig
from helmsman.oversee.detectors import detect
from helmsman.oversee.diagnosis import diagnose
from helmsman.records.control import Diagnosis
from tests.unit.histories import FORWARD, SIDEWAYS, STILL, Step, green, history, red, step, still, waited

pytestmark = pytest.mark.feature("S5", "S11")
A, B = red(SIDEWAYS, "test_a"), red(SIDEWAYS, "test_b")


def diagnosed(*steps: Step) -> Diagnosis:
    lived = history(*steps)
    return diagnose(lived, detect(lived, DetectConfig())[0])


@pytest.mark.parametrize(
    "steps",
    [[green()] * 3, [A, *[green()] * 5, waited()], [step(FORWARD)] * 3],
    ids=["the same event, a new tree each time", "red before", "better each time"],
)
def test_a_stable_cycle_that_gets_on_is_productive(steps: list[Step]) -> None:
    assert diagnosed(*steps) == "productive"


def test_a_stable_cycle_in_vain_is_stuck() -> None:
    cases = {
        "no change": [still()] * 4,
        "the same failure": [step(FORWARD), *[A] * 4],
        "empty sessions": [green(FORWARD), *[still(green=True, tool_calls=0)] * 2],
    }
    for case, steps in cases.items():
        assert diagnosed(*steps) == "stuck", case


def test_what_was_got_past_and_returns_is_forgotten() -> None:
    cases = {
        "two failures in turn": [A, B, A, B],
        "a failure that was mended": [A, green(STILL), A, green(STILL)],
        "two trees in turn": [step(tree=name) for name in "abab"],
        "one failure again and again": [A, B, A, red(SIDEWAYS, "test_c"), A],
        "one failure traded for another and back": [red(FORWARD, "test_a"), B, A],
    }
    for case, steps in cases.items():
        assert diagnosed(*steps) == "amnesiac", case


def test_what_came_back_long_ago_is_not_held_against_what_is_done_now() -> None:
    past = [A, green(), A, green(), A]
    assert diagnosed(*past, *[green()] * 3) == "productive"
    assert diagnosed(*past, *[still(green=True, completion=0.9)] * 4) == "stuck"


@pytest.mark.parametrize("steps", [[], [A], [A, B], [A, green(), A, green()], [A, A, green()], [waited()] * 5])
def test_little_is_no_diagnosis(steps: list[Step]) -> None:
    assert diagnosed(*steps) == "none"
