"""The scripted model drives the real Claude Code CLI."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deployments.demo_model import ScriptedModel, by_call, environment, say
from helmsman.parsers.usage_limits import read_limit
from tasks.system.environment import AGENT_DEFAULTS
from tests.fakes.claude_cli import run_claude
from tests.fakes.faults import Fault
from tests.fakes.repositories import make_repository


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
    windows = {"5h": ("allowed_warning", "0.93", reset), "7d": ("allowed", "0.4", reset + day)}
    of_all = {"status": "allowed_warning", "reset": str(reset), "representative-claim": "five_hour"}
    of_each = {
        f"{name}-{what}": str(value)
        for name, values in windows.items()
        for what, value in zip(("status", "utilization", "reset"), values, strict=True)
    }
    told = of_all | of_each | {"5h-surpassed-threshold": "0.9"}
    warning = Fault(text="done", headers={f"anthropic-ratelimit-unified-{name}": value for name, value in told.items()})
    with ScriptedModel(by_call([[warning]])) as model:
        variables = environment(model.url, tmp_path / "home") | {"CLAUDE_CODE_OAUTH_TOKEN": "dummy"}
        del variables["ANTHROPIC_API_KEY"]
        session = run_claude("go", folder=tmp_path, environment=variables)
    (event,) = session.of_type("rate_limit_event")
    limit = read_limit(event["rate_limit_info"])
    assert (limit.status, limit.window, limit.utilization) == ("allowed_warning", "five_hour", 0.93)
    assert [(one.name, one.utilization) for one in limit.windows] == [("five_hour", 0.93), ("seven_day", 0.4)]
    assert limit.windows[1].resets_at == datetime.fromtimestamp(reset + day, UTC)
