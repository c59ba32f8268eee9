"""LoopConfig: the one frozen tree of goals, limits and thresholds. Beside each default stands what it is and where it is from."""

from helmsman.config.agent import AgentConfig
from helmsman.config.base import Section
from helmsman.config.claude import ClaudeConfig, ContextConfig, SteeringConfig
from helmsman.config.hats import HatsConfig
from helmsman.config.limits import LimitsConfig, RetryConfig, UsageLimitConfig
from helmsman.config.loop import LoopConfig
from helmsman.config.memory import MemoryConfig, ResearchConfig
from helmsman.config.merge import MergeConfig
from helmsman.config.oversight import BreakerConfig, ControlConfig, DetectConfig, Gain, LadderConfig, PainConfig
from helmsman.config.people import GatesConfig, OnPushConfig, TrackerConfig
from helmsman.config.plan import PlanConfig
from helmsman.config.prompt import PromptConfig
from helmsman.config.proof import (
    JUDGE_MODEL,
    CheckConfig,
    CompletionConfig,
    CriterionConfig,
    FlakyConfig,
    HiddenCheckConfig,
    InvariantsConfig,
    JudgeConfig,
    ProofConfig,
)
from helmsman.config.sandbox import SandboxConfig
from helmsman.config.workplace import RemoteConfig, WorkspaceConfig

__all__ = [
    "JUDGE_MODEL",
    "AgentConfig",
    "BreakerConfig",
    "CheckConfig",
    "ClaudeConfig",
    "CompletionConfig",
    "ContextConfig",
    "ControlConfig",
    "CriterionConfig",
    "DetectConfig",
    "FlakyConfig",
    "Gain",
    "GatesConfig",
    "HatsConfig",
    "HiddenCheckConfig",
    "InvariantsConfig",
    "JudgeConfig",
    "LadderConfig",
    "LimitsConfig",
    "LoopConfig",
    "MemoryConfig",
    "MergeConfig",
    "OnPushConfig",
    "PainConfig",
    "PlanConfig",
    "PromptConfig",
    "ProofConfig",
    "RemoteConfig",
    "ResearchConfig",
    "RetryConfig",
    "SandboxConfig",
    "Section",
    "SteeringConfig",
    "TrackerConfig",
    "UsageLimitConfig",
    "WorkspaceConfig",
]
