"""Markers of a merge that nobody finished."""

import re
from collections.abc import Iterator

from helmsman.records.checks import Finding, Weight
from helmsman.verify.diff import FileDiff, lines_of
from helmsman.verify.reporter import Spot, finding

_HONEST = "Merge what both sides wanted, take the markers out, and let tests show that both hold."
_OPENS = re.compile(r"<{7}(?: .*)?")
_PARTS = re.compile(r"={7}")
_CLOSES = re.compile(r">{7}(?: .*)?")
_LABELLED = re.compile(r"<{7} \S.*|>{7} (?:\S*[0-9a-f]{7}\S*|HEAD|refs/\S+)(?: .*)?")
"""A marker that stands alone. Nothing else looks like the first; quoted mail looks like the second, where git names no side."""


def conflicts_in(file: FileDiff) -> Iterator[Finding]:
    """One that blocks for each conflict of git's that came into a file, or for what is left of it.

    A line of seven equals signs alone is a heading. All three kinds in their order are a conflict; where one of them is gone,
    another is known by the name that git writes behind it.
    """
    after = file.after or ""
    if "<<<<<<<" not in after and ">>>>>>>" not in after:
        return
    whole, opened, parted = (
        dict[int, int](),
        0,
        False,
    )  # lines that open a conflict which is parted below, with those that close it
    for number, line in enumerate((line.rstrip() for line in lines_of(after)), start=1):
        if _OPENS.fullmatch(line):
            opened, parted = number, False
        elif opened and _PARTS.fullmatch(line):
            parted = True
        elif opened and parted and _CLOSES.fullmatch(line):
            whole[opened], opened = number, 0
    for line in file.added:
        alone = line.number not in whole.values() and _LABELLED.fullmatch(line.text.rstrip())
        if line.number in whole or alone:
            spot = Spot(file.path, line.number, line.text)
            yield finding("markers", _HONEST, Weight.BLOCK, spot, "a merge conflict was left unresolved")
