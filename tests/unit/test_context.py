"""When a context counts as full, when that ends a session, and what the agent hears of it."""

import pytest

from helmsman.guardrails.context import context_advice, known_window, rotation_reason
from helmsman.records.agent import ContextUse

pytestmark = pytest.mark.feature("S9")

WINDOW = 200_000


def of_size(tokens: int, window: int = WINDOW) -> ContextUse:
    return ContextUse(tokens=tokens, peak=tokens, window=window)


def noisy(noise: int, heard: int) -> ContextUse:
    return ContextUse(tokens=125_000, window=WINDOW, heard=heard, noise=noise)


NOISE = "tokens of tool output are errors or repetition (limit 70 %)"


def test_the_window_is_configured_else_reported_else_by_name() -> None:
    told = {"claude-opus-4-8": 1_000_000, "claude-sonnet-4-5": 0}
    assert known_window("claude-opus-4-8", told, None) == 1_000_000
    assert known_window("claude-opus-4-8-20260501", told, None) == 200_000
    assert known_window("claude-sonnet-4-5", told, None) == 200_000
    assert known_window("claude-opus-4-8", told, 64_000) == 64_000


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (of_size(159_999), ""),
        (of_size(170_500), "the context is 85 % full (200,000 tokens) (limit 80 %)"),
        (noisy(14_000, 20_000), f"70 % of the 20,000 {NOISE}"),
        (noisy(13_999, 20_000), ""),
        (noisy(19_999, 19_999), ""),
        (noisy(75_999, 100_000), f"75 % of the 100,000 {NOISE}"),
        (
            ContextUse(tokens=160_000, window=WINDOW, heard=50_000, noise=50_000),
            f"the context is 80 % full (200,000 tokens) (limit 80 %) and 100 % of the 50,000 {NOISE}",
        ),
        (ContextUse(tokens=30_000, window=1_000_000, heard=25_000, noise=25_000), ""),
        (ContextUse(window=WINDOW), ""),
        (of_size(10**9, 0), ""),
    ],
)
def test_a_full_or_noisy_context_ends_the_session_and_the_reason_names_the_numbers(use: ContextUse, reason: str) -> None:
    """The nearest legitimate look-alike: ten rounds of a red test suite early in a session."""
    assert rotation_reason(use) == reason


def test_advice_asks_for_notes_and_then_to_save() -> None:
    assert context_advice(of_size(119_999)) == ""
    warned = context_advice(of_size(126_000))
    assert warned.startswith("The context is 63 % full (200,000 tokens). Write what you know into .helmsman/progress.md now:")
    assert "At 80 % this session ends" in warned
    for use in (of_size(170_000), noisy(80_000, 100_000)):
        assert rotation_reason(use)[1:] in context_advice(use)
        assert "Save now" in context_advice(use)
