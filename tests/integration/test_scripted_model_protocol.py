"""The scripted model over plain HTTP, without the CLI: the counting, answers that do not stream, and the end."""

import json
import socket
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection, IncompleteRead
from typing import Any
from urllib.parse import urlsplit

import pytest

from deployments.demo_model import ScriptedModel, Turn, by_call, read, say
from tests.fakes.faults import Fault
from tests.fakes.processes import eventually

ASK: dict[str, Any] = {"model": "m", "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "go"}]}


@contextmanager
def connection(url: str) -> Generator[HTTPConnection, None, None]:
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=10)) as opened:
        yield opened


def ask(to: HTTPConnection, session: str, *, stream: bool = False) -> None:
    to.request("POST", "/v1/messages", json.dumps({**ASK, "stream": stream}), {"X-Claude-Code-Session-Id": session})


def test_a_request_that_does_not_stream_gets_the_message_as_one_object() -> None:
    turn = Turn(text="so", tools=(read("a.py"),))
    with ScriptedModel(by_call([[turn]])) as model, connection(model.url) as to:
        ask(to, "s")
        response = to.getresponse()
        message = json.loads(response.read())
    assert response.headers["content-type"] == "application/json"
    assert (message["type"], message["role"], message["stop_reason"]) == ("message", "assistant", "tool_use")
    assert message["content"][0] == {"type": "text", "text": "so"}
    assert message["content"][1]["input"] == {"file_path": "a.py"}


def test_parallel_requests_are_each_counted_once() -> None:
    def said(session: int) -> list[str]:
        words: list[str] = []
        with connection(model.url) as to:
            for _ in range(10):
                ask(to, str(session))
                words.append(json.loads(to.getresponse().read())["content"][0]["text"])
        return words

    with ScriptedModel(lambda request: say(f"{request.call}.{request.turn}")) as model, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(said, range(8)))
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
            ask(client, session, stream=True)
        assert eventually(lambda: len(model.requests) == 2)
        begun = time.monotonic()
        model.__exit__()
        assert time.monotonic() - begun < 2
        with pytest.raises((ConnectionError, IncompleteRead)):
            hanging.getresponse().read()
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=1)
