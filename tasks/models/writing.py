"""What a model writes for the loop: a focus, the past in short, orders that it reads as contradictions, a preference.

It helps where it works and never stands in the way.

Whatever goes wrong is a reason in words, and the templates serve. Only a cancel is raised.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from helmsman.config import LoopConfig
from helmsman.errors import Cancelled, HelmsmanError
from helmsman.memory.lessons_question import lessons_request, read_lessons
from helmsman.orient.compaction import Past, compact_by_template, compaction_request, read_compacted
from helmsman.orient.focus import focus_request, read_focus
from helmsman.oversee.best import Candidate, compare_request, read_choice
from helmsman.oversee.conflict_question import conflict_request, read_conflicts
from helmsman.records.focus import Compacted, Focus, Question, Writing, WrittenCompaction, WrittenFocus
from helmsman.records.lessons import Drawn, Episode, Observation, Summary
from helmsman.records.oversight import Imperative, Oversight, Sought
from helmsman.records.parallel import Choice
from helmsman.records.probes import Probe
from helmsman.records.state import LoopState
from helmsman.records.usage import Usage
from helmsman.verify.probes import Reading
from tasks.models.asking import Late, ask, writing_model
from tasks.processes.process import never

_Read = TypeVar("_Read", Focus, Compacted, Sought, Choice, tuple[Observation, ...], tuple[Probe, ...], tuple[Reading, ...])
Credentials = Callable[[], Mapping[str, str]]
"""Looked up only where a model is asked."""

_REASON = 500
_WHOLE = frozenset({"end_turn", "tool_use", "stop_sequence"})
_BROKEN_OFF = {
    "refusal": "the model declined to answer",
    "max_tokens": "the answer was cut off at its longest length (judge.answer_tokens)",
    "structured_output_retry_exhausted": "the model kept answering in another form",
}


def write_focus(
    state: LoopState,
    oversight: Oversight,
    *,
    lessons: Sequence[str] = (),
    credentials: Credentials,
    tag: str,
    stop: Callable[[], bool] = never,
) -> WrittenFocus:
    """The focus of the iteration that is due; without one where `prompt.written` is off or nothing came that can be used."""
    if not state.config.prompt.written:
        return WrittenFocus()
    focus, writing = _written(lambda: focus_request(state, oversight, lessons), read_focus, state.config, credentials, tag, stop)
    return WrittenFocus(**dict(writing), focus=focus)


def write_compaction(
    past: Past, config: LoopConfig, *, credentials: Credentials, tag: str, stop: Callable[[], bool] = never
) -> WrittenCompaction:
    """The past in short: by a model where `prompt.compact` is on and it answers in time, else by the template."""
    if not config.prompt.compact:
        return WrittenCompaction(compacted=compact_by_template(past))
    compacted, writing = _written(lambda: compaction_request(past), read_compacted, config, credentials, tag, stop)
    return WrittenCompaction(**dict(writing), compacted=compacted or compact_by_template(past))


def seek_conflicts(
    state: LoopState,
    orders: Sequence[Imperative],
    *,
    credentials: Credentials,
    tag: str,
    stop: Callable[[], bool] = never,
) -> tuple[Sought | None, Writing]:
    """What a model says of contradictions between these orders, and what asking took; None changes nothing of what is known."""

    def read(answer: str) -> Sought | str:
        return read_conflicts(answer, orders)

    sought, writing = _written(lambda: conflict_request(state, orders), read, state.config, credentials, tag, stop)
    reason = f"asked for contradictions between orders: {writing.reason}"[:_REASON] if writing.reason else ""
    return sought, writing.model_copy(update={"reason": reason})


def draw_lessons(
    state: LoopState,
    summary: Summary,
    episodes: Sequence[Episode],
    *,
    credentials: Credentials,
    tag: str,
    stop: Callable[[], bool] = never,
) -> Drawn:
    """What a model says that a loop teaches."""

    def read(answer: str) -> tuple[Observation, ...] | str:
        return read_lessons(answer, summary, episodes)

    question = lambda: lessons_request(state, summary, episodes)  # noqa: E731 - what it says is all
    drawn, writing = _written(question, read, state.config, credentials, tag, stop)
    return Drawn(observations=drawn or (), usage=writing.usage, reason=writing.reason)


def compare(
    config: LoopConfig,
    candidates: Sequence[Candidate],
    *,
    credentials: Credentials,
    tag: str,
    stop: Callable[[], bool] = never,
) -> tuple[Choice | None, Writing]:
    """Which of these works a model prefers, shown in this order, and what asking took."""

    def read(answer: str) -> Choice | str:
        return read_choice(answer, candidates)

    return _written(lambda: compare_request(config, candidates), read, config, credentials, tag, stop)


@dataclass(frozen=True)
class Asking:
    """Who asks, and until when."""

    credentials: Credentials
    tag: str
    stop: Callable[[], bool] = never


def ask_about_probes(
    question: Question, read: Callable[[str], _Read | str], config: LoopConfig, asking: Asking
) -> tuple[_Read | None, Writing]:
    """What the judge's model writes as probes, or says of those that fail, and what asking took."""
    return _written(lambda: question, read, config, asking.credentials, asking.tag, asking.stop, judging=True)


def _written(
    question: Callable[[], Question],
    read: Callable[[str], _Read | str],
    config: LoopConfig,
    credentials: Credentials,
    tag: str,
    stop: Callable[[], bool],
    *,
    judging: bool = False,
) -> tuple[_Read | None, Writing]:
    """What was read of the answer, and what asking took; nothing and the reason whatever went wrong."""
    started, usage = time.monotonic(), Usage()
    try:
        answer = ask(question(), config=config, credentials=credentials(), tag=tag, stop=stop, judging=judging)
        usage = answer.usage
        found = read(answer.text) if answer.stop in _WHOLE else _why_broken_off(answer.stop)
    except Cancelled:
        raise
    except Late as late:
        usage, found = late.usage, _in_words(late)
    except Exception as error:  # noqa: BLE001 - a helper that breaks must not break the loop
        found = _in_words(error)
    reason = found[:_REASON] if isinstance(found, str) else ""
    writing = Writing(
        reason=reason,
        usage=usage,
        model=config.judge.model if judging else writing_model(config),
        seconds=time.monotonic() - started,
    )
    return (None if isinstance(found, str) else found), writing


def _why_broken_off(stop: str) -> str:
    return _BROKEN_OFF.get(stop, f"the model stopped for an unknown reason: {stop[:60]!r}")


def _in_words(error: Exception) -> str:
    """The problem without the judge's remedies: the way is the judge's, the work is not."""
    if not isinstance(error, HelmsmanError):
        return f"asking the model broke: {type(error).__name__}: {error}"
    parts = (error.problem.replace("the judge", "the writing model"), error.expected, error.found)
    return "; ".join(part for part in parts if part)
