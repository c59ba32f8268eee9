"""Ask a model one question in a fresh context: a vote, a focus, a compaction, contradictions, lessons, probes, an alignment."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from helmsman.errors import Cancelled, HelmsmanError, TransientError
from helmsman.prices import with_cost
from helmsman.records.base import Reply, Usage
from helmsman.records.iteration import Question
from helmsman.tokens import tokens
from tasks.models.sending import CallSettings, send
from tasks.system.secrets import redact, without_secrets

T = TypeVar("T")

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

    def should_stop() -> bool:
        return settings.stop() or time.monotonic() > deadline

    try:
        answer = send(request, replace(settings, seconds=settings.seconds + _SLACK, stop=should_stop), environment)
    except Cancelled as cancelled:
        if settings.stop():
            raise
        estimated = with_cost(Usage(input_tokens=tokens(f"{request.rules}\n{request.prompt}")), settings.config.judge.model)
        raise LateAnswer(settings.seconds, estimated) from cancelled
    return answer.model_copy(update={"text": redact(answer.text)})
