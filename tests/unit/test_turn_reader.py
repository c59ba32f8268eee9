"""Where the stream shows that an agent was sent back when it wanted to end its turn."""

from typing import Any

import pytest

from helmsman.parsers.claude_stream import ClaudeReader, TurnReader
from tests.fakes.recordings import FOLDER, events
from tests.unit.builders import NOW

pytestmark = pytest.mark.feature("A4")


def event(kind: str, identity: str = "", **block: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"id": identity, "content": [block] if block else []}}


def says(identity: str, words: str = "done") -> dict[str, Any]:
    return event("assistant", identity, type="text", text=words)


CALLS = event("assistant", "b", type="tool_use", id="t", name="Bash", input={})
RETURNED = event("user", type="tool_result", tool_use_id="t")
FEEDBACK = event("user", type="text", text="Stop hook feedback:\nmend it")


@pytest.mark.parametrize(
    ("stream", "sent_back"),
    [
        ([says("a"), says("b")], [False, True]),
        ([says("a"), says("a"), CALLS, RETURNED, says("c")], [False, False, True, False, False]),
        ([says("a"), FEEDBACK, says("b")], [False, True, False]),
        ([says("b"), CALLS, RETURNED, says("c")], [False] * 4),
        ([says("a"), event("user", type="text", text="Output token limit hit."), says("b")], [False] * 3),
        ([says("a"), {"type": "result"}, says("b")], [False] * 3),
        ([says("a"), {"type": "system", "subtype": "notification"}, says("b")], [False, False, True]),
        ([says("a"), says("b") | {"parent_tool_use_id": "t"}], [False, False]),
        ([{"type": "assistant", "message": 1}, {"type": "user"}, {}], [False] * 3),
    ],
    ids=["context", "several blocks", "block", "tools", "cut off", "background", "notices", "subagent", "hostile"],
)
def test_it_was_sent_back_where_the_model_speaks_again_though_its_turn_was_over(
    stream: list[dict[str, Any]], sent_back: list[bool]
) -> None:
    reader = TurnReader()
    assert [reader.feed(one) for one in stream] == sent_back


def test_what_was_said_before_is_not_the_last_word() -> None:
    reader = ClaudeReader()
    for one in (says("a", "<promise>COMPLETE</promise>"), says("b", "CONTINUE: a test fails.")):
        reader.feed(one)
    call = reader.conclude(exit_code=0, ended_by="itself", stderr="", seconds=1, now=NOW)
    assert call.final_text == "CONTINUE: a test fails."


def test_of_all_recorded_sessions_only_the_one_with_a_stop_hook_was_sent_back() -> None:
    readers = {path.stem: TurnReader() for path in FOLDER.glob("*.jsonl")}
    assert {name for name, reader in readers.items() if any(map(reader.feed, events(name)))} == {"stop_hook_cap"}
