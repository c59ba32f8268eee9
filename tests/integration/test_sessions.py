"""Calls that were interrupted or resume a session: read back from disk, and repeated without a session that is gone."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from helmsman.config import ClaudeConfig
from helmsman.records.agent import AgentCall, AgentOutcome, KeptSession
from helmsman.records.base import Usage
from tasks.agents.call import Order
from tasks.agents.call_folder import CallFolder, begin, discard_call, finish, finished_call, interrupted_call, requested_session
from tasks.agents.claude import arguments, call_agent
from tests.fakes.recordings import FOLDER, replay
from tests.fakes.repositories import NOW, LoopWork, make_repository, start_loop
from tests.fakes.scripted_agent import Call, calls_made, prompt_of, result, says, scripted_agent

pytestmark = pytest.mark.feature("E2", "E3")

EARLIER = Usage(cost_usd=0.01, input_tokens=100, cache_read_tokens=1000)
KEPT = KeptSession(id="4d4dac99-07da-4e3c-995e-0e6adb23a068", used_at=NOW, total=EARLIER)
UNKNOWN = (FOLDER / "unknown_session.jsonl").read_text()
LOST = Call(events=tuple(map(json.loads, UNKNOWN.splitlines())), exit_code=1)


def interrupted(folder: Path, recording: str, session: KeptSession | None = KEPT, uid: str = "u1") -> CallFolder:
    """A call that was interrupted after it printed this recording."""
    call = CallFolder(folder, uid)
    begin(call, "go on", "b" * 40, session)
    call.transcript.write_bytes((FOLDER / f"{recording}.jsonl").read_bytes())
    return call


def test_a_call_read_back_is_charged_what_it_added_to_its_session(tmp_path: Path) -> None:
    whole = replay("success").usage
    found = finished_call(interrupted(tmp_path, "success"))
    assert found
    assert found.resumed
    assert found.usage.cost_usd == pytest.approx(whole.cost_usd - 0.01)
    assert found.usage.tokens == whole.tokens - EARLIER.tokens
    alone = finished_call(interrupted(tmp_path, "success", None))
    assert alone
    assert (alone.usage, alone.resumed) == (whole, False)


def test_a_recorded_call_is_read_back_unchanged(tmp_path: Path) -> None:
    folder = interrupted(tmp_path, "success")
    noted = finished_call(folder)
    assert noted
    finish(folder, noted)
    assert finished_call(folder) == noted
    assert not folder.transcript.exists()


@pytest.mark.parametrize(("more", "seconds"), [(90, 90), (-60, 0)], ids=["as ever", "the clock was set back"])
def test_a_killed_call_is_charged_its_own_known_tokens_and_its_time(tmp_path: Path, more: float, seconds: float) -> None:
    call = interrupted(tmp_path, "sigkill")
    os.utime(call.started, (1000, 1000))
    os.utime(call.transcript, (1000 + more, 1000 + more))
    found = interrupted_call(call)
    assert found
    assert (found.start, found.ended_at - found.started_at) == ("b" * 40, timedelta(seconds=seconds))
    assert found.usage == replay("sigkill", -9).usage
    assert found.usage.tokens > 0


def test_a_call_killed_before_any_output_used_nothing_and_one_with_a_result_was_not_interrupted(tmp_path: Path) -> None:
    call = interrupted(tmp_path, "success")
    assert interrupted_call(call) is None
    call.transcript.unlink()
    found = interrupted_call(call)
    assert found
    assert (found.ended_at, found.usage.tokens) == (found.started_at, 0)


def test_a_transcript_of_a_discarded_call_is_no_call(tmp_path: Path) -> None:
    folder = interrupted(tmp_path, "unknown_session")
    folder.started.unlink()
    assert (finished_call(folder), interrupted_call(folder), requested_session(folder)) == (None, None, None)
    discard_call(folder)
    assert (tmp_path / "transcript.failed.jsonl").read_text() == UNKNOWN


@pytest.mark.feature("O2")
def test_the_constant_text_is_appended_to_the_system_text() -> None:
    line = arguments(ClaudeConfig(), system="ours")
    assert line[line.index("--append-system-prompt") + 1] == "ours"


def call_with(tmp_path: Path, *calls: Call, died_after: str = "") -> tuple[AgentCall, LoopWork]:
    """The due call of a loop that resumes a session; its driver may have died after that recording."""
    agent = scripted_agent(tmp_path / "agent", calls)
    work = start_loop(make_repository(tmp_path / "repository"), tmp_path / "worktree")
    claude = {"binary": str(agent), "permission_mode": "acceptEdits", "session": "resume"}
    config = work.state.config.model_copy(update={"claude": ClaudeConfig.model_validate(claude)})
    state = work.state.model_copy(
        update={"config": config.model_copy(update={"steering": config.steering.model_copy(update={"hooks": False})})}
    )
    if died_after:
        interrupted(work.context.folder.call(1, 1), died_after, uid=state.uid)
    made = call_agent(Order(work.context, state, "go on", work.start, KEPT))
    return made, work


def test_a_missing_session_is_replaced_at_once(tmp_path: Path) -> None:
    made, work = call_with(tmp_path, LOST, says("Anew.", cost=0.02))
    assert (made.outcome, made.resumed, made.usage.cost_usd) == (AgentOutcome.FINISHED, False, 0.02)
    folder = CallFolder(work.context.folder.call(1, 1), work.state.uid)
    assert (requested_session(folder), finished_call(folder)) == (None, made)
    assert [prompt_of(tmp_path / "agent", number) for number in range(2)] == ["go on", "go on"]


def test_a_missing_session_is_replaced_after_a_crash_of_the_driver(tmp_path: Path) -> None:
    made, _ = call_with(tmp_path, says("Anew."), died_after="unknown_session")
    assert (made.outcome, made.resumed, calls_made(tmp_path / "agent")) == (AgentOutcome.FINISHED, False, 1)


def test_a_call_that_ended_is_not_made_again_when_its_driver_died(tmp_path: Path) -> None:
    made, _ = call_with(tmp_path, says("Never said."), died_after="success")
    assert (made.resumed, calls_made(tmp_path / "agent")) == (True, 0)


def test_a_new_session_reported_as_unknown_is_not_repeated(tmp_path: Path) -> None:
    made, work = call_with(tmp_path, LOST)
    assert (made.outcome, calls_made(tmp_path / "agent")) == (AgentOutcome.UNKNOWN_SESSION, 2)
    call_agent(Order(work.context, work.state, "go on", work.start, KEPT))
    assert calls_made(tmp_path / "agent") == 2


def test_an_unknown_session_after_work_is_a_normal_ending(tmp_path: Path) -> None:
    tool: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    worked: dict[str, Any] = {"type": "assistant", "message": {"id": "m", "content": [tool]}}
    late = Call(
        events=(
            worked,
            result("", subtype="error_during_execution", is_error=True, num_turns=0, errors=LOST.events[-1]["errors"]),
        )
    )
    made, _ = call_with(tmp_path, late, says("Never said."))
    assert (made.outcome, calls_made(tmp_path / "agent")) == (AgentOutcome.UNKNOWN_SESSION, 1)
