"""The real Claude Code CLI with a scripted model: its sessions, its hooks, and what it tells of usage limits.

Hooks that are answered late, wrongly or not at all never make it hang, and never let it go free.
"""

import gzip
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Request, ScriptedModel, Turn, bash, by_call, call, environment, say
from helmsman.parsers.usage_limits import read_limit
from tasks.agents.hooks import TOKEN, HookServer, hook_server, settings
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_records, show_state
from tasks.system.environment import AGENT_DEFAULTS
from tests.fakes.claude_cli import Session, run_claude
from tests.fakes.command_line import scripted_command_line
from tests.fakes.faults import Fault
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.timeout(300)  # the first test of a worker also starts the engine

Event = Mapping[str, Any]
DONE = say("done")
TOKENS = 120
"""Of a message of the scripted model that does not say otherwise."""


# --- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.feature("E2", "E6")
def test_a_resumed_session_is_one_conversation_over_all_iterations_and_is_charged_once(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", {})
    works = [turn for number in (1, 2, 3) for turn in (call(bash(f"echo {number} > f{number}")), say(f"Step {number} is done."))]
    told = ("--max-iterations", "3", "--set", "steering.stop_seconds=0", "--set", "claude.session=resume", "--json")
    with scripted_command_line(tmp_path, prefect_server.url, by_call([works])) as helmsman:
        ended = helmsman.run_loop("g", "--check", "true", *told)
        assert ended.exit_code == 3, ended.errors
        requests, repository = helmsman.model.requests, open_repository(helmsman.repository)
        agents = [record.execution.call for record in read_records(repository, "loop")][::-1]
        state = show_state(repository, "loop").state
    assert [agent.resumed for agent in agents] == [False, True, True]
    assert [request.turn for request in requests] == list(range(6))
    assert "Step 2 is done." in json.dumps(requests[4].body["messages"])
    assert state.session
    assert (state.session.id, state.session.calls) == (agents[0].session_id, 3)
    with gzip.open(loop_folder(repository, "loop").call(3, 1) / "transcript.jsonl.gz") as lines:
        in_all = [event for event in map(json.loads, lines) if event["type"] == "result"][-1]["total_cost_usd"]
    assert in_all > 2.9 * agents[0].usage.cost_usd  # the account goes on over all calls
    assert state.spending.cost_usd == pytest.approx(in_all)
    assert state.spending.tokens == len(requests) * TOKENS
    assert [agent.usage.tokens for agent in agents] == [2 * TOKENS] * 3
    assert {round(agent.usage.cost_usd, 9) for agent in agents} == {round(in_all / 3, 9)}


@pytest.mark.slow
@pytest.mark.feature("A1", "A2")
def test_commands_that_no_iteration_needs_are_denied(tmp_path: Path, prefect_server: PrefectServer) -> None:
    make_repository(tmp_path / "repository", {"app.py": "1\n", "tests/test_app.py": "assert 1 == 1\n"})
    rules = {
        "git push origin HEAD": "push",
        "echo x > RUBRIC.md": "protected",
        "helmsman run 'more of it' --check true": "nested",
        "sed -i s/1/2/ tests/test_app.py": "judging_tests",
        f"touch {Path.home()}/.helmsman-test": "outside",  # folders for temporary files are nobody's
        "python3 tests.py": "repeated",
    }
    turns = [call(bash(command)) for command in (*rules, *["python3 tests.py"] * 2)]
    with scripted_command_line(tmp_path, prefect_server.url, by_call([[*turns, DONE]])) as helmsman:
        told = helmsman.run_loop("Fix the crash in app.py", "--check", "true", "--max-iterations", "1", "--json")
        assert told.exit_code == 3, told.errors
        (record,) = read_records(open_repository(helmsman.repository), "loop")
    assert [guarded.rule for guarded in record.execution.call.guarded if guarded.denied] == list(rules.values())
    assert "no file change in between" in str(helmsman.model.requests[-1].body["messages"])


# --- one session ------------------------------------------------------------------------------------------------------


@pytest.mark.feature("O3")
def test_no_git_status_precedes_the_message(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    with ScriptedModel(lambda _: say("so")) as model:
        for variables in ({}, AGENT_DEFAULTS):
            given = {**environment(model.url, tmp_path / "home"), **variables}
            assert run_claude("do it", folder=repository, environment=given).exit_code == 0
        usual, ours = (str(request.body["messages"]) for request in model.requests)
    assert ("# gitStatus" in usual, "# gitStatus" in ours) == (True, False)


@pytest.mark.feature("E13")
def test_the_loop_reads_the_used_share_of_a_subscription(tmp_path: Path) -> None:
    reset, day = int(time.time()) + 3600, 86_400
    told = {"status": "allowed_warning", "reset": reset, "representative-claim": "five_hour", "5h-surpassed-threshold": 0.9}
    told |= {"5h-status": "allowed_warning", "5h-utilization": 0.93, "5h-reset": reset}
    told |= {"7d-status": "allowed", "7d-utilization": 0.4, "7d-reset": reset + day}
    headers = {f"anthropic-ratelimit-unified-{name}": str(value) for name, value in told.items()}
    with ScriptedModel(by_call([[Fault(text="done", headers=headers)]])) as model:
        variables = environment(model.url, tmp_path / "home") | {"CLAUDE_CODE_OAUTH_TOKEN": "dummy"}
        del variables["ANTHROPIC_API_KEY"]
        session = run_claude("go", folder=tmp_path, environment=variables)
    (event,) = session.of_type("rate_limit_event")
    limit = read_limit(event["rate_limit_info"])
    assert (limit.status, limit.window, limit.utilization) == ("allowed_warning", "five_hour", 0.93)
    assert [(one.name, one.utilization) for one in limit.windows] == [("five_hour", 0.93), ("seven_day", 0.4)]
    assert limit.windows[1].resets_at == datetime.fromtimestamp(reset + day, UTC)


# --- its hooks --------------------------------------------------------------------------------------------------------


def impatient(server: HookServer, seconds: int = 1) -> str:
    """Our settings, with less patience than in real life."""
    told = json.loads(settings(server, 60))
    for hooks in told["hooks"].values():
        hooks[0]["hooks"][0]["timeout"] = seconds
    return json.dumps(told)


def run(folder: Path, turns: list[Turn], answer: Callable[[Event], Event]) -> tuple[Session, list[Request]]:
    """A session whose hooks are answered so."""
    (folder / "home").mkdir()
    with ScriptedModel(by_call([turns])) as model, hook_server(answer) as server:
        variables = {**environment(model.url, folder / "home"), TOKEN: server.token}
        session = run_claude("go", "--settings", impatient(server), folder=folder, environment=variables)
        return session, model.requests


def slow_at(name: str) -> Callable[[Event], Event]:
    """An endpoint that is too slow for one kind of event."""

    def answer(event: Event) -> Event:
        time.sleep(2.5 if event["hook_event_name"] == name else 0)
        return {}

    return answer


@pytest.mark.feature("A1")
def test_an_endpoint_that_dies_in_mid_run_denies_every_further_tool_and_the_session_ends(tmp_path: Path) -> None:
    def die(event: Event) -> Event:
        if "made-1" in str(event.get("tool_input")):
            raise ConnectionError  # what the connection sees when the process behind it dies
        return {}

    session, _ = run(tmp_path, [*(call(bash(f"touch made-{number}")) for number in range(3)), DONE], die)
    assert (session.exit_code, session.result["result"]) == (0, "done")
    assert [(tmp_path / f"made-{number}").exists() for number in range(2)] == [True, False]


@pytest.mark.feature("A1")
def test_a_slow_endpoint_denies_the_tool_and_the_session_continues(tmp_path: Path) -> None:
    session, _ = run(tmp_path, [call(bash("touch made")), DONE], slow_at("PreToolUse"))
    assert [entry["tool_name"] for entry in session.result["permission_denials"]] == ["Bash"]
    assert session.result["result"] == "done"


@pytest.mark.feature("A1")
def test_a_stop_without_a_response_from_the_hook_ends_the_session(tmp_path: Path) -> None:
    session, requests = run(tmp_path, [DONE], slow_at("Stop"))
    assert (session.exit_code, session.result["result"], len(requests)) == (0, "done", 1)


@pytest.mark.feature("A1")
def test_a_subagent_and_its_tools_are_asked_about_as_well(tmp_path: Path) -> None:
    asked: list[str] = []

    def deny_push(event: Event) -> Event:
        asked.append(str(event.get("tool_name", "")))
        if "git push" not in str(event.get("tool_input")) or event["tool_name"] != "Bash":
            return {}
        decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "the loop pushes"}
        return {"hookSpecificOutput": decision}

    helper = ("Agent", {"description": "push it", "prompt": "run git push", "subagent_type": "general-purpose"})
    session, requests = run(tmp_path, [call(helper), call(bash("git push")), say("I could not."), DONE], deny_push)
    assert [tool for tool in asked if tool] == ["Agent", "Bash"]
    assert "the loop pushes" in json.dumps([request.body["messages"] for request in requests])
    assert session.result["result"] == "done"
