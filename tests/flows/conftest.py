"""Loops that run in this process, on the embedded engine of the session."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.state_ref import read_state
from tests.fakes.repositories import make_repository
from tests.fakes.scripted_agent import Call, scripted_agent


@dataclass(frozen=True)
class Driven:
    """A loop after its flow has ended."""

    state: LoopState
    repository: Path
    agent: Path
    """Folder of the scripted agent."""
    engine_state: Any


Drive = Callable[..., Driven]


@pytest.fixture
def drive(engine_url: str, repository: Path, tmp_path: Path) -> Drive:
    """Drive a loop with a scripted agent to its end, in this process."""

    def run(calls: Sequence[Call], *, name: str = "loop", checks: Sequence[str] = ("sh check.sh",), **settings: Any) -> Driven:
        from flows.loop import loop

        folder = tmp_path / "agent"
        claude = {"binary": str(scripted_agent(folder, calls)), "permission_mode": "acceptEdits", **settings.pop("claude", {})}
        request = LoopRequest(
            repository=str(repository),
            goal="make it so",
            checks=tuple(checks),
            loop=name,
            settings={"claude": claude, "steering": {"hooks": False}, **settings},
        )
        final = loop(request, return_state=True)
        state, _ = read_state(open_repository(repository), name)
        return Driven(state=state, repository=repository, agent=folder, engine_state=final)

    return run


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose check passes when the file `answer` says 42."""
    return make_repository(tmp_path / "repository", {"check.sh": 'test "$(cat answer 2>/dev/null)" = 42\n'})
