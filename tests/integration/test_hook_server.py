"""The server for the CLI's hooks: authentication, invalid requests, and shutdown."""

import json
import socket
import threading
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx
import pytest

from tasks.agents.hooks import HEADER, LARGEST_EVENT, HookServer, hook_server

pytestmark = pytest.mark.feature("A1")


def echo(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"heard": event.get("n")}


@pytest.fixture
def server() -> Generator[HookServer]:
    with hook_server(echo) as listening:
        yield listening


def post(server: HookServer, content: bytes, token: str | None = None) -> httpx.Response:
    return httpx.post(server.url, content=content, headers={HEADER: server.token if token is None else token}, trust_env=False)


def test_an_event_with_the_token_is_answered(server: HookServer) -> None:
    answer = post(server, b'{"n": 1}')
    assert (answer.status_code, answer.json()) == (200, {"heard": 1})


@pytest.mark.parametrize("token", ["", "wrong", "x" * 10_000])
def test_without_the_token_an_event_is_refused(server: HookServer, token: str) -> None:
    answer = post(server, b'{"n": 1}', token)
    assert (answer.status_code, answer.json()) == (403, {})


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"[1]", b"\xff", b"[" * 100_000], ids=["empty", "no json", "list", "bytes", "deep"]
)
def test_an_invalid_event_is_refused_and_the_next_one_is_answered(server: HookServer, content: bytes) -> None:
    assert post(server, content).status_code == 400
    assert post(server, b'{"n": 2}').json() == {"heard": 2}


def test_an_event_with_a_too_large_length_is_refused_unread(server: HookServer) -> None:
    head = f"POST / HTTP/1.1\r\nhost: x\r\n{HEADER}: {server.token}\r\ncontent-length: {LARGEST_EVENT + 1}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port)) as client:
        client.sendall(head.encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 400")


def test_the_body_of_a_refused_request_is_not_taken_for_a_request(server: HookServer) -> None:
    body = f"POST / HTTP/1.1\r\n{HEADER}: {server.token}\r\ncontent-length: 2\r\n\r\n{{}}"
    head = f"POST / HTTP/1.1\r\nhost: x\r\n{HEADER}: wrong\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port), timeout=20) as client:
        client.sendall((head + body).encode())
        with client.makefile("rb") as answers:
            said = answers.read()
    assert said.count(b"HTTP/1.1 ") == said.count(b"HTTP/1.1 403") == 1


def test_parallel_events_do_not_block_each_other() -> None:
    together = threading.Barrier(8, timeout=20)

    def meet(event: Mapping[str, Any]) -> Mapping[str, Any]:
        together.wait()
        return {"heard": event["n"]}

    with hook_server(meet) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(partial(post, server), [json.dumps({"n": n}).encode() for n in range(8)]))
    assert [answer.json()["heard"] for answer in answers] == list(range(8))


def test_at_the_end_an_open_connection_is_closed_and_the_port_is_free() -> None:
    with hook_server(echo) as server:
        port = httpx.URL(server.url).port
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 403")
    with client:
        assert client.recv(10) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
