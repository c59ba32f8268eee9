"""What the real command line does when its hooks are answered late, wrongly or not at all: it never hangs and never goes free."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Request, ScriptedModel, Turn, bash, by_call, call, environment, say
from tasks.agents.hooks import TOKEN, HookServer, hook_server, settings
from tests.fakes.claude_cli import Session, run_claude
from tests.fakes.command_line import scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("A1")]

Event = Mapping[str, Any]
DONE = say("done")


def impatient(server: HookServer, seconds: int = 1) -> str:
    """Our settings, with less patience than in real life."""
    told = json.loads(settings(server, 60))
    for hooks in told["hooks"].values():
        hooks[0]["hooks"][0]["timeout"] = seconds
    return json.dumps(told)


def run(
    folder: Path, turns: list[Turn], answer: Callable[[Event, ExitStack], Event], token: str = ""
) -> tuple[Session, list[Request]]:
    """A session whose hooks are answered so; the stack closes the endpoint."""
    (folder / "home").mkdir()
    with ScriptedModel(by_call([turns])) as model, ExitStack() as stack:
        server = stack.enter_context(hook_server(lambda event: answer(event, stack)))
        variables = {**environment(model.url, folder / "home"), TOKEN: token or server.token}
        session = run_claude("go", "--settings", impatient(server), folder=folder, environment=variables)
        return session, model.requests


def denied(session: Session) -> list[str]:
    return [entry["tool_name"] for entry in session.result["permission_denials"]]


def test_an_endpoint_that_dies_in_mid_run_denies_every_further_tool_and_the_session_ends(tmp_path: Path) -> None:
    calls = [call(bash(f"touch made-{number}")) for number in range(3)]

    def die(event: Event, stack: ExitStack) -> Event:
        if "made-1" in str(event.get("tool_input")):
            raise ConnectionError  # what the connection sees when the process behind it dies
        return {}

    session, _ = run(tmp_path, [*calls, DONE], die)
    assert session.exit_code == 0
    assert (tmp_path / "made-0").exists()
    assert not (tmp_path / "made-1").exists()
    assert session.result["result"] == "done"


def test_a_slow_endpoint_denies_the_tool_and_the_session_continues(tmp_path: Path) -> None:
    def sleep(event: Event, _: ExitStack) -> Event:
        if event["hook_event_name"] == "PreToolUse":
            time.sleep(2.5)
        return {}

    session, _ = run(tmp_path, [call(bash("touch made")), DONE], sleep)
    assert denied(session) == ["Bash"]
    assert session.result["result"] == "done"


def test_a_stop_without_a_response_from_the_hook_ends_the_session(tmp_path: Path) -> None:
    def sleep(event: Event, _: ExitStack) -> Event:
        if event["hook_event_name"] == "Stop":
            time.sleep(2.5)
        return {}

    session, requests = run(tmp_path, [DONE], sleep)
    assert (session.exit_code, session.result["result"], len(requests)) == (0, "done", 1)


def test_a_subagent_and_its_tools_are_asked_about_as_well(tmp_path: Path) -> None:
    asked: list[str] = []

    def deny_push(event: Event, _: ExitStack) -> Event:
        asked.append(str(event.get("tool_name", "")))
        if "git push" not in str(event.get("tool_input")) or event["tool_name"] != "Bash":
            return {}
        decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "the loop pushes"}
        return {"hookSpecificOutput": decision}

    helper = ("Agent", {"description": "push it", "prompt": "run git push", "subagent_type": "general-purpose"})
    turns = [call(helper), call(bash("git push")), say("I could not."), DONE]
    session, requests = run(tmp_path, turns, deny_push)
    assert [tool for tool in asked if tool] == ["Agent", "Bash"]
    assert "the loop pushes" in json.dumps([request.body["messages"] for request in requests])
    assert session.result["result"] == "done"


def test_a_repository_that_sets_a_token_of_its_own_is_stopped_with_the_reason(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", {".claude/settings.json": json.dumps({"env": {TOKEN: "mine"}})})
    with scripted_command_line(tmp_path, prefect_server.url, by_call([[*[call(bash("echo x"))] * 20, DONE]])) as helmsman:
        helmsman.run("trust", "--yes", "--repo", helmsman.repository)
        told = helmsman.run_loop("g", "--check", "true", "--json")
    assert told.exit_code == 2, told.output
    assert "does not call its hooks" in told.output
