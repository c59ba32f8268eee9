"""What a loop may spend, and how it waits."""

from pydantic import Field

from helmsman.config.base import LONGEST_HOURS, Count, Dollars, Hours, Section, Share


class LimitsConfig(Section):
    """What a loop may spend. It warns at `warn_at`, alarms at `alarm_at` and stops at the limit itself."""

    iterations: int = Field(default=30, ge=1)
    """Iterations that count; waiting for a usage limit does not."""
    wall_clock_hours: Hours = 12
    """Hours that a driver of the loop was at work or waiting: a night. "none": no limit."""
    cost_usd: Dollars = 50
    """US dollars by the CLI's own account. "none": no limit."""
    tokens: Count = None
    """Tokens in and out, cache reads included. "none": no limit."""
    calls_per_hour: int = Field(default=100, ge=1)
    """Agent calls in any 60 minutes; beyond it the loop waits, it does not stop."""
    agent_failures: int = Field(default=3, ge=1)
    """Agent calls in a row that came to nothing (crash, hang, refusal) before the loop stops. Outages and crashes bring a
    pause first (breaker.cool_down_minutes)."""
    nesting: int = Field(default=0, ge=0, le=9)
    """Loops that may be started inside of this one, one within the other. 0: the agent starts none."""
    warn_at: float = Field(default=0.7, gt=0, le=1)
    """Share of a limit at which the loop warns."""
    alarm_at: float = Field(default=0.9, gt=0, le=1)
    """Share of a limit at which the loop alarms."""
    many_iterations: int = Field(default=50, ge=1)
    """A limit of iterations above this is warned of at the start."""


class UsageLimitConfig(Section):
    """How the loop waits when the provider's usage limit is reached."""

    margin_seconds: float = Field(default=60, ge=0, le=LONGEST_HOURS * 3600)
    """Seconds added to the announced reset, for clocks that differ."""
    unknown_wait_minutes: float = Field(default=60, gt=0, le=LONGEST_HOURS * 60)
    """Minutes to wait when the message names no reset."""
    longest_wait_hours: float = Field(default=24 * 8, gt=0, le=LONGEST_HOURS)
    """Hours to wait at most; the longest window seen is a week."""
    warn_at: float = Field(default=0.9, gt=0, le=1)
    """Share of a window from which people are told and small work comes first; the CLI itself warns there of its 5-hour one."""
    pause_at: Share = None
    """Share of the 5-hour window at which the loop waits for its reset, and leaves the rest to people. "none": it uses it up."""
    pause_at_weekly: Share = None
    """The same of the weekly windows; their reset may be days away."""


class RetryConfig(Section):
    """Retries of what the world broke: network, overload, 5xx. Nothing else is ever retried."""

    attempts: int = Field(default=8, ge=0, le=50)
    """Tries after the first; with the delays below they bridge about twenty minutes of outage."""
    first_delay_seconds: float = Field(default=10, gt=0, le=LONGEST_HOURS * 3600)
    """Seconds before the first retry; doubled each time."""
    longest_delay_seconds: float = Field(default=300, gt=0, le=LONGEST_HOURS * 3600)
    """Seconds between retries at most."""
    jitter: float = Field(default=0.3, ge=0, le=1)
    """Share by which delays vary, so that many loops do not return at once."""
