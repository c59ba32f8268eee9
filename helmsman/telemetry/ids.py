"""Ids of traces and spans, made of what is watched: a loop that goes on after a crash goes on in the same trace."""

import hashlib
import re
from typing import NamedTuple

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


class Place(NamedTuple):
    """A span somewhere, by its ids."""

    trace: int
    span: int


def trace_id(uid: str) -> int:
    """Of a loop, 128 bits; never 0, which stands for no trace."""
    return _digest(16, "trace", uid)


def span_id(uid: str, *parts: str | int) -> int:
    """Of one thing in a loop, 64 bits; never 0. Without parts it is the loop's own span."""
    return _digest(8, "span", uid, *parts)


def agent_span(uid: str, iteration: int, attempt: int) -> int:
    """Of the agent's call; known before it is made, so that the agent's own telemetry can hang on to it."""
    return span_id(uid, iteration, attempt, "agent")


def traceparent(place: Place) -> str:
    """As W3C Trace Context writes it."""
    return f"00-{place.trace:032x}-{place.span:016x}-01"


def trace_context(uid: str, iteration: int, attempt: int) -> dict[str, str]:
    """Variables by which the agent's own telemetry hangs on the span of its call."""
    return {"TRACEPARENT": traceparent(Place(trace_id(uid), agent_span(uid, iteration, attempt)))}


def read_traceparent(text: str) -> Place | None:
    """None for everything that is not one."""
    found = _TRACEPARENT.fullmatch(text.strip())
    if found is None:
        return None
    place = Place(int(found[1], 16), int(found[2], 16))
    return place if all(place) else None


def _digest(size: int, *parts: str | int) -> int:
    told = "\0".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(told).digest()[:size], "big") or 1
