"""Usage limits: what the CLI's own events say of one and of its reset, and which words name one where it sends no events."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from helmsman.parsers.loose import amount, mapping, text
from helmsman.records.agent import RateLimit, UsageWindow

REJECTED = "rejected"
_MILLISECONDS_FROM = 1e11  # as seconds, this is the year 5138
_WORDS_READ = 2000
_WINDOWS = 10

_NAMES_A_LIMIT = re.compile(
    r"usage limit reached|(?:hit|reached) your .{0,80}limit|out of (?:extra usage|usage credits)"
    r"|(?<!not your usage )limit .{0,80}resets",
    re.IGNORECASE,
)


def read_limit(info: Mapping[str, Any]) -> RateLimit:
    """What a rate_limit_event says; its reset may lie in the past. A warning without a share says at least which was passed."""
    window, windows = text(info.get("rateLimitType")), dict[str, UsageWindow]()
    for name, said in [(window, info), *mapping(info.get("unifiedWindows")).items()][: _WINDOWS + 1]:
        of = mapping(said)
        shares = (amount(of.get("utilization")), amount(of.get("surpassedThreshold")))
        share = next((one for one in shares if one is not None), None)
        if share is not None:
            resets = _moment(amount(of.get("resetsAt")))
            windows[text(name)] = UsageWindow(name=text(name), utilization=min(share, 1.0), resets_at=resets)
    own = windows.get(window)
    return RateLimit(
        status=text(info.get("status")),
        window=window,
        resets_at=_moment(amount(info.get("resetsAt"))),
        utilization=own.utilization if own else None,
        windows=tuple(windows.values())[:_WINDOWS],
    )


def names_a_limit(words: str) -> bool:
    """Whether an error of the CLI speaks of the subscription's own limit."""
    return _NAMES_A_LIMIT.search(words[:_WORDS_READ]) is not None


def ahead(limit: RateLimit | None, now: datetime) -> RateLimit | None:
    """The limit without a reset that has passed."""
    if limit is None or limit.resets_at is None or limit.resets_at > now:
        return limit
    return limit.model_copy(update={"resets_at": None})


def reached(limit: RateLimit | None) -> RateLimit:
    """The limit that stopped a call, with its reset where the event told it, even one that has just passed."""
    return limit if limit and limit.status == REJECTED else RateLimit(status=REJECTED)


def _moment(epoch: float | None) -> datetime | None:
    seconds = (epoch or 0) / (1000 if (epoch or 0) >= _MILLISECONDS_FROM else 1)
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < _MILLISECONDS_FROM else None
