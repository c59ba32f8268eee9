"""A Messages API on loopback that answers whatever it is told to, also where the scripted model only says `ok`: without tools."""

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from deployments.demo_model import Json, Turn, response_for


@dataclass(frozen=True)
class Raw:
    """A response of any bytes, and whether its last part is kept back until the server stops."""

    body: bytes
    status: int = 200
    content_type: str = "text/event-stream; charset=utf-8"
    trickle: float = 0
    """Seconds between pings that are sent for ever in the place of an answer; 0: none."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    headers: dict[str, str]
    body: Json

    @property
    def texts(self) -> list[str]:
        """The texts of the user's message, block by block."""
        return [block["text"] for block in self.body["messages"][0]["content"]]

    @property
    def prompt(self) -> str:
        return "\n\n".join(self.texts)


class JudgeApi:
    """The server. It gives one answer after the other and the last one for ever."""

    def __init__(self, answers: Sequence[Turn | Raw]) -> None:
        self.answers = answers
        self.requests: list[Asked] = []
        self.stopping = threading.Event()
        self._counting = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Exchange, self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_answer(self, asked: Asked) -> Turn | Raw:
        with self._counting:
            self.requests.append(asked)
            return self.answers[min(len(self.requests), len(self.answers)) - 1]


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, api: JudgeApi, *exchange: Any) -> None:
        self._api = api
        super().__init__(*exchange)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self._api.next_answer(Asked({name.lower(): value for name, value in self.headers.items()}, body))
        self.close_connection = True
        with suppress(ConnectionError):  # the client has given up
            if isinstance(answer, Raw):
                self._send_raw(answer)
            else:
                self._send_turn(answer, body)

    def _send_turn(self, turn: Turn, body: Json) -> None:
        self._api.stopping.wait(turn.delay)
        response = response_for(turn, body)
        self._head(response.status, response.content_type, {"content-length": str(len(response.body)), **turn.headers})
        self.wfile.write(response.body[: response.middle])
        self._api.stopping.wait(turn.hang)
        if not turn.cut:
            self.wfile.write(response.body[response.middle :])

    def _send_raw(self, raw: Raw) -> None:
        self._head(raw.status, raw.content_type, {})
        self.wfile.write(raw.body)
        while raw.trickle and not self._api.stopping.wait(raw.trickle):
            self.wfile.write(b'event: content_block_delta\ndata: {"type": "content_block_delta"}\n\n')
            self.wfile.flush()

    def _head(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in {"content-type": content_type, "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that is overridden
        """Keep the terminal to the tests."""
