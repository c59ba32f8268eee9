"""`helmsman receive`: everything that can be wrong is refused before the first message is taken."""

import asyncio
import ipaddress
import logging
import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from deployments.receiver.app import SHORTEST_SECRET, Receiver, receiver_app
from helmsman.errors import HelmsmanError, OperatorError, WorldError
from helmsman.plain import clean
from tasks.engine.embedded import configured_api
from tasks.system.clock import now_utc
from tasks.triggers.deliveries import Deliveries, Event, deliveries_file
from tasks.triggers.pushes import read_allowed_file

SECRET = "HELMSMAN_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
MOST_RECEIVING = 32
"""Connections at once whose message has not come to its end; each may hold a body in memory."""
MOST_OF_ONE_CLIENT = 8
"""Of those; forges send a message within milliseconds, also in bursts and through a proxy."""
MOST_CONNECTIONS = 2 * MOST_RECEIVING
"""At once, with those whose message is being answered."""
HEADERS_SECONDS = 5
"""Until a message's headers are complete; uvicorn itself waits for ever."""
LONGEST_CONNECTION = 20
"""Seconds, whatever its sender does."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until the next attempt, doubled each time."""
MOST_DOUBLED = 6
"""Times; then the longest is reached."""
LOOK_SECONDS = 30.0
"""Between two looks for what another receiver has left behind."""

_log = logging.getLogger(__name__)


class _Bounded(H11Protocol):
    """A connection that ends in time, and gives way to newer ones while its sender has not said all."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self.since = self.loop.time()
        self.loop.call_later(HEADERS_SECONDS, lambda: self.conn.their_state is h11.IDLE and transport.close())
        self.loop.call_later(LONGEST_CONNECTION, transport.close)
        self._make_room()

    @property
    def receiving(self) -> bool:
        """Whether its sender has not said all."""
        return not self.transport.is_closing() and self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    @property
    def address(self) -> str:
        """Of the client."""
        return self.client[0] if self.client else ""

    def _make_room(self) -> None:
        """Where there are too many, the oldest gives way: of this client, else of the one that has most."""
        receiving = [one for one in self.connections if isinstance(one, _Bounded) and one.receiving]
        shares = Counter(one.address for one in receiving)
        client = self.address if shares[self.address] > MOST_OF_ONE_CLIENT else ""
        if len(receiving) > MOST_RECEIVING:
            client = client or shares.most_common(1)[0][0]
        if client:
            oldest = min((one for one in receiving if one.address == client), key=lambda one: one.since)
            oldest.transport.close()


def pause_after(failed: int) -> float:
    """Seconds, after so many attempts in a row that failed."""
    return min(FIRST_PAUSE * 2 ** min(failed - 1, MOST_DOUBLED), LONGEST_PAUSE) if failed else LOOK_SECONDS


class Sender:
    """A thread that lives while the block runs."""

    def __init__(self, deliveries: Deliveries) -> None:
        """Nothing is sent before the block is entered."""
        self._deliveries = deliveries
        self._awake, self._done = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="push-sender", daemon=True)

    def wake(self) -> None:
        """Something new is waiting."""
        self._awake.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done = True
        self.wake()
        self._thread.join(timeout=5)  # in the middle of a request it is left behind; what was not sent is still in the file

    def _run(self) -> None:
        failed = 0
        while not self._done:
            self._awake.clear()
            failed += 1
            try:  # the first event that the engine has no ear for ends the round
                while events := self._deliveries.waiting():
                    sent = [self._send(event) for event in events]
                    if not all(sent):
                        break
                else:
                    failed = 0
            except WorldError as error:
                _log.warning("pushes wait: %s", clean(str(error)))
            except Exception:  # noqa: BLE001 - the thread lives as long as the receiver
                _log.exception("pushes wait: this was not foreseen")
            self._awake.wait(pause_after(failed))

    def _send(self, event: Event) -> bool:
        """Whether its run exists. One that the engine refuses does not hold up the others."""
        from tasks.triggers.push_runs import start_run

        try:
            run = start_run(event)
        except WorldError:
            raise
        except HelmsmanError as error:
            _log.error("%s waits: %s", event.what, clean(str(error)))
            return False
        self._deliveries.started(event, run)
        _log.info("%s: flow run %s, %.1f s after it came", event.what, run, (now_utc() - event.received_at).total_seconds())
        return True


def serve(repos: Path, host: str, port: int) -> None:
    """Take messages until a signal ends it."""
    secret, allowed = _secret(os.environ), read_allowed_file(repos)
    if configured_api(os.environ) is None:
        raise OperatorError(
            "no Prefect server is configured, so nobody would run what pushes start",
            expected="PREFECT_API_URL, or an active profile of Prefect's that names it",
            remedy="start one with `prefect server start`, and set PREFECT_API_URL=http://127.0.0.1:4200/api",
        )
    deliveries = Deliveries(deliveries_file())
    with _listener(host, port) as listener, Sender(deliveries) as sender:
        _announce(host, listener)
        config = uvicorn.Config(
            receiver_app(Receiver(secret, allowed, deliveries, sender.wake)),
            http=_Bounded,
            log_config=None,
            access_log=False,  # it would write down what anybody sends
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=5,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _secret(environment: Mapping[str, str]) -> bytes:
    secret = environment.get(SECRET, "")
    if len(secret) < SHORTEST_SECRET:
        raise OperatorError(
            "there is no secret by which genuine webhooks are known",
            expected=f"{SHORTEST_SECRET} characters or more in {SECRET}, the same as in the webhook's settings",
            found=f"{len(secret)} characters",
            remedy=f"export {SECRET}=$(openssl rand -hex 32)",
        )
    return secret.encode()


def _listener(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OperatorError(
            "the receiver cannot listen there", found=f"{host} port {port}: {error}", remedy="give another --host or --port"
        ) from error


def _announce(host: str, listener: socket.socket) -> None:
    log = logging.getLogger("deployments.receiver")
    log.setLevel(logging.INFO)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    address = listener.getsockname()[0]
    if not ipaddress.ip_address(address).is_loopback:
        log.warning("other machines can reach this address; have a proxy with TLS in front of it")
    print(f"listening on http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}", flush=True)
