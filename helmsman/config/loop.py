"""LoopConfig: the one frozen tree."""

from typing import Any

from pydantic import Field, ValidationInfo, model_validator

from helmsman.config import goals, infrastructure, oversight
from helmsman.config.base import STORED, OperatorKey, Section, Words
from helmsman.config.old_keys import without_old_keys


class LoopConfig(Section):
    """Everything that a loop is told before it starts."""

    goal: Words
    """What should be true at the end."""
    alignment: str = "ALIGNMENT.md"
    """Alignment file, by its path from the top: what it agrees on is added to the goal when a loop is created, and an open
    question in it stops the start. One of the usual name may be missing. Empty: none."""
    checks: goals.Checks = ()
    """The commands that prove it; all must exit with 0."""
    hidden: OperatorKey[goals.HiddenChecks] = ()
    """Checks that the agent never sees, run in the clean checkout when it claims completion and before a merge; with `folder`, on
    files of yours as well. All must exit with 0."""
    baseline: bool = True
    """Run the checks once before the first iteration: each is shown to work or to fail, and the agent is told what fails."""
    allow_no_checks: bool = False
    """Start without any check. Nothing is verified then, and the loop says so."""
    completion: goals.CompletionConfig = goals.CompletionConfig()
    plan: goals.PlanConfig = goals.PlanConfig()
    judge: goals.JudgeConfig = goals.JudgeConfig()
    invariants: goals.InvariantsConfig = goals.InvariantsConfig()
    proof: goals.ProofConfig = goals.ProofConfig()
    preset: str = Field(default="", max_length=500)
    """Preset for this kind of work, by its name (`helmsman presets list`) or as the path of a file: hats, words and settings. It
    is read when a loop is created. Empty: none."""
    hats: infrastructure.HatsConfig = infrastructure.HatsConfig()
    claude: infrastructure.ClaudeConfig = infrastructure.ClaudeConfig()
    agent: infrastructure.AgentConfig = infrastructure.AgentConfig()
    sandbox: infrastructure.SandboxConfig = infrastructure.SandboxConfig()
    steering: infrastructure.SteeringConfig = infrastructure.SteeringConfig()
    context: infrastructure.ContextConfig = infrastructure.ContextConfig()
    limits: goals.LimitsConfig = goals.LimitsConfig()
    detect: oversight.DetectConfig = oversight.DetectConfig()
    breaker: oversight.BreakerConfig = oversight.BreakerConfig()
    ladder: oversight.LadderConfig = oversight.LadderConfig()
    pain: oversight.CriticalConfig = oversight.CriticalConfig()
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
    def _stored_by_an_older_version(cls, values: Any, info: ValidationInfo) -> Any:
        return without_old_keys(values) if info.context == STORED else values

    @property
    def box(self) -> infrastructure.SandboxConfig:
        """The sandbox, in which folders of hidden checks are hidden as well."""
        folders = tuple(check.folder for check in self.hidden if check.folder)
        return self.sandbox.model_copy(update={"hide": (*self.sandbox.hide, *folders)}) if folders else self.sandbox

    @property
    def resets_strategy(self) -> bool:
        """Whether the judge's rejections lead to another approach: the loop merges, and nobody is to be asked."""
        return bool(self.merge.into) and not self.gates.merge
