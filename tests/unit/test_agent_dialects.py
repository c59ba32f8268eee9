"""What agents other than Claude Code print, read back: recordings of the real programs, documented events, and nonsense."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helmsman.errors import OperatorError
from helmsman.parsers.agent_dialects import DialectReader, reader_of, without_prompt
from helmsman.parsers.agent_ending import EndCause
from helmsman.parsers.definitions import read_kind
from helmsman.records.agent import AgentCall, AgentOutcome
from helmsman.records.agents import AgentKind, Capability, Format
from helmsman.records.base import Usage

pytestmark = pytest.mark.feature("A5")

TESTS = Path(__file__).parents[1]
RECORDINGS = TESTS / "recordings" / "agents"
PRESETS = TESTS.parent / "tasks" / "agents" / "presets"
COMMAND = "python3 -c 'import calc; print(calc.add(20,22))'; false"


def kind(name: str) -> AgentKind:
    return read_kind((PRESETS / f"{name}.toml").read_text("utf-8"), name)


def read_lines(
    reader: DialectReader, lines: Sequence[bytes], exit_code: int | None, stderr: str = "", by: EndCause = "itself"
) -> AgentCall:
    for line in lines:
        reader.feed(line)
    return reader.conclude(exit_code=exit_code, ended_by=by, stderr=stderr, seconds=1)


def replay_recording(
    name: str, recording: str, exit_code: int | None, *, by: EndCause = "itself", most: int | None = None
) -> AgentCall:
    folder = RECORDINGS / name
    errors = folder / f"{recording}.stderr.txt"
    lines = (folder / f"{recording}.jsonl").read_bytes().splitlines(keepends=True)[:most]
    return read_lines(reader_of(kind(name)), lines, exit_code, errors.read_text("utf-8") if errors.exists() else "", by)


def events(*given: dict[str, Any]) -> list[bytes]:
    return [json.dumps(event).encode() + b"\n" for event in given]


def test_an_ending_is_named_by_what_the_program_printed() -> None:
    for name, recording, exit_code, outcome, words in [
        ("codex", "unauthorized_401", 1, "authentication", "unexpected status 401 Unauthorized"),
        ("codex", "forbidden_403", 1, "authentication", "unexpected status 403"),
        ("codex", "no_key", 1, "authentication", "Missing environment variable"),
        ("codex", "billing_402", 1, "billing", "unexpected status 402"),
        ("codex", "quota", 1, "billing", "Quota exceeded"),
        ("codex", "usage_limit", 1, "usage_limit", "You\u2019ve hit your usage limit"),
        ("codex", "rate_limited_429", 1, "rate_limited", "exceeded retry limit, last status: 429"),
        ("codex", "overloaded_503", 1, "overloaded", "unexpected status 503"),
        ("codex", "context_full", 1, "context_full", "Codex ran out of room"),
        ("codex", "model_404", 1, "crashed", "no way"),  # it does not tell the status, so nothing is known
        ("codex", "bad_flag", 2, "refused_start", "error: unexpected argument '--nonsense'"),
        ("gemini", "unauthorized_401", 145, "authentication", "[API Error"),
        ("gemini", "forbidden_403", 147, "authentication", "[API Error"),
        ("gemini", "bad_request_400", 144, "rejected_request", "[API Error"),
        ("gemini", "model_404", 1, "bad_model", "[API Error: no way]"),
        ("gemini", "not_logged_in", 41, "authentication", "Please set an Auth method"),
        ("gemini", "bad_flag", 1, "refused_start", "Unknown argument: nonsense"),
        ("opencode", "unauthorized_401", 1, "authentication", "no way"),
        ("opencode", "billing_402", 1, "billing", "no way"),
        ("opencode", "bad_model", 1, "crashed", "Unexpected server error"),
        ("copilot", "unauthorized_401", 1, "authentication", "Authentication failed with provider"),
        ("copilot", "overloaded_503", 1, "overloaded", "Failed to get response"),
        ("copilot", "not_logged_in", 1, "authentication", "Error: No authentication information found"),
        ("amp", "offline", 1, "overloaded", "Error: Couldn't connect to the Amp server"),
        ("amp", "not_logged_in", 1, "authentication", "Login failed"),
    ]:
        call = replay_recording(name, recording, exit_code)
        assert (call.outcome, call.error[: len(words)]) == (outcome, words)
        assert (call.tool_calls, call.final_text) == (0, "")


@pytest.mark.parametrize(
    ("name", "tools", "usage", "turns"),
    [
        (
            "codex",
            {"file_change": 1, "command_execution": 1},
            Usage(input_tokens=180, cache_read_tokens=120, output_tokens=30),
            1,
        ),
        ("gemini", {"replace": 1, "run_shell_command": 1}, Usage(input_tokens=180, cache_read_tokens=120, output_tokens=30), 1),
        (
            "opencode",
            {"edit": 1, "bash": 1},
            Usage(cost_usd=0.00024, input_tokens=180, cache_read_tokens=120, output_tokens=30),
            3,
        ),
        ("copilot", {"edit": 1, "bash": 1}, Usage(), 3),
    ],
)
def test_a_recorded_session_is_read_with_all_that_its_program_tells(
    name: str, tools: dict[str, int], usage: Usage, turns: int
) -> None:
    call = replay_recording(name, "success", 0)
    assert (call.outcome, call.error, call.final_text) == ("finished", "", "add adds now")
    assert (dict(call.tools), call.turns) == (tools, turns)
    assert call.usage.cost_usd == pytest.approx(usage.cost_usd)
    assert call.usage.model_copy(update={"cost_usd": usage.cost_usd}) == usage
    assert [Path(path).name for path in call.edited] == ["calc.py"]
    told = kind(name).capabilities
    assert [(one.command, one.failed) for one in call.commands] == ([(COMMAND, True)] if Capability.COMMANDS in told else [])
    assert call.session_id
    assert set(call.untold) == set(Capability) - told
    assert (call.usage.tokens > 0, call.usage.cost_usd > 0) == (Capability.TOKENS in told, Capability.COST in told)


@pytest.mark.parametrize("name", ["codex", "gemini", "opencode", "copilot"])
def test_commands_are_reported_when_called_and_when_finished(name: str) -> None:
    reader = reader_of(kind(name))
    read_lines(reader, (RECORDINGS / name / "success.jsonl").read_bytes().splitlines(), 0)
    first, second, third, fourth = reader.new_events()
    assert (first.identity, third.identity) == (second.identity, fourth.identity)
    assert (getattr(third, "tool", ""), getattr(third, "arguments", {})) == ("Bash", {"command": COMMAND})
    assert getattr(fourth, "failed", None) is True  # or not known to have gone well


@pytest.mark.parametrize("name", ["codex", "gemini", "opencode", "copilot"])
def test_without_its_last_event_a_session_is_not_finished_however_its_process_ended(name: str) -> None:
    whole = len((RECORDINGS / name / "success.jsonl").read_bytes().splitlines())
    assert replay_recording(name, "success", None).outcome is AgentOutcome.FINISHED
    for exit_code in (0, 1, None):
        assert replay_recording(name, "success", exit_code, most=whole - 1).outcome is AgentOutcome.CRASHED
    assert replay_recording(name, "success", -15, most=whole - 1).outcome is AgentOutcome.ABORTED
    assert replay_recording(name, "success", -9, by="idle", most=whole - 1).outcome is AgentOutcome.HUNG
    assert replay_recording(name, "success", -9, by="deadline").outcome is AgentOutcome.TIMED_OUT


def test_codex_that_recovers_from_an_error_has_not_failed() -> None:
    lines = events(
        {"type": "error", "message": "Reconnecting... 1/5 (unexpected status 503)"},
        {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "There it is."}},
        {"type": "turn.completed", "usage": {}},
    )
    call = read_lines(reader_of(kind("codex")), lines, 0)
    assert (call.outcome, call.error, call.final_text) == ("finished", "", "There it is.")


def test_the_agents_own_text_does_not_decide_the_outcome() -> None:
    said = "I have hit your usage limit: unexpected status 401, Quota exceeded"
    lines = events({"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": said}})
    assert read_lines(reader_of(kind("codex")), lines, 1).outcome is AgentOutcome.CRASHED
    text = AgentKind(name="any", command=("any",), words={"usage limit": AgentOutcome.USAGE_LIMIT})
    assert read_lines(reader_of(text), [said.encode()], 1).outcome is AgentOutcome.CRASHED
    assert read_lines(reader_of(text), [], 1, said).outcome is AgentOutcome.USAGE_LIMIT


# --- formats whose programs cannot be run here, as they are documented -------------------------------------------------


def said(text: str, session: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], **more}
    return {"type": "assistant", "message": message, "session_id": session}


def cursor_calls(identity: str, tool: str, given: dict[str, Any], result: dict[str, Any] | None = None) -> dict[str, Any]:
    call = {"args": given} if result is None else {"args": given, "result": {"success": result}}
    stage = "started" if result is None else "completed"
    return {"type": "tool_call", "subtype": stage, "call_id": identity, "tool_call": {tool: call}}


CURSOR = events(
    {"type": "system", "subtype": "init", "cwd": "/w", "session_id": "s-1", "model": "some", "permissionMode": "default"},
    {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "mend add"}]}, "session_id": "s-1"},
    said("I look.", "s-1"),
    cursor_calls("1", "writeToolCall", {"path": "a.py"}),
    cursor_calls("1", "writeToolCall", {"path": "a.py"}, {"path": "/w/a.py", "linesCreated": 1}),
    cursor_calls("2", "shellToolCall", {"command": "false"}, {"exitCode": 1, "stdout": ""}),
    said("Done.", "s-1"),
    {"type": "result", "subtype": "success", "is_error": False, "result": "I look.Done.", "session_id": "s-1"},
)

AMP_USES = {"type": "tool_use", "id": "t1", "name": "edit_file", "input": {"path": "a.py"}}
AMP_FAILED = {"type": "tool_result", "tool_use_id": "t1", "content": "no such file", "is_error": True}
AMP_USAGE = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 2}
AMP = events(
    {"type": "system", "subtype": "init", "cwd": "/w", "session_id": "T-1", "tools": ["Bash"], "mcp_servers": []},
    {"type": "assistant", "session_id": "T-1", "message": {"content": [AMP_USES], "usage": AMP_USAGE}},
    {"type": "user", "session_id": "T-1", "message": {"content": [AMP_FAILED]}},
    said("I could not.", "T-1", usage={"input_tokens": 6, "output_tokens": 3}),
    {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": "I could not.", "session_id": "T-1"},
)


def test_cursor_s_documented_events_are_read() -> None:
    call = read_lines(reader_of(kind("cursor-agent")), CURSOR, 0)
    assert (call.outcome, call.final_text, call.model, call.session_id) == ("finished", "Done.", "some", "s-1")
    assert (dict(call.tools), call.edited) == ({"write": 1, "shell": 1}, ("a.py",))
    assert [(one.command, one.failed) for one in call.commands] == [("false", True)]
    failed = read_lines(reader_of(kind("cursor-agent")), CURSOR[:3], 1, "it broke")
    assert (failed.outcome, failed.error) == ("crashed", "it broke")


def test_amp_s_documented_events_are_read() -> None:
    call = read_lines(reader_of(kind("amp")), AMP, 0)
    assert (call.outcome, call.final_text, call.session_id, call.turns) == ("finished", "I could not.", "T-1", 2)
    assert (call.usage, call.edited) == (Usage(input_tokens=11, cache_read_tokens=7, output_tokens=5), ())
    well = [line.replace(b', "is_error": true', b"") for line in AMP]
    assert read_lines(reader_of(kind("amp")), well, 0).edited == ("a.py",)
    ran = [line.replace(b"edit_file", b"Bash").replace(b'"path"', b'"cmd"') for line in well]
    assert read_lines(reader_of(kind("amp")), ran, 0).commands == ()
    wrong = events({"type": "result", "subtype": "error_during_execution", "is_error": True, "error": "out of credits"})
    assert read_lines(reader_of(kind("amp")), wrong, 1).error == "out of credits"


# --- a stream that an agent's own file describes ------------------------------------------------------------------------

OWN = """
name = "mine"
command = ["mine"]
output = "events"

[stream]
session = "id"
tools.run = { sh = "line" }
rules = [
    { on = "words", say = "text" },
    { on = "did", call = { id = "n", name = ["tool"], arguments = "with" }, result = { id = "n", exit = "code" } },
    { on = "bye", spent = { input = "in", output = ["out"] }, error = ["why"], end.when.ok = [true] },
]
"""


def test_a_custom_program_is_parsed_by_its_own_rules() -> None:
    mine = read_kind(OWN, "mine.toml")
    told = {Capability.STREAM, Capability.TOOLS, Capability.COMMANDS, Capability.TOKENS}
    assert mine.capabilities == told
    lines = events(
        {"type": "did", "id": "s-9", "n": "1", "tool": "sh", "with": {"line": "make"}, "code": 2},
        {"type": "hum", "text": "not in the table"},
        {"type": "words", "text": "Done."},
        {"type": "bye", "in": 7, "out": 3, "ok": True, "why": "nothing"},
    )
    call = read_lines(reader_of(mine), lines, 0)
    assert (call.outcome, call.error, call.final_text, call.session_id) == ("finished", "", "Done.", "s-9")
    assert [(one.command, one.failed) for one in call.commands] == [("make", True)]
    assert call.usage == Usage(input_tokens=7, output_tokens=3)
    wrong = read_lines(reader_of(mine), events({"type": "bye", "ok": 1, "why": "no luck"}), 0)
    assert (wrong.outcome, wrong.error) == ("crashed", "no luck")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('output = "events"', "a table [stream] if"),
        ('output = "json"\n[stream]\nrules = [{ on = "a" }]', "a table [stream] if"),
        ('output = "events"\n[stream]\nrules = []', "stream.rules"),
        ('output = "events"\n[stream]\nrules = [{ on = "a", sey = "b" }]', "stream.rules.0.'sey': unknown key"),
        ('output = "events"\n[stream]\nrules = [{ say = "b" }]', "stream.rules.0.on"),
    ],
)
def test_a_stream_that_cannot_be_read_is_refused_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(OperatorError, match=re.escape(complaint)):
        read_kind(f'name = "x"\ncommand = ["x"]\n{text}', "x.toml")


# --- programs without events ------------------------------------------------------------------------------------------


def plain(output: Format) -> DialectReader:
    return reader_of(AgentKind(name="any", command=("any",), output=output))


def test_text_is_what_the_agent_says_and_its_exit_code_is_how_it_ended() -> None:
    call = read_lines(plain("text"), [b"One.\n", b"Two.\n"], 0)
    assert (call.outcome, call.final_text, call.tool_calls) == ("finished", "One.\nTwo.", 0)
    assert read_lines(plain("text"), [b"One.\n"], 3, "no luck").outcome is AgentOutcome.CRASHED
    assert read_lines(plain("text"), [b"One.\n"], 3, "no luck").error == "no luck"
    assert not plain("text").finished
    long = read_lines(plain("text"), [b"x" * 1000 + b"\n"] * 1000 + [b"the end\n"], 0)
    assert len(long.final_text) <= 8000
    assert long.final_text.endswith("the end")


def test_one_object_is_read_on_one_line_or_over_several() -> None:
    one = read_lines(plain("json"), [b"starting\n", b'{"result": "Done."}\n'], 0)
    several = read_lines(plain("json"), [b"{\n", b'  "response": "Done."\n', b"}\n"], 0)
    assert (one.final_text, several.final_text, one.outcome, several.outcome) == ("Done.", "Done.", "finished", "finished")
    wrong = read_lines(plain("json"), [b'{"error": {"message": "no key"}, "response": ""}\n'], 0)
    assert (wrong.outcome, wrong.error) == ("crashed", "no key")


@pytest.mark.parametrize(
    "lines",
    [
        [b'{"level": "warn", "error": "rate limited, trying again"}\n', b'{"result": "all done"}\n'],
        [b'{"error": "no luck"}', b"{\n", b'"result": "all done",\n', b'"of":\n', b'{"error": "a tool"}\n', b"}\n", b"bye\n"],
        [b"{ not json\n", b'{"result": "all done"}\n', b"{ cut off"],
    ],
)
def test_the_last_object_decides_and_not_what_a_log_said_before(lines: list[bytes]) -> None:
    call = read_lines(plain("json"), lines, 0)
    assert (call.outcome, call.final_text, call.error) == ("finished", "all done", "")


def test_an_unfinished_object_is_read_once() -> None:
    reader = plain("json")
    lines = [b'{"files":{"z":{}\n', *(b' ,"f%d":{}\n' % number for number in range(100_000))]
    assert read_lines(reader, lines, 0).final_text == ""
    many = read_lines(plain("json"), [b'{"a":[\n'] * 200_000 + [b'{"result": "all done"}\n'], 0)
    assert many.final_text == "all done"
    long = read_lines(plain("json"), [b'{"result": "' + b"x" * (1 << 21) + b'"}\n'], 0)
    assert (long.final_text, long.outcome) == ("", "finished")


def test_a_repeated_prompt_is_removed_from_the_message() -> None:
    prompt = " ".join(f"order {number}" for number in range(60))
    assert without_prompt(f"{prompt}\nDone.", prompt) == "Done."
    assert without_prompt(f"{prompt[100:]}\nDone.", prompt) == "Done."  # its beginning was not kept
    for said in ("Done.", f"No, {prompt[-200:]}\nDone."):
        assert without_prompt(said, prompt) == without_prompt(said, " ") == said


# --- laws -------------------------------------------------------------------------------------------------------------
