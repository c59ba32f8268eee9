"""The embedded engine: our own Prefect server on loopback while a loop runs, if no server is configured.

Prefect can start one itself, but that one outlives a killed driver, gives up after 20 s, and stalls for seconds on SQLite.
This module does not import Prefect: the server starts while Prefect is still being imported.
"""

import os
import secrets
import socket
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import httpx

from helmsman.errors import OperatorError, TransientError
from tasks.system.environment import PYTHON_VARIABLES, hide_process, neutral_directory, other_environment
from tasks.system.process import ProcessResult, run

START_SECONDS = 120
"""A fresh database was measured to take 20 s on two idle cores, and three times that on busy ones."""
PATIENCE_SECONDS = 15
"""For a configured server that is restarting."""
FOREVER = 10 * 365 * 24 * 3600.0

QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",  # people watch the loop's own display
    "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",  # or each event that a dead server misses is printed
}
"""Environment of the process that drives a loop."""

SERVER = {
    **QUIET,
    "PREFECT__SERVER_EPHEMERAL": "1",  # only the services that a single driver needs
    "PREFECT_UI_ENABLED": "0",
    "PREFECT_API_SERVICES_SCHEDULER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",  # nobody reads its events, and every write locks SQLite
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",  # it has no automations
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",  # single writes lock SQLite, and clients sleep 2 s
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",  # whole seconds: less becomes 0, which keeps a core busy
}


LOGIN = "PREFECT_API_AUTH_STRING"
"""Variable from which Prefect's client reads its basic authentication."""
MODULE = "tasks.engine.server"
SERVER_VARIABLES = (*PYTHON_VARIABLES, "PREFECT_*", "XDG_*")
"""Variables passed to the server besides the basic ones: no credentials of an agent."""

NO_SLOT = "ConcurrencySlotAcquisitionError"
"""Error of a step whose engine stops before the step begins; by name, since Prefect is not imported here."""

IS_UP = b"the server is up"
"""The line that the server process prints once it accepts requests."""
SHORT_LIFE_SECONDS = 60
MOST_SHORT_LIVES = 5
"""In a row: after that many early exits the next server would fail, too."""
GONE_RESPONSE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def prefect_home(environment: Mapping[str, str]) -> Path:
    """Folder of the embedded server's database."""
    return Path(environment.get("PREFECT_HOME") or Path.home() / ".prefect")


def configured_api(environment: Mapping[str, str]) -> str | None:
    """URL of the server configured by PREFECT_API_URL or by the active Prefect profile, or None."""
    if "PREFECT_API_URL" in environment:
        return environment["PREFECT_API_URL"] or None
    home = prefect_home(environment)
    try:
        profiles = tomllib.loads((home / "profiles.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    active = environment.get("PREFECT_PROFILE") or profiles.get("active")
    url = profiles.get("profiles", {}).get(active, {}).get("PREFECT_API_URL")
    return str(url) if url else None


def is_embedded() -> bool:
    """Whether the engine stops with this process or its parent, and loses its leases then."""
    return os.environ.get("PREFECT_API_URL") in _own_engines


def adopt_engine() -> None:
    """Treat the configured server as the embedded one of our parent process, which stops it."""
    _own_engines[os.environ["PREFECT_API_URL"]] = None


def engine_start_text(of: str) -> str:
    """Text about what `engine` starts. Creating a new database takes much longer than opening one."""
    is_first = is_embedded() and not (prefect_home(os.environ) / "prefect.db").exists()
    return f"the engine for {of}{', and its database (first use)' if is_first else ''}"


@contextmanager
def engine() -> Generator[Callable[[], str]]:
    """Start the embedded server unless one is configured. Yields a function that waits until it answers and returns its URL.

    Call before Prefect is imported. If our process is killed, the server stops, too. The process hides its environment, since
    the agents that it drives must not read its credentials.
    """
    hide_process()
    os.environ.update({name: value for name, value in QUIET.items() if name not in os.environ})
    configured = configured_api(os.environ)
    if configured:
        yield lambda: _require_up(configured)
        return
    server = _Server()
    _own_engines[server.url] = server
    own = {"PREFECT_API_URL": server.url, LOGIN: server.login, "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false"}
    with server.running():
        saved = {name: os.environ.pop(name) for name in own if name in os.environ}
        os.environ.update(own)  # the server issues no CSRF tokens
        try:
            yield server.wait_until_up
        finally:
            for name in own:
                os.environ.pop(name)
            os.environ.update(saved)


class EngineAwayError(TransientError):
    """The server stopped during use and no longer answers."""


class _Server:
    """Our child process. It listens on a socket of ours, so requests wait instead of being refused during a restart.

    A server that exits or is killed is replaced by another on the same port, with the same database and login.
    """

    def __init__(self) -> None:
        """Bind a port; `running` starts the server."""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._port = int(self._socket.getsockname()[1])
        user, password = secrets.token_urlsafe(16), secrets.token_urlsafe(32)  # a fixed word would be redacted everywhere
        self.url, self.login = f"http://127.0.0.1:{self._port}/api", f"{user}:{password}"
        self.end = ""
        """How the last server ended, as text, once no other is started."""
        self._up, self._done = threading.Event(), threading.Event()

    @contextmanager
    def running(self) -> Generator[None]:
        thread = threading.Thread(target=self._keep_running, name="prefect-server", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join(timeout=15)
            self._socket.close()

    def wait_until_up(self) -> str:
        """Wait for the server and return its URL. Raises TransientError if it ends, or after START_SECONDS."""
        deadline = time.monotonic() + START_SECONDS
        while not self._up.wait(0.05):
            if self.end or time.monotonic() > deadline:
                raise TransientError(
                    "the embedded Prefect server did not start",
                    expected="a running server" if self.end else f"an answer within {START_SECONDS} s",
                    found=self.end or "it is still starting",
                    remedy=f"check the disk, the memory and the server's folder {prefect_home(os.environ)} (rename prefect.db "
                    "if a newer Prefect changed it), or start `prefect server start` yourself and set PREFECT_API_URL",
                )
        return self.url

    def _keep_running(self) -> None:
        short_lives, end = 0, ""
        while not self._done.is_set():
            started_at, was_up = time.monotonic(), False
            try:
                ended = self._run_once()
                was_up, code = self._up.is_set(), ended.exit_code
                status = (
                    f"signal {-code}" if code is not None and code < 0 else f"exit status {'unknown' if code is None else code}"
                )
                output = (ended.tail or ended.head).replace(IS_UP.decode(), "").strip()[-2000:]
                end = f"it ended after {ended.seconds:.1f} s with {status}" + (f": {output}" if output else ", without output")
            except Exception as error:  # noqa: BLE001 - `wait_until_up` reports it
                end = str(error)
            self._up.clear()
            short_lives = short_lives + 1 if time.monotonic() - started_at < SHORT_LIFE_SECONDS else 0
            if not was_up or short_lives >= MOST_SHORT_LIVES:
                break
        if not self._done.is_set():
            self.end = end
            self._refuse_requests()

    def _run_once(self) -> ProcessResult:
        """Run one server until it ends. `-P` keeps the working directory out of its imports; the login goes through a pipe."""
        environment = other_environment(os.environ, SERVER_VARIABLES, ())
        socket_number = self._socket.fileno()
        return run(
            [sys.executable, "-P", "-m", MODULE, str(socket_number), str(self._port)],
            cwd=neutral_directory(),
            env={name: value for name, value in environment.items() if name not in {"PREFECT_API_URL", LOGIN}} | SERVER,
            tag=f"server-{uuid4().hex}",
            deadline=FOREVER,
            stdin=self.login.encode(),
            merge_stderr=True,
            on_line=lambda line: self._up.set() if line.strip() == IS_UP else None,
            stop=self._done.is_set,
            pass_fds=(socket_number,),
        )

    def _refuse_requests(self) -> None:
        """Answer requests after the last server: Prefect's client gives up on 410, but retries a reset for minutes."""
        self._socket.settimeout(0.2)
        while not self._done.is_set():
            with suppress(OSError):
                connection, _ = self._socket.accept()
                with connection:
                    connection.settimeout(1)
                    connection.sendall(GONE_RESPONSE)
                    while connection.recv(65536):  # closing with unread data resets the connection
                        pass


_own_engines: dict[str, _Server | None] = {}
"""By URL. None: the server of our parent process."""


def engine_error(error: BaseException) -> EngineAwayError | None:
    """The error as EngineAwayError if the engine is unreachable, else None."""
    unreachable = str(error).startswith("Failed to reach API") or type(error).__name__ == NO_SLOT
    if not isinstance(error, httpx.HTTPError) and not unreachable:
        return None
    url = os.environ.get("PREFECT_API_URL", "it")
    server = _own_engines.get(url)
    return EngineAwayError(
        "the Prefect server no longer answers",
        expected=f"an answer from {url}",
        found=(server and server.end) or str(error) or type(error).__name__,
        remedy="" if server else "make sure that it runs",
    )


def require_address(url: str | None = None) -> None:
    """Raise OperatorError if the URL of the configured server is invalid, before anything else is done."""
    url = url or configured_api(os.environ)
    if not url:
        return
    found = url
    try:
        parts = httpx.URL(url)
        if parts.scheme in {"http", "https"} and parts.host:
            return
    except httpx.InvalidURL as error:
        found = f"{url}: {error}"
    raise OperatorError(
        "PREFECT_API_URL is not the address of a server", expected="http://HOST:PORT/api", found=found, remedy="correct it"
    )


def _require_up(url: str) -> str:
    """Wait for a configured server and return its URL. Raises TransientError with a shorter message than Prefect's own."""
    require_address(url)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            httpx.get(f"{url}/health", timeout=5)  # any answer will do; permissions are checked later
        except httpx.HTTPError as error:
            if time.monotonic() > deadline:
                raise TransientError(
                    "the configured Prefect server does not answer",
                    expected=f"an answer from {url}",
                    found=str(error),
                    remedy="start it, or correct PREFECT_API_URL; without that variable, loops use an embedded server",
                ) from error
            time.sleep(0.5)
        else:
            return url
