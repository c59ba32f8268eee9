"""The embedded engine: a Prefect server of our own on loopback for as long as a loop runs, where none is configured.

Prefect would start one by itself, but that one survives a killed driver for ever, gives up after 20 s, and stalls for seconds
on SQLite. Nothing here imports Prefect: the server starts while Prefect is still being imported.
"""

import os
import socket
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx

from helmsman.errors import OperatorError, WorldError
from tasks.places import state_home
from tasks.processes.process import Ended, run

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


NO_SLOT = "ConcurrencySlotAcquisitionError"
"""By its name, for Prefect is not imported here: what a step ends with whose engine goes away before it begins."""

_own_engines: set[str] = set()
"""Their URLs."""


def configured_api(environment: Mapping[str, str]) -> str | None:
    """The server that the operator chose, by PREFECT_API_URL or by the active Prefect profile; None for none."""
    if "PREFECT_API_URL" in environment:
        return environment["PREFECT_API_URL"] or None
    home = Path(environment.get("PREFECT_HOME") or Path.home() / ".prefect")
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
    _own_engines.add(os.environ["PREFECT_API_URL"])


@contextmanager
def engine() -> Generator[Callable[[], str]]:
    """Start the embedded server unless one is configured. Yields a function that waits until it answers and returns its URL.

    Call before Prefect is imported. When our process is killed, the server ends too.
    """
    os.environ.update({name: value for name, value in QUIET.items() if name not in os.environ})
    chosen = configured_api(os.environ)
    if chosen:
        yield lambda: _require_up(chosen)
        return
    with _server() as wait:
        yield wait


@contextmanager
def _server() -> Generator[Callable[[], str]]:
    port, done, ended = _free_port(), threading.Event(), list[Ended | Exception]()
    url = f"http://127.0.0.1:{port}/api"

    def serve() -> None:
        try:
            ended.append(_run_server(port, done))
        except Exception as error:  # noqa: BLE001 - it is raised again by whoever waits
            ended.append(error)

    thread = threading.Thread(target=serve, name="prefect-server", daemon=True)
    thread.start()
    try:
        _own_engines.add(url)
        with _set({"PREFECT_API_URL": url, "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false"}):  # it hands out no such tokens
            yield lambda: _wait_until_up(url, ended)
    finally:
        done.set()
        thread.join(timeout=15)


@contextmanager
def _set(variables: Mapping[str, str]) -> Generator[None]:
    """Variables of our own environment while the block runs."""
    before = {name: os.environ.pop(name) for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name)
        os.environ.update(before)


def engine_error(error: BaseException) -> WorldError | None:
    """What broke a run because its engine went away; None where that is not what happened."""
    unreachable = str(error).startswith("Failed to reach API") or type(error).__name__ == NO_SLOT
    if not isinstance(error, httpx.HTTPError) and not unreachable:
        return None
    return WorldError(
        "the Prefect server does not answer any more",
        expected=f"an answer from {os.environ.get('PREFECT_API_URL', 'it')}",
        found=str(error) or type(error).__name__,
        remedy="see that it is back",
    )


def require_address() -> None:
    """Raise OperatorError where the configured server could never be reached: for whoever has something to do before it is."""
    if chosen := configured_api(os.environ):
        _require_address(chosen)


def _require_address(url: str) -> None:
    found = url
    try:
        parts = httpx.URL(url)
        if parts.scheme in {"http", "https"} and parts.host:
            return
    except httpx.InvalidURL as error:
        found = f"{url}: {error}"
    raise OperatorError(
        "PREFECT_API_URL is no address of a server", expected="http://HOST:PORT/api", found=found, remedy="correct it"
    )


def _require_up(url: str) -> str:
    """A configured server is not ours to start, but Prefect's own words on one that is away are many and say little."""
    _require_address(url)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            httpx.get(f"{url}/health", timeout=5)  # any answer will do; what it allows us is asked later
        except httpx.HTTPError as error:
            if time.monotonic() > deadline:
                raise _away(url, error) from error
            time.sleep(0.5)
        else:
            return url


def _away(url: str, error: httpx.HTTPError) -> WorldError:
    return WorldError(
        "the configured Prefect server does not answer",
        expected=f"an answer from {url}",
        found=str(error),
        remedy="start it, or unset PREFECT_API_URL to use the embedded one",
    )


def _run_server(port: int, done: threading.Event) -> Ended:
    """`-P` keeps the folder that we stand in, and any `prefect.py` there, out of the server's imports."""
    home = state_home()
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"]
    where = ["--host", "127.0.0.1", "--port", str(port)]
    how = ["--log-level", "error", "--lifespan", "on", "--timeout-graceful-shutdown", "3"]
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"} | SERVER
    return run(
        [*command, *where, *how],
        cwd=home,
        env=environment,
        tag=f"server-{uuid4().hex}",
        deadline=FOREVER,
        merge_stderr=True,
        stop=done.is_set,
    )


def _wait_until_up(url: str, ended: list[Ended | Exception]) -> str:
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(trust_env=False) as client:
        while time.monotonic() < deadline and not ended:
            try:
                if client.get(f"{url}/health", timeout=5).is_success:
                    return url
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
    raise WorldError(
        "the embedded Prefect server did not come up",
        expected=f"an answer from {url}/health within {START_SECONDS} s",
        found=_last_words(ended),
        remedy="look at the disk and at ~/.prefect, or start `prefect server start` yourself and set PREFECT_API_URL",
    )


def _last_words(ended: list[Ended | Exception]) -> str:
    if not ended:
        return "it is still starting"
    return str(ended[0]) if isinstance(ended[0], Exception) else (ended[0].tail or ended[0].head)[-2000:]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
