"""The receiver under generated requests, inside and outside of its OpenAPI description."""

import json
import socket
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deployments.receiver import SENDERS
from tests.fakes.push_receiver import Receiver, gitea_headers, github_headers, hook_headers, run_receiver
from tools.receiver_openapi import FILE, openapi_document

pytestmark = [pytest.mark.slow, pytest.mark.feature("D2", "X2"), pytest.mark.xdist_group("fuzzed receiver")]

SIGNERS: dict[str, Callable[[bytes], dict[str, str]]] = {"github": github_headers, "gitea": gitea_headers, "git": hook_headers}
MARK = "zq7-what-nobody-signed-zq7"
SOME = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


@cache
def operation(path: str) -> Any:
    """Of the document, to generate requests from. Its library takes seconds to import, which every collection would pay."""
    import schemathesis

    document: Any = schemathesis.openapi.from_dict(openapi_document())
    return document[path]["POST"]


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Generator[Receiver]:
    with run_receiver(tmp_path_factory.mktemp("fuzzed")) as found:
        yield found
        log = found.log.read_text()
        assert "Traceback" not in log
        assert MARK not in log


def described_statuses(path: str) -> set[int]:
    return {int(status) for status in json.loads(Path(FILE).read_text())["paths"][path]["post"]["responses"]}


@pytest.mark.parametrize("path", SENDERS)
@pytest.mark.parametrize("mode", ["positive", "negative"])
@SOME
@given(data=st.data())
def test_an_unsigned_message_gets_no_answer_but_a_refusal(path: str, mode: str, data: st.DataObject, receiver: Receiver) -> None:
    from schemathesis.generation import GenerationMode

    case = data.draw(operation(path).as_strategy(generation_mode=GenerationMode(mode)))
    answer = case.call(base_url=receiver.url, timeout=20)
    assert answer.status_code in described_statuses(path) | {405}
    assert answer.status_code not in {200, 202}
    assert len(answer.content) < 100


@pytest.mark.parametrize("path", SENDERS)
@SOME
@given(data=st.data())
def test_a_signed_message_of_any_content_is_answered_as_described(path: str, data: st.DataObject, receiver: Receiver) -> None:
    case = data.draw(operation(path).as_strategy())
    body = (json.dumps(case.body) if SENDERS[path].content == "application/json" else str(case.body)).encode(errors="replace")
    headers = {"content-type": SENDERS[path].content, **SIGNERS[SENDERS[path].source](body)}
    answer = httpx.post(f"{receiver.url}{path}", content=body, headers=headers, trust_env=False, timeout=20)
    assert answer.status_code in described_statuses(path)
    assert answer.status_code != 503


# --- below HTTP as anybody would describe it --------------------------------------------------------------------------


def request(head: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join([head, "host: x", *headers, "", ""]).encode("latin-1") + body


JSON = "content-type: application/json"
NONE = "content-length: 0"
IN_CHUNKS = "transfer-encoding: chunked"
RAW: dict[str, bytes] = {
    "HTTP/0.9": b"GET /health\r\n\r\n",
    "zeros": b"\0" * 1000,
    "no such chunk": request("POST /github HTTP/1.1", JSON, IN_CHUNKS, body=b"zz\r\n{}\r\n0\r\n\r\n"),
    "chunked and a length": request("POST /github HTTP/1.1", JSON, IN_CHUNKS, "content-length: 3", body=b"0\r\n\r\n"),
    "two lengths": request("POST /github HTTP/1.1", JSON, "content-length: 2", "content-length: 7", body=b"{}"),
    "a header without end": b"POST /github HTTP/1.1\r\nx: " + b"a" * 1_000_000,
    "a zero in a header": request("POST /github HTTP/1.1", JSON, f"x-hub-signature-256: {MARK}\0"),
    "a line end in a header": request("POST /github HTTP/1.1", JSON, f"x-hub-signature-256: a\n{MARK}: b"),
    "dots": request("POST /github/../passwd HTTP/1.1", JSON, NONE),
    "an escape in the path": request("GET /%1b[31m%E2%80%AE HTTP/1.1"),
    "an unknown method": request("BREW /github HTTP/1.1"),
    "two requests in one": request("POST /github HTTP/1.1", JSON, NONE) * 2,
}  # fmt: skip


def answer_to(port: int, sent: bytes) -> bytes:
    """What comes back before the other side closes, or has been silent for a moment."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                got += piece
        except OSError:  # it closed while we were still sending
            pass
    return got


@pytest.mark.parametrize("sent", RAW.values(), ids=RAW)
def test_no_bytes_break_the_receiver_or_are_given_back(sent: bytes, receiver: Receiver) -> None:
    got = answer_to(receiver.port, sent)
    assert not got or got.startswith(b"HTTP/1.1 ")
    assert b" 500 " not in got.split(b"\r\n")[0]
    assert MARK.encode() not in got
    assert b"passwd" not in got
    assert httpx.get(f"{receiver.url}/health", trust_env=False).text == "ok\n"
