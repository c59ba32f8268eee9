"""How many lines two versions of a file share at their start and at their end, as far as whole definitions go."""

from collections.abc import Callable

from helmsman.verify.changed_lines import common_start

Begins = Callable[[list[str], int], bool]
"""Whether something begins on a line, so that a file may be cut above it."""


def common_ends(old: list[str], new: list[str], begins: Begins) -> tuple[int, int]:
    """The number of common first lines and that of common last ones, which do not overlap."""
    start = common_start(old, new)
    while start > 0 and not (begins(old, start) and begins(new, start)):
        start -= 1
    most = min(len(old), len(new)) - start
    end = common_start(old[: -most - 1 : -1], new[: -most - 1 : -1])
    while end > 0 and not begins(old, len(old) - end):
        end -= 1
    return start, end
