"""The embedded engine: a Prefect server of our own on loopback for as long as a loop runs, where none is configured.

Prefect would start one by itself, but that one survives a killed driver for ever, gives up after 20 s, and stalls for seconds
on SQLite. Nothing here imports Prefect: the server starts while Prefect is still being imported.
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
from tasks.system.environment import OF_PYTHON, hide_process, neutral_directory, other_environment
from tasks.system.process import Ended, run

START_SECONDS = 120
"""A fresh database was seen to take 20 s on two idle cores, and three times that on busy ones."""
PATIENCE_SECONDS = 15
"""For a configured server that is just being restarted."""
FOREVER = 10 * 365 * 24 * 3600.0

QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",  # the loop's own display is what a person watches
    "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",  # else each event that a dead server does not get is printed, kilobytes a piece
}
"""For the process that drives a loop."""

SERVER = {
    **QUIET,
    "PREFECT__SERVER_EPHEMERAL": "1",  # only the services that a single driver needs
    "PREFECT_UI_ENABLED": "0",
    "PREFECT_API_SERVICES_SCHEDULER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",  # nobody reads its events, and every write locks SQLite
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",  # it has no automations
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",  # with single writes, SQLite is locked and clients sleep 2 s
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",  # whole seconds: less is cut to 0, and a core is kept busy
}


LOGIN = "PREFECT_API_AUTH_STRING"
"""Prefect's basic authentication, as its client reads it."""
MODULE = "tasks.engine.server"
OF_THE_SERVER = (*OF_PYTHON, "PREFECT_*", "XDG_*")
"""Variables that it gets besides the basic ones: no credentials of an agent."""

NO_SLOT = "ConcurrencySlotAcquisitionError"
"""By its name, for Prefect is not imported here: what a step ends with whose engine goes away before it begins."""

IS_UP = b"the server is up"
"""The line that its process prints once it answers."""
SHORT_LIFE_SECONDS = 60
MOST_SHORT_LIVES = 5
"""In a row: whatever ends a server that often soon after its start will end the next one."""
GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def prefect_home(environment: Mapping[str, str]) -> Path:
    """Where the embedded server's database lies."""
    return Path(environment.get("PREFECT_HOME") or Path.home() / ".prefect")


def configured_api(environment: Mapping[str, str]) -> str | None:
    """The server that the operator chose, by PREFECT_API_URL or by the active Prefect profile; None for none."""
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
    """Whether the engine is one that ends with this process or with the one that started it, and forgets its leases then."""
    return os.environ.get("PREFECT_API_URL") in _own_engines


def adopt_engine() -> None:
    """The configured server is the embedded one of the process that started us: it ends with that one."""
    _own_engines[os.environ["PREFECT_API_URL"]] = None


def engine_in_words(of: str) -> str:
    """What comes up within `engine`. A database that is made first takes much longer than one that is there already."""
    first = is_embedded() and not (prefect_home(os.environ) / "prefect.db").exists()
    return f"the engine for {of}{', and its database, once' if first else ''}"


@contextmanager
def engine() -> Generator[Callable[[], str]]:
    """Start the embedded server unless one is configured. Yields a function that waits until it answers and returns its URL.

    Call before Prefect is imported. When our process is killed, the server ends too. From here on this process drives agents,
    which shall not read the credentials that it was started with.
    """
    hide_process()
    os.environ.update({name: value for name, value in QUIET.items() if name not in os.environ})
    chosen = configured_api(os.environ)
    if chosen:
        yield lambda: _require_up(chosen)
        return
    server = _Server()
    _own_engines[server.url] = server
    own = {"PREFECT_API_URL": server.url, LOGIN: server.login, "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false"}
    with server.running():
        before = {name: os.environ.pop(name) for name in own if name in os.environ}
        os.environ.update(own)  # it hands out no tokens against forged requests
        try:
            yield server.wait_until_up
        finally:
            for name in own:
                os.environ.pop(name)
            os.environ.update(before)


class EngineAwayError(TransientError):
    """The server went away while it was used, and no longer answers."""


class _Server:
    """Our child. It listens on a socket of ours, so requests wait instead of being refused while it is started again.

    A server that ends by itself, or is killed, is followed by another on the same port, with the same database and login.
    """

    def __init__(self) -> None:
        """Take a port; nothing runs before `running`."""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._port = int(self._socket.getsockname()[1])
        user, password = secrets.token_urlsafe(16), secrets.token_urlsafe(32)  # a word would be redacted everywhere
        self.url, self.login = f"http://127.0.0.1:{self._port}/api", f"{user}:{password}"
        self.end = ""
        """How the last server ended, in words, once no other is started."""
        self._up, self._done = threading.Event(), threading.Event()

    @contextmanager
    def running(self) -> Generator[None]:
        thread = threading.Thread(target=self._serve, name="prefect-server", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join(timeout=15)
            self._socket.close()

    def wait_until_up(self) -> str:
        """Returns its URL. Raises TransientError as soon as it has ended instead, or after START_SECONDS."""
        deadline = time.monotonic() + START_SECONDS
        while not self._up.wait(0.05):
            if self.end or time.monotonic() > deadline:
                raise TransientError(
                    "the embedded Prefect server did not start",
                    expected="one that goes on" if self.end else f"an answer within {START_SECONDS} s",
                    found=self.end or "it is still starting",
                    remedy=f"look at the disk, the memory and the server's folder {prefect_home(os.environ)}, "
                    "or start `prefect server start` yourself and set PREFECT_API_URL",
                )
        return self.url

    def _serve(self) -> None:
        short_lives, end = 0, ""
        while not self._done.is_set():
            begun, came_up = time.monotonic(), False
            try:
                ended = self._run()
                came_up, code = self._up.is_set(), ended.exit_code
                how = f"signal {-code}" if code is not None and code < 0 else f"exit status {'unknown' if code is None else code}"
                said = (ended.tail or ended.head).replace(IS_UP.decode(), "").strip()[-2000:]
                end = f"it ended after {ended.seconds:.1f} s with {how}" + (f": {said}" if said else ", without output")
            except Exception as error:  # noqa: BLE001 - whoever waits for it is told
                end = str(error)
            self._up.clear()
            short_lives = short_lives + 1 if time.monotonic() - begun < SHORT_LIFE_SECONDS else 0
            if not came_up or short_lives >= MOST_SHORT_LIVES:
                break
        if not self._done.is_set():
            self.end = end
            self._refuse()

    def _run(self) -> Ended:
        """`-P` keeps the folder that it stands in out of the server's imports. Nobody else reads the pipe with the login."""
        environment = other_environment(os.environ, OF_THE_SERVER, ())
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

    def _refuse(self) -> None:
        """Answer requests that no server will: Prefect's client gives up at once, but repeats one that breaks for minutes."""
        self._socket.settimeout(0.2)
        while not self._done.is_set():
            with suppress(OSError):
                connection, _ = self._socket.accept()
                with connection:
                    connection.settimeout(1)
                    connection.sendall(GONE)
                    while connection.recv(65536):  # a connection that is closed with something unread breaks
                        pass


_own_engines: dict[str, _Server | None] = {}
"""By their URLs. None: the server of the process that started us."""


def engine_error(error: BaseException) -> EngineAwayError | None:
    """What broke a run because its engine went away; None where that is not what happened."""
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
    """Raise OperatorError where the configured server could never be reached: for whoever has something to do before it is."""
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
    """A configured server is not ours to start, but Prefect's own words on one that is away are many and say little."""
    require_address(url)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            httpx.get(f"{url}/health", timeout=5)  # any answer will do; what it allows us is asked later
        except httpx.HTTPError as error:
            if time.monotonic() > deadline:
                raise TransientError(
                    "the configured Prefect server does not answer",
                    expected=f"an answer from {url}",
                    found=str(error),
                    remedy="start it, or unset PREFECT_API_URL to use the embedded one",
                ) from error
            time.sleep(0.5)
        else:
            return url
