"""Smaller promises: guard rails, the stop gate, files that only their user reads."""

import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deployments.demo_model import Turn, bash, by_call, call, say
from helmsman.guardrails import Allow, Deny, Judgement, Rules, Session, ToolCall, evaluate
from helmsman.guardrails.rules import table
from helmsman.records.iteration import IterationRecord
from tasks.agents.hooks import TOKEN
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_records
from tasks.triggers.deliveries import Deliveries
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.timeout(300)  # the first test also starts the engine

FORGE = """
import json, os, re, sys, time, urllib.request

def endpoint():
    pid = os.getppid()
    while pid > 1:
        found = re.search(r'http://127[^"]*/', open(f"/proc/{pid}/cmdline").read())
        if found:
            return found[0]
        pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])

session, times, url = sys.argv[1], int(sys.argv[2]), endpoint()
event = {"hook_event_name": "Stop", "stop_hook_active": False, "session_id": session or os.environ["CLAUDE_CODE_SESSION_ID"]}
headers = {"X-Helmsman-Token": os.environ["HELMSMAN_HOOK_TOKEN"]}
for _ in range(times):
    request = urllib.request.Request(url, json.dumps(event).encode(), headers)
    print(urllib.request.urlopen(request).read())
"""
"""What a process of the agent can do: it has the token and finds the endpoint in its parent's command line."""

FORGERIES = {
    "while its tool runs": "python3 forge.py '' 2",
    "for another session": "python3 forge.py 00000000-0000-4000-8000-000000000000 2",
    "from the background": "(python3 forge.py '' 400 > /dev/null 2>&1 &)",
}


def only_record(helmsman: ScriptedCommandLine) -> IterationRecord:
    (record,) = read_records(open_repository(helmsman.repository), "loop")
    return record


@pytest.mark.slow
@pytest.mark.feature("A4")
@pytest.mark.parametrize("how", FORGERIES)
def test_forged_stops_use_up_none_of_the_refusals_that_a_session_has(
    how: str, tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", {"app.py": "1\n", "forge.py": FORGE})
    mended = [
        Turn(text="I go on", tools=(bash("true"),)),
        Turn(text="And mend it", tools=(bash("echo 2 > app.py"),)),
        say("Done.\n<promise>COMPLETE</promise>"),
    ]
    with scripted_command_line(
        tmp_path, prefect_server.url, by_call([[call(bash(FORGERIES[how])), mended[-1], *mended]])
    ) as helmsman:
        helmsman.run_loop("g", "--check", "grep -q 2 app.py", "--max-iterations", "1", "--json")
        record = only_record(helmsman)
    assert record.checks
    assert record.checks.passed, record.execution.call.stops
    assert [stop.blocked for stop in record.execution.call.stops] == [True, False]


SWITCH_OFF = """
import pathlib, time

pathlib.Path(".claude").mkdir(exist_ok=True)
pathlib.Path(".claude/settings.json").write_text('{"disableAllHooks": true}')
time.sleep(3)
"""
"""The CLI heeds a changed settings file within a second or two, and says nothing."""


@pytest.mark.slow
@pytest.mark.feature("X7")
def test_guard_rails_that_fall_silent_in_mid_session_are_reported(tmp_path: Path, prefect_server: PrefectServer) -> None:
    make_repository(tmp_path / "repository", {"app.py": "1\n", "off.py": SWITCH_OFF})
    turns = [call(bash("python3 off.py")), call(bash("echo x > RUBRIC.md")), say("Done.")]
    with scripted_command_line(tmp_path, prefect_server.url, by_call([turns])) as helmsman:
        told = helmsman.run_loop("g", "--check", "test -f there", "--max-iterations", "1", "--json")
        assert told.exit_code == 3, told.errors  # the work is judged by its checks alone
        assert only_record(helmsman).execution.call.silent_hooks == ("PreToolUse", "Stop")
        for command in ("status", "log"):
            assert (
                "guard rails were not active in this iteration"
                in helmsman.run(command, "loop", "--repo", helmsman.repository).output
            )


@pytest.mark.feature("X7")
@pytest.mark.parametrize("settings", [{"disableAllHooks": True}, {"env": {TOKEN: "mine"}}], ids=["no hooks", "another token"])
def test_guard_rails_that_never_begin_to_act_stop_the_loop_before_it_works_unguarded(
    tmp_path: Path, prefect_server: PrefectServer, settings: dict[str, object]
) -> None:
    make_repository(tmp_path / "repository", {".claude/settings.json": json.dumps(settings)})
    with scripted_command_line(
        tmp_path, prefect_server.url, by_call([[call(bash("sleep 5; touch worked")), say("Done.")]])
    ) as helmsman:
        helmsman.run("trust", "--yes", "--repo", helmsman.repository)
        told = helmsman.run_loop("g", "--check", "true", "--json")
    assert told.exit_code == 2
    assert "does not call its hooks" in told.output


# --- command lines, which every user of the machine sees ------------------------------------------------------------

LOOK = """
import os, pathlib

secrets = [os.environ["HELMSMAN_HOOK_TOKEN"], os.environ["ANTHROPIC_API_KEY"], *pathlib.Path("planted.txt").read_text().split()]
lines = []
for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        lines.append(file.read_text(errors="replace"))
    except OSError:
        pass  # it has ended
if any("--settings" in line for line in lines) and not any(secret in line for secret in secrets for line in lines):
    pathlib.Path("hidden.txt").touch()
"""
PLANTED = {"GITHUB_TOKEN": "planted-tracker-token-1f0c", "HELMSMAN_WEBHOOK_SECRET": "planted-webhook-secret-77aa"}


@pytest.mark.slow
@pytest.mark.feature("X1")
def test_no_secret_stands_in_a_command_line_while_the_agent_works(tmp_path: Path, prefect_server: PrefectServer) -> None:
    make_repository(tmp_path / "repository", {"look.py": LOOK, "planted.txt": "\n".join(PLANTED.values())})
    with scripted_command_line(
        tmp_path, prefect_server.url, by_call([[call(bash("python3 look.py")), say("Done.")]])
    ) as helmsman:
        secrets = {**PLANTED, "ANTHROPIC_API_KEY": "sk-ant-planted-90210-abcdef"}
        helmsman.run_loop("g", "--check", "test -f hidden.txt", "--max-iterations", "1", "--json", **secrets)
        record = only_record(helmsman)
    assert record.checks
    assert record.checks.passed


# --- files --------------------------------------------------------------------------------------------------------


def readable_by_others(root: Path) -> Iterator[Path]:
    """What another user of this machine can open, by the modes of what lies below a folder."""
    mode = root.lstat().st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IXOTH:
        for path in root.iterdir():
            yield from readable_by_others(path)
    elif (stat.S_ISREG(mode) and mode & stat.S_IROTH) or (stat.S_ISSOCK(mode) and mode & stat.S_IWOTH):
        yield root


@pytest.mark.feature("X1")
def test_nothing_that_a_loop_keeps_can_be_read_by_another_user(tmp_path: Path, prefect_server: PrefectServer) -> None:
    make_repository(tmp_path / "repository", {"app.py": "1\n"})
    with scripted_command_line(
        tmp_path, prefect_server.url, by_call([[call(bash("echo 2 > app.py")), say("Done.")]])
    ) as helmsman:
        told = helmsman.run_loop("g", "--check", "grep -q 2 app.py", "--max-iterations", "1")
    folder = loop_folder(open_repository(tmp_path / "repository"), "loop")
    assert (folder.journal.is_file(), folder.calls.is_dir()) == (True, True), told.errors
    assert list(readable_by_others(tmp_path / "repository" / ".git" / "helmsman")) == []
    assert list(readable_by_others(tmp_path / "state")) == []


@pytest.mark.feature("X1")
def test_folders_of_an_earlier_version_are_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repository(tmp_path / "repository", {})
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))
    for folder in (tmp_path / "state" / "receiver", tmp_path / "repository" / ".git" / "helmsman" / "loops"):
        folder.mkdir(parents=True)
        (folder / "deliveries.sqlite").touch()
    loop_folder(open_repository(tmp_path / "repository"), "loop")
    Deliveries(tmp_path / "state" / "receiver" / "deliveries.sqlite").accept("a-delivery", [], datetime.now(UTC))
    assert list(readable_by_others(tmp_path / "repository" / ".git" / "helmsman")) == []
    assert stat.S_IMODE((tmp_path / "state" / "receiver" / "deliveries.sqlite").stat().st_mode) == 0o600


# --- plain words --------------------------------------------------------------------------------------------------

RULES = Rules("/nest/dev/loops/parser", start="3f2a9c1d7e5b", branch="helmsman/parser", home="/nest/dev")


def judged(command: str) -> Judgement:
    return evaluate(ToolCall("Bash", {"command": command}, RULES.worktree), Session(RULES.worktree), RULES)


@pytest.mark.feature("A2")
def test_commands_that_control_the_loop_are_denied_with_a_remedy() -> None:
    """Each row of guardrails.toml has its examples."""
    expected = {command: row["rule"] for row in table()["deny"] for command in row.get("denied", ())}
    answers = {command: judged(command) for command in expected}
    assert {command: "" if isinstance(answer, Allow) else answer.rule for command, answer in answers.items()} == expected
    denials = [answer for answer in answers.values() if isinstance(answer, Deny)]
    assert len(denials) >= len(expected) - 5  # to leave a branch is only advised against, and so is to clean
    assert [denial for denial in denials if len(denial.reason) < 30] == []


@pytest.mark.feature("A2")
def test_their_nearest_honest_look_alikes_pass() -> None:
    assert [command for row in table()["deny"] for command in row.get("allowed", ()) if judged(command) != Allow()] == []
