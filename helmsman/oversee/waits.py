"""When a wait is over that the configuration gives a length to. One that never ends is a valid wish, and no valid date."""

from datetime import datetime, timedelta

LONGEST_MINUTES = 366 * 24 * 60
"""A year: nobody waits for more, and a date would not hold much more."""


def later(moment: datetime, *, minutes: float) -> datetime:
    """So many minutes after it, a year at most."""
    return moment + timedelta(minutes=min(minutes, LONGEST_MINUTES))
