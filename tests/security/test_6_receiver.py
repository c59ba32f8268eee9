"""Smaller promises: the webhook receiver answers whoever else is connected."""

import socket
import time
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from tests.fakes.push_receiver import Receiver, hook_headers, run_receiver

pytestmark = pytest.mark.timeout(300)

IDLE = 200
BEGUN = b"POST /git HTTP/1.1\r\nhost: x\r\nX-Slow: "
"""Headers that do not come to their end."""
LONG = b"POST /git HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 1000000\r\n\r\n" + b"x" * 1000
"""A body that does not."""
SAID = {"nothing": b"", "headers that do not end": BEGUN, "a body that does not end": LONG}


@pytest.fixture
def receiver(tmp_path: Path) -> Generator[Receiver]:
    with run_receiver(tmp_path) as found:
        yield found


def connected(receiver: Receiver, address: str, said: bytes = b"") -> socket.socket:
    found = socket.create_connection(("127.0.0.1", receiver.port), timeout=10, source_address=(address, 0))
    found.sendall(said)
    return found


def delivered(receiver: Receiver, address: str) -> str:
    """The status line of a genuine delivery."""
    body = f"owner/name\n{'0' * 40} {uuid4().hex}00000000 refs/heads/main\n".encode()
    headers = {**hook_headers(body), "host": "x", "content-length": str(len(body)), "connection": "close"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with connected(receiver, address, f"POST /git HTTP/1.1\r\n{head}\r\n".encode() + body) as connection:
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    return answer.decode().partition("\r\n")[0]


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.slow
@pytest.mark.feature("X2")
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"], ids=["another address", "its own address"])
@pytest.mark.parametrize("said", SAID)
def test_a_genuine_delivery_is_answered_while_one_client_holds_200_connections(
    said: str, address: str, receiver: Receiver
) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(connected(receiver, "127.0.0.2", SAID[said])) for _ in range(IDLE)]
        status = delivered(receiver, address)
        still_held = any(is_open(connection) for connection in held)
    assert status == "HTTP/1.1 202 Accepted"
    assert still_held  # the answer did not wait until they were closed


@pytest.mark.slow
@pytest.mark.feature("X2")
def test_a_connection_that_sends_no_request_is_closed_after_some_seconds(receiver: Receiver) -> None:
    with connected(receiver, "127.0.0.1", BEGUN) as connection:
        began = time.monotonic()
        assert connection.recv(100) == b""
    assert time.monotonic() - began < 8
