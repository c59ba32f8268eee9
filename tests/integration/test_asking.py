"""The client by which tests ask an engine: a question is asked until it is answered, a deed is never done twice."""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.fakes import asking

SILENT = 0
"""Instead of a status: the connection ends without an answer."""


@contextmanager
def server(statuses: Sequence[int]) -> Generator[tuple[str, list[str]]]:
    """One that answers so, one after the other, the last one for ever; and what it was asked."""
    asked = list[str]()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            asked.append(self.command)
            status = statuses[min(len(asked), len(statuses)) - 1]
            if status:
                self.send_response(status)
                self.end_headers()

        do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names of http.server's

        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}", asked
        finally:
            listening.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSE", 0.01)


@pytest.mark.parametrize(("method", "path"), [("GET", "/runs"), ("POST", "/runs/filter")])
@pytest.mark.parametrize("first", [SILENT, 503])
def test_a_question_is_asked_again_until_it_is_answered(first: int, method: str, path: str) -> None:
    with server([first, first, 200]) as (url, asked), asking.client(url) as api:
        assert api.request(method, path).status_code == 200
        assert asked == [method] * 3


def test_a_deed_is_done_again_only_where_the_server_says_that_it_was_not_done() -> None:
    with server([503, 201]) as (url, asked), asking.client(url) as api:
        assert api.post("/runs").status_code == 201
        assert asked == ["POST"] * 2
    with server([SILENT, 201]) as (url, asked), asking.client(url) as api:
        with pytest.raises(httpx.TransportError):
            api.post("/runs")
        assert asked == ["POST"]


@pytest.mark.parametrize("status", [404, 409, 500])
def test_any_other_answer_is_an_answer(status: int) -> None:
    with server([status, 200]) as (url, asked), asking.client(url) as api:
        assert (api.get("/runs").status_code, len(asked)) == (status, 1)


def test_patience_has_an_end() -> None:
    with server([503]) as (url, asked), asking.client(url, patience=0.1) as api:
        assert api.get("/runs").status_code == 503
        assert len(asked) > 1
    with server([SILENT]) as (url, _), asking.client(url, patience=0.1) as api, pytest.raises(httpx.TransportError):
        api.get("/runs")
