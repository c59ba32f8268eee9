"""The guard rails' answers to the CLI's events, without a CLI: hostile events, order, and what is remembered."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.orient.guardrails import Rules
from helmsman.records.evidence import Guarded
from tasks.hook_server import TOKEN, HookServer
from tasks.steering import GUARDED_KEPT, PENDING_KEPT, UNJUDGED, Steering, settings

pytestmark = pytest.mark.feature("A1", "A2")

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)


def steers(**rules: Any) -> Steering:
    return Steering(Rules(worktree="/nest/tree", **rules), lambda _: None)


def event(command: object, identity: str = "t", tool: object = "Bash") -> dict[str, Any]:
    arguments = {"tool_name": tool, "tool_input": {"command": command}, "cwd": "/nest/tree", "tool_use_id": identity}
    return {"hook_event_name": "PreToolUse", **arguments}


def denied(output: Any) -> bool:
    return output.get("hookSpecificOutput", {}).get("permissionDecision") == "deny"


def test_any_event_makes_it_heard() -> None:
    steering = steers()
    assert not steering.heard
    assert steering.answer({"hook_event_name": "UserPromptSubmit"}) == {}
    assert steering.heard


def test_a_repetition_is_counted_over_calls_and_forgotten_after_a_change() -> None:
    steering = steers()
    for number in range(2):
        assert not denied(steering.answer(event("pytest -q", f"{number}")))
        steering.conclude(f"{number}", failed=True)
    assert denied(steering.answer(event("pytest  -q", "2")))
    steering.answer({**event("", "3", "Edit"), "tool_input": {"file_path": "/nest/tree/app.py"}})
    steering.conclude("3", failed=False)
    assert not denied(steering.answer(event("pytest -q", "4")))


def test_a_denial_says_why_and_is_told_once() -> None:
    told: list[Guarded] = []
    steering = Steering(Rules(worktree="/nest/tree"), told.append)
    output = steering.answer(event("git push"))["hookSpecificOutput"]
    assert output["permissionDecisionReason"]
    assert told == steering.guarded == [Guarded(rule="push", tool="Bash", detail="git push", denied=True)]


@given(st.dictionaries(st.sampled_from(["tool_name", "tool_input", "cwd", "tool_use_id"]), JSON))
def test_whatever_an_event_holds_there_is_an_answer(fields: dict[str, Any]) -> None:
    json.dumps(steers().answer({**event("ls"), **fields}))


def test_a_fault_of_the_rules_themselves_keeps_no_agent_from_its_tools() -> None:
    def broken(_: str) -> str:
        raise OSError

    steering = steers(resolve=broken)
    assert not denied(steering.answer(event("echo x > ../y")))
    assert [(one.rule, one.denied) for one in steering.guarded] == [(UNJUDGED, False)]


def test_what_is_remembered_stays_bounded() -> None:
    steering = steers()
    for number in range(PENDING_KEPT + 100):
        steering.answer(event("git push" if number % 2 else f"echo {number}", f"{number}"))
    assert len(steering.guarded) == GUARDED_KEPT


def test_the_token_travels_by_the_environment_and_not_on_the_command_line() -> None:
    server = HookServer(1234, "the-token")
    told = settings(server)
    assert "the-token" not in told
    (hook,) = json.loads(told)["hooks"]["PreToolUse"][0]["hooks"]
    assert (hook["onFailure"], hook["allowedEnvVars"], hook["url"]) == ("block", [TOKEN], "http://127.0.0.1:1234/")
    assert "onFailure" not in json.loads(told)["hooks"]["UserPromptSubmit"][0]["hooks"][0]


def test_links_out_of_the_worktree_are_followed(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "out").symlink_to("/usr")
    steering = Steering(Rules(worktree=str(tmp_path / "tree"), resolve=os.path.realpath), lambda _: None)
    assert denied(steering.answer({**event("touch out/x"), "cwd": str(tmp_path / "tree")}))
