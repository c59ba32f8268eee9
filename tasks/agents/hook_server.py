"""A loopback server that answers the hooks of the agent's CLI from inside the process that runs the agent.

Every event is a POST of one JSON object with the run's token; the answer is one JSON object, empty where there is nothing to say.
A thread serves each connection, so parallel tool calls and subagents do not wait for one another here; whoever answers takes its
own lock. The server never raises into the agent: what it cannot read is answered with an error, which a hook that must not fail
open turns into a denial (`onFailure: block`).
"""

import hmac
import json
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, cast

from tasks.loopback import LoopbackServer, serving

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From an event to the hook's output; raises nothing."""

TOKEN = "HELMSMAN_HOOK_TOKEN"  # noqa: S105 - the name of a variable
HEADER = "X-Helmsman-Token"
LARGEST_EVENT = 32 * 1024 * 1024
"""Bytes; an event carries whole files that are written."""
_DIGITS = 20
"""Python reads no number with thousands of them."""
PATIENCE = 10
"""Seconds that a connection may take to send what it announced."""


@dataclass
class HookServer:
    """Where the CLI sends its events, and the token that it has to show."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@contextmanager
def hook_server(answer: Answer) -> Generator[HookServer]:
    """Listen on a port of the system's choice while the block runs; every connection is closed at its end."""
    with serving(_Server(answer), "hooks") as server:
        yield server.known


class _Server(LoopbackServer):
    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.answer, self.known = answer, HookServer(self.socket.getsockname()[1], secrets.token_urlsafe(24))


class _Exchange(BaseHTTPRequestHandler):
    timeout = PATIENCE
    protocol_version = "HTTP/1.1"  # the CLI keeps its connections
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024  # head and body leave together

    def do_POST(self) -> None:
        server, length = cast("_Server", self.server), self.headers.get("content-length", "")
        if not hmac.compare_digest(self.headers.get(HEADER, "").encode(), server.known.token.encode()):
            self.close_connection = True  # what it sent is not read, and would pass for its next request
            self._send(HTTPStatus.FORBIDDEN, {})
            return
        event: Any = None
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > LARGEST_EVENT:
            self.close_connection = True  # what follows cannot be read past
        else:
            with suppress(ValueError, RecursionError):
                event = json.loads(self.rfile.read(int(length)))
        if isinstance(event, dict):
            self._send(HTTPStatus.OK, server.answer(cast("dict[str, Any]", event)))
        else:
            self._send(HTTPStatus.BAD_REQUEST, {})

    def _send(self, status: HTTPStatus, output: Mapping[str, Any]) -> None:
        body = json.dumps(output).encode()
        self.send_response_only(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that is overridden
        """Keep the terminal to the loop."""
