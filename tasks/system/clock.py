"""The time, as it is written into records."""

from datetime import UTC, datetime


def now_utc() -> datetime:
    return datetime.now(UTC)
