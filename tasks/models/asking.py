"""Ask a model one question in a fresh context: a vote, a focus, a compaction, contradictions, lessons, probes, an alignment."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from helmsman.config import JudgeConfig, LoopConfig
from helmsman.errors import Cancelled, HelmsmanError, TransientError
from helmsman.prices import with_cost
from helmsman.records.base import Reply, Usage
from helmsman.records.iteration import Question
from helmsman.tokens import tokens
from tasks.models.sending import ask_by_api, ask_by_cli
from tasks.system.environment import agent_environment, own_environment
from tasks.system.process import never_stop
from tasks.system.secrets import redact, register_credentials, without_secrets

T = TypeVar("T")
Credentials = Callable[[], Mapping[str, str]]
"""Returns variables in addition to the environment's, called only when a model is asked."""

WRITING_SECONDS = 90.0  # for optional texts (O5); after it templates are used
_SLACK = 1.0  # seconds by which the call's own limit exceeds ours, so that ours is always reported
_REASON = 500


class LateAnswer(TransientError):  # noqa: N818 - an event, as in BrokenFile
    """No answer in time. The request is paid for anyway, so it is charged."""

    def __init__(self, limit: float, usage: Usage) -> None:
        """`usage` is only an estimate of the question's tokens."""
        self.usage = usage
        expected = f"an answer within {limit:g} s"
        found = f"none; its question is charged at an estimated {usage.tokens:,} tokens"
        super().__init__("the model did not answer in time", expected=expected, found=found)


@dataclass(frozen=True)
class CallSettings:
    """Settings of a call: configuration, credentials, tag, cancellation and time limit."""

    config: LoopConfig
    credentials: Credentials
    tag: str  # must be unique among running processes
    stop: Callable[[], bool] = never_stop
    seconds: float = WRITING_SECONDS  # time limit of an optional text; a vote has `judge.timeout_seconds`

    def environment(self) -> Mapping[str, str]:
        """Variables of the call. Its credentials are redacted from now on."""
        credentials = self.credentials()
        register_credentials(credentials)
        return {**agent_environment(own_environment(), self.config.claude.environment), **credentials}


def write_text(
    settings: CallSettings, build_question: Callable[[], Question], read: Callable[[str], T | str]
) -> tuple[T | None, str, Usage]:
    """Ask for an optional text. Returns the result of `read`, or None; why there is none; and the usage, to be charged.

    `read` returns a string, the reason, for a useless answer. Raises only Cancelled.
    """
    usage = Usage()
    try:
        answer = ask(settings, build_question())
        usage = answer.usage
        result = answer.broken_off or read(answer.text)
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - a failing helper must not stop the loop
        usage = error.usage if isinstance(error, LateAnswer) else usage
        if isinstance(error, HelmsmanError):  # without the judge's remedies, which do not apply here
            parts = (error.problem.replace("the judge", "the writing model"), error.expected, error.found)
            result = "; ".join(filter(None, parts))
        else:
            result = f"the model call failed: {type(error).__name__}: {error}"
    return (None, result[:_REASON], usage) if isinstance(result, str) else (result, "", usage)


def ask(settings: CallSettings, question: Question) -> Reply:
    """The raw answer, with secrets redacted, and its usage, within `settings.seconds`.

    Raises OperatorError, TransientError (LateAnswer on timeout), Cancelled.
    """
    environment = settings.environment()
    request, deadline = without_secrets(question), time.monotonic() + settings.seconds
    judge = settings.config.judge.model_copy(update={"timeout_seconds": settings.seconds + _SLACK})
    config = settings.config.model_copy(update={"judge": judge})

    def should_stop() -> bool:
        return settings.stop() or time.monotonic() > deadline

    try:
        answer = send(request, replace(settings, config=config, stop=should_stop), environment)
    except Cancelled as cancelled:
        if settings.stop():
            raise
        estimated = with_cost(Usage(input_tokens=tokens(f"{request.rules}\n{request.prompt}")), judge.model)
        raise LateAnswer(settings.seconds, estimated) from cancelled
    return answer.model_copy(update={"text": redact(answer.text)})


def send(request: Question, settings: CallSettings, environment: Mapping[str, str]) -> Reply:
    """Send one request, by API or Claude Code."""
    config, stop = settings.config, settings.stop
    if way_of(config.judge, environment) == "api":
        return ask_by_api(request, config.judge, environment=environment, stop=stop)
    return ask_by_cli(request, config.judge, claude=config.claude, environment=environment, tag=settings.tag, stop=stop)


def way_of(config: JudgeConfig, environment: Mapping[str, str]) -> Literal["api", "claude"]:
    """How to call the model: as configured, or else by the API if there is a key."""
    if config.way != "auto":
        return config.way
    return "api" if environment.get("ANTHROPIC_API_KEY") else "claude"


def asks_claude_code(config: LoopConfig) -> bool:
    """Whether a judge is called through Claude Code. False if credentials in a block decide, unknown at the start."""
    judge, environment = config.judge, agent_environment(own_environment(), config.claude.environment)
    is_unknown = judge.way == "auto" and (judge.block or config.claude.block)
    return bool(judge.criteria) and not is_unknown and way_of(judge, environment) == "claude"
