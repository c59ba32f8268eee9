"""LoopConfig: the one frozen tree of goals, limits and thresholds. Beside each default stands what it is and where it is from."""

from helmsman.config.base import Section
from helmsman.config.goals import (
    JUDGE_MODEL,
    CheckConfig,
    CompletionConfig,
    CriterionConfig,
    FlakyConfig,
    HiddenCheckConfig,
    InvariantsConfig,
    JudgeConfig,
    LimitsConfig,
    PlanConfig,
    PromptConfig,
    ProofConfig,
    RetryConfig,
    UsageLimitConfig,
)
from helmsman.config.infrastructure import (
    AgentConfig,
    ClaudeConfig,
    ContextConfig,
    GatesConfig,
    HatsConfig,
    MemoryConfig,
    MergeConfig,
    OnPushConfig,
    RemoteConfig,
    ResearchConfig,
    SandboxConfig,
    SteeringConfig,
    TrackerConfig,
    WorkspaceConfig,
)
from helmsman.config.loop import LoopConfig
from helmsman.config.oversight import BreakerConfig, ControlConfig, DetectConfig, Gain, LadderConfig, PainConfig

__all__ = [
    "JUDGE_MODEL", "AgentConfig", "BreakerConfig", "CheckConfig", "ClaudeConfig", "CompletionConfig", "ContextConfig",
    "ControlConfig", "CriterionConfig", "DetectConfig", "FlakyConfig", "Gain", "GatesConfig", "HatsConfig", "HiddenCheckConfig",
    "InvariantsConfig", "JudgeConfig", "LadderConfig", "LimitsConfig", "LoopConfig", "MemoryConfig", "MergeConfig",
    "OnPushConfig", "PainConfig", "PlanConfig", "PromptConfig", "ProofConfig", "RemoteConfig", "ResearchConfig", "RetryConfig",
    "SandboxConfig", "Section", "SteeringConfig", "TrackerConfig", "UsageLimitConfig", "WorkspaceConfig",
]  # fmt: skip
