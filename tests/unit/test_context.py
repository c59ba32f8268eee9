"""When a context counts as full, when that ends a session, and what the agent hears of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import ContextConfig
from helmsman.guardrails.context import Tier, advice, known_window, rotation, tier
from helmsman.records.agent import ContextUse

pytestmark = pytest.mark.feature("S9")

CONFIG = ContextConfig()
WINDOW = 200_000
ORDER = list(Tier)
TOKENS = st.integers(0, 10**15)
SHARES = st.floats(0, 1, exclude_min=True)
CONFIGS = st.builds(
    ContextConfig, warn_at=SHARES, rotate_at=SHARES, noise_at=SHARES, noise_tokens=st.integers(0, 10**6), window=st.none()
)


def filled(tokens: int, window: int = WINDOW) -> ContextUse:
    return ContextUse(tokens=tokens, peak=tokens, window=window)


def noisy(noise: int, heard: int) -> ContextUse:
    return ContextUse(tokens=125_000, window=WINDOW, heard=heard, noise=noise)


@st.composite
def uses(draw: st.DrawFn) -> ContextUse:
    heard = draw(TOKENS)
    return ContextUse(tokens=draw(TOKENS), window=draw(TOKENS), heard=heard, noise=draw(st.integers(0, heard)))


NOISE = "tokens that tools answered are errors or repetition (limit 70 %)"
LARGE = ("claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-4-5[1m]", "sonnet[1m]", "opus", "a-model-of-tomorrow", "")
SMALL = (
    "claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "Claude-Opus-4-1", "claude-haiku-4-5",
    "claude-3-5-sonnet-20241022",
)  # fmt: skip


def test_a_window_is_known_by_the_name_of_the_model() -> None:
    assert {known_window(model, {}, None) for model in LARGE} == {1_000_000}
    assert {known_window(model, {}, None) for model in SMALL} == {200_000}


def test_what_is_configured_is_better_than_what_the_cli_told_and_that_than_the_table() -> None:
    told = {"claude-opus-4-8": 1_000_000, "claude-sonnet-4-5": 0}
    assert known_window("claude-opus-4-8", told, None) == 1_000_000
    assert known_window("claude-opus-4-8-20260501", told, None) == 200_000
    assert known_window("claude-sonnet-4-5", told, None) == 200_000
    assert known_window("claude-opus-4-8", told, 64_000) == 64_000


def test_a_context_is_healthy_below_60_percent_and_full_from_80() -> None:
    tokens = (0, 119_999, 120_000, 159_999, 160_000, 900_000)
    tiers = [tier(number, WINDOW, CONFIG) for number in tokens]
    assert tiers == [Tier.HEALTHY, Tier.HEALTHY, Tier.WARN, Tier.WARN, Tier.FULL, Tier.FULL]
    early = ContextConfig(warn_at=0.9, rotate_at=0.5)
    assert [tier(number, 100, early) for number in (49, 50, 95)] == [Tier.HEALTHY, Tier.FULL, Tier.FULL]


@given(TOKENS, TOKENS, TOKENS, CONFIGS)
def test_more_tokens_never_make_a_context_healthier(one: int, other: int, window: int, config: ContextConfig) -> None:
    less, more = sorted((one, other))
    assert ORDER.index(tier(less, window, config)) <= ORDER.index(tier(more, window, config))
    assert not (rotation(filled(less, window), config) and not rotation(filled(more, window), config))


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (filled(159_999), ""),
        (filled(170_500), "the context is 85 % full of 200,000 tokens (limit 80 %)"),
        (noisy(14_000, 20_000), f"70 % of the 20,000 {NOISE}"),
        (noisy(13_999, 20_000), ""),
        (noisy(19_999, 19_999), ""),
        (noisy(75_999, 100_000), f"75 % of the 100,000 {NOISE}"),
        (
            ContextUse(tokens=160_000, window=WINDOW, heard=50_000, noise=50_000),
            f"the context is 80 % full of 200,000 tokens (limit 80 %) and 100 % of the 50,000 {NOISE}",
        ),
        (ContextUse(tokens=30_000, window=1_000_000, heard=25_000, noise=25_000), ""),
        (ContextUse(window=WINDOW), ""),
        (filled(10**9, 0), ""),
    ],
)
def test_a_full_or_noisy_context_ends_the_session_and_the_reason_names_the_numbers(use: ContextUse, reason: str) -> None:
    """The nearest legitimate look-alike: ten rounds of a red test suite early in a session."""
    assert rotation(use, CONFIG) == reason


@given(uses(), CONFIGS)
def test_a_session_is_ended_exactly_where_a_threshold_is_reached(use: ContextUse, config: ContextConfig) -> None:
    full = use.window > 0 and use.tokens >= config.rotate_at * use.window
    filling = use.window > 0 and use.tokens >= min(config.warn_at, config.rotate_at) * use.window
    low = filling and use.heard >= config.noise_tokens and use.noise_share >= config.noise_at
    assert bool(rotation(use, config)) is (full or low)


def test_the_agent_is_told_to_write_down_what_it_knows_and_before_the_end_to_save() -> None:
    assert advice(filled(119_999), CONFIG) == ""
    warned = advice(filled(126_000), CONFIG)
    assert warned.startswith("The context is 63 % full of 200,000 tokens. Write what you know into .helmsman/progress.md now:")
    assert "At 80 % this session ends" in warned
    for use in (filled(170_000), noisy(80_000, 100_000)):
        assert rotation(use, CONFIG)[1:] in advice(use, CONFIG)
        assert "Save now" in advice(use, CONFIG)


@given(uses(), CONFIGS)
def test_the_advice_is_short_positive_and_given_exactly_where_a_context_is_not_healthy(
    use: ContextUse, config: ContextConfig
) -> None:
    healthy = tier(use.tokens, use.window, config) is Tier.HEALTHY and not rotation(use, config)
    told = advice(use, config)
    assert (bool(told), len(told) < 800) == (not healthy, True)
    assert not [word for word in ("never", "must not", "do not", "don't", "avoid") if word in told.lower()]
