"""Calls to a forge's API: bounded in time, tried again where that cannot do anything twice, with errors by blame."""

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
"""Seconds before the second try."""
TIMEOUT = 10.0
"""Seconds for one call."""
LONGEST_PAUSE = 5.0
"""Seconds before a call is tried again; a tracker that asks for more is left alone until the next time."""
MOST_PAGES = 20
MOST_WORDS = 300
"""Characters of an answer that an error repeats."""
MISSING = frozenset({404, 410})
NAMELESS = frozenset({401, 403, 404})
"""Tokens of an app, or of a narrow kind, may not ask whose they are."""

_BUSY = frozenset({500, 502, 503, 504})
_TOO_MANY, _FORBIDDEN = 429, 403
_MOVED = ("the tracker's repository has moved", "correct tracker.repository or tracker.url")
_FIXING: Mapping[int, tuple[str, str]] = {
    **dict.fromkeys((301, 307, 308), _MOVED),
    302: ("the tracker's API was not found at this address", "correct tracker.url"),
    401: ("the tracker refuses the token", f"use a valid one in {TOKEN} or in the block that tracker.block names"),
    403: (
        "the tracker's token may not do that",
        "use one that may read and write issues and labels of tracker.repository, and pull requests where issues start loops",
    ),
    404: ("the tracker does not know the repository", "correct tracker.repository, or let the token see it"),
    410: ("the tracker has no issues there", "switch issues on for tracker.repository, or name another"),
    423: ("the tracker's repository is archived", "name another in tracker.repository"),
}
"""What the operator can fix, by status."""
_READ_BY_PEOPLE = frozenset({"title", "body"})


class Reply(NamedTuple):
    """What an API answered: JSON, None where there is none."""

    status: int
    content: Any


class Api:
    """One forge for a few calls. Use it as a context manager."""

    def __init__(self, base: str, headers: Mapping[str, str], patience: float) -> None:
        """`patience`: seconds for all calls together."""
        self._until = time.monotonic() + patience
        try:
            self._client = httpx.Client(base_url=base.rstrip("/"), headers={"User-Agent": "helmsman", **headers})
        except (httpx.InvalidURL, UnicodeEncodeError) as error:  # only ASCII can stand in a header
            raise _unusable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def pages(self, path: str, **query: str | int) -> Iterator[Mapping[str, Any]]:
        """The objects of a list, page by page. A server that knows no pages repeats itself, and is heard once."""
        seen: set[int] = set()
        for page in range(1, MOST_PAGES + 1):
            response = self._request("GET", path, {"params": {**query, "page": page} if page > 1 else query})
            content = _content(response)
            if not isinstance(content, list):
                raise unknown_form("no list")
            found = {identity_of(one): mapping(one) for one in cast("list[Any]", content)}
            fresh = {identity: one for identity, one in found.items() if identity not in seen}
            seen |= fresh.keys()
            yield from fresh.values()
            total = response.headers.get("x-total-count", "")  # Gitea's; GitHub names the next page
            more = len(seen) < (int(total) if total.isdecimal() else 0)
            if not fresh or not ("next" in response.links if "link" in response.headers else more):
                return

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, accept: Collection[int] = ()) -> Reply:
        """One call. A new issue or comment is tried again only where it was certainly not made.

        `accept`: statuses beside success that are an answer and no error. What people read is sent without secrets.
        """
        safe = {name: redact(value) if name in _READ_BY_PEOPLE else value for name, value in (body or {}).items()}
        response = self._request(method, path, {"json": safe if body is not None else None}, accept)
        return Reply(response.status_code, _content(response))

    def _request(self, method: str, path: str, sent: Mapping[str, Any], accept: Collection[int] = ()) -> httpx.Response:
        for attempt in range(1, TRIES + 1):
            left = max(0.01, min(TIMEOUT, self._until - time.monotonic()))
            try:
                response = self._client.request(method, path, timeout=httpx.Timeout(left, connect=left / 2), **sent)
            except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as failed:
                raise _unusable(failed) from failed
            except httpx.HTTPError as failed:
                error: HelmsmanError = TransientError(
                    "the tracker cannot be reached", found=_shown(f"{type(failed).__name__}: {failed}")
                )
                again, asked = method != "POST" or isinstance(failed, httpx.ConnectError | httpx.ConnectTimeout), 0.0
            else:
                if response.is_success or response.status_code in accept:
                    return response
                status, retry_after = response.status_code, response.headers.get("retry-after", "")
                used_up = response.headers.get("x-ratelimit-remaining") == "0"
                # GitHub limits the rate by 403 as well
                limited = status == _TOO_MANY or (status == _FORBIDDEN and (used_up or "retry-after" in response.headers))
                # a gateway's 5xx says nothing about whether a new issue or comment was made; a limit on the rate does
                again = limited or (method != "POST" and status in _BUSY)
                found = _shown(f"{status} {response.text[:MOST_WORDS]}")
                error = TransientError("the tracker refused the request", found=found)
                if not limited and (fixing := _FIXING.get(status)):
                    error = OperatorError(fixing[0], found=found, remedy=fixing[1])
                # an hour's share is not back in seconds
                asked = float(retry_after) if retry_after.isdecimal() else (LONGEST_PAUSE + 1) * used_up
            pause = asked or FIRST_PAUSE * attempt
            if attempt == TRIES or not again or pause > min(LONGEST_PAUSE, self._until - time.monotonic()):
                raise error
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")


def unknown_form(found: str) -> TransientError:
    return TransientError(
        "the tracker's answer has an unknown format", expected="JSON of its API", found=clean(found)[:MOST_WORDS]
    )


def identity_of(content: object) -> int:
    """The id of an object, which each has."""
    identity = mapping(content).get("id")
    if not isinstance(identity, int):
        raise unknown_form("an object without an id")
    return identity


def _content(response: httpx.Response) -> Any:
    try:
        return response.json() if response.content else None
    except ValueError as error:
        raise unknown_form(response.headers.get("content-type", "")) from error


def _unusable(error: Exception) -> OperatorError:
    return OperatorError("the tracker cannot be reached", found=_shown(str(error)), remedy=f"correct tracker.url or {TOKEN}")


def _shown(text: str) -> str:
    return redact(clean(text))[:MOST_WORDS]
