"""Control between iterations: detectors and their consequences."""

from typing import Literal

from pydantic import Field

from helmsman.config.base import Section

DetectorName = Literal[
    "denied", "limit_cycle", "recurring_trees", "oscillating", "regressing", "same_error", "same_words", "stuck", "plateau",
    "empty_sessions", "off_objective", "resource_burn", "output_decline", "reverted", "growing_diff", "test_only",
]  # fmt: skip
Sensitivity = Literal["low", "normal", "high"]


class DetectConfig(Section):
    """Detectors over several iterations. Empty sessions, waits and limits never count against the agent."""

    off: tuple[DetectorName, ...] = ()
    """Names of detectors to switch off, for example `stuck`. Unknown names are refused."""
    sensitivity: Sensitivity = "normal"
    """How early detectors act. `low`: after half again as many iterations, for long steps or coarse checks. `high`: after a third
    fewer, never after one."""


class LadderConfig(Section):
    """Escalation: a repeated failure leads to the next level."""

    act: bool = True
    """False: the overseer only observes and reports. Limits and critical events (pain.*) still end the loop."""
    patience: int = Field(default=5, ge=1)
    """Iterations at a level before the next one, if the agent tries new things. Twice as many if checks count almost nothing, one
    fewer if much fails or no failure text changes, one if the agent tries nothing or cycles. Chosen by simulation
    (bench/simulate.py): less stops too many agents that would finish, more costs too much for those that would not."""
    redesign_model: str = ""
    """Model for a redesign, and for any iteration at the controller's highest urgency. Empty: the loop's own."""


class CriticalConfig(Section):
    """Critical events, which end a loop at once."""

    off: tuple[Literal["all_tests", "secrets", "destructive"], ...] = ()
    """Critical events to switch off. `all_tests`: every test fails after all passed. `secrets`: the diff contains a secret.
    `destructive`: a destructive command ran in spite of the guard rails."""
    scan: str = ""
    """Command of a security scan that prints bandit's JSON or SARIF; a new finding of high severity is critical. Empty: none."""
