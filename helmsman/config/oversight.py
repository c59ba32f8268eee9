"""Control between iterations: what is noticed, and what follows."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from helmsman.config.base import LONGEST_HOURS, Section
from helmsman.plain import did_you_mean

DETECTOR_NAMES = (
    "denied",
    "limit_cycle",
    "recurring_trees",
    "oscillating",
    "regressing",
    "same_error",
    "same_words",
    "stuck",
    "plateau",
    "empty_sessions",
    "off_objective",
    "resource_burn",
    "output_decline",
    "reverted",
    "growing_diff",
    "test_only",
)


def _known(name: str) -> str:
    if name in DETECTOR_NAMES:
        return name
    hint = did_you_mean(name.lower(), DETECTOR_NAMES)
    raise PydanticCustomError("unknown_detector", "one of {names}{hint}", {"names": ", ".join(DETECTOR_NAMES), "hint": hint})


DetectorName = Annotated[str, AfterValidator(_known)]


Gain = tuple[float, float, float]


class ControlConfig(Section):
    """The controller between iterations. Its gains are those that the oldest public control layer for agents settled on."""

    window: int = Field(default=5, ge=2, le=50)
    """Iterations over which the derivative is taken."""
    deadband: float = Field(default=0.05, ge=0, le=1)
    """Change of completion an iteration that counts as none."""
    decay: float = Field(default=0.9, ge=0, lt=1)
    """What an earlier gap is worth of the one after it."""
    integral_limit: float = Field(default=2.0, gt=0)
    """The integral stays below this, so that a long gap is forgotten once work gets on."""
    exploration: Gain = (0.3, 0.1, 0.2)
    """kp, ki, kd while the work begins."""
    focused: Gain = (0.5, 0.2, 0.3)
    """kp, ki, kd while it gets on."""
    aggressive: Gain = (0.7, 0.3, 0.4)
    """kp, ki, kd where it swings or most is undone."""
    volatility: float = Field(default=0.3, ge=0, le=1)
    """Spread of completion over the window from which gains are aggressive."""
    error: float = Field(default=0.7, ge=0, le=1)
    """Gap from which gains are aggressive, once the beginning is over."""
    smoothing: float = Field(default=0.3, gt=0, le=1)
    """Share of the way to new gains that one iteration goes."""
    exploring: int = Field(default=3, ge=0)
    """Iterations that count as the beginning."""


class DetectConfig(Section):
    """What the overseer notices over several iterations. An empty session, waits and limits are never held against an agent."""

    off: tuple[DetectorName, ...] = ()
    """Detectors that are not asked, by name, for example `stuck`. An unknown name is refused."""
    stuck_iterations: int = Field(default=3, ge=2)
    """Iterations in a row with too little gain that count as stuck."""
    stuck_gain: float = Field(default=0.05, ge=0, le=1)
    """Gain of completion over all of them that is enough."""
    sign_changes: int = Field(default=3, ge=2)
    """Changes of direction of completion that count as swinging."""
    falls: int = Field(default=2, ge=1)
    """Iterations in a row that made it worse, that count as regressing."""
    relevance: float = Field(default=0.3, ge=0, le=1)
    """Share of files that have to do with the task below which it is off its objective."""
    same_error: int = Field(default=5, ge=2)
    """Iterations in a row with the same class of failure at the same place."""
    denials: int = Field(default=2, ge=1)
    """Iterations in a row in which the CLI denied permissions."""
    output_decline: float = Field(default=0.7, gt=0, le=1)
    """Loss of written tokens against what was usual."""
    empty_sessions: int = Field(default=2, ge=1)
    """Sessions in a row that called no tool and changed nothing."""
    plateau: int = Field(default=8, ge=3)
    """Iterations since anything was better than ever before."""
    remembered: int = Field(default=50, ge=10, le=1000)
    """Iterations that the overseer remembers."""


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
    refactor_clean: int = Field(default=3, ge=1)
    """Clean iterations from E-I back to E-0."""
    redesign_clean: int = Field(default=2, ge=1)
    """Clean iterations from E-II back to E-I."""
    redesign_model: str = ""
    """Model for a redesign, and for any iteration under the controller's highest urgency. Empty: the loop's own."""
    rollback: bool = True
    """Return the branch to the best commit when the work gets worse twice in a row; the failed work stays on a ref."""


class CriticalConfig(Section):
    """What ends a loop at once, whatever else is going on."""

    all_tests: bool = True
    """Every test fails after all of them passed."""
    secrets: bool = True
    """The diff holds a secret."""
    destructive: bool = True
    """A destructive command was executed in spite of the guard rails."""
    budget: float = Field(default=1.25, ge=1)
    """A budget is blown where this share of it is used."""
    scan: str = ""
    """Command of a security scan that prints bandit's JSON or SARIF; a new finding of high severity is pain. Empty: none."""
