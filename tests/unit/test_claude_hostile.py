"""The event stream as hostile input: nothing in it raises, nothing in it grows without bound."""

import pickle
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmsman.parsers.agent_ending import EndCause
from helmsman.parsers.claude_stream import ClaudeReader, tool_calls
from helmsman.records.agent import AgentCall
from tests.fakes.recordings import FOLDER, events, fold

STREAMS = [events(path.stem) for path in sorted(FOLDER.glob("*.jsonl"))]
EVENTS = [event for stream in STREAMS for event in stream]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from([10**400, -1, "\ud800", "<synthetic>", "rejected", "rate_limit", "success"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
BY = st.sampled_from(["itself", "deadline", "idle", "stop"])
CODES = st.none() | st.integers(-64, 255)


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    """A real event in which values at any depth were replaced by any JSON."""
    return _spoil(draw, draw(st.sampled_from(EVENTS)), draw(st.integers(1, 4)))


def _spoil(draw: st.DrawFn, node: Any, depth: int) -> Any:
    if depth and isinstance(node, dict) and node:
        fields = cast("dict[str, Any]", node)
        key = draw(st.sampled_from(sorted(fields)))
        return {**fields, key: _spoil(draw, fields[key], depth - 1)}
    if depth and isinstance(node, list) and node:
        first, *rest = cast("list[Any]", node)
        return [_spoil(draw, first, depth - 1), *rest]
    return draw(JSON)


def assert_valid(call: AgentCall) -> None:
    """It survives the way to disk and back, within its bounds."""
    assert AgentCall.model_validate_json(call.model_dump_json()) == call
    assert len(call.error) <= 2000
    assert len(call.final_text) <= 8000
    assert len(call.tools) <= 50
    assert len(call.permission_denials) <= 20
    assert len(call.commands) <= 50
    assert len(call.edited) <= 200
    assert all(len(text) <= 300 for text in (*call.edited, *(run.command for run in call.commands)))
    assert 0 <= call.context.noise <= call.context.heard
    assert len(call.context.compactions) <= 20
    assert call.usage.tokens >= 0
    assert call.usage.cost_usd >= 0


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(spoiled(), max_size=8), CODES, BY, st.text(st.characters(), max_size=50))
def test_real_events_with_any_values_in_them_give_a_valid_call(
    stream: list[dict[str, Any]], exit_code: int | None, by: EndCause, stderr: str
) -> None:
    for event in stream:
        tool_calls(event)
    assert_valid(fold(*stream, exit_code=exit_code, by=by, said=stderr))


def flood(number: int) -> list[dict[str, Any]]:
    name = f"{number}-" + "n" * 10_000
    bash = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}
    edit = {"type": "tool_use", "id": f"e{name}", "name": "Edit", "input": {"file_path": name[::-1]}}
    lost = {**bash, "id": f"lost{name}"}
    blocks = [{"type": "text", "text": name}, {"type": "tool_use", "name": name, "input": {name: name}}, bash, edit, lost]
    results = [{"type": "tool_result", "tool_use_id": block["id"], "content": name} for block in (bash, edit)]
    message = {"id": name, "model": name, "content": blocks, "usage": {name: name, "input_tokens": number}}
    return [
        {"type": "system", "subtype": "init", "session_id": name, "model": name, "claude_code_version": name},
        {"type": "assistant", "message": message, "error": name},
        {"type": "user", "message": {"content": results}, "tool_use_result": name, "tool_result_meta": [{"id": name}]},
        {"type": "assistant", "message": {**message, "model": "<synthetic>"}, "error": name},
        {"type": "system", "subtype": "permission_denied", "tool_name": name},
        {"type": "rate_limit_event", "rate_limit_info": {"status": name, "rateLimitType": name, name: name}},
        {"type": "result", "result": name * 10, "errors": [name] * 100, "subtype": name, "modelUsage": {name: {}}},
        {"type": "assistant", "message": message},
    ]


@pytest.mark.feature("X4")
def test_memory_is_bounded_however_long_and_varied_the_stream() -> None:
    reader = ClaudeReader()
    for number in range(600):
        for event in flood(number):
            reader.feed(event)
    assert len(pickle.dumps(reader)) < 250_000
    assert_valid(fold(exit_code=1, said="x" * 1_000_000, reader=reader))
