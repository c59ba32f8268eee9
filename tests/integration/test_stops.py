"""Stop events that the gate answers, and hooks that never came: the event stream of the CLI decides."""

from collections.abc import Callable, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

from helmsman.guardrails import Rules
from helmsman.parsers.agent_actions import ToolInvocation, ToolResult
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.agent import AgentOutcome, ContextUse, StopAttempt
from tasks.agents.call import Order
from tasks.agents.claude import ClaudeListener
from tasks.agents.steering import FORGED_STOP, STOPS_KEPT, Steering
from tasks.agents.stop import LONGEST_SAID, Gate, Stops
from tasks.repository.loop_context import LoopContext
from tests.fakes.repositories import loop_state

pytestmark = pytest.mark.feature("A4")


def steers(gate: Gate, tell: Callable[[StopAttempt], None] | None = None) -> Steering:
    stops = Stops(gate, tell or nothing, catch_up=0)
    return Steering(Rules("/nest/tree"), nothing, str, stops)


def nothing(_: object) -> None:
    """Report to nobody."""


def answering(*, blocked: bool) -> Gate:
    return lambda _before, _active, _full, _said: (StopAttempt(blocked=blocked, why="w"), "mend it")


NUMBERS = count()
SENT_BACK = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "mend it"}}


def printed(steering: Steering, kind: str, *content: dict[str, Any]) -> None:
    """Send the event of a new message of the main thread."""
    steering.follow({"type": kind, "session_id": "s", "message": {"id": f"m{next(NUMBERS)}", "content": list(content)}})


def says(steering: Steering, words: str = "done") -> None:
    printed(steering, "assistant", {"type": "text", "text": words})


def is_sent_back(steering: Steering) -> None:
    printed(steering, "user", {"type": "text", "text": "Stop hook feedback:\nmend it"})


def stop(steering: Steering, *, active: bool = False, session: str = "s") -> Any:
    return steering.answer({"hook_event_name": "Stop", "stop_hook_active": active, "session_id": session})


def test_the_gate_answers_a_stop() -> None:
    asked: list[tuple[int, bool, bool, str]] = []
    told: list[StopAttempt] = []

    def gate(before: Sequence[StopAttempt], active: bool, full: bool, said: str) -> tuple[StopAttempt, str]:
        asked.append((len(before), active, full, said))
        return StopAttempt(blocked=not active, why="w"), "mend it"

    steering = steers(gate, told.append)
    says(steering)
    assert stop(steering) == SENT_BACK
    says(steering, "fixed")
    assert stop(steering, active=True) == {}
    is_sent_back(steering)  # by a hook of the repository's own
    says(steering)
    steering.observe(ContextUse(tokens=61_000, peak=61_000, window=100_000))
    stop(steering)
    assert asked == [(0, False, False, "done"), (1, True, False, "fixed"), (2, False, True, "done")]
    assert tuple(told) == steering.stops


def test_a_stop_that_the_stream_contradicts_is_recorded_once_and_not_judged() -> None:
    steering = steers(answering(blocked=True))
    assert stop(steering) == {}  # nothing was said yet
    printed(steering, "assistant", {"type": "tool_use", "id": "t", "name": "Bash", "input": {}})
    assert stop(steering) == {}  # a tool is running
    printed(steering, "user", {"type": "tool_result", "tool_use_id": "t"})
    assert stop(steering) == {}  # the model is to speak
    says(steering)
    assert stop(steering, session="nested") == {}
    assert steering.stops == ()
    assert [one.rule for one in steering.guarded] == [FORGED_STOP]


def test_several_stops_of_one_turn_are_judged_once() -> None:
    steering = steers(answering(blocked=True))
    says(steering)
    assert [stop(steering) for _ in range(5)] == [SENT_BACK] * 5
    assert len(steering.stops) == 1
    assert stop(steering, active=True) == {}  # the stream does not show yet that the agent was sent back
    says(steering)
    assert stop(steering, active=True) == SENT_BACK
    assert len(steering.stops) == 2


def test_a_stop_after_which_the_agent_continued_by_itself_does_not_count() -> None:
    before: list[int] = []

    def gate(attempts: Sequence[StopAttempt], _active: bool, _full: bool, _said: str) -> tuple[StopAttempt, str]:
        before.append(len(attempts))
        return StopAttempt(blocked=True, why="w"), "mend it"

    steering = steers(gate)
    says(steering)
    stop(steering)
    printed(steering, "user", {"type": "text", "text": "Output token limit hit. Resume directly"})
    says(steering)
    stop(steering)
    assert (len(steering.stops), before) == (1, [0, 0])


def test_a_session_that_has_to_end_may_stop_without_checks() -> None:
    steering = steers(answering(blocked=True))
    steering.observe(ContextUse(tokens=90_000, peak=90_000, window=100_000))
    says(steering)
    assert stop(steering) == {}


def test_attempts_are_bounded_and_a_broken_gate_allows_the_stop() -> None:
    steering = steers(answering(blocked=False))
    for _ in range(STOPS_KEPT + 5):
        says(steering)
        stop(steering)
        is_sent_back(steering)
    assert len(steering.stops) == STOPS_KEPT

    def broken(_before: object, _active: bool, _full: bool, _said: str) -> tuple[StopAttempt, str]:
        raise OSError

    steering = steers(broken)
    says(steering)
    assert stop(steering) == {}


@pytest.mark.feature("X7")
def test_silent_hooks_are_detected_by_a_successful_call_and_an_unasked_end() -> None:
    steering = steers(answering(blocked=False))
    called = ToolInvocation("t", "Bash", {}, "m")
    steering.answer({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t"})
    steering.announce(called)
    steering.conclude(ToolResult("t", failed=False, output=""))
    steering.announce(called._replace(identity="u"))
    steering.conclude(
        ToolResult("u", failed=True, output="<tool_use_error>wrong</tool_use_error>")
    )  # no hook is asked about those
    assert steering.account(AgentOutcome.MAX_TURNS)["silent_hooks"] == ()
    steering.announce(called._replace(identity="v"))
    steering.conclude(ToolResult("v", failed=False, output=""))
    assert steering.account(AgentOutcome.FINISHED)["silent_hooks"] == ("PreToolUse", "Stop")


@pytest.mark.feature("X7")
@pytest.mark.parametrize("first", ["the hook", "the model"])
def test_a_prompt_event_after_the_models_answer_is_not_accepted(first: str) -> None:
    steering, place = steers(answering(blocked=False)), cast("LoopContext", SimpleNamespace(worktree="/nest/tree"))
    listener = ClaudeListener(Order(place, loop_state("b" * 40), "", ""), {}, ClaudeReader(), None, steering)
    parts = [
        lambda: steering.answer({"hook_event_name": "UserPromptSubmit"}),
        lambda: listener.hear(b'{"type": "assistant", "message": {"model": "m", "content": []}}'),
    ]
    for part in parts if first == "the hook" else reversed(parts):
        part()
    assert listener.ignores_hooks is (first == "the model")


def test_the_gate_gets_the_end_of_a_long_message() -> None:
    heard: list[str] = []

    def gate(_before: object, _active: bool, _full: bool, said: str) -> tuple[StopAttempt, str]:
        heard.append(said)
        return StopAttempt(blocked=False, why="w"), ""

    steering = steers(gate)
    says(steering, f"{'What was done. ' * 2000}\n<promise>COMPLETE</promise>")
    stop(steering)
    assert heard[0].endswith("\n<promise>COMPLETE</promise>")
    assert len(heard[0]) == LONGEST_SAID
