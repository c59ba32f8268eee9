"""When a context counts as full, when that ends a session, and what the agent hears of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import ContextConfig
from helmsman.guardrails.context import Tier, advice, known_window, rotation, tier
from helmsman.records.session import ContextUse

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


# the window -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-5-5", 1_000_000),
        ("claude-haiku-5-5", 1_000_000),
        ("claude-sonnet-4-5", 200_000),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("sonnet[1m]", 1_000_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000),
        ("Claude-Opus-4-1", 200_000),
        ("claude-haiku-4-5", 200_000),
        ("claude-3-5-sonnet-20241022", 200_000),
        ("opus", 1_000_000),
        ("a-model-of-tomorrow", 1_000_000),
        ("", 1_000_000),
    ],
)
def test_a_window_is_known_by_the_name_of_the_model(model: str, window: int) -> None:
    assert known_window(model, {}, None) == window


def test_what_the_cli_told_of_exactly_that_model_is_better_than_the_table() -> None:
    told = {"claude-opus-4-8": 1_000_000, "claude-sonnet-4-5": 0}
    assert known_window("claude-opus-4-8", told, None) == 1_000_000
    assert known_window("claude-opus-4-8-20260501", told, None) == 200_000
    assert known_window("claude-sonnet-4-5", told, None) == 200_000


def test_what_is_configured_holds_for_every_model() -> None:
    assert known_window("claude-opus-5-5", {"claude-opus-5-5": 1_000_000}, 64_000) == 64_000


@given(st.text())
def test_every_model_has_a_window(model: str) -> None:
    assert known_window(model, {}, None) in {200_000, 1_000_000}


# fullness -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (0, Tier.HEALTHY),
        (119_999, Tier.HEALTHY),
        (120_000, Tier.WARN),
        (159_999, Tier.WARN),
        (160_000, Tier.FULL),
        (900_000, Tier.FULL),
    ],
)
def test_a_context_is_healthy_below_60_percent_and_full_from_80(tokens: int, expected: Tier) -> None:
    assert tier(tokens, WINDOW, CONFIG) is expected


def test_where_the_limit_lies_below_the_warning_the_limit_holds() -> None:
    config = ContextConfig(warn_at=0.9, rotate_at=0.5)
    assert [tier(tokens, 100, config) for tokens in (49, 50, 95)] == [Tier.HEALTHY, Tier.FULL, Tier.FULL]


def test_a_full_context_ends_the_session_and_the_reason_names_the_numbers() -> None:
    assert rotation(filled(170_500), CONFIG) == "the context is 85 % full of 200,000 tokens (limit 80 %)"
    assert rotation(filled(159_999), CONFIG) == ""


@given(TOKENS, TOKENS, TOKENS, CONFIGS)
def test_more_tokens_never_make_a_context_healthier(one: int, other: int, window: int, config: ContextConfig) -> None:
    less, more = sorted((one, other))
    assert ORDER.index(tier(less, window, config)) <= ORDER.index(tier(more, window, config))
    assert not (rotation(filled(less, window), config) and not rotation(filled(more, window), config))


@given(TOKENS, CONFIGS)
def test_a_window_of_unknown_size_is_never_full(tokens: int, config: ContextConfig) -> None:
    assert tier(tokens, 0, config) is Tier.HEALTHY
    assert rotation(filled(tokens, 0), config) == advice(filled(tokens, 0), config) == ""


# noise ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "heard", "ended"),
    [
        (14_000, 20_000, True),
        (13_999, 20_000, False),
        (19_999, 19_999, False),
        (60_000, 100_000, False),
        (75_000, 100_000, True),
    ],
)
def test_noise_ends_a_session_from_70_percent_of_20_000_tokens_on(noise: int, heard: int, ended: bool) -> None:
    assert bool(rotation(noisy(noise, heard), CONFIG)) is ended


def test_a_small_context_may_be_noisy() -> None:
    """The nearest legitimate look-alike: ten rounds of a red test suite early in a session."""
    assert rotation(ContextUse(tokens=30_000, window=1_000_000, heard=25_000, noise=25_000), CONFIG) == ""


def test_the_reason_tells_the_share_of_noise_and_of_how_much() -> None:
    expected = "75 % of the 100,000 tokens that tools answered are errors or repetition (limit 70 %)"
    assert rotation(noisy(75_999, 100_000), CONFIG) == expected


def test_a_context_that_is_full_of_noise_has_both_reasons() -> None:
    told = rotation(ContextUse(tokens=160_000, window=WINDOW, heard=50_000, noise=50_000), CONFIG)
    assert told.startswith("the context is 80 % full of 200,000 tokens (limit 80 %) and 100 % of the 50,000 tokens")


def test_where_no_tool_answered_there_is_no_noise() -> None:
    assert rotation(ContextUse(window=WINDOW), ContextConfig(noise_tokens=0)) == ""


@given(uses(), CONFIGS)
def test_a_session_is_ended_exactly_where_a_threshold_is_reached(use: ContextUse, config: ContextConfig) -> None:
    full = use.window > 0 and use.tokens >= config.rotate_at * use.window
    filling = use.window > 0 and use.tokens >= min(config.warn_at, config.rotate_at) * use.window
    low = filling and use.heard >= config.noise_tokens and use.noise_share >= config.noise_at
    assert bool(rotation(use, config)) is (full or low)


# words for the agent --------------------------------------------------------------------------------------------------


def test_a_healthy_context_is_not_spoken_of() -> None:
    assert advice(filled(119_999), CONFIG) == ""


def test_at_the_warning_the_agent_is_told_to_write_down_what_it_knows() -> None:
    told = advice(filled(126_000), CONFIG)
    assert told.startswith("The context is 63 % full of 200,000 tokens. Write what you know into .helmsman/progress.md now:")
    assert all(word in told for word in ("decisions", "what is next", "Commit", "the parts of files", "At 80 %"))


@pytest.mark.parametrize("use", [filled(170_000), noisy(80_000, 100_000)])
def test_before_the_end_the_agent_is_told_to_save_at_once(use: ContextUse) -> None:
    told = advice(use, CONFIG)
    assert rotation(use, CONFIG)[1:] in told
    assert all(word in told for word in ("Save now", "progress.md", "commit", "the next few tool calls", "the next one begins"))


@pytest.mark.parametrize("use", [filled(126_000), filled(170_000), noisy(80_000, 100_000)])
def test_the_advice_says_what_to_do_and_not_what_to_leave(use: ContextUse) -> None:
    assert not [word for word in ("never", "must not", "do not", "don't", "avoid") if word in advice(use, CONFIG).lower()]


@given(uses(), CONFIGS)
def test_the_advice_is_short_and_is_given_exactly_where_a_context_is_not_healthy(use: ContextUse, config: ContextConfig) -> None:
    healthy = tier(use.tokens, use.window, config) is Tier.HEALTHY and not rotation(use, config)
    assert bool(advice(use, config)) is not healthy
    assert len(advice(use, config)) < 800
