"""Processes that a command left behind and that nobody could end."""

from collections.abc import Iterable

from helmsman.plain import clean
from helmsman.records.base import Record

MOST_SURVIVORS = 20


class Survivor(Record):
    """One of them: another user's, hanging in the kernel, or unknown because the process that contained it was killed."""

    pid: int
    started: float
    """Seconds since 1970; 0 where it is unknown. With the pid it names one process: pids come round again."""
    name: str


def survivors_named(survivors: Iterable[Survivor]) -> str:
    """Names with pids, in one line."""
    return ", ".join(f"{clean(one.name)} (pid {one.pid})" if one.started else clean(one.name) for one in survivors)
