"""LoopConfig: the single frozen tree of goals, limits and thresholds. Each default is documented next to it."""

from helmsman.config.base import Section
from helmsman.config.goals import (
    CheckConfig,
    CriterionConfig,
    HiddenCheckConfig,
    InvariantsConfig,
    JudgeConfig,
    LimitsConfig,
    RetryConfig,
)
from helmsman.config.infrastructure import (
    AgentConfig,
    ClaudeConfig,
    GatesConfig,
    MergeConfig,
    RemoteConfig,
    SandboxConfig,
    SteeringConfig,
    TrackerConfig,
    WorkspaceConfig,
)
from helmsman.config.loop import VERIFYING, CriticalConfig, DetectConfig, LadderConfig, LoopConfig

__all__ = [
    "VERIFYING", "AgentConfig", "CheckConfig", "ClaudeConfig", "CriterionConfig", "CriticalConfig", "DetectConfig", "GatesConfig",
    "HiddenCheckConfig", "InvariantsConfig", "JudgeConfig", "LadderConfig", "LimitsConfig", "LoopConfig", "MergeConfig",
    "RemoteConfig", "RetryConfig", "SandboxConfig", "Section", "SteeringConfig", "TrackerConfig",
    "WorkspaceConfig",
]  # fmt: skip
