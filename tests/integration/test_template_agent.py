"""Agents that are a command template: real processes with every way of passing the prompt and of ending."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helmsman.agents import LONGEST_ARGUMENT, fit_configuration
from helmsman.config.layers import Layer, resolve
from helmsman.errors import Cancelled, OperatorError, TransientError
from helmsman.records.agent import AgentCall, AgentOutcome
from helmsman.records.agents import Agent, AgentKind
from helmsman.records.events import Event, ToolCalled
from helmsman.records.state import LoopState
from tasks.agents import claude
from tasks.agents.call import Order
from tasks.agents.call_folder import CallFolder, begin, finished_call
from tasks.agents.catalogue import agent_names, find_agent, find_program
from tasks.agents.template import environment_of
from tasks.system.journal import listening
from tests.fakes.processes import eventually
from tests.fakes.repositories import LoopWork, make_repository, start_loop

pytestmark = [pytest.mark.slow, pytest.mark.feature("A5")]

CODEX = (Path(__file__).parents[1] / "recordings" / "agents" / "codex" / "success.jsonl").read_text("utf-8")
TURN = '{"type":"turn.completed","usage":{"input_tokens":7}}'


def program(folder: Path, shell: str) -> Path:
    """An executable that records each start and runs this script."""
    folder.mkdir(exist_ok=True)
    path = folder / "agent"
    path.write_text(f"#!/bin/sh\nhere='{folder}'\necho start >> \"$here/starts\"\n{shell}\n")
    path.chmod(0o755)
    return path


def starts(folder: Path) -> int:
    log = folder / "starts"
    return len(log.read_text().splitlines()) if log.exists() else 0


def loop(folder: Path, *command: str, words: Mapping[str, AgentOutcome] | None = None, **changes: Any) -> LoopWork:
    """A loop that is about to call this command; `changes`: fields of the kind, and sections of the configuration."""
    sections = {name: changes.pop(name) for name in ("agent", "claude", "limits") if name in changes}
    kind = AgentKind(name="any", command=command, words=dict(words or {}), **changes)
    found = resolve([Layer("test", {"goal": "g", "checks": ["true"], **sections})])
    config, _ = fit_configuration(found.config, found.origins, kind)
    work = start_loop(make_repository(folder / "repository"), folder / "worktree")
    state = work.state.model_copy(update={"config": config, "agent": Agent(kind=kind)})
    return LoopWork(work.repository, work.path, state, work.start)


def call(work: LoopWork, prompt: str = "go on", state: LoopState | None = None, *, stopped: bool = False) -> AgentCall:
    order = Order(work.context, state or work.state, prompt, work.start, credentials={"SECRET": "s"}, stop=lambda: stopped)
    return claude.call_agent(order)


# --- the prompt -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "options", "reads"),
    [("stdin", (), "cat"), ("argument", ("--say", "{prompt}"), 'printf %s "$2"'), ("file", ("{prompt_file}",), 'cat "$1"')],
)
def test_the_prompt_arrives_unchanged(tmp_path: Path, prompt: Any, options: tuple[str, ...], reads: str) -> None:
    told = "Do 'this' \"now\"; $(touch hacked) `touch hacked` {model} {prompt}\nand that. ä"
    agent = program(tmp_path / "agent", f'{reads} > "$here/prompt"; pwd > "$here/folder"; echo "I did."')
    work = loop(tmp_path, str(agent), *options, prompt=prompt)
    made = call(work, told)
    assert (made.outcome, made.final_text, made.exit_code) == ("finished", "I did.", 0)
    assert (tmp_path / "agent" / "prompt").read_text() == told
    assert Path((tmp_path / "agent" / "folder").read_text().strip()) == work.path.resolve()
    assert not (work.path / "hacked").exists()


@pytest.mark.feature("O2")
def test_a_program_without_system_text_gets_it_before_the_prompt(tmp_path: Path) -> None:
    work = loop(tmp_path, str(program(tmp_path / "agent", "cat")), prompt="stdin")
    claude.call_agent(Order(work.context, work.state, "go on", work.start, system="You work unattended."))
    assert (
        CallFolder(work.context.folder.call(work.state.due, 1), work.state.uid).prompt.read_text()
        == "You work unattended.\n\ngo on"
    )


def test_a_prompt_beyond_what_an_argument_holds_is_refused_and_goes_by_file_or_standard_input(tmp_path: Path) -> None:
    long = "x" * (LONGEST_ARGUMENT + 1)
    agent = program(tmp_path / "agent", 'wc -c < "${1:-/dev/stdin}"')
    with pytest.raises(OperatorError, match="too long for any, which takes it as an argument"):
        call(loop(tmp_path / "a", str(agent), prompt="argument"), long)
    assert starts(tmp_path / "agent") == 0
    for prompt, options in (("file", ("{prompt_file}",)), ("stdin", ())):
        assert call(loop(tmp_path / prompt, str(agent), *options, prompt=prompt), long).final_text == str(len(long))


def test_it_gets_only_its_own_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MINE", "OTHERS"):
        monkeypatch.setenv(name, "value-of-" + name)
    work = loop(tmp_path, "sh", environment=("OPENAI_*",), agent={"environment": ["MINE"]})
    seen = environment_of(work.context, work.state)
    assert {"OPENAI_API_KEY", "MINE", "HELMSMAN_DEPTH", "PATH"} <= set(seen)
    assert not {"ANTHROPIC_API_KEY", "OTHERS", "SECRET"} & set(seen)


@pytest.mark.parametrize("long", ["", "x" * 9000 + "\n"])
def test_a_repeated_prompt_is_not_part_of_the_final_text(tmp_path: Path, long: str) -> None:
    told = f"{long}Mend it.\nWhen it is true, end with <promise>COMPLETE</promise> on a line of its own.\nThat is all.\n"
    agent = program(tmp_path / "agent", 'cat; echo "no answer"')
    assert call(loop(tmp_path / "a", str(agent)), told).final_text == "no answer"
    framed = program(tmp_path / "framed", 'echo "my-agent 1.0"; cat; echo "Done."; echo "<promise>COMPLETE</promise>"')
    made = call(loop(tmp_path / "b", str(framed)), told)
    assert made.final_text.endswith("Done.\n<promise>COMPLETE</promise>")
    assert made.final_text.count("COMPLETE") == 1


# --- the end --------------------------------------------------------------------------------------------------------------


def test_a_failing_program_is_reported_in_its_own_words(tmp_path: Path) -> None:
    agent = program(tmp_path / "agent", "echo half; echo 'the disk is full' >&2; exit 3")
    made = call(loop(tmp_path, str(agent)))
    assert (made.outcome, made.exit_code, made.error, made.final_text) == ("crashed", 3, "the disk is full", "half")


def test_a_silent_program_with_events_is_ended_as_hung(tmp_path: Path) -> None:
    agent = program(tmp_path / "agent", 'echo \'{"type":"turn.started"}\'; sleep 60')
    made = call(loop(tmp_path, str(agent), output="codex", claude={"idle_timeout_minutes": 0.01}))
    assert (made.outcome, made.turns) == ("hung", 1)


def test_a_program_without_events_may_be_silent_until_its_time_is_up(tmp_path: Path) -> None:
    agent = program(tmp_path / "agent", "sleep 1; echo done")
    assert call(loop(tmp_path / "a", str(agent), claude={"idle_timeout_minutes": 0.01})).outcome == "finished"
    slow = program(tmp_path / "slow", "sleep 60")
    assert call(loop(tmp_path / "b", str(slow), limits={"wall_clock_hours": 0.0003})).outcome == "timed_out"


def test_a_cancelled_call_ends_at_once_and_is_not_recorded(tmp_path: Path) -> None:
    work = loop(tmp_path, str(program(tmp_path / "agent", "sleep 60")))
    with pytest.raises(Cancelled):
        call(work, stopped=True)
    assert finished_call(CallFolder(work.context.folder.call(1, 1), work.state.uid)) is None


def test_a_transient_error_before_any_work_is_retried(tmp_path: Path) -> None:
    words = {"too many requests": AgentOutcome.RATE_LIMITED}
    refuses = program(tmp_path / "agent", "echo 'Too Many Requests' >&2; exit 1")
    work = loop(tmp_path / "a", str(refuses), words=words)
    with pytest.raises(TransientError, match="could not reach its model"):
        call(work)
    assert not CallFolder(work.context.folder.call(1, 1), work.state.uid).started.exists()
    late = program(tmp_path / "late", "echo 1 > made; echo 'Too Many Requests' >&2; exit 1")
    made = call(loop(tmp_path / "b", str(late), words=words))
    assert made.outcome == "rate_limited", "it has worked, as the tree tells, so it is not made again in silence"


def test_tool_calls_are_published_live_and_destruction_ends_the_session(tmp_path: Path) -> None:
    command = {"id": "1", "type": "command_execution", "command": "/bin/bash -lc 'rm -rf .git'", "exit_code": 0}
    for when in ("started", "completed"):
        (tmp_path / when).write_text(json.dumps({"type": f"item.{when}", "item": command}) + "\n")
    script = f"cat '{tmp_path}/started'; sleep 0.5; rm -rf .git; cat '{tmp_path}/completed'; sleep 60"
    work = loop(tmp_path, str(program(tmp_path / "agent", script)), output="codex")
    heard: list[Event] = []
    with listening(heard.append):
        made = call(work)
    assert [(event.tool, event.detail) for event in heard if isinstance(event, ToolCalled)] == [("Bash", "rm -rf .git")]
    assert made.pain == "a destructive command ran: it removed the working tree's .git"
    assert made.outcome == "aborted"


@pytest.mark.feature("E6")
def test_an_agent_with_costs_ends_at_the_next_tool_call_beyond_the_budget(tmp_path: Path) -> None:
    finish = {"type": "step_finish", "part": {"cost": 2, "tokens": {"input": 10}, "reason": "tool-calls"}}
    tool = {"type": "tool_use", "part": {"callID": "1", "tool": "bash", "state": {"input": {"command": "ls"}}}}
    (tmp_path / "told").write_text("".join(f"{json.dumps(line)}\n" for line in (finish, tool)))
    agent = program(tmp_path / "agent", f"cat '{tmp_path}/told'; sleep 60")
    made = call(loop(tmp_path, str(agent), output="opencode", limits={"cost_usd": 1}))
    assert (made.outcome, made.error) == ("call_budget", "used $2.00 of this call's budget of $1.00")


# --- after a crash ---------------------------------------------------------------------------------------------------------


def test_a_call_that_ended_is_not_made_again_when_its_driver_died(tmp_path: Path) -> None:
    agent = program(tmp_path / "agent", "echo never")
    work = loop(tmp_path, str(agent), output="codex")
    folder = CallFolder(work.context.folder.call(1, 1), work.state.uid)
    begin(folder, "go on", work.start, None, work.state.agent.kind if work.state.agent else None)
    folder.transcript.write_text(CODEX)
    made = call(work)
    assert (made.outcome, made.final_text, made.usage.tokens, starts(tmp_path / "agent")) == ("finished", "add adds now", 330, 0)
    assert (finished_call(folder), folder.packed.exists()) == (made, True)
    assert call(work) == made


DRIVER = """
import sys
from pathlib import Path
from helmsman.records.state import LoopState
from tasks.agents.claude import call_agent
from tasks.agents.call import Order
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.loop_context import LoopContext
repository, state = open_repository(Path(sys.argv[1])), LoopState.model_validate_json(Path(sys.argv[3]).read_text())
place = LoopContext(repository, Path(sys.argv[2]), loop_folder(repository, state.loop))
call_agent(Order(place, state, "go on", state.head))
"""


@pytest.mark.parametrize(("ends", "again"), [(True, 0), (False, 1)])
def test_kill_9_of_the_driver_repeats_only_what_had_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ends: bool, again: int
) -> None:
    """The driver dies before or after the program has reported the end of its turn."""
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))
    said = f"[ -e \"$here/second\" ] || echo '{TURN if ends else '{}'}'"
    more = f'[ -e "$here/second" ] && echo \'{TURN}\' && exit 0\ntouch "$here/second"; sleep 60'
    work = loop(tmp_path, str(program(tmp_path / "agent", f"{said}\n{more}")), output="codex")
    (tmp_path / "state.json").write_text(work.state.model_dump_json())
    places = str(work.repository.top), str(work.path), str(tmp_path / "state.json")
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *places], cwd=Path(__file__).parents[2])
    try:
        assert eventually((tmp_path / "agent" / "second").exists, 30)
        folder = CallFolder(work.context.folder.call(1, 1), work.state.uid)
        assert eventually(lambda: folder.transcript.exists() and folder.transcript.stat().st_size > 0)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert (finished_call(folder) is not None) == ends
    assert (call(work).outcome, starts(tmp_path / "agent")) == ("finished", 1 + again)


# --- finding them -----------------------------------------------------------------------------------------------------------


def test_a_repositorys_agents_replace_built_in_ones(tmp_path: Path) -> None:
    place = tmp_path / ".helmsman" / "agents"
    place.mkdir(parents=True)
    (place / "mine.toml").write_text('name = "mine"\ncommand = ["mine", "run"]\n')
    (place / "codex.toml").write_text('name = "codex"\ncommand = ["codex", "exec", "-"]\n')
    (place / "claude.toml").write_text('name = "claude"\ncommand = ["mine"]\n')
    (place / "wrong.toml").write_text('name = "another"\ncommand = ["mine"]\n')
    (tmp_path.parent / "outside.toml").write_text('name = "linked"\ncommand = ["mine"]\n')
    (place / "linked.toml").symlink_to(tmp_path.parent / "outside.toml")
    assert {"mine", "codex", "gemini"} <= set(agent_names(tmp_path))
    config = resolve([Layer("test", {"goal": "g"})]).config.agent
    named = {name: config.model_copy(update={"kind": name}) for name in ("mine", "codex", "claude", "wrong", "linked", "codxe")}
    found = {name: find_agent(tmp_path, named[name]) for name in ("mine", "codex", "claude")}
    assert {name: one.command if one else None for name, one in found.items()} == {
        "mine": ("mine", "run"),
        "codex": ("codex", "exec", "-"),
        "claude": None,
    }
    for name, complaint in (("wrong", "its agent has another name"), ("linked", "leads out of"), ("codxe", "did you mean codex")):
        with pytest.raises(OperatorError, match=complaint):
            find_agent(tmp_path, named[name])


def test_a_programs_path_is_relative_to_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = program(tmp_path / "tools", "echo")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    config = resolve([Layer("test", {"goal": "g"})]).config.agent
    assert find_program(AgentKind(name="any", command=("tools/agent",)), config, tmp_path) == agent
    assert find_program(AgentKind(name="any", command=(str(agent),)), config, tmp_path) == agent
