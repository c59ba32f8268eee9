"""A client of the engine's API that is as patient as Prefect's own: on SQLite, a busy server is silent for a while."""

import os
import time

import httpx

from tasks.engine.embedded import LOGIN

PATIENCE = 240
"""Seconds. The longest wait of these tests, for a silent run to go on, takes a minute and a half on two cores to itself."""
ONE_ANSWER = 60
"""Seconds that one answer to a question is waited for; as long as Prefect's own clients do."""
PAUSE = 0.5
SERVICE_UNAVAILABLE = 503


def client(url: str, patience: float = PATIENCE) -> httpx.Client:
    return httpx.Client(base_url=url, transport=_Patient(patience), timeout=patience, trust_env=False)


def login() -> httpx.BasicAuth | None:
    """Of the embedded engine, where this process has started one; a server of the tests has none."""
    return httpx.BasicAuth(*os.environ[LOGIN].split(":")) if LOGIN in os.environ else None


class _Patient(httpx.HTTPTransport):
    """Says again what the server had no time for, and asks again what it did not answer.

    What may have been done already is not said again: of whoever creates a run twice, there are two.
    """

    def __init__(self, patience: float) -> None:
        """Servers of tests are on loopback; to read the certificates of the world's authorities takes longer than to ask one."""
        super().__init__(verify=False)
        self._patience = patience

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        until = time.monotonic() + self._patience
        while (answer := self._answer(request, may_fail=time.monotonic() < until)) is None:
            time.sleep(PAUSE)
        return answer

    def _answer(self, request: httpx.Request, *, may_fail: bool) -> httpx.Response | None:
        """None: it is to be said again."""
        is_question = _is_question(request)
        if is_question:
            request.extensions["timeout"] = httpx.Timeout(min(ONE_ANSWER, self._patience)).as_dict()
        try:
            answer = super().handle_request(request)
            answer.read()
        except httpx.TransportError:
            if may_fail and is_question:
                return None
            raise
        return None if may_fail and answer.status_code == SERVICE_UNAVAILABLE else answer


def _is_question(request: httpx.Request) -> bool:
    """Prefect's API has questions that are posted, too."""
    return request.method == "GET" or request.url.path.endswith("/filter")
