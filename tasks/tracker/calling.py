"""Calls to a tracker's API: bounded in time, tried again where that cannot do anything twice, with errors by blame."""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import httpx

from helmsman.errors import HelmsmanError, OperatorError, WorldError
from helmsman.parsers.loose import items, mapping
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
Parameters = Mapping[str, str | int]

_BUSY = frozenset({500, 502, 503, 504})
_TOO_MANY = 429
_FORBIDDEN = 403

_FIXING: Mapping[int, tuple[str, str]] = {
    301: ("the tracker's repository has moved", "correct tracker.repository or tracker.url"),
    302: ("the tracker's API is not where it was looked for", "correct tracker.url"),
    307: ("the tracker's repository has moved", "correct tracker.repository or tracker.url"),
    308: ("the tracker's repository has moved", "correct tracker.repository or tracker.url"),
    401: ("the tracker refuses the token", f"give a valid one in {TOKEN} or in the block that tracker.block names"),
    403: (
        "the tracker's token may not do that",
        "give one that may read and write issues and labels of tracker.repository, and pull requests where issues start loops",
    ),
    404: ("the tracker does not know the repository", "correct tracker.repository, or let the token see it"),
    410: ("the tracker has no issues there", "switch issues on for tracker.repository, or name another"),
    423: ("the tracker's repository is archived", "name another in tracker.repository"),
}
"""What the operator can fix, by status."""


@dataclass(frozen=True)
class Reply:
    """What an API answered."""

    status: int
    content: Any
    """JSON, None where there is none."""
    more: bool | None
    """Whether it says that another page follows; None where it says nothing of it."""
    total: int | None
    """How many there are over all pages, where it says so."""


_READ_BY_PEOPLE = frozenset({"title", "body"})


class Api:
    """One tracker for a few calls. Use it as a context manager."""

    def __init__(self, base: str, headers: Mapping[str, str], token: str, patience: float) -> None:
        """`patience`: seconds for all calls together."""
        self._until = time.monotonic() + patience
        self._token = token
        try:
            self._client = httpx.Client(base_url=base.rstrip("/"), headers={"User-Agent": "helmsman", **headers})
        except (httpx.InvalidURL, UnicodeEncodeError) as error:  # only ASCII can stand in a header
            raise self._unusable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def pages(self, path: str, **query: str | int) -> Iterator[Mapping[str, Any]]:
        """The objects of a list, page by page. A server that knows no pages repeats itself, and is heard once."""
        seen: set[int] = set()
        for page in range(1, MOST_PAGES + 1):
            reply = self.call("GET", path, query={**query, "page": page} if page > 1 else query)
            fresh = {identity: one for identity, one in _objects(reply).items() if identity not in seen}
            seen |= fresh.keys()
            yield from fresh.values()
            more = reply.more if reply.more is not None else len(seen) < (reply.total or 0)
            if not fresh or not more:
                return

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Parameters | None = None,
        body: Mapping[str, Any] | None = None,
        accept: Collection[int] = (),
    ) -> Reply:
        """One call. A new issue or comment is tried again only where it was certainly not made.

        `accept`: statuses beside success that are an answer and no error.
        """
        for attempt in range(1, TRIES + 1):
            outcome = self._tried(method, path, query, body, accept)
            if isinstance(outcome, Reply):
                return outcome
            pause = outcome.pause or FIRST_PAUSE * attempt
            if attempt == TRIES or not outcome.again or pause > min(LONGEST_PAUSE, self._until - time.monotonic()):
                raise outcome.error
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _tried(
        self, method: str, path: str, query: Parameters | None, body: Mapping[str, Any] | None, accept: Collection[int]
    ) -> "Reply | _Failed":
        try:
            response = self._client.request(method, path, params=query, json=_safe(body), timeout=self._timeout())
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            return _Failed(self._unusable(error))
        except httpx.HTTPError as error:
            found = self._shown(f"{type(error).__name__}: {error}")
            again = method != "POST" or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)  # those sent nothing
            return _Failed(WorldError("the tracker cannot be reached", found=found), again)
        if response.is_success or response.status_code in accept:
            return _read(response)
        return _Failed(self._blamed(response), _may_be_repeated(method, response), _asked_pause(response))

    def _unusable(self, error: Exception) -> OperatorError:
        remedy = f"correct tracker.url or {TOKEN}"
        return OperatorError("the tracker cannot be asked", found=self._shown(str(error)), remedy=remedy)

    def _timeout(self) -> httpx.Timeout:
        left = max(0.01, min(TIMEOUT, self._until - time.monotonic()))
        return httpx.Timeout(left, connect=left / 2)

    def _blamed(self, response: httpx.Response) -> HelmsmanError:
        found = self._shown(f"{response.status_code} {response.text[:MOST_WORDS]}")
        fixing = _FIXING.get(response.status_code)
        if fixing and not _limits_rate(response):
            return OperatorError(fixing[0], found=found, remedy=fixing[1])
        return WorldError("the tracker did not do what was asked", found=found)

    def _shown(self, text: str) -> str:
        return redact(clean(text))[:MOST_WORDS]


def _safe(body: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What people read of it without secrets; names of branches and labels as they are."""
    if body is None:
        return None
    return {name: redact(value) if name in _READ_BY_PEOPLE else value for name, value in body.items()}


class _Failed(NamedTuple):
    error: HelmsmanError
    again: bool = False
    """Whether another try may help and can do nothing twice."""
    pause: float = 0
    """Seconds that the tracker asks for; 0 where it does not say."""


def unknown_form(found: str) -> WorldError:
    return WorldError("the tracker answers in an unknown form", expected="JSON of its API", found=clean(found)[:MOST_WORDS])


def identity_of(content: object) -> int:
    """The id of an object, which each has."""
    identity = mapping(content).get("id")
    if not isinstance(identity, int):
        raise unknown_form("an object without an id")
    return identity


def _read(response: httpx.Response) -> Reply:
    total = response.headers.get("x-total-count", "")
    more = "next" in response.links if "link" in response.headers else None
    try:
        content = response.json() if response.content else None
    except ValueError as error:
        raise unknown_form(response.headers.get("content-type", "")) from error
    return Reply(response.status_code, content, more, int(total) if total.isdecimal() else None)


def _objects(reply: Reply) -> dict[int, Mapping[str, Any]]:
    """The objects of a list by their ids."""
    objects = items(reply.content)
    if not isinstance(reply.content, list):
        raise unknown_form("no list")
    return {identity_of(one): mapping(one) for one in objects}


def _may_be_repeated(method: str, response: httpx.Response) -> bool:
    """A gateway's 5xx says nothing about whether a new issue or comment was made; a limit on the rate does."""
    return _limits_rate(response) or (method != "POST" and response.status_code in _BUSY)


def _limits_rate(response: httpx.Response) -> bool:
    """GitHub limits the rate by 403 as well."""
    used_up = response.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in response.headers
    return response.status_code == _TOO_MANY or (response.status_code == _FORBIDDEN and used_up)


def _asked_pause(response: httpx.Response) -> float:
    asked = response.headers.get("retry-after", "")
    used_up = response.headers.get("x-ratelimit-remaining") == "0"
    return float(asked) if asked.isdecimal() else (LONGEST_PAUSE + 1) * used_up  # an hour's share is not back in seconds
