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

from deployments.demo_model import ScriptedModel, Turn, by_call, read, say
from tests.fakes.faults import Fault

ASK: dict[str, Any] = {"model": "m", "stream": True, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "go"}]}


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


def response_text(body: bytes) -> str:
    return "".join(event["delta"].get("text", "") for event in events(body) if event["type"] == "content_block_delta")


def test_a_request_that_does_not_stream_gets_the_same_message_as_one_object() -> None:
    _, headers, body = answer(Turn(text="so", tools=(read("a.py"),)), ASK | {"stream": False})
    message = json.loads(body)
    assert headers["content-type"] == "application/json"
    assert (message["type"], message["role"], message["stop_reason"]) == ("message", "assistant", "tool_use")
    assert message["content"][0] == {"type": "text", "text": "so"}
    assert message["content"][1]["input"] == {"file_path": "a.py"}


def test_parallel_requests_are_each_counted_once() -> None:
    def ask(session: int) -> list[str]:
        with connection(model.url) as to:
            return [response_text(post(to, session=str(session)).read()) for _ in range(10)]

    with ScriptedModel(lambda request: say(f"{request.call}.{request.turn}")) as model, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert sorted(request.number for request in model.requests) == list(range(80))
    assert sorted(answers) == [[f"{session}.{turn}" for turn in range(10)] for session in range(8)]


def test_stopping_ends_hanging_and_idle_connections_and_leaves_no_thread_or_port() -> None:
    before = set(threading.enumerate())
    model = ScriptedModel(by_call([[Fault(text="never", hang=600)], [Fault(text="never", delay=600)]]))
    model.__enter__()
    address = urlsplit(model.url)
    with connection(model.url) as hanging, connection(model.url) as late, connection(model.url) as idle:
        idle.connect()
        for session, client in (("a", hanging), ("b", late)):
            client.request("POST", "/v1/messages", json.dumps(ASK), {"X-Claude-Code-Session-Id": session})
        wait_for(lambda: len(model.requests) == 2)
        begun = time.monotonic()
        model.__exit__()
        assert time.monotonic() - begun < 2
        with pytest.raises((ConnectionError, IncompleteRead)):
            hanging.getresponse().read()
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=1)
