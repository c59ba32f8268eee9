"""What a rule found, as a finding: bounded, on one line, with what to do instead; and what stands against the work."""

import re
from collections.abc import Iterable, Iterator, Sequence
from posixpath import dirname, isabs, join, normpath
from typing import NamedTuple

from helmsman.parsers.loose import text
from helmsman.plain import shortened
from helmsman.records.agent import survivors_named
from helmsman.records.checks import SHOWN, Finding, Weight
from helmsman.records.iteration import Evidence
from helmsman.verify.diff import FileDiff

LONGEST_PATH = 4096


class Spot(NamedTuple):
    """A place in a changed file."""

    path: str
    line: int | None = None  # counted from 1
    after: str = ""
    before: str = ""


def finding(rule: str, honest: str, weight: Weight, spot: Spot, message: str) -> Finding:
    """`honest`: what to do instead, as an instruction."""
    before, after, said = (
        shortened(" ".join(text(one, 10 * SHOWN).split()), SHOWN) for one in (spot.before, spot.after, message)
    )
    told = {"rule": rule, "honest": honest, "weight": weight, "path": text(spot.path, LONGEST_PATH), "line": spot.line}
    return Finding.model_validate({**told, "before": before, "after": after, "message": said})


# --- sentences on what stands against being done, for the loop and for an item of its plan alike -----------------------------

NAMED = 3


def some(names: Sequence[str], of: int | None = None, most: int = NAMED) -> str:
    """A few of them; `of`: how many there are, where only the first are given."""
    named = names[:most]
    more = (len(names) if of is None else of) - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def findings_that_block(findings: Iterable[Finding]) -> str:
    """What the invariants found; empty where nothing stands against the work."""
    return some([f"{one.message} ({one.rule}, {one.where})" for one in findings if one.weight is Weight.BLOCK])


def no_test_ran_in(checks: Sequence[str]) -> str:
    """Of checks that pass; empty where each ran one."""
    return f"no test ran in {some(checks)}: a check that passes without one shows nothing" if checks else ""


def processes_left(evidence: Evidence) -> str:
    """What the agent started and nobody could end: it may change files, or answer for a server, while the checks run."""
    left = evidence.execution.call.survivors
    return f"processes that the agent started are still running: {survivors_named(left)}" if left else ""


# --- links that lead out of the repository ---------------------------------------------------------------------------------

_CONTENT = "Commit the file itself: a link out of the repository leads nowhere on another machine, and to whatever lies there."


def link_outside(path: str, target: str) -> Iterator[Finding]:
    """One that blocks where a link leads out of the repository: what it leads to is no part of the work."""
    if isabs(target) or normpath(join(dirname(path), target)).split("/")[0] == "..":
        yield finding(
            "links", _CONTENT, Weight.BLOCK, Spot(path, after=target), f"it links to {target}, outside of the repository"
        )


# --- markers of a merge that nobody finished --------------------------------------------------------------------------------

_HONEST = "Merge what both sides wanted, take the markers out, and let tests show that both hold."
_MARKER = re.compile(r"<{7} \S.*|>{7} (?:\S*[0-9a-f]{7}\S*|HEAD|refs/\S+)(?: .*)?")
"""With the name that git writes behind it: seven signs alone may be a heading, and quoted mail looks like the second."""


def conflicts_in(file: FileDiff) -> Iterator[Finding]:
    """One that blocks for each conflict of git's that came into a file, or for what is left of it."""
    marked = [line for line in file.added if _MARKER.fullmatch(line.text.rstrip())]
    for line in [one for one in marked if one.text.startswith("<")] or marked:
        spot = Spot(file.path, line.number, line.text)
        yield finding("markers", _HONEST, Weight.BLOCK, spot, "a merge conflict was left unresolved")
