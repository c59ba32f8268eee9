"""`helmsman receive`: start runs from signed push and issue webhooks of GitHub, Gitea and our own post-receive hook.

A message is read completely or rejected, its signature is checked before its content is parsed, and its events are on disk
before the response is sent. Responses to senders without the secret reveal nothing about us.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import os
import re
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from helmsman.errors import HelmsmanError, OperatorError, TransientError
from helmsman.parsers.issues import KINDS, IssueMessage, filter_issue, read_issue
from helmsman.parsers.pushes import AllowedRepo, PushMessage, filter_updates, find_allowed, read_forge, read_hook
from helmsman.plain import clean
from helmsman.records.triggers import Ignored, Source
from tasks.engine.embedded import configured_api
from tasks.repository.git import open_repository
from tasks.triggers.deliveries import Deliveries, Event, deliveries_file
from tasks.triggers.pushes import read_allowed_file

FRESH_SECONDS = 300
"""Maximum age of a message of our hook, and maximum clock skew of its sender; the hook signs each attempt again."""
SHORTEST_SECRET = 16  # characters; a shorter one can be brute-forced from a single captured message
LARGEST_BODY = 8 * 1024 * 1024  # bytes; the event of a push with thousands of commits has a few MiB
PATIENCE_SECONDS = 10  # timeout for reading a request body

_HEX = re.compile(r"[0-9a-f]{64}")
_SECONDS = re.compile(r"[0-9]{9,11}", re.ASCII)
_ISSUES = {kind: partial(read_issue, kind) for kind in KINDS}
_DELIVERY = re.compile(r"[A-Za-z0-9-]{8,100}", re.ASCII)
_log = logging.getLogger(__name__)


class Sender(NamedTuple):
    """Header names and body parser of one kind of sender."""

    source: Source
    content: str
    signature: str
    delivery: str
    read: Callable[[bytes], PushMessage]
    event: str = ""  # the header with the event type; empty: always a push. Only forges send issue events
    timestamp: str = ""  # the header with the time; it and the delivery id are then signed, too. Forges sign only the body


JSON = "application/json"
SENDERS = {
    "/github": Sender("github", JSON, "x-hub-signature-256", "x-github-delivery", read_forge, event="x-github-event"),
    "/gitea": Sender("gitea", JSON, "x-gitea-signature", "x-gitea-delivery", read_forge, event="x-gitea-event"),
    "/git": Sender(
        "git", "text/plain", "x-helmsman-signature", "x-helmsman-delivery", read_hook, timestamp="x-helmsman-timestamp"
    ),
}


@dataclass(frozen=True)
class Receiver:
    secret: bytes
    allowed: Mapping[str, AllowedRepo]
    deliveries: Deliveries
    accepted: Callable[[], None]  # called after a new event was stored


def receiver_app(receiver: Receiver) -> Starlette:
    """ASGI app with the three webhook endpoints and a health check."""

    def endpoint(sender: Sender) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            body = await _read_body(request, sender)
            delivery = _verify_delivery(receiver, sender, request, body)
            event_type = request.headers.get(sender.event, "") if sender.event else "push"
            parser = sender.read if event_type == "push" else _ISSUES.get(event_type)
            if parser is None:
                return _respond(HTTPStatus.OK, sender, ["nothing to do: only pushes and issues start loops"])
            return await run_in_threadpool(_store_events, receiver, sender, delivery, partial(parser, body))

        return answer

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    def refuse(request: Request, error: Any) -> Response:
        _log.warning("%s %s refused: %s", error.status_code, clean(request.url.path)[:100], error.detail)
        return PlainTextResponse(f"{error.detail}\n", status_code=error.status_code, headers=error.headers)

    routes = [Route(path, endpoint(sender), methods=["POST"]) for path, sender in SENDERS.items()]
    return Starlette(routes=[*routes, Route("/health", health, methods=["GET"])], exception_handlers={HTTPException: refuse})


async def _read_body(request: Request, sender: Sender) -> bytes:
    """Read the request body. Raises HTTPException for a wrong content type, a body that is too large, or a timeout."""
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content != sender.content or "content-encoding" in request.headers:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send {sender.content}, not compressed")
    chunks = request.stream()
    announced, body = request.headers.get("content-length", "0"), bytearray()
    fits = announced.isdecimal() and int(announced) <= LARGEST_BODY
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while fits and (chunk := await anext(chunks, None)) is not None:
                body += chunk
                fits = len(body) <= LARGEST_BODY
    except TimeoutError:
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, "the message is incomplete") from None
    except ClientDisconnect:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the sender disconnected") from None
    if not fits:  # the rest is not read, so the connection cannot be reused
        headers = {"connection": "close"}
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the message is too large", headers)
    return bytes(body)


def _verify_delivery(receiver: Receiver, sender: Sender, request: Request, body: bytes) -> str:
    """Delivery id. Raises HTTPException unless the signature is valid and the message is fresh."""
    signature, delivery, at = (request.headers.get(name, "") for name in (sender.signature, sender.delivery, sender.timestamp))
    if not signature:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "the message is not signed")
    parts = (f"{at}.{delivery}.".encode(), body) if sender.timestamp else (body,)
    if not is_signed(receiver.secret, parts, signature):
        raise HTTPException(HTTPStatus.FORBIDDEN, "the signature is wrong")
    if sender.timestamp and not is_fresh(at, time.time()):
        raise HTTPException(HTTPStatus.CONFLICT, "the message is too old, or the clocks differ")
    if not _DELIVERY.fullmatch(delivery):
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the message has no delivery id")
    return delivery


def is_signed(secret: bytes, parts: tuple[bytes, ...], given: str) -> bool:
    """Whether `given` is the HMAC-SHA256 of these parts, in hexadecimal, with or without `sha256=` in front."""
    signature = given.removeprefix("sha256=")
    expected = hmac.new(secret, b"".join(parts), hashlib.sha256).hexdigest()
    return _HEX.fullmatch(signature) is not None and hmac.compare_digest(expected, signature)


def is_fresh(sent_at: str, now: float) -> bool:
    """Whether a Unix time is within FRESH_SECONDS of `now`."""
    return _SECONDS.fullmatch(sent_at) is not None and abs(now - int(sent_at)) <= FRESH_SECONDS


def _store_events(receiver: Receiver, sender: Sender, delivery: str, read: Callable[[], PushMessage | IssueMessage]) -> Response:
    try:
        message = read()
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the message cannot be read") from None
    match = find_allowed(receiver.allowed, message.names)
    if match is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "this repository may not start loops here")
    (name, allowed), now = match, datetime.now(UTC)
    configured = {"repository": name, "location": allowed.at, "settings": allowed.set}
    facts = {**configured, "source": sender.source, "delivery": delivery, "received_at": now}
    filtered: Sequence[Event | Ignored] = (
        [filter_issue(message, allowed, facts)]
        if isinstance(message, IssueMessage)
        else filter_updates(message.updates, allowed.branches, facts)
    )
    try:
        events = [item for item in filtered if not isinstance(item, Ignored)]
        new = receiver.deliveries.accept(f"{sender.source}:{delivery}", events, now)
    except TransientError:
        _log.exception("a delivery is lost unless it is sent again")
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "it could not be stored; send it again") from None
    if new:
        receiver.accepted()
    lines = (
        f"nothing to do: {item.reason}"
        if isinstance(item, Ignored)
        else f"{'accepted' if item in new else 'already known'}: {item.what}"
        for item in filtered
    )
    return _respond(HTTPStatus.ACCEPTED if new else HTTPStatus.OK, sender, list(lines))


def _respond(status: HTTPStatus, sender: Sender, lines: list[str]) -> Response:
    for line in lines:
        _log.info("%s by %s: %s", status.value, sender.source, clean(line))
    return PlainTextResponse("".join(f"{line}\n" for line in lines), status_code=status)


SECRET = "HELMSMAN_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
MOST_RECEIVING = 32  # concurrent connections with an incomplete request; each may hold a body in memory
MOST_OF_ONE_CLIENT = 8  # of those per client; forges send a message within milliseconds, also in bursts and through a proxy
MOST_CONNECTIONS = 2 * MOST_RECEIVING  # concurrent, including those being answered
HEADERS_SECONDS = 5  # until a request's headers are complete; uvicorn has no such timeout
LONGEST_CONNECTION = 20  # seconds, whatever the sender does
LOOK_SECONDS = 10.0  # until the next attempt, and between scans for events that another receiver left


class _BoundedProtocol(H11Protocol):
    """A connection with timeouts. The oldest incomplete ones are closed when there are too many."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self.since, self.address = self.loop.time(), self.client[0] if self.client else ""
        self.loop.call_later(HEADERS_SECONDS, lambda: self.conn.their_state is h11.IDLE and transport.close())
        self.loop.call_later(LONGEST_CONNECTION, transport.close)
        # if there are too many, close the oldest one: of this client, else of the client with the most
        others = (other for other in self.connections if isinstance(other, _BoundedProtocol) and not other.transport.is_closing())
        receiving = [other for other in others if other.conn.their_state in {h11.IDLE, h11.SEND_BODY}]
        shares = Counter(other.address for other in receiving)
        most = self.address if shares[self.address] > MOST_OF_ONE_CLIENT else max(shares, key=shares.__getitem__, default="")
        if shares[self.address] > MOST_OF_ONE_CLIENT or len(receiving) > MOST_RECEIVING:
            min((other for other in receiving if other.address == most), key=lambda other: other.since).transport.close()


@contextmanager
def starting_runs(deliveries: Deliveries) -> Generator[Callable[[], None]]:
    """Start stored events in a thread while the block runs. Yields a function that wakes the thread for a new event."""
    awake, done = threading.Event(), threading.Event()

    def start(event: Event) -> None:
        from tasks.triggers.push_runs import start_run

        try:
            run = start_run(event)
        except TransientError:
            raise
        except HelmsmanError as error:  # a rejected event does not block the others
            _log.error("%s is not started: %s", event.what, clean(str(error)))
            return
        deliveries.started(event, run)
        _log.info(
            "%s: flow run %s, %.1f s after receipt", event.what, run, (datetime.now(UTC) - event.received_at).total_seconds()
        )

    def work() -> None:
        while not done.is_set():
            awake.clear()
            try:  # the first event that the engine does not accept ends the round
                for event in deliveries.waiting():
                    start(event)
            except TransientError as error:
                _log.warning("events are delayed: %s", clean(str(error)))
            except Exception:  # noqa: BLE001 - the thread lives as long as the receiver
                _log.exception("events are delayed: unexpected error")
            awake.wait(LOOK_SECONDS)

    thread = threading.Thread(target=work, name="push-sender", daemon=True)
    thread.start()
    try:
        yield awake.set
    finally:
        done.set()
        awake.set()
        thread.join(timeout=5)  # a thread in the middle of a request is abandoned; unsent events are still in the file


def serve(repos: Path, host: str, port: int) -> None:
    """Serve webhooks until a signal stops the server."""
    secret = os.environ.get(SECRET, "")
    if len(secret) < SHORTEST_SECRET:
        raise OperatorError(
            "there is no secret to verify webhooks with",
            expected=f"{SHORTEST_SECRET} characters or more in {SECRET}, the same as in the webhook's settings",
            found=f"{len(secret)} characters",
            remedy=f"export {SECRET}=$(openssl rand -hex 32)",
        )
    allowed = read_allowed_file(repos)
    if configured_api(os.environ) is None:
        raise OperatorError(
            "no Prefect server is configured, so nothing would run the loops that pushes start",
            expected="PREFECT_API_URL, or an active profile of Prefect's that names it",
            remedy="start one with `prefect server start`, and set PREFECT_API_URL=http://127.0.0.1:4200/api",
        )
    deliveries = Deliveries(deliveries_file())
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        found, remedy = f"{host} port {port}: {error}", "give another --host or --port"
        raise OperatorError("the receiver cannot listen there", found=found, remedy=remedy) from error
    with listener, starting_runs(deliveries) as wake:
        _log_to_stderr(host, listener)
        _warn_of_missing(allowed)
        config = uvicorn.Config(
            receiver_app(Receiver(secret.encode(), allowed, deliveries, wake)),
            http=_BoundedProtocol,
            log_config=None,
            access_log=False,  # it would log whatever anybody sends
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=5,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _warn_of_missing(allowed: Mapping[str, AllowedRepo]) -> None:
    """Warn of local paths without a repository. No error: the loops may run on another machine, which has them."""
    for name, entry in allowed.items():
        try:
            if entry.at.startswith("/"):
                open_repository(Path(entry.at), unborn=True)
        except OperatorError as error:
            _log.warning("%s starts no loops on this machine: %s: %s", clean(name), error.problem, clean(error.found))


def _log_to_stderr(host: str, listener: socket.socket) -> None:
    _log.setLevel(logging.INFO)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _log.addHandler(handler)
    address = listener.getsockname()[0]
    if not ipaddress.ip_address(address).is_loopback:
        _log.warning("other machines can reach this address; put a TLS proxy in front of it")
    print(f"listening on http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}", flush=True)
