"""Answers to the CLI's hook events, without a CLI: hostile events, order and memory."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.guardrails import Rules
from helmsman.parsers.agent_actions import ToolInvocation, ToolResult
from helmsman.records.agent import AgentOutcome, ContextUse, FailureClass, Guarded
from tasks.agents.hooks import MARGIN, TOKEN, HookServer, settings
from tasks.agents.steering import GRACE, UNJUDGED, Steering

pytestmark = pytest.mark.feature("A1", "A2", "A3", "A4", "S9")

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)


def nothing(_: object) -> None:
    """Report to nobody."""


def steers(tell: Callable[[Guarded], None] = nothing, content: Callable[[str], str] = str, **rules: Any) -> Steering:
    known: dict[str, Any] = {"worktree": "/nest/tree", **rules}
    return Steering(Rules(**known), tell, content)


def done(identity: str, output: str = "", *, failed: bool = False) -> ToolResult:
    return ToolResult(identity, failed, output)


def advised(output: Any) -> str:
    return output.get("hookSpecificOutput", {}).get("additionalContext", "")


def event(command: object, identity: str = "t", tool: object = "Bash") -> dict[str, Any]:
    arguments = {"tool_name": tool, "tool_input": {"command": command}, "cwd": "/nest/tree", "tool_use_id": identity}
    return {"hook_event_name": "PreToolUse", **arguments}


def denied(output: Any) -> bool:
    return output.get("hookSpecificOutput", {}).get("permissionDecision") == "deny"


def test_only_the_prompt_shows_that_hooks_are_called() -> None:
    steering = steers()
    steering.answer({"hook_event_name": "Stop"})
    assert not steering.prompt_seen
    assert steering.answer({"hook_event_name": "UserPromptSubmit"}) == {}
    assert steering.prompt_seen


def test_a_session_beyond_its_budget_makes_no_further_call_nor_does_a_subagent() -> None:
    steering = steers()
    assert not denied(steering.answer(event("ls", "0")))
    steering.end("used $2 of $1")
    for number in range(GRACE + 1):
        assert not steering.overdue
        steering.announce(ToolInvocation(f"{number}", "Bash", {}, message=f"m{number}"))
        output = steering.answer({**event("ls", f"{number}"), "agent_id": "helper" if number % 2 else ""})
        assert (denied(output), output["continue"], output["stopReason"]) == (True, False, "used $2 of $1")
    assert steering.overdue  # calls that are wrong in form reach no hook
    assert steering.ending == ""  # it is not ended for the sake of a fresh one


def test_a_denial_has_a_reason_and_is_recorded_once() -> None:
    told: list[Guarded] = []
    steering = steers(tell=told.append)
    output = steering.answer(event("git push"))["hookSpecificOutput"]
    assert output["permissionDecisionReason"]
    assert told == steering.guarded == [Guarded(rule="push", tool="Bash", detail="git push", denied=True)]


@given(st.dictionaries(st.sampled_from(["tool_name", "tool_input", "cwd", "tool_use_id"]), JSON))
def test_any_event_gets_an_answer(fields: dict[str, Any]) -> None:
    json.dumps(steers().answer({**event("ls"), **fields}))


def test_a_bug_in_the_rules_blocks_no_tool() -> None:
    def broken(_: str) -> str:
        raise OSError

    steering = steers(resolve=broken)
    assert not denied(steering.answer(event("echo x > ../y")))
    assert [(one.rule, one.denied) for one in steering.guarded] == [(UNJUDGED, False)]


def test_the_token_is_passed_by_the_environment_and_not_on_the_command_line() -> None:
    server = HookServer(1234, "the-token")
    told = settings(server)
    assert "the-token" not in told
    (hook,) = json.loads(told)["hooks"]["PreToolUse"][0]["hooks"]
    assert (hook["onFailure"], hook["allowedEnvVars"], hook["url"]) == ("block", [TOKEN], "http://127.0.0.1:1234/")
    assert "onFailure" not in json.loads(told)["hooks"]["UserPromptSubmit"][0]["hooks"][0]


# failures ------------------------------------------------------------------------------------------------------------


def fail(steering: Steering, command: str, identity: str) -> Any:
    """A failing command, as the hooks report it."""
    error = f"Exit code 2\nmake: *** [part-{identity}] Error 2"
    steering.answer(event(command, identity))
    failure = {**event(command, identity), "hook_event_name": "PostToolUseFailure", "error": error}
    return steering.answer(failure)


def test_the_fifth_failure_in_a_row_is_answered_with_guidance_at_once() -> None:
    steering = steers()
    answers = [advised(fail(steering, f"make part-{number}", f"{number}")) for number in range(5)]
    assert [bool(answer) for answer in answers] == [False] * 4 + [True]
    assert "5 tool calls of one kind failed in a row" in answers[-1]
    assert (steering.account(AgentOutcome.FINISHED)["failures_in_row"], steering.guarded[-1].rule) == (5, "failures")


def test_a_failure_reported_by_hook_and_stream_is_counted_once() -> None:
    steering = steers()
    for number in range(4):
        fail(steering, f"make part-{number}", f"{number}")
        steering.conclude(done(f"{number}", "Exit code 2", failed=True))
    assert steering.account(AgentOutcome.FINISHED)["failures_in_row"] == 4
    assert sum(error.times for error in steering.errors) == 4


def test_a_failure_hidden_by_a_pipe_is_counted_and_reported_with_the_next_call() -> None:
    steering = steers()
    for number in range(5):
        command = f"pytest -q tests/test_{number}.py 2>&1 | tail -3"
        assert advised(steering.answer(event(command, f"{number}"))) == ""
        steering.conclude(
            done(f"{number}", f"FAILED tests/test_{number}.py::test_it - assert 1 == 2\n1 failed, 3 passed in 0.12s")
        )
    assert "5 tool calls of one kind failed" in advised(steering.answer(event("ls", "next")))
    assert {error.kind for error in steering.errors} == {FailureClass.TEST}


def edit(steering: Steering, identity: str) -> Any:
    return steering.answer({**event("", identity, "Edit"), "tool_input": {"file_path": "/nest/tree/app.py"}})


def test_an_oscillation_of_contents_is_detected_before_the_next_edit() -> None:
    held = iter("abab")

    def reading(_: str) -> str:
        return next(held)

    steering = steers(content=reading)
    assert [bool(advised(edit(steering, f"{number}"))) for number in range(4)] == [False, False, False, True]


def turn(steering: Steering, number: int, *commands: str) -> list[Any]:
    """A message of the main thread with these calls."""
    for place, command in enumerate(commands):
        steering.announce(ToolInvocation(f"{number}-{place}", "Bash", {"command": command}, f"message-{number}"))
    return [steering.answer(event(command, f"{number}-{place}")) for place, command in enumerate(commands)]


def test_fifteen_failures_in_a_row_end_the_session_after_a_grace_period() -> None:
    steering = steers()
    answers = [fail(steering, f"make part-{number}", f"{number}") for number in range(15)]
    assert "This session ends after the next few tool calls" in advised(answers[-1])
    assert steering.ending.startswith("15 tool calls failed")
    grace = [turn(steering, number, f"echo {number}")[0] for number in range(GRACE)]
    assert [output.get("continue") for output in grace] == [None] * GRACE
    (output,) = turn(steering, GRACE, "git push --force")
    assert output["continue"] is False
    assert output["stopReason"] == steering.ending
    assert denied(output), "the command line runs what is not denied, and ends the session then"


def test_one_message_of_many_calls_does_not_use_up_the_grace() -> None:
    steering = steers()
    steering.observe(ContextUse(tokens=90_000, peak=90_000, window=100_000))
    outputs = turn(steering, 0, *[f"echo {number}" for number in range(20)])
    assert "continue" not in str(outputs)
    assert advised(outputs[0])


def test_a_success_in_time_cancels_the_end() -> None:
    steering = steers()
    for number in range(15):
        fail(steering, f"make part-{number}", f"{number}")
    steering.answer(event("make all", "good"))
    steering.conclude(done("good"))
    assert steering.ending == ""
    assert all("continue" not in turn(steering, number, f"echo {number}")[0] for number in range(3 * GRACE))


def test_a_stuck_subagent_ends_alone() -> None:
    steering = steers()
    for number in range(15):
        asked = {**event(f"make part-{number}", f"{number}"), "agent_id": "helper"}
        steering.answer(asked)
        steering.answer(
            {**asked, "hook_event_name": "PostToolUseFailure", "error": f"Exit code 2\nmake: *** [p{number}] Error 2"}
        )
    assert steering.answer({**event("ls", "next"), "agent_id": "helper"})["continue"] is False
    assert steering.ending == ""
    assert steering.answer(event("ls", "mine")) == {}


def test_advice_for_the_main_thread_is_not_given_to_a_subagent() -> None:
    steering = steers()
    steering.observe(ContextUse(tokens=61_000, peak=61_000, window=100_000))
    assert advised(steering.answer({**event("ls", "a"), "agent_id": "helper"})) == ""
    assert advised(steering.answer(event("ls", "b")))


def test_a_failing_observer_does_not_change_a_denial() -> None:
    def broken(_: Guarded) -> None:
        raise OSError

    assert denied(steers(tell=broken).answer(event("git push --force")))


# context -------------------------------------------------------------------------------------------------------------


def fill(steering: Steering, share: int) -> None:
    steering.observe(ContextUse(tokens=share * 1000, peak=share * 1000, window=100_000))


def test_a_filling_context_is_reported_once_per_tier_and_ends_the_session_when_full() -> None:
    steering = steers()
    told: list[bool] = []
    for share in (10, 59, 61, 62, 70, 81):
        fill(steering, share)
        told.append(bool(advised(turn(steering, share, f"echo {share}")[0])))
    assert told == [False, False, True, False, False, True]
    outputs = [turn(steering, number, f"echo {number}")[0] for number in range(GRACE + 1)]
    assert outputs[-1]["continue"] is False
    assert "81" in steering.ending


def test_after_a_compaction_the_next_filling_is_reported_again() -> None:
    steering = steers()
    told: list[bool] = []
    for share in (65, 5, 65):
        fill(steering, share)
        told.append(bool(advised(steering.answer(event(f"echo {share}", f"{len(told)}")))))
    assert told == [True, False, True]


def test_the_stop_hook_exists_only_with_checks_and_waits_for_them() -> None:
    (hook,) = json.loads(settings(HookServer(1, "t"), 120))["hooks"]["Stop"][0]["hooks"]
    assert hook["timeout"] == 120 + MARGIN
    assert "Stop" not in json.loads(settings(HookServer(1, "t")))["hooks"]


@given(st.dictionaries(st.sampled_from(["tool_name", "tool_input", "tool_use_id", "error"]), JSON), st.text(max_size=20))
def test_any_failure_or_stop_gets_an_answer(fields: dict[str, Any], name: str) -> None:
    steering = steers()
    steering.answer(event("make", "t"))
    for kind in ("PostToolUseFailure", "Stop", name):
        json.dumps(steering.answer({**fields, "hook_event_name": kind}))
