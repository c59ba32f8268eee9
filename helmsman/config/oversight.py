"""Control between iterations: what is noticed, and what follows."""

from typing import Literal

from pydantic import Field

from helmsman.config.base import LONGEST_HOURS, Section

DetectorName = Literal[
    "denied", "limit_cycle", "recurring_trees", "oscillating", "regressing", "same_error", "same_words", "stuck", "plateau",
    "empty_sessions", "off_objective", "resource_burn", "output_decline", "reverted", "growing_diff", "test_only",
]  # fmt: skip
Sensitivity = Literal["low", "normal", "high"]


class DetectConfig(Section):
    """What the overseer notices over several iterations. An empty session, waits and limits are never held against an agent."""

    off: tuple[DetectorName, ...] = ()
    """Detectors that are not asked, by name, for example `stuck`. An unknown name is refused."""
    sensitivity: Sensitivity = "normal"
    """How soon they speak. `low`: after half as many iterations again, for work whose steps are long or whose checks are coarse.
    `high`: after a third fewer, never after one."""


class BreakerConfig(Section):
    """The circuit breaker: a pause where the provider is down or the agent's program crashes."""

    cool_down_minutes: float = Field(default=30, ge=0, le=LONGEST_HOURS * 60)
    """Minutes of the pause after `limits.agent_failures` such calls in a row. Lack of progress never causes one: see ladder.*."""


class LadderConfig(Section):
    """Escalation: the same failure is met one rung higher."""

    act: bool = True
    """False: the overseer only watches and tells. Limits still end the loop, and so does pain (see pain.*)."""
    patience: int = Field(default=5, ge=1)
    """Iterations that a rung gets before the next one is tried, where the agent tries new things; twice as many where checks
    count next to nothing, one fewer where much fails or no word of it ever changes, one where it tries nothing or goes round. By
    simulation (bench/simulate.py): less stops too many agents that would finish, more costs too much on those that would not."""
    redesign_model: str = ""
    """Model for a redesign, and for any iteration under the controller's highest urgency. Empty: the loop's own."""


class CriticalConfig(Section):
    """What ends a loop at once, whatever else is going on."""

    off: tuple[Literal["all_tests", "secrets", "destructive"], ...] = ()
    """What does not. `all_tests`: every test fails after all of them passed. `secrets`: the diff holds one. `destructive`: a
    destructive command was executed in spite of the guard rails."""
    scan: str = ""
    """Command of a security scan that prints bandit's JSON or SARIF; a new finding of high severity is pain. Empty: none."""
