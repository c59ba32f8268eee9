"""An engine that takes connections and never answers: showing a loop waits for it once, and the loop goes on."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from tasks.observers import artifacts
from tests.flows.test_artifacts import artifacts_of, ended, in_a_run
from tests.unit.full_records import quoting_record

pytestmark = [pytest.mark.usefixtures("engine_url"), pytest.mark.feature("H5")]


class Deaf:
    """Listens on loopback, reads what it is asked, and says nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        """The first line of the first request of each connection."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/api"

    @contextmanager
    def listening(self) -> Generator["Deaf"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._thread.join()
            for one in (*self._held, self._listener):
                one.close()

    def _accept(self) -> None:
        with suppress(OSError):  # it is shut
            while True:
                connection, _ = self._listener.accept()
                self._held.append(connection)
                self.asked.append(connection.makefile("rb").readline().decode().strip())


def test_a_showing_asks_an_engine_that_hangs_once_and_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "ANSWER_SECONDS", 0.5)
    asked: list[list[str]] = []

    def show() -> None:
        with Deaf().listening() as deaf:
            for _ in range(2):  # what could not be written is tried at the next showing, once again
                with temporary_settings({PREFECT_API_URL: deaf.url}):
                    artifacts.publish_artifacts(ended(), quoting_record())
                asked.append([line for line in deaf.asked if "artifacts" in line or "admin" in line])

    run = in_a_run(show)
    look = "POST /api/artifacts/filter HTTP/1.1"
    assert asked == [[look], [look, look]]
    assert artifacts_of(run) == []
