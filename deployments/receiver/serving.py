"""`helmsman receive`: everything that can be wrong is refused before the first message is taken."""

import asyncio
import ipaddress
import logging
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from deployments.receiver.app import Receiver, receiver_app
from deployments.receiver.sending import Sender
from deployments.receiver.signatures import SHORTEST_SECRET
from helmsman.errors import OperatorError
from tasks.engine.embedded import configured_api
from tasks.triggers.deliveries import Deliveries, deliveries_file
from tasks.triggers.pushes import read_allowed_file

SECRET = "HELMSMAN_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
MOST_CONNECTIONS = 32
"""At once; each may hold a body in memory."""
LONGEST_CONNECTION = 20
"""Seconds; uvicorn itself waits for ever for a message's headers, and whoever sends none would take a place from the others."""


class _Prompt(H11Protocol):
    """A connection that ends, whatever its sender does."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self.loop.call_later(LONGEST_CONNECTION, transport.close)


def serve(repos: Path, host: str, port: int) -> None:
    """Take messages until a signal ends it."""
    secret, allowed = _secret(os.environ), read_allowed_file(repos)
    _require_engine(os.environ)
    deliveries = Deliveries(deliveries_file())
    with _listener(host, port) as listener, Sender(deliveries) as sender:
        _announce(host, listener)
        app = receiver_app(Receiver(secret, allowed, deliveries, sender.wake))
        uvicorn.Server(_config(app)).run(sockets=[listener])


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # pyright: ignore[reportArgumentType] - its own name for an application is wider than ours
        http=_Prompt,
        log_config=None,
        access_log=False,  # it would write down what anybody sends
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )


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


def _require_engine(environment: Mapping[str, str]) -> None:
    if configured_api(environment) is None:
        raise OperatorError(
            "no Prefect server is configured, so nobody would run what pushes start",
            expected="PREFECT_API_URL, or an active profile of Prefect's that names it",
            remedy="start one with `prefect server start`, and set PREFECT_API_URL=http://127.0.0.1:4200/api",
        )


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
