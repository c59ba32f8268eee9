"""A Messages API on loopback with scripted answers, also for requests without tools, where the scripted model says `ok`."""

import json
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import pytest

from deployments.demo_model import Exchange, Json, Turn, say
from tasks.loopback import LoopbackServer, serving

KEY = "sk-ant-a-secret-of-the-test"


@dataclass(frozen=True)
class Raw:
    """A response of any bytes; it may trickle until the server stops."""

    body: bytes
    status: int = 200
    content_type: str = "text/event-stream; charset=utf-8"
    trickle: float = 0
    """Seconds between pieces of an answer that never ends; 0: none."""


def _event(said: Json) -> bytes:
    return f"event: {said['type']}\ndata: {json.dumps(said)}\n\n".encode()


BEGUN: tuple[Json, ...] = (
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
)


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
    """The server. It gives one answer after the other and then repeats the last."""

    def __init__(self, answers: Sequence[Turn | Raw]) -> None:
        self.answers = answers
        self.requests: list[Asked] = []
        self.stopping = threading.Event()
        self._counting = threading.Lock()
        self._server = LoopbackServer(("127.0.0.1", 0), partial(_Exchange, self))
        self._running = ExitStack()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def credentials(self) -> dict[str, str]:
        return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": self.url}

    def put_into(self, environment: pytest.MonkeyPatch) -> None:
        """Have this process ask it."""
        for name, value in self.credentials.items():
            environment.setenv(name, value)

    def __enter__(self) -> Self:
        self._running.enter_context(serving(self._server, "judge-api"))
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._running.close()

    def next_answer(self, asked: Asked) -> Turn | Raw:
        with self._counting:
            self.requests.append(asked)
            return self.answers[min(len(self.requests), len(self.answers)) - 1]


def _always(_conversation: str, _body: Any) -> Turn:
    return say("ok")


class _Exchange(Exchange):
    def __init__(self, api: JudgeApi, *connection: Any) -> None:
        self._api = api
        super().__init__(_always, api.stopping, *connection)

    def do_POST(self) -> None:  # noqa: N802 - the name that is overridden
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self._api.next_answer(Asked({name.lower(): value for name, value in self.headers.items()}, body))
        self.close_connection = True
        with suppress(ConnectionError):  # the client has given up
            if isinstance(answer, Raw):
                self._send_raw(answer)
            else:
                answer.play(self, body)

    def _send_raw(self, raw: Raw) -> None:
        self.send_response_only(raw.status)
        self.send_header("content-type", raw.content_type)
        self.end_headers()
        self.wfile.write(raw.body)
        if raw.trickle:
            self.wfile.write(b"".join(map(_event, BEGUN)))
        while raw.trickle and not self._api.stopping.wait(raw.trickle):
            self.wfile.write(_event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}))
            self.wfile.flush()
