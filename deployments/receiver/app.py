"""The door at which webhooks knock: GitHub's, Gitea's and our own post-receive hook's.

A message is read to the end or refused, its signature is compared before anything in it is looked at, and what it brings is on
the disk before it is answered. What is told to whoever has no secret tells nothing about us.
"""

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from helmsman.errors import WorldError
from helmsman.issues import KINDS, IssueTold, read_issue, sift_issue
from helmsman.plain import clean
from helmsman.pushes import Allowed, Told, find_allowed, read_forge, read_hook, sift
from helmsman.records.triggers import Nothing, Source
from tasks.triggers.deliveries import Deliveries, Event

FRESH_SECONDS = 300
"""How old a message of our hook may be, or how far ahead its sender's clock; the hook signs it anew before each attempt."""
SHORTEST_SECRET = 16
"""Characters; a shorter one is guessed from a single message that somebody has seen."""
LARGEST_BODY = 8 * 1024 * 1024
"""Bytes; the event of a push with thousands of commits has a few of these."""
PATIENCE_SECONDS = 10
"""In which a message must have come in."""

_HEX = re.compile(r"[0-9a-f]{64}")
_SECONDS = re.compile(r"[0-9]{9,11}", re.ASCII)
_ISSUES = {kind: partial(read_issue, kind) for kind in KINDS}
_DELIVERY = re.compile(r"[A-Za-z0-9-]{8,100}", re.ASCII)
_log = logging.getLogger(__name__)


class Way(NamedTuple):
    """How one kind of sender says what."""

    source: Source
    content: str
    signature: str
    delivery: str
    read: Callable[[bytes], Told]
    event: str = ""
    """The header that says what happened; empty: it is always a push. Only forges tell of issues."""
    timestamp: str = ""
    """The header that says when; it and the delivery are then signed as well. The forges sign the body alone."""


WAYS = {
    "/github": Way(
        "github", "application/json", "x-hub-signature-256", "x-github-delivery", read_forge, event="x-github-event"
    ),
    "/gitea": Way("gitea", "application/json", "x-gitea-signature", "x-gitea-delivery", read_forge, event="x-gitea-event"),
    "/git": Way(
        "git", "text/plain", "x-helmsman-signature", "x-helmsman-delivery", read_hook, timestamp="x-helmsman-timestamp"
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Receiver:
    """What answering needs."""

    secret: bytes
    allowed: Mapping[str, Allowed]
    deliveries: Deliveries
    accepted: Callable[[], None]
    """Called after something new was kept."""


def receiver_app(receiver: Receiver) -> Starlette:
    """Answer the three ways, and whoever asks after our health."""
    ways = [Route(path, _endpoint(receiver, way), methods=["POST"]) for path, way in WAYS.items()]
    return Starlette(
        routes=[*ways, Route("/health", _health, methods=["GET"])],
        exception_handlers={HTTPException: _refuse},
    )


def _endpoint(receiver: Receiver, way: Way) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        body = await _body(request, way)
        delivery = _verified(receiver, way, request, body)
        what = request.headers.get(way.event, "") if way.event else "push"
        read = way.read if what == "push" else _ISSUES.get(what)
        if read is None:
            return _told(HTTPStatus.OK, way, ["nothing to do: only pushes and issues start loops"])
        return await run_in_threadpool(_deliver, receiver, way, delivery, partial(read, body))

    return answer


async def _health(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker; it is registered for these alone
    _log.warning("%s %s refused: %s", error.status_code, clean(request.url.path)[:100], error.detail)
    return PlainTextResponse(f"{error.detail}\n", status_code=error.status_code, headers=error.headers)


# --- what comes in ------------------------------------------------------------------------------------------------


async def _body(request: Request, way: Way) -> bytes:
    """The whole body, if it is what the way expects, of a bearable size, and there in time."""
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content != way.content or "content-encoding" in request.headers:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send {way.content}, not compressed")
    chunks = request.stream()
    announced, body = request.headers.get("content-length", "0"), bytearray()
    is_bearable = announced.isdecimal() and int(announced) <= LARGEST_BODY
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while is_bearable and (chunk := await anext(chunks, None)) is not None:
                body += chunk
                is_bearable = len(body) <= LARGEST_BODY
    except TimeoutError:
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, "the message did not come to its end") from None
    except ClientDisconnect:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the sender has gone") from None
    if not is_bearable:  # the rest is not read, so nothing more can be said on this connection
        headers = {"connection": "close"}
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the message is too large", headers)
    return bytes(body)


def _verified(receiver: Receiver, way: Way, request: Request, body: bytes) -> str:
    """The delivery's name, if the signature is right and the message fresh."""
    signature, delivery, at = (request.headers.get(name, "") for name in (way.signature, way.delivery, way.timestamp))
    if not signature:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "the message is not signed")
    parts = (f"{at}.{delivery}.".encode(), body) if way.timestamp else (body,)
    if not is_signed(receiver.secret, parts, signature):
        raise HTTPException(HTTPStatus.FORBIDDEN, "the signature is wrong")
    if way.timestamp and not is_fresh(at, time.time()):
        raise HTTPException(HTTPStatus.CONFLICT, "the message is too old, or the clocks differ")
    if not _DELIVERY.fullmatch(delivery):
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the message has no name of its own")
    return delivery


# --- signatures ---------------------------------------------------------------------------------------------------


def is_signed(secret: bytes, parts: tuple[bytes, ...], shown: str) -> bool:
    """Whether `shown` is the HMAC-SHA256 of these parts, in hexadecimal, with or without `sha256=` in front."""
    signature = shown.removeprefix("sha256=")
    made = hmac.new(secret, digestmod=hashlib.sha256)
    for part in parts:
        made.update(part)
    return _HEX.fullmatch(signature) is not None and hmac.compare_digest(made.hexdigest(), signature)


def is_fresh(told: str, now: float) -> bool:
    """Whether a time in seconds since 1970 is near enough."""
    return _SECONDS.fullmatch(told) is not None and abs(now - int(told)) <= FRESH_SECONDS


# --- what becomes of it -------------------------------------------------------------------------------------------


def _deliver(receiver: Receiver, way: Way, delivery: str, read: Callable[[], Told | IssueTold]) -> Response:
    """Keep what counts of a message that is known to be genuine."""
    try:
        told = read()
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the message does not say what happened") from None
    found = find_allowed(receiver.allowed, told.names)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "no such repository starts loops here")
    name, allowed = found
    now = datetime.now(UTC)
    of_operator = {"repository": name, "location": allowed.at, "settings": allowed.set}
    facts = {**of_operator, "source": way.source, "delivery": delivery, "received_at": now}
    sifted: Sequence[Event | Nothing] = (
        [sift_issue(told, allowed, facts)] if isinstance(told, IssueTold) else sift(told.updates, allowed.branches, facts)
    )
    events = [one for one in sifted if not isinstance(one, Nothing)]
    try:
        kept = receiver.deliveries.accept(f"{way.source}:{delivery}", events, now)
    except WorldError:
        _log.exception("a delivery is lost unless it is sent again")
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "it could not be kept; send it again") from None
    if kept.new:
        receiver.accepted()
    lines = [
        f"nothing to do: {one.reason}"
        if isinstance(one, Nothing)
        else f"{'accepted' if one in kept.new else 'known already'}: {one.what}"
        for one in sifted
    ]
    return _told(HTTPStatus.ACCEPTED if kept.new else HTTPStatus.OK, way, lines)


def _told(status: HTTPStatus, way: Way, lines: list[str]) -> Response:
    for line in lines:
        _log.info("%s by %s: %s", status.value, way.source, clean(line))
    return PlainTextResponse("".join(f"{line}\n" for line in lines), status_code=status)
