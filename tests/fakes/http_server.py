"""A server on loopback whose responses a function gives, and a webhook that records what it receives."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tasks.loopback import LoopbackServer, serving


class Call(NamedTuple):
    """A request. Names of headers are in small letters."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Reply(NamedTuple):
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, respond: Callable[[Call], Reply], *connection: Any) -> None:
        self._respond = respond
        super().__init__(*connection)  # which also handles the connection

    def _answer(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        sent = self.rfile.read(int(headers.get("content-length", 0)))
        reply = self._respond(Call(self.command, self.path, headers, sent))
        self.send_response_only(reply.status)
        for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names that are looked up

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that is overridden
        """Keep the terminal to the tests."""


@contextmanager
def serve_http(respond: Callable[[Call], Reply]) -> Generator[str]:
    """Run the server and yield its URL. Requests may be concurrent."""
    with serving(LoopbackServer(("127.0.0.1", 0), partial(_Exchange, respond)), "fake-server") as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"


class Webhook:
    def __init__(self, url: str) -> None:
        self.url, self.received = f"{url}/T000/secret-path", list[dict[str, Any]]()


@contextmanager
def run_webhook() -> Generator[Webhook]:
    def receive(call: Call) -> Reply:
        webhook.received.append(json.loads(call.body))
        return Reply()

    with serve_http(receive) as url:
        webhook = Webhook(url)
        yield webhook
