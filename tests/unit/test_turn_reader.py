"""Where the stream shows that an agent was sent back when it wanted to end its turn."""

from typing import Any

import pytest

from helmsman.parsers.claude_stream import TurnReader
from tests.fakes.recordings import FOLDER, events

pytestmark = pytest.mark.feature("A4")


def event(kind: str, identity: str = "", **block: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"id": identity, "content": [block] if block else []}}


def says(identity: str, words: str = "done") -> dict[str, Any]:
    return event("assistant", identity, type="text", text=words)


CALLS = event("assistant", "b", type="tool_use", id="t", name="Bash", input={})
RETURNED = event("user", type="tool_result", tool_use_id="t")
FEEDBACK = event("user", type="text", text="Stop hook feedback:\nmend it")


def test_a_message_after_the_end_of_a_turn_shows_a_stop_hook() -> None:
    cases = {
        "context": ([says("a"), says("b")], [False, True]),
        "several blocks": ([says("a"), says("a"), CALLS, RETURNED, says("c")], [False, False, True, False, False]),
        "block": ([says("a"), FEEDBACK, says("b")], [False, True, False]),
        "tools": ([says("b"), CALLS, RETURNED, says("c")], [False] * 4),
        "cut off": ([says("a"), event("user", type="text", text="Output token limit hit."), says("b")], [False] * 3),
        "background": ([says("a"), {"type": "result"}, says("b")], [False] * 3),
        "notices": ([says("a"), {"type": "system", "subtype": "notification"}, says("b")], [False, False, True]),
        "subagent": ([says("a"), says("b") | {"parent_tool_use_id": "t"}], [False, False]),
        "hostile": ([{"type": "assistant", "message": 1}, {"type": "user"}, {}], [False] * 3),
    }
    for case, (stream, sent_back) in cases.items():
        reader = TurnReader()
        assert [reader.feed(one) for one in stream] == sent_back, case


def test_only_the_recording_with_a_stop_hook_shows_one() -> None:
    readers = {path.stem: TurnReader() for path in FOLDER.glob("*.jsonl")}
    assert {name for name, reader in readers.items() if any(map(reader.feed, events(name)))} == {"stop_hook_cap"}
