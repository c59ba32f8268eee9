"""A webhook that keeps what it is sent."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.fakes.http_server import Call, Reply, serve_http


class Webhook:
    """Keeps what it is sent."""

    def __init__(self, url: str) -> None:
        self.url, self.heard = f"{url}/T000/secret-path", list[dict[str, Any]]()


@contextmanager
def run_webhook() -> Generator[Webhook]:
    def hear(call: Call) -> Reply:
        webhook.heard.append(json.loads(call.body))
        return Reply()

    with serve_http(hear) as url:
        webhook = Webhook(url)
        yield webhook
