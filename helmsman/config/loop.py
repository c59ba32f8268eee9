"""LoopConfig: the one frozen tree."""

from typing import Any

from pydantic import Field, ValidationInfo, model_validator

from helmsman.config.agent import AgentConfig
from helmsman.config.base import STORED, OperatorKey, Section, Words
from helmsman.config.claude import ClaudeConfig, ContextConfig, SteeringConfig
from helmsman.config.hats import HatsConfig
from helmsman.config.limits import LimitsConfig, RetryConfig, UsageLimitConfig
from helmsman.config.memory import MemoryConfig, ResearchConfig
from helmsman.config.merge import MergeConfig
from helmsman.config.old_keys import without_old_keys
from helmsman.config.oversight import BreakerConfig, ControlConfig, DetectConfig, LadderConfig, PainConfig
from helmsman.config.people import GatesConfig, OnPushConfig, TrackerConfig
from helmsman.config.plan import PlanConfig
from helmsman.config.prompt import PromptConfig
from helmsman.config.proof import Checks, CompletionConfig, FlakyConfig, HiddenChecks, InvariantsConfig, JudgeConfig, ProofConfig
from helmsman.config.sandbox import SandboxConfig
from helmsman.config.workplace import RemoteConfig, WorkspaceConfig


class LoopConfig(Section):
    """Everything that a loop is told before it starts."""

    goal: Words
    """What shall be true at the end."""
    alignment: str = "ALIGNMENT.md"
    """Alignment file, by its path from the top: what it agrees on is added to the goal when a loop is created, and an open
    question in it stops the start. One of the usual name may be missing. Empty: none."""
    checks: Checks = ()
    """The commands that prove it; all must exit with 0."""
    hidden: OperatorKey[HiddenChecks] = ()
    """Checks that the agent never sees, run in the clean checkout when it asks to be done and before a merge; with `folder`, on
    files of yours as well. All must exit with 0."""
    baseline: bool = True
    """Run the checks once before the first iteration: each is shown to work or to fail, and the agent is told what fails."""
    allow_no_checks: bool = False
    """Start without any check. Nothing is verified then, and the loop says so."""
    flaky: FlakyConfig = FlakyConfig()
    completion: CompletionConfig = CompletionConfig()
    plan: PlanConfig = PlanConfig()
    judge: JudgeConfig = JudgeConfig()
    invariants: InvariantsConfig = InvariantsConfig()
    proof: ProofConfig = ProofConfig()
    preset: str = Field(default="", max_length=500)
    """Preset for this kind of work, by its name (`helmsman presets list`) or as the path of a file: hats, words and settings. It
    is read when a loop is created. Empty: none."""
    hats: HatsConfig = HatsConfig()
    claude: ClaudeConfig = ClaudeConfig()
    agent: AgentConfig = AgentConfig()
    sandbox: SandboxConfig = SandboxConfig()
    steering: SteeringConfig = SteeringConfig()
    context: ContextConfig = ContextConfig()
    limits: LimitsConfig = LimitsConfig()
    control: ControlConfig = ControlConfig()
    detect: DetectConfig = DetectConfig()
    breaker: BreakerConfig = BreakerConfig()
    ladder: LadderConfig = LadderConfig()
    pain: PainConfig = PainConfig()
    usage_limit: UsageLimitConfig = UsageLimitConfig()
    retry: RetryConfig = RetryConfig()
    workspace: WorkspaceConfig = WorkspaceConfig()
    remote: RemoteConfig = RemoteConfig()
    merge: MergeConfig = MergeConfig()
    prompt: PromptConfig = PromptConfig()
    memory: MemoryConfig = MemoryConfig()
    research: ResearchConfig = ResearchConfig()
    gates: GatesConfig = GatesConfig()
    on_push: OnPushConfig = OnPushConfig()
    tracker: TrackerConfig = TrackerConfig()

    @model_validator(mode="before")
    @classmethod
    def _stored_by_an_older_version(cls, values: Any, info: ValidationInfo) -> Any:
        return without_old_keys(values) if info.context == STORED else values

    @property
    def box(self) -> SandboxConfig:
        """The sandbox, in which folders of hidden checks are hidden as well."""
        folders = tuple(check.folder for check in self.hidden if check.folder)
        return self.sandbox.model_copy(update={"hide": (*self.sandbox.hide, *folders)}) if folders else self.sandbox

    @property
    def resets_strategy(self) -> bool:
        """Whether the judge's rejections lead to another approach: that is ordered, or it merges and nobody is to be asked."""
        return self.judge.reset_strategy or (bool(self.merge.into) and not self.gates.merge)
