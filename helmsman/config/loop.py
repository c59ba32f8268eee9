"""LoopConfig: the one frozen tree; and its sections on the control between iterations."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field, ValidationInfo, model_validator

from helmsman.config import goals, infrastructure
from helmsman.config.base import STORED, OperatorKey, Section, Words
from helmsman.toml_text import load_bundled

OLD_KEYS: Mapping[str, str] = {
    key: became for became, keys in load_bundled("helmsman.config", "old_keys.toml").items() for key in keys.split()
}
"""Removed keys, each with what to do instead."""


VERIFYING = frozenset({"goal", "checks", "hidden", "completion", "plan", "judge", "invariants", "proof", "workspace", "sandbox"})
"""Parts of the configuration that decide whether work is done."""
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


class LoopConfig(Section):
    """The configuration of a loop."""

    goal: Words
    """What the loop should achieve."""
    alignment: str = "ALIGNMENT.md"
    """Path of the alignment file, relative to the repository. Its content is added to the goal when a loop is created; an open
    question in it blocks the start. A file with the default name may be missing. Empty: none."""
    checks: goals.Checks = ()
    """Commands that verify the goal; all must exit with 0."""
    hidden: OperatorKey[goals.HiddenChecks] = ()
    """Checks that the agent never sees. They run in the clean checkout when it claims completion and before a merge; with
    `folder`, on your own files as well. All must exit with 0."""
    allow_no_checks: bool = False
    """Allow a start without checks. Nothing is verified then, and the loop says so."""
    completion: goals.CompletionConfig = goals.CompletionConfig()
    plan: goals.PlanConfig = goals.PlanConfig()
    judge: goals.JudgeConfig = goals.JudgeConfig()
    invariants: goals.InvariantsConfig = goals.InvariantsConfig()
    proof: goals.ProofConfig = goals.ProofConfig()
    preset: str = Field(default="", max_length=500)
    """Preset for this kind of work (hats, text and settings): a name from `helmsman presets list`, or a path. It is read when a
    loop is created. Empty: none."""
    hats: infrastructure.HatsConfig = infrastructure.HatsConfig()
    claude: infrastructure.ClaudeConfig = infrastructure.ClaudeConfig()
    agent: infrastructure.AgentConfig = infrastructure.AgentConfig()
    sandbox: infrastructure.SandboxConfig = infrastructure.SandboxConfig()
    steering: infrastructure.SteeringConfig = infrastructure.SteeringConfig()
    context: infrastructure.ContextConfig = infrastructure.ContextConfig()
    limits: goals.LimitsConfig = goals.LimitsConfig()
    detect: DetectConfig = DetectConfig()
    ladder: LadderConfig = LadderConfig()
    pain: CriticalConfig = CriticalConfig()
    usage_limit: goals.UsageLimitConfig = goals.UsageLimitConfig()
    retry: goals.RetryConfig = goals.RetryConfig()
    workspace: infrastructure.WorkspaceConfig = infrastructure.WorkspaceConfig()
    remote: infrastructure.RemoteConfig = infrastructure.RemoteConfig()
    merge: infrastructure.MergeConfig = infrastructure.MergeConfig()
    prompt: goals.PromptConfig = goals.PromptConfig()
    memory: infrastructure.MemoryConfig = infrastructure.MemoryConfig()
    research: infrastructure.ResearchConfig = infrastructure.ResearchConfig()
    gates: infrastructure.GatesConfig = infrastructure.GatesConfig()
    on_push: infrastructure.OnPushConfig = infrastructure.OnPushConfig()
    tracker: infrastructure.TrackerConfig = infrastructure.TrackerConfig()

    @model_validator(mode="before")
    @classmethod
    def _drop_old_keys(cls, values: Any, info: ValidationInfo) -> Any:
        return _without_old_keys(values) if info.context == STORED else values

    @property
    def isolation(self) -> infrastructure.SandboxConfig:
        """The sandbox, which also hides the folders of hidden checks."""
        folders = tuple(check.folder for check in self.hidden if check.folder)
        return self.sandbox.model_copy(update={"hide": (*self.sandbox.hide, *folders)}) if folders else self.sandbox

    @property
    def resets_strategy(self) -> bool:
        """Whether rejections by the judge lead to another approach: the loop merges without asking a person."""
        return bool(self.merge.into) and not self.gates.merge


def _without_old_keys(values: Any) -> Any:
    """Remove obsolete keys from a configuration stored by an older version. Other values are returned unchanged."""
    if not isinstance(values, Mapping):
        return values
    kept = {key: value for key, value in cast("Mapping[str, Any]", values).items() if key not in OLD_KEYS}
    for key in OLD_KEYS:
        section, _, name = key.rpartition(".")
        table = kept.get(section)
        if isinstance(table, Mapping):
            kept[section] = {field: value for field, value in cast("Mapping[str, Any]", table).items() if field != name}
    return {key: value for key, value in kept.items() if value != {}}  # a section may be gone as a whole
