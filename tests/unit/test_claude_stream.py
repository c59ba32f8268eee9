"""What a call did, said and cost, folded from the event stream of the real CLI."""

import json
from typing import Any

import pytest

from helmsman.parsers.agent_actions import ToolInvocation, detail_of, parse_event
from helmsman.parsers.claude_stream import ClaudeReader, TurnReader, tool_calls
from helmsman.prices import PRICES, known_price, with_cost
from helmsman.records.base import Usage
from tests.fakes.recordings import FOLDER, events, fold, replay


def says(*blocks: dict[str, Any], parent: str | None = None, identity: str = "m", **usage: int) -> dict[str, Any]:
    message = {"id": identity, "model": "claude-opus-5-5", "content": list(blocks), "usage": usage}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent}


def approx(usage: Usage) -> Usage:
    """With dollars that need not be the same to the last bit."""
    return usage.model_copy(update={"cost_usd": pytest.approx(usage.cost_usd)})


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def uses(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": arguments}


@pytest.mark.feature("E6")
def test_a_successful_call_is_folded_into_one_record_with_the_usage_of_its_result() -> None:
    usage = {
        "cost_usd": 0.0172,
        "input_tokens": 400,
        "cache_creation_tokens": 1000,
        "cache_read_tokens": 41000,
        "output_tokens": 120,
    }
    assert replay("success").usage.tokens == 42_520
    assert replay("success").model_dump(exclude={"outcome"}) == {
        "usage": usage,
        "exit_code": 0,
        "seconds": 1.5,
        "error": "",
        "session_id": "4d4dac99-07da-4e3c-995e-0e6adb23a068",
        "model": "claude-opus-5-5",
        "cli_version": "2.1.330",
        "turns": 5,
        "tools": (("Bash", 2), ("Read", 1), ("Edit", 1)),
        "commands": (
            {"command": "python3 test_calc.py", "failed": False},
            {"command": "git -c user.name=t -c user.email=t@t commit -qam fix", "failed": False},
        ),
        "edited": ("/workspace/calc.py",),
        "looked": ("/workspace/calc.py",),
        "guarded": (),
        "silent_hooks": (),
        "final_text": "The addition is mended.\n\n<promise>COMPLETE</promise>",
        "permission_denials": (),
        "context": {"tokens": 21100, "peak": 21100, "window": 1_000_000, "heard": 61, "noise": 0, "compactions": ()},
        "errors": (),
        "failures_in_row": 0,
        "stops": (),
        "rotated": "",
        "pain": "",
        "resumed": False,
        "rate_limit": None,
        "survivors": (),
        "untold": (),
    }


@pytest.mark.feature("E6")
def test_the_tokens_of_subagents_are_counted() -> None:
    usage = replay("subagent").usage
    assert (usage.input_tokens, usage.output_tokens) == (900, 60)


@pytest.mark.feature("E6")
def test_of_several_results_the_last_one_speaks_for_all() -> None:
    call = replay("several_results")
    assert (call.usage.cost_usd, call.usage.input_tokens, call.turns) == (pytest.approx(0.0024), 300, 3)


@pytest.mark.feature("E6")
def test_a_call_that_was_killed_shows_the_tokens_and_the_dollars_of_the_messages_that_came() -> None:
    call = replay("sigterm", 143)
    tokens = Usage(input_tokens=200, cache_creation_tokens=2000, cache_read_tokens=40_000, output_tokens=54)
    assert call.usage == approx(with_cost(tokens, call.model))
    assert (call.turns, call.context.tokens, call.tool_calls) == (2, 21_100, 2)


@pytest.mark.feature("E6")
def test_what_came_after_the_last_result_is_added_to_it() -> None:
    call = fold(*events("success"), says(words("More."), identity="later", input_tokens=7), exit_code=143)
    assert (call.usage.input_tokens, call.usage.cost_usd, call.turns) == (407, pytest.approx(0.0172, abs=1e-3), 6)
    assert call.usage.cost_usd > 0.0172


@pytest.mark.feature("E6")
def test_a_message_in_several_events_is_counted_once() -> None:
    part = says(words("a"), identity="one", input_tokens=5, output_tokens=1)
    other = says(words("b"), identity="two", parent="tool", input_tokens=3)
    assert fold(part, other, part, other).usage == approx(with_cost(Usage(input_tokens=8, output_tokens=1), "claude-opus-5-5"))


@pytest.mark.feature("E6")
def test_what_a_message_said_is_estimated_where_the_stream_tells_only_how_it_began() -> None:
    thought = {"type": "system", "subtype": "thinking_tokens", "estimated_tokens": 500, "estimated_tokens_delta": 500}
    called = says(uses("Write", file_path="a.py", content="x" * 3000), identity="one", output_tokens=1)
    usage = fold(thought, says(words("w" * 600), identity="one", input_tokens=5, output_tokens=1), called).usage
    assert 1700 <= usage.output_tokens <= 1800
    assert fold(says(words("Done."), output_tokens=900)).usage.output_tokens == 900


@pytest.mark.feature("E6")
def test_each_message_is_priced_by_the_model_that_spoke_it() -> None:
    helper = says(identity="s", parent="tool", input_tokens=10**6)
    helper["message"]["model"] = "claude-haiku-5-5"
    assert fold(says(identity="m", input_tokens=10**6), helper).usage.cost_usd == pytest.approx(4 + 0.1)


def test_the_final_text_is_all_that_the_main_thread_said_after_its_last_tool() -> None:
    stream = (says(words("Before."), uses("Bash"), words("One.")), says(words("Two.")))
    assert fold(*stream).final_text == "One.\nTwo."


def test_what_a_subagent_says_is_not_the_final_text() -> None:
    assert replay("subagent").final_text == "The agent came back; more is to be done."
    assert fold(says(words("Mine.")), says(words("<promise>"), parent="tool")).final_text == "Mine."


@pytest.mark.parametrize("name", ["overloaded_529", "unauthorized_401", "usage_limit_weekly", "hook_blocks_prompt"])
def test_what_the_cli_says_in_the_agent_s_place_is_not_the_final_text(name: str) -> None:
    assert replay(name, 1).final_text == ""


def test_the_final_text_keeps_its_last_8000_characters() -> None:
    long = "a" * 20_000 + "END"
    assert fold(says(words(long))).final_text == "a" * 7997 + "END"
    assert fold(says(words(long)), says(words(long))).final_text == "a" * 7997 + "END"
    result = {"type": "result", "subtype": "success", "is_error": False, "result": long}
    assert fold(result).final_text == "a" * 7997 + "END"


@pytest.mark.feature("E6")
@pytest.mark.parametrize("count", [-1, True, 2.5, "7", None, 10**16, float("nan"), [3]])
def test_a_count_that_is_none_is_read_as_0(count: Any) -> None:
    result = {"type": "result", "usage": {"input_tokens": count}, "num_turns": count}
    call = fold(result)
    assert (call.usage.input_tokens, call.turns) == (0, 0)


@pytest.mark.feature("E6")
@pytest.mark.parametrize("cost", [-1, True, "7", None, 10**400, float("nan"), float("inf")])
def test_a_cost_that_is_none_is_read_as_0(cost: Any) -> None:
    assert fold({"type": "result", "total_cost_usd": cost}).usage.cost_usd == 0


def test_denied_tools_are_named_once() -> None:
    assert replay("permission_denied").permission_denials == ("Bash",)


@pytest.mark.feature("S5", "S7")
def test_what_a_hook_or_a_disallowed_tool_of_ours_refused_is_no_denial_of_the_agents_permissions() -> None:
    stream = events("refused_by_us")
    assert [denial["tool_name"] for denial in stream[-1]["permission_denials"]] == ["Bash", "Bash"]
    ours, others = ("Bash(git push:*)",), ("Bash(git fetch:*)", "WebFetch")
    assert fold(*stream, reader=ClaudeReader(disallowed=ours)).permission_denials == ()
    assert fold(*stream, reader=ClaudeReader(disallowed=others)).permission_denials == ("Bash",)
    assert fold(*stream[:-1], reader=ClaudeReader(disallowed=ours), exit_code=143).permission_denials == ()


def test_a_line_that_is_no_json_object_is_none() -> None:
    for line in [
        b"",
        b"not json",
        b"null",
        b'{"type": "result", "resu',
        b'{"type": "\xff\xfe"}',
        b'{"a": 1} {"b": 2}',
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"n": ' + b"9" * 10_000 + b"}",
        b"\x00\x01\x02",
    ]:
        assert parse_event(line) is None


def test_every_line_of_every_recording_is_an_event() -> None:
    lines = [line for path in FOLDER.glob("*.jsonl") for line in path.read_bytes().splitlines()]
    assert len(lines) > 200
    assert all(parse_event(line) == json.loads(line) for line in lines)


def shown_of(called: ToolInvocation) -> tuple[str, str]:
    return called.tool, detail_of(called.arguments)


def test_tool_calls_show_the_argument_that_says_most() -> None:
    shown = [shown_of(call) for event in events("success") for call in tool_calls(event)]
    assert shown == [
        ("Read", "/workspace/calc.py"),
        ("Edit", "/workspace/calc.py"),
        ("Bash", "python3 test_calc.py"),
        ("Bash", "git -c user.name=t -c user.email=t@t commit -qam fix"),
    ]


def test_a_tool_call_is_one_line_without_control_characters() -> None:
    call = uses("Ba\x1b[2Jsh", command="first\nsecond\x1b]0;title\x07\r\u202ethird\ud800 \u2028 end")
    (called,) = tool_calls(says(call))
    assert shown_of(called) == ("Ba [2Jsh", "first second ]0;title third? end")


# The table of prices, and what tokens cost by it


@pytest.mark.feature("E6", "V7")
@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("sonnet[1m]", "claude-sonnet-5-5"),
        ("claude-opus-9", None),
        ("my-gateway/opus", None),
        ("", None),
    ],
)
def test_a_price_belongs_to_exactly_one_model(model: str, known: str | None) -> None:
    assert known_price(model) == (PRICES[known] if known else None)


@pytest.mark.feature("E6", "V7")
def test_the_dollars_are_those_of_the_four_kinds_of_tokens() -> None:
    million = Usage(input_tokens=10**6, cache_creation_tokens=10**6, cache_read_tokens=10**6, output_tokens=10**6)
    assert with_cost(million, "claude-opus-5-5").cost_usd == pytest.approx(4 + 5 + 0.2 + 20)
    assert with_cost(million, "claude-opus-5-5", hourly=10**6).cost_usd == pytest.approx(4 + 8 + 0.2 + 20)
    assert with_cost(million, "nobody-knows") == million


# --- turns that a Stop hook continues ---------------------------------------------------------------------------------


def entry(kind: str, identity: str = "", **block: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"id": identity, "content": [block] if block else []}}


def message(identity: str, words: str = "done") -> dict[str, Any]:
    return entry("assistant", identity, type="text", text=words)


CALLS = entry("assistant", "b", type="tool_use", id="t", name="Bash", input={})
RETURNED = entry("user", type="tool_result", tool_use_id="t")
FEEDBACK = entry("user", type="text", text="Stop hook feedback:\nmend it")


@pytest.mark.feature("A4")
def test_a_message_after_the_end_of_a_turn_shows_a_stop_hook() -> None:
    cases = {
        "context": ([message("a"), message("b")], [False, True]),
        "several blocks": ([message("a"), message("a"), CALLS, RETURNED, message("c")], [False, False, True, False, False]),
        "block": ([message("a"), FEEDBACK, message("b")], [False, True, False]),
        "tools": ([message("b"), CALLS, RETURNED, message("c")], [False] * 4),
        "cut off": ([message("a"), entry("user", type="text", text="Output token limit hit."), message("b")], [False] * 3),
        "background": ([message("a"), {"type": "result"}, message("b")], [False] * 3),
        "notices": ([message("a"), {"type": "system", "subtype": "notification"}, message("b")], [False, False, True]),
        "subagent": ([message("a"), message("b") | {"parent_tool_use_id": "t"}], [False, False]),
        "hostile": ([{"type": "assistant", "message": 1}, {"type": "user"}, {}], [False] * 3),
    }
    for case, (stream, sent_back) in cases.items():
        reader = TurnReader()
        assert [reader.feed(one) for one in stream] == sent_back, case


@pytest.mark.feature("A4")
def test_only_the_recording_with_a_stop_hook_shows_one() -> None:
    readers = {path.stem: TurnReader() for path in FOLDER.glob("*.jsonl")}
    assert {name for name, reader in readers.items() if any(map(reader.feed, events(name)))} == {"stop_hook_cap"}
