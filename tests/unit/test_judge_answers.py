"""One answer out of the events of a call of the CLI."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.records.base import Reply, Usage
from helmsman.verify.judge.votes import STRUCTURED, CliReader

pytestmark = pytest.mark.feature("V7")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)
FIELDS = st.sampled_from(["type", "message", "content", "stop_reason", "text", "id", "name", "subtype", "is_error", "api_error"])
KINDS = st.sampled_from(["assistant", "result", "success", "text", 7])
EVENTS = st.lists(st.dictionaries(FIELDS, JSON | KINDS, max_size=6), max_size=6)


@example([{"type": "result", "subtype": []}])
@given(EVENTS)
def test_no_event_breaks_the_reader(events: list[dict[str, Any]]) -> None:
    answer = heard(*events)
    assert answer is None or (answer.stop and answer.text.encode() is not None)


def form(given: Any, message: str = "m1") -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {"id": message, "content": [{"type": "tool_use", "name": STRUCTURED, "input": given}]},
    }


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "stop_reason": "tool_use", **fields}


def heard(*events: dict[str, Any]) -> Reply | None:
    reader = CliReader()
    for event in events:
        reader.feed(event)
    return reader.answer(Usage(output_tokens=3))


def test_the_form_that_the_cli_accepted_is_the_answer() -> None:
    answer = heard(form({"ok": "maybe"}, "m1"), form({"ok": True}, "m2"), result(structured_output={"ok": True}))
    assert answer == Reply(text='{"ok": true}', stop="tool_use", usage=Usage(output_tokens=3))


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({"is_error": True, "stop_reason": "refusal"}, "refusal"),
        ({"is_error": True, "api_error": "max_output_tokens"}, "max_tokens"),
        ({"is_error": True, "subtype": "error_max_structured_output_retries"}, "structured_output_retry_exhausted"),
        ({"is_error": True, "subtype": "error_max_turns"}, "structured_output_retry_exhausted"),
        ({"stop_reason": None}, "unknown"),
    ],
)
def test_how_the_model_failed_is_told_apart(fields: dict[str, Any], stop: str) -> None:
    answer = heard(result(**fields))
    assert answer is not None
    assert answer.stop == stop


@pytest.mark.parametrize(
    "events", [[], [form({"ok": True})], [result(is_error=True)], [result(subtype="error_during_execution")]]
)
def test_what_is_not_the_models_failure_is_no_answer(events: list[dict[str, Any]]) -> None:
    assert heard(*events) is None
