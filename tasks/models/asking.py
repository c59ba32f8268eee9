"""Asking a model one question in a fresh context: a focus, the past in short, contradictions, lessons, probes, an alignment.

The way is the judge's, with its isolation and its credentials; only the question and the time limit differ.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from helmsman.config import LoopConfig
from helmsman.errors import Cancelled, HelmsmanError, TransientError
from helmsman.prices import priced
from helmsman.records.base import Reply, Usage
from helmsman.records.iteration import Question, Writing
from helmsman.tokens import tokens
from tasks.models.judge import send
from tasks.system.environment import agent_environment, ours
from tasks.system.process import never
from tasks.system.secrets import redact, register_credentials, without_secrets

T = TypeVar("T")
Credentials = Callable[[], Mapping[str, str]]
"""Variables on top of the environment's own, looked up only where a model is asked."""

WRITING_SECONDS = 90.0  # for what helps and is not needed (O5); templates serve after it
_SLACK = 1.0  # seconds that the way's own limit comes after ours, so that it is always ours that is told
_REASON = 500


class LateAnswer(TransientError):  # noqa: N818 - what happened, as in BrokenFile
    """No answer in time. What was sent by then is paid for all the same, so it is charged."""

    def __init__(self, limit: float, usage: Usage) -> None:
        """Nobody counted the tokens: `usage` is an estimate of the question alone, and says so."""
        self.usage = usage
        expected = f"an answer within {limit:g} s"
        found = f"none; its question is charged, estimated at {usage.tokens:,} tokens"
        super().__init__("the model did not answer in time", expected=expected, found=found)


@dataclass(frozen=True)
class Asking:
    """Who asks, and until when."""

    config: LoopConfig
    credentials: Credentials
    tag: str
    """No other process may carry it meanwhile."""
    stop: Callable[[], bool] = never
    seconds: float = WRITING_SECONDS
    """That the answer may take."""


def written(by: Asking, question: Callable[[], Question], read: Callable[[str], T | str]) -> tuple[T | None, Writing]:
    """What `read` made of an answer that helps and is not needed, and what asking took; whatever goes wrong is a reason in words.

    `read` gives a text where the answer is of no use: the reason. Raises nothing but Cancelled.
    """
    usage = Usage()
    try:
        answer = ask(by, question())
        usage = answer.usage
        found = answer.broken_off or read(answer.text)
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - a helper that breaks must not break the loop
        usage = error.usage if isinstance(error, LateAnswer) else usage
        if isinstance(error, HelmsmanError):  # without the judge's remedies: the way is the judge's, the work is not
            parts = (error.problem.replace("the judge", "the writing model"), error.expected, error.found)
            found = "; ".join(filter(None, parts))
        else:
            found = f"the call of the model failed: {type(error).__name__}: {error}"
    if isinstance(found, str):
        return None, Writing(reason=found[:_REASON], usage=usage)
    return found, Writing(usage=usage)


def ask(by: Asking, question: Question) -> Reply:
    """The answer, unread but free of our secrets, with its usage. It takes `by.seconds` at most.

    Raises OperatorError, TransientError (LateAnswer where the time is over), Cancelled.
    """
    config, credentials = by.config, by.credentials()
    register_credentials(credentials)
    environment = {**agent_environment(ours(), config.claude.environment), **credentials}
    request, late = without_secrets(question), time.monotonic() + by.seconds
    how = config.judge.model_copy(update={"timeout_seconds": by.seconds + _SLACK})
    try:
        answer = send(request, how, config.claude, environment, by.tag, lambda: by.stop() or time.monotonic() > late)
    except Cancelled as cancelled:
        if by.stop():
            raise
        spent = priced(Usage(input_tokens=tokens(f"{request.rules}\n{request.prompt}")), config.judge.model)
        raise LateAnswer(by.seconds, spent) from cancelled
    return answer.model_copy(update={"text": redact(answer.text)})
