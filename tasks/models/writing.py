"""A question to a model whose answer helps and is not needed: a focus, the past in short, contradictions, lessons, probes.

Whatever goes wrong is a reason in words, and whoever asks goes on without. Only a cancel is raised.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from helmsman.config import LoopConfig
from helmsman.errors import Cancelled, HelmsmanError
from helmsman.records.base import Usage
from helmsman.records.iteration import Question, Writing
from tasks.models.asking import LateAnswer, ask, writing_model
from tasks.system.process import never

T = TypeVar("T")
Credentials = Callable[[], Mapping[str, str]]
"""Looked up only where a model is asked."""

_REASON = 500
_WHOLE = frozenset({"end_turn", "tool_use", "stop_sequence"})
_BROKEN_OFF = {
    "refusal": "the model declined to answer",
    "max_tokens": "the answer was cut off at its longest length",
    "structured_output_retry_exhausted": "the model kept answering in another form",
}


@dataclass(frozen=True)
class Asking:
    """Who asks, and until when."""

    config: LoopConfig
    credentials: Credentials
    tag: str
    stop: Callable[[], bool] = never
    judging: bool = False
    """Whether the judge's model is asked."""


def written(by: Asking, question: Callable[[], Question], read: Callable[[str], T | str]) -> tuple[T | None, Writing]:
    """What `read` made of the answer, and what asking took; nothing and the reason whatever went wrong.

    `read` gives a text where the answer is of no use: the reason.
    """
    started, usage = time.monotonic(), Usage()
    try:
        credentials = by.credentials()
        answer = ask(question(), config=by.config, credentials=credentials, tag=by.tag, stop=by.stop, judging=by.judging)
        usage = answer.usage
        unknown = f"the model stopped for an unknown reason: {answer.stop[:60]!r}"
        found = read(answer.text) if answer.stop in _WHOLE else _BROKEN_OFF.get(answer.stop, unknown)
    except Cancelled:
        raise
    except LateAnswer as late:
        usage, found = late.usage, _in_words(late)
    except Exception as error:  # noqa: BLE001 - a helper that breaks must not break the loop
        found = _in_words(error)
    reason = found[:_REASON] if isinstance(found, str) else ""
    model = by.config.judge.model if by.judging else writing_model(by.config)
    writing = Writing(reason=reason, usage=usage, model=model, seconds=time.monotonic() - started)
    return (None if isinstance(found, str) else found), writing


def _in_words(error: Exception) -> str:
    """The problem without the judge's remedies: the way is the judge's, the work is not."""
    if not isinstance(error, HelmsmanError):
        return f"asking the model broke: {type(error).__name__}: {error}"
    parts = (error.problem.replace("the judge", "the writing model"), error.expected, error.found)
    return "; ".join(part for part in parts if part)
