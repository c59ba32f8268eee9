"""Interrupted calls, read back from disk."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from tasks.agents.call_folder import (
    CallFolder,
    _sign,  # pyright: ignore[reportPrivateUsage] - a call that began at a time of the test's choice
    finished_call,
    interrupted_call,
)
from tests.fakes.recordings import FOLDER, replay
from tests.fakes.repositories import NOW

pytestmark = pytest.mark.feature("E3")


def killed_call(folder: Path, recording: str, seconds: float = 90) -> CallFolder:
    call = CallFolder(folder, "u1")
    call.started.write_text(_sign(call, call.started, json.dumps({"start": "b" * 40, "at": NOW.isoformat()})))
    call.transcript.write_bytes((FOLDER / f"{recording}.jsonl").read_bytes())
    os.utime(call.started, (NOW.timestamp(), NOW.timestamp()))
    os.utime(call.transcript, (NOW.timestamp() + seconds, NOW.timestamp() + seconds))
    return call


def test_a_killed_call_is_charged_its_known_tokens_and_time(tmp_path: Path) -> None:
    found = interrupted_call(killed_call(tmp_path, "sigkill"))
    assert found
    assert (found.start, found.started_at, found.ended_at) == ("b" * 40, NOW, NOW + timedelta(seconds=90))
    assert found.usage == replay("sigkill", -9).usage
    assert found.usage.tokens > 0


def test_a_call_killed_before_any_output_used_nothing(tmp_path: Path) -> None:
    call = killed_call(tmp_path, "sigkill")
    call.transcript.unlink()
    found = interrupted_call(call)
    assert found
    assert (found.ended_at, found.usage.tokens) == (NOW, 0)


def test_a_clock_set_back_gives_no_negative_time(tmp_path: Path) -> None:
    found = interrupted_call(killed_call(tmp_path, "sigkill", seconds=-60))
    assert found
    assert found.ended_at == NOW


def test_a_call_with_a_result_was_not_interrupted(tmp_path: Path) -> None:
    call = killed_call(tmp_path, "success")
    assert interrupted_call(call) is None
    assert finished_call(call)
