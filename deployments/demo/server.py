"""The HTTP side of the scripted model: connections, threads and their end. What to answer is somebody else's matter."""

import json
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer
from typing import Any, TypeAlias, cast

from deployments.demo.messages import Response, new_id, response_for
from deployments.demo.turns import Json, Turn, say
from tasks.loopback import LoopbackServer

Answer: TypeAlias = Callable[[str, Json], Turn]
"""From the session of a request and its body to a turn."""

_SIDE = say("ok")
_NOT_FOUND = Turn(status=404, error_message="the scripted model knows only POST /v1/messages")
_BROKEN = Turn(status=400, error_message="the body is not a JSON object with messages")


class Server(LoopbackServer):
    daemon_threads = False  # only such threads are waited for when the server closes
    block_on_close = True

    def __init__(self, answer: Answer, host: str) -> None:
        self.stopping = threading.Event()
        super().__init__((host, 0), partial(_Exchange, answer, self.stopping))
        self.port: int = self.socket.getsockname()[1]
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.02,), name="scripted-model", daemon=True)
        self._accepting.start()

    def stop(self) -> None:
        self.shutdown()  # from here on no new connection
        self.close_all()
        self.stopping.set()  # after the connections: whoever wakes up now finds nobody to write to
        self.server_close()
        self._accepting.join()

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """A client that goes away is no error; a script that raises is, and shows its traceback."""
        if not isinstance(sys.exception(), ConnectionError):
            BaseServer.handle_error(self, request, client_address)


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(
        self,
        answer: Answer,
        stopping: threading.Event,
        request: socket.socket,
        client_address: tuple[str, int],
        server: BaseServer,
    ) -> None:
        self._answer = answer
        self._stopping = stopping
        super().__init__(request, client_address, server)  # which also handles the connection

    def do_POST(self) -> None:
        body = self._read_body()
        turn = self._choose(body)
        self._stopping.wait(turn.delay)
        self._send(turn, response_for(turn, body))

    def _read_body(self) -> Json:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        with suppress(ValueError):
            body = json.loads(raw)
            if isinstance(body, dict) and "messages" in body:
                return cast("Json", body)
        return {}

    def _choose(self, body: Json) -> Turn:
        if self.path.partition("?")[0] != "/v1/messages":
            return _NOT_FOUND
        if not body:
            return _BROKEN
        if not body.get("tools") and "format" not in body.get("output_config", {}):  # a side question of the CLI's own
            return _SIDE
        return self._answer(self.headers.get("x-claude-code-session-id", ""), body)

    def _send(self, turn: Turn, response: Response) -> None:
        self._send_head(turn, response)
        self.wfile.write(response.body[: response.middle])
        self._stopping.wait(turn.hang)
        if turn.cut:
            self.close_connection = True
            return
        self.wfile.write(response.body[response.middle :])

    def _send_head(self, turn: Turn, response: Response) -> None:
        fixed = {
            "content-type": response.content_type,
            "content-length": str(len(response.body)),
            "request-id": new_id("req"),
        }
        self.send_response_only(response.status)
        for name, value in {**fixed, **turn.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that is overridden
        """Keep the terminal to the loop."""
