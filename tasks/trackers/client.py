"""HTTP client of a forge's API: with timeouts, retries where they are safe, and errors by cause."""

import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple, Self, cast

import httpx

from helmsman.errors import HelmsmanError, OperatorError, TransientError
from helmsman.parsers.loose import mapping
from helmsman.plain import clean
from tasks.system.secrets import redact

TOKEN = "HELMSMAN_TRACKER_TOKEN"  # noqa: S105 - the name of a variable
TRIES = 3
FIRST_PAUSE = 0.5
"""Seconds before the first retry."""
TIMEOUT = 10.0
"""Seconds per call."""
LONGEST_PAUSE = 5.0
"""Maximum seconds before a retry; if a tracker asks for a longer pause, the call fails."""
MOST_PAGES = 20
MOST_WORDS = 300
"""Characters of a response quoted in an error."""
MISSING_STATUSES = frozenset({404, 410})
NO_USER_STATUSES = frozenset({401, 403, 404})
"""Statuses of tokens of apps, or with narrow scopes, that may not read their own user."""

_BUSY = frozenset({500, 502, 503, 504})
_TOO_MANY, _FORBIDDEN = 429, 403
_MOVED = ("the tracker's repository has moved", "correct tracker.repository or tracker.url")
_REMEDIES: Mapping[int, tuple[str, str]] = {
    **dict.fromkeys((301, 307, 308), _MOVED),
    **dict.fromkeys((302, 303), ("the tracker's API was not found at this address", "correct tracker.url")),
    401: ("the tracker rejected the token", f"use a valid one in {TOKEN} or in the block that tracker.block names"),
    403: (
        "the tracker's token lacks a permission",
        "use one that may read and write issues and labels of tracker.repository, and pull requests where issues start loops",
    ),
    404: ("the tracker does not know the repository", "correct tracker.repository or tracker.url, or give the token access"),
    410: ("the repository has no issues", "enable issues for tracker.repository, or name another"),
    423: ("the tracker's repository is archived", "name another in tracker.repository"),
}
"""Errors that the operator can fix: problem and remedy by status."""
_REDACTED_FIELDS = frozenset({"title", "body"})


class Reply(NamedTuple):
    """Response of an API: status and JSON, None if it has no body."""

    status: int
    content: Any


class Api:
    """Client for a few calls to one forge. Use it as a context manager."""

    def __init__(self, base: str, headers: Mapping[str, str], patience: float) -> None:
        """`patience`: total seconds for all calls."""
        self._until = time.monotonic() + patience
        try:
            self._client = httpx.Client(base_url=base.rstrip("/"), headers={"User-Agent": "helmsman", **headers})
        except (httpx.InvalidURL, UnicodeEncodeError) as error:  # headers must be ASCII
            raise _unusable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def pages(self, path: str, **query: str | int) -> Iterator[Mapping[str, Any]]:
        """Yield the objects of a list, page by page. Repeated pages of a server without paging are skipped."""
        seen: set[int] = set()
        for page in range(1, MOST_PAGES + 1):
            response = self._request("GET", path, {"params": {**query, "page": page} if page > 1 else query})
            content = _json_of(response)
            if not isinstance(content, list):
                raise unknown_format("not a list")
            page_items = {identity_of(item): mapping(item) for item in cast("list[Any]", content)}
            fresh = {identity: item for identity, item in page_items.items() if identity not in seen}
            seen |= fresh.keys()
            yield from fresh.values()
            total = response.headers.get("x-total-count", "")  # Gitea's; GitHub names the next page
            more = len(seen) < (int(total) if total.isdecimal() else 0)
            if not fresh or not ("next" in response.links if "link" in response.headers else more):
                return

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, accept: Collection[int] = ()) -> Reply:
        """Make one call. A POST is retried only if it certainly had no effect.

        `accept`: error statuses to return instead of raising. Titles and bodies are redacted.
        """
        safe = {name: redact(value) if name in _REDACTED_FIELDS else value for name, value in (body or {}).items()}
        response = self._request(method, path, {"json": safe if body is not None else None}, accept)
        return Reply(response.status_code, _json_of(response))

    def _request(self, method: str, path: str, payload: Mapping[str, Any], accept: Collection[int] = ()) -> httpx.Response:
        for attempt in range(1, TRIES + 1):
            seconds = max(0.01, min(TIMEOUT, self._until - time.monotonic()))
            try:
                response = self._send(method, path, seconds, payload)
            except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as failed:
                raise _unusable(failed) from failed
            except httpx.HTTPError as failed:
                error: HelmsmanError = TransientError(
                    "the tracker cannot be reached", found=_excerpt(f"{self._client.base_url} {type(failed).__name__}: {failed}")
                )
                may_retry, delay = method != "POST" or isinstance(failed, httpx.ConnectError | httpx.ConnectTimeout), 0.0
            else:
                if response.is_success or response.status_code in accept:
                    return response
                status, retry_after = response.status_code, response.headers.get("retry-after", "")
                used_up = response.headers.get("x-ratelimit-remaining") == "0"
                # GitHub also uses 403 for rate limits
                is_limited = status == _TOO_MANY or (status == _FORBIDDEN and (used_up or "retry-after" in response.headers))
                # a gateway's 5xx does not tell whether a POST had an effect; a rate limit does
                may_retry = is_limited or (method != "POST" and status in _BUSY)
                found = _excerpt(f"{status} {response.text[:MOST_WORDS]}")
                error = TransientError("the tracker rejected the request", found=found)
                if not is_limited and (advice := _REMEDIES.get(status)):
                    error = OperatorError(advice[0], found=found, remedy=advice[1])
                # an hourly quota does not reset within seconds
                delay = float(retry_after) if retry_after.isdecimal() else (LONGEST_PAUSE + 1) * used_up
            pause = delay or FIRST_PAUSE * attempt
            if attempt == TRIES or not may_retry or pause > min(LONGEST_PAUSE, self._until - time.monotonic()):
                raise error
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _send(self, method: str, path: str, seconds: float, payload: Mapping[str, Any]) -> httpx.Response:
        """The complete response. httpx limits the wait for each part only, and a body may come byte by byte."""
        until, body = time.monotonic() + seconds, bytearray()
        timeout = httpx.Timeout(seconds, connect=seconds / 2)
        with self._client.stream(method, path, timeout=timeout, **payload) as response:
            for part in response.iter_raw():
                body += part
                if time.monotonic() > until:
                    raise httpx.ReadTimeout("the response is too slow")
        return httpx.Response(response.status_code, headers=response.headers, content=bytes(body))


def unknown_format(found: str) -> TransientError:
    return TransientError(
        "the tracker's response has an unknown format",
        expected="JSON of its API",
        found=clean(found)[:MOST_WORDS],
        remedy="if it stays so, correct tracker.url, which ends with /api/v1 for Gitea",
    )


def identity_of(content: object) -> int:
    """Id of an object. Raises TransientError if it has none."""
    identity = mapping(content).get("id")
    if not isinstance(identity, int):
        raise unknown_format("an object without an id")
    return identity


def _json_of(response: httpx.Response) -> Any:
    try:
        return response.json() if response.content else None
    except ValueError as error:
        raise unknown_format(response.headers.get("content-type", "")) from error


def _unusable(error: Exception) -> OperatorError:
    return OperatorError("the tracker cannot be reached", found=_excerpt(str(error)), remedy=f"correct tracker.url or {TOKEN}")


def _excerpt(text: str) -> str:
    return redact(clean(text))[:MOST_WORDS]
