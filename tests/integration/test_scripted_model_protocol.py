"""The scripted model over plain HTTP, without the CLI: the protocol, the counting, broken answers and the end."""

import json
import socket
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPMessage, HTTPResponse, IncompleteRead
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployments.demo_model import Request, ScriptedModel, Turn, bash, by_call, call, read, response_for, say
from helmsman.errors import OperatorError

ASK: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "tools": [{"name": "Bash"}],
    "messages": [{"role": "user", "content": "go"}],
}


@contextmanager
def connection(url: str) -> Generator[HTTPConnection, None, None]:
    address = urlsplit(url)
    assert address.hostname is not None
    with closing(HTTPConnection(address.hostname, address.port, timeout=10)) as opened:
        yield opened


def post(to: HTTPConnection, body: object = ASK, *, session: str = "s", path: str = "/v1/messages") -> HTTPResponse:
    to.request("POST", path, json.dumps(body), {"X-Claude-Code-Session-Id": session})
    return to.getresponse()


def answer(turn: Turn, body: object = ASK) -> tuple[int, HTTPMessage, bytes]:
    with ScriptedModel(by_call([[turn]])) as model, connection(model.url) as to:
        response = post(to, body)
        return response.status, response.headers, response.read()


def events(stream: bytes) -> list[dict[str, Any]]:
    """Read a whole event stream, insisting on the shape `event: TYPE`, `data: JSON`, empty line."""
    read_events: list[dict[str, Any]] = []
    for part in stream.decode().removesuffix("\n\n").split("\n\n"):
        name, data = part.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        read_events.append(event)
    return read_events


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 5 s"
        time.sleep(0.005)


def said(body: bytes) -> str:
    return "".join(event["delta"].get("text", "") for event in events(body) if event["type"] == "content_block_delta")


def test_a_stream_opens_each_block_fills_it_and_closes_it() -> None:
    status, headers, body = answer(Turn(thinking="hm", text="so", tools=(bash("ls"),)))
    stream = events(body)
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    thinking = ["content_block_start", *["content_block_delta"] * 2, "content_block_stop"]
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert [event["type"] for event in stream] == [
        "message_start",
        *thinking,
        *block,
        *block,
        "message_delta",
        "message_stop",
    ]
    assert [event["delta"]["type"] for event in stream if event["type"] == "content_block_delta"] == [
        "thinking_delta",
        "signature_delta",
        "text_delta",
        "input_json_delta",
    ]


def test_a_stream_gives_final_usage_and_stop_reason_only_at_its_end() -> None:
    _, _, body = answer(Turn(text="so", usage={"output_tokens": 55, "cache_read_input_tokens": 9}))
    stream = events(body)
    first, last = stream[0]["message"], stream[-2]
    assert (first["content"], first["stop_reason"], first["usage"]["output_tokens"]) == ([], None, 1)
    assert (last["delta"]["stop_reason"], last["usage"]["output_tokens"]) == ("end_turn", 55)
    assert first["usage"]["cache_read_input_tokens"] == 9
    assert first["model"] == "m"


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (say("done"), "end_turn"),
        (call(bash("ls")), "tool_use"),
        (Turn(text="cut sh", stop_reason="max_tokens"), "max_tokens"),
    ],
)
def test_the_stop_reason_follows_from_the_turn_unless_it_names_one(turn: Turn, reason: str) -> None:
    assert events(answer(turn)[2])[-2]["delta"]["stop_reason"] == reason


def test_a_request_that_does_not_stream_gets_the_same_message_as_one_object() -> None:
    _, headers, body = answer(Turn(text="so", tools=(read("a.py"),)), ASK | {"stream": False})
    message = json.loads(body)
    assert headers["content-type"] == "application/json"
    assert (message["type"], message["role"], message["stop_reason"]) == ("message", "assistant", "tool_use")
    assert message["content"][0] == {"type": "text", "text": "so"}
    assert message["content"][1]["input"] == {"file_path": "a.py"}


@given(text=st.text(), command=st.text())
def test_any_text_and_any_argument_arrive_unchanged(text: str, command: str) -> None:
    body = response_for(Turn(text=text, tools=(bash(command),)), ASK).body
    deltas = [event["delta"] for event in events(body) if event["type"] == "content_block_delta"]
    assert deltas[0]["text"] == text
    assert json.loads(deltas[1]["partial_json"]) == {"command": command}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (529, "overloaded_error"),
    ],
)
def test_an_error_has_the_type_of_its_status(status: int, kind: str) -> None:
    answered, headers, body = answer(Turn(status=status, error_message="no", headers={"retry-after": "3"}))
    assert (answered, headers["retry-after"]) == (status, "3")
    assert json.loads(body)["type"] == "error"
    assert json.loads(body)["error"] == {"type": kind, "message": "no"}


def test_an_error_type_can_be_given() -> None:
    _, _, body = answer(Turn(status=400, error_type="billing_error"))
    assert json.loads(body)["error"] == {"type": "billing_error", "message": "billing_error"}


def test_a_request_without_tools_is_answered_and_not_counted() -> None:
    with ScriptedModel(by_call([[say("main")]])) as model, connection(model.url) as to:
        aside = said(post(to, {key: value for key, value in ASK.items() if key != "tools"}).read())
        main = said(post(to).read())
    assert (aside, main) == ("ok", "main")
    assert [request.number for request in model.requests] == [0]


def test_sessions_are_numbered_by_appearance_and_each_counts_its_own_turns() -> None:
    with ScriptedModel(by_call([])) as model, connection(model.url) as to:
        for session in ("b", "a", "b", "b", "a"):
            post(to, session=session).read()
    assert [(request.call, request.turn) for request in model.requests] == [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1)]
    assert [request.number for request in model.requests] == [0, 1, 2, 3, 4]


def test_turns_and_sessions_beyond_the_script_get_the_last_word() -> None:
    with ScriptedModel(by_call([[say("only")]], after=say("after"))) as model, connection(model.url) as to:
        texts = [said(post(to, session=session).read()) for session in ("a", "a", "b")]
    assert texts == ["only", "after", "after"]


def test_a_script_sees_the_prompt_whether_it_is_a_text_or_blocks() -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    asked = [{"role": "user", "content": blocks}, {"role": "user", "content": "later"}]
    with ScriptedModel(lambda request: say(request.prompt.upper())) as model, connection(model.url) as to:
        texts = [said(post(to, body).read()) for body in (ASK, ASK | {"messages": asked})]
    assert texts == ["GO", "ONE\nTWO"]


def test_parallel_requests_are_each_counted_once() -> None:
    def ask(session: int) -> list[str]:
        with connection(model.url) as to:
            return [said(post(to, session=str(session)).read()) for _ in range(10)]

    with ScriptedModel(lambda request: say(f"{request.call}.{request.turn}")) as model, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert sorted(request.number for request in model.requests) == list(range(80))
    assert sorted(answers) == [[f"{session}.{turn}" for turn in range(10)] for session in range(8)]


def test_the_list_of_requests_is_a_copy() -> None:
    with ScriptedModel(by_call([])) as model, connection(model.url) as to:
        post(to).read()
        model.requests.clear()
        assert len(model.requests) == 1


def test_a_cut_stream_breaks_off_after_its_first_delta() -> None:
    cut = pytest.raises(IncompleteRead)
    with ScriptedModel(by_call([[Turn(text="half", cut=True)]])) as model, connection(model.url) as to, cut as error:
        post(to).read()
    assert [event["type"] for event in events(error.value.partial)] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
    ]


def test_a_hanging_stream_is_silent_in_its_middle_and_then_goes_on() -> None:
    with ScriptedModel(by_call([[Turn(text="slow", hang=0.3)]])) as model, connection(model.url) as to:
        response = post(to)
        response.readline()
        begun = time.monotonic()
        rest = response.read()
    assert time.monotonic() - begun >= 0.25
    assert rest.rstrip().endswith(b'{"type": "message_stop"}')


def test_a_delayed_answer_begins_late() -> None:
    begun = time.monotonic()
    answer(Turn(text="late", delay=0.3))
    assert time.monotonic() - begun >= 0.3


def test_a_client_that_goes_away_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    with ScriptedModel(by_call([[Turn(text="x" * 10_000_000, delay=0.1)]], after=say("still here"))) as model:
        with connection(model.url) as gone:
            gone.request("POST", "/v1/messages", json.dumps(ASK), {"X-Claude-Code-Session-Id": "s"})
            wait_for(lambda: len(model.requests) == 1)
        with connection(model.url) as to:
            assert said(post(to).read()) == "still here"
    assert capfd.readouterr() == ("", "")


def test_a_script_that_raises_shows_its_traceback_and_ends_the_connection(capfd: pytest.CaptureFixture[str]) -> None:
    def script(request: Request) -> Turn:
        raise LookupError(f"no turn for request {request.number}")

    with ScriptedModel(script) as model, connection(model.url) as to, pytest.raises(ConnectionError):
        post(to)
    assert "no turn for request 0" in capfd.readouterr().err


@pytest.mark.parametrize("body", ["no object", [], {"tools": [1]}])
def test_a_body_that_is_no_request_is_refused(body: object) -> None:
    status, _, error = answer(say("never"), body)
    assert (status, json.loads(error)["error"]["type"]) == (400, "invalid_request_error")


def test_another_path_is_not_found() -> None:
    with ScriptedModel(by_call([])) as model, connection(model.url) as to:
        assert post(to, path="/v1/complete").status == 404
        assert model.requests == []


def test_the_query_of_the_path_does_not_matter() -> None:
    with ScriptedModel(by_call([])) as model, connection(model.url) as to:
        assert post(to, path="/v1/messages?beta=true").status == 200


def test_stopping_ends_hanging_and_idle_connections_and_leaves_no_thread_or_port() -> None:
    before = set(threading.enumerate())
    model = ScriptedModel(by_call([[Turn(text="never", hang=600)], [Turn(text="never", delay=600)]]))
    model.start()
    address = urlsplit(model.url)
    with connection(model.url) as hanging, connection(model.url) as late, connection(model.url) as idle:
        idle.connect()
        for session, client in (("a", hanging), ("b", late)):
            client.request("POST", "/v1/messages", json.dumps(ASK), {"X-Claude-Code-Session-Id": session})
        wait_for(lambda: len(model.requests) == 2)
        begun = time.monotonic()
        model.stop()
        assert time.monotonic() - begun < 2
        with pytest.raises((ConnectionError, IncompleteRead)):
            hanging.getresponse().read()
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=1)


def test_a_model_that_does_not_run_has_no_url() -> None:
    model = ScriptedModel(by_call([]))
    with pytest.raises(OperatorError, match="not running"):
        _ = model.url
    with model:
        assert model.url.startswith("http://127.0.0.1:")
    model.stop()
    with pytest.raises(OperatorError, match="not running"):
        _ = model.url
