"""Plays recorded event streams of the real CLI into a reader."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from helmsman.parsers.agent_actions import parse_event
from helmsman.parsers.agent_ending import EndCause
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.agent import AgentCall

FOLDER = Path(__file__).parent.parent / "recordings" / "claude"
RECORDED = datetime(2026, 11, 22, 4, 50, tzinfo=UTC)
"""Just after the recordings were made, before any of their resets."""


def events(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_bytes().splitlines()
    parsed = [parse_event(line) for line in lines]
    assert None not in parsed, f"{name} holds a broken line"
    return [event for event in parsed if event]


def stderr(name: str) -> str:
    path = FOLDER / f"{name}.stderr.txt"
    return path.read_text("utf-8") if path.exists() else ""


def replay(name: str, exit_code: int | None = 0, *, by: EndCause = "itself", now: datetime = RECORDED) -> AgentCall:
    """The recorded call, folded."""
    return fold(*events(name), exit_code=exit_code, by=by, said=stderr(name), now=now)


def fold(
    *stream: dict[str, Any],
    exit_code: int | None = 0,
    by: EndCause = "itself",
    said: str = "",
    now: datetime = RECORDED,
    reader: ClaudeReader | None = None,
) -> AgentCall:
    """A call with these events, read by a new reader if none is given."""
    reader = reader or ClaudeReader()
    for event in stream:
        reader.feed(event)
    return reader.conclude(exit_code=exit_code, ended_by=by, stderr=said, seconds=1.5, now=now)
