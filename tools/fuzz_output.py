"""Fuzz targets for the output of agents, runners and models."""

from contextlib import suppress
from datetime import UTC, datetime

from jinja2 import TemplateSyntaxError

from helmsman.parsers.agent_actions import detail_of, parse_event
from helmsman.parsers.agent_dialects import reader_of
from helmsman.parsers.claude_stream import ClaudeReader, is_model_message, tool_calls, tool_results
from helmsman.parsers.failure_words import MESSAGE, WHERE
from helmsman.parsers.failures import failed_by_output, failure_of, list_failures
from helmsman.parsers.test_report import read_junit
from helmsman.prompts.message import check_template
from helmsman.records.agent import AgentCall, ErrorVector
from helmsman.records.agents import AgentKind, Format
from helmsman.records.base import Reply
from helmsman.records.claims import Claims
from helmsman.verify.claims import read_claims
from helmsman.verify.judge.votes import UnreadableError, read_vote

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def text(data: bytes) -> str:
    """Decode like the product's readers, which refuse no bytes."""
    return data.decode("utf-8", "replace")


def fuzz_stream(data: bytes) -> None:
    reader = ClaudeReader()
    for line in data.split(b"\n"):
        event = parse_event(line)
        if event is None:
            continue
        reader.feed(event)
        is_model_message(event)
        for called in tool_calls(event):
            detail_of(called.arguments)
        tool_results(event)
    _assert_round_trip(reader.conclude(exit_code=1, ended_by="itself", stderr=text(data[:500]), seconds=1, now=NOW))


def fuzz_template(data: bytes) -> None:
    with suppress(TemplateSyntaxError):
        check_template(text(data))


def fuzz_dialect(output: Format, data: bytes) -> None:
    reader = reader_of(AgentKind(name="it", title="It", command=("it",), output=output))
    for line in data.split(b"\n"):
        reader.feed(line)
    _assert_round_trip(reader.conclude(exit_code=0, ended_by="itself", stderr="", seconds=1))


def _assert_round_trip(call: AgentCall) -> None:
    """The call is the same after it is written and read again."""
    assert AgentCall.model_validate_json(call.model_dump_json()) == call


def fuzz_junit(data: bytes) -> None:
    report = read_junit(text(data))
    assert (report.counts is None) <= (not report.ran)


def fuzz_failure(data: bytes) -> None:
    command, _, output = text(data).partition("\0")
    found = failure_of("Bash", command, output)
    assert ErrorVector.model_validate_json(found.model_dump_json()) == found
    assert (len(found.where) <= WHERE, len(found.message) <= MESSAGE) == (True, True)
    assert max(len(said.splitlines()) for said in (found.where, found.message)) <= 1
    failed_by_output(command, output)
    list_failures(output, command)


def fuzz_claims(data: bytes) -> None:
    for only_at_end in (False, True):
        found = read_claims(text(data), "DONE-IS-DONE", only_at_end=only_at_end)
        assert Claims.model_validate_json(found.model_dump_json()) == found
        assert not found.wants_to_finish or found.how in {"DONE-IS-DONE", "EXIT_SIGNAL"}


def fuzz_vote(data: bytes) -> None:
    with suppress(UnreadableError):
        read_vote(Reply(text=text(data), stop="end_turn"), ("C1", "C2"))
