"""A webhook that keeps what it is sent."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Webhook(ThreadingHTTPServer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), partial(_Heard, self.heard))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/T000/secret-path"


class _Heard(BaseHTTPRequestHandler):
    def __init__(self, heard: list[dict[str, Any]], *exchange: Any) -> None:
        self._heard = heard
        super().__init__(*exchange)

    def do_POST(self) -> None:
        self._heard.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response_only(200)
        self.end_headers()


@contextmanager
def webhook_at_work() -> Generator[Webhook]:
    with Webhook() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
