"""A client of the engine's API that retries as Prefect's own does: on SQLite, a busy server does not answer for a while."""

import os
import time

import httpx

from tasks.engine.embedded import LOGIN

PATIENCE = 240
"""Seconds. The longest wait of these tests, for a silent run to continue, takes 90 seconds on two idle cores."""
READ_SECONDS = 60
"""Seconds to wait for one response to a read, as Prefect's own clients do."""
PAUSE = 0.5
SERVICE_UNAVAILABLE = 503


def client(url: str, patience: float = PATIENCE, auth: httpx.BasicAuth | None = None) -> httpx.Client:
    return httpx.Client(base_url=url, transport=_RetryingTransport(patience), timeout=patience, auth=auth, trust_env=False)


def login() -> httpx.BasicAuth | None:
    """Login of the embedded engine if this process started one; servers of tests have none."""
    return httpx.BasicAuth(*os.environ[LOGIN].split(":")) if LOGIN in os.environ else None


class _RetryingTransport(httpx.HTTPTransport):
    """Repeats requests that got a 503, and reads that got no response.

    A write without a response is not repeated: it may have been done, and a run created twice is two runs.
    """

    def __init__(self, patience: float) -> None:
        """Do not load CA certificates: servers of tests are on loopback, and loading takes longer than a request."""
        super().__init__(verify=False)
        self._patience = patience

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        until = time.monotonic() + self._patience
        while (answer := self._answer(request, may_fail=time.monotonic() < until)) is None:
            time.sleep(PAUSE)
        return answer

    def _answer(self, request: httpx.Request, *, may_fail: bool) -> httpx.Response | None:
        """The response; None to repeat the request."""
        is_read = _is_read(request)
        if is_read:
            request.extensions["timeout"] = httpx.Timeout(min(READ_SECONDS, self._patience)).as_dict()
        try:
            answer = super().handle_request(request)
            answer.read()
        except httpx.TransportError:
            if may_fail and is_read:
                return None
            raise
        return None if may_fail and answer.status_code == SERVICE_UNAVAILABLE else answer


def _is_read(request: httpx.Request) -> bool:
    """Prefect's API also reads by POST."""
    return request.method == "GET" or request.url.path.endswith("/filter")
