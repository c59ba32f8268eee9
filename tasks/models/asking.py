"""Ask a model one question in a fresh context: a vote, a focus, a compaction, contradictions, lessons, probes, an alignment."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from helmsman.errors import Cancelled, HelmsmanError, TransientError
from helmsman.orient.written import (
    compacted_section,
    compaction_question,
    focus_question,
    focus_section,
    needs_compaction,
    read_compacted,
    read_focus,
)
from helmsman.prices import with_cost
from helmsman.records.base import Reply, Usage
from helmsman.records.iteration import Orientation, Question, WrittenParts
from helmsman.records.state import LoopState
from helmsman.tokens import tokens
from tasks.models.sending import WRITING_SECONDS, CallSettings, Credentials, send
from tasks.repository.loop_context import LoopContext
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


def write_texts(context: LoopContext, state: LoopState, orientation: Orientation, credentials: Credentials) -> WrittenParts:
    """Write the focus and the compaction, each if due. Raises only Cancelled."""
    if not state.config.prompt.written:
        return WrittenParts()
    tag = context.tag(state)
    settings = CallSettings(state.config, credentials, tag, context.folder.cancel.exists, WRITING_SECONDS)
    focus, compacted, reasons, usages = None, None, ["", ""], [Usage(), Usage()]
    if state.past_iterations:
        lessons = [lesson.text for lesson in orientation.recalled.reminders]
        question = partial(focus_question, state, lessons)
        focus, reasons[0], usages[0] = write_text(replace(settings, tag=f"{tag}/focus"), question, read_focus)
    if needs_compaction(state, orientation):
        question = partial(compaction_question, state, orientation)
        compacted, reasons[1], usages[1] = write_text(replace(settings, tag=f"{tag}/compaction"), question, read_compacted)
    return WrittenParts(
        focus=focus_section(focus) if focus else "",
        compacted=compacted_section(compacted) if compacted else "",
        reasons=tuple(filter(None, reasons)),
        usage=usages[0].plus(usages[1]),
    )
