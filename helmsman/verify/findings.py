"""Build findings, bounded and on one line, with what to do instead; and format reasons against the work."""

import re
from collections.abc import Iterable, Iterator, Sequence
from posixpath import dirname, isabs, join, normpath
from typing import NamedTuple

from helmsman.parsers.loose import text
from helmsman.plain import shorten
from helmsman.records.agent import format_survivors
from helmsman.records.checks import SHOWN, Finding, Weight
from helmsman.records.iteration import Evidence
from helmsman.verify.diff import FileDiff

LONGEST_PATH = 4096


class Spot(NamedTuple):
    """A location in a changed file."""

    path: str
    line: int | None = None  # counted from 1
    after: str = ""
    before: str = ""


def finding(rule: str, honest: str, weight: Weight, spot: Spot, message: str) -> Finding:
    """Build a finding. `honest`: what to do instead, as an instruction."""
    before, after, message_text = (
        shorten(" ".join(text(side, 10 * SHOWN).split()), SHOWN) for side in (spot.before, spot.after, message)
    )
    fields = {"rule": rule, "honest": honest, "weight": weight, "path": text(spot.path, LONGEST_PATH), "line": spot.line}
    return Finding.model_validate({**fields, "before": before, "after": after, "message": message_text})


# --- reasons against completion, for the loop and for plan items alike ------------------------------------------------------

NAMED = 3


def join_some(names: Sequence[str], total: int | None = None, most: int = NAMED) -> str:
    """Join the first names; `of`: total number, if only the first are given."""
    shown = names[:most]
    more = (len(names) if total is None else total) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def describe_blocking(findings: Iterable[Finding]) -> str:
    """Describe blocking findings; empty if there are none."""
    blocking = [hit for hit in findings if hit.weight is Weight.BLOCK]
    return join_some([f"{hit.message} ({hit.rule}, {hit.where})" for hit in blocking])


def describe_checks_without_tests(checks: Sequence[str]) -> str:
    """Describe passing checks that ran no test; empty if there are none."""
    return f"no test ran in {join_some(checks)}: a check that passes without tests proves nothing" if checks else ""


def describe_survivors(evidence: Evidence) -> str:
    """Describe the agent's processes that could not be ended: they may change files or act as servers during the checks."""
    left = evidence.execution.call.survivors
    return f"processes that the agent started are still running: {format_survivors(left)}" if left else ""


# --- links to targets outside of the repository ---------------------------------------------------------------------------------

_CONTENT = "Commit the file itself: on another machine, a link out of the repository is broken or leads to an unrelated file."
_RELATIVE = "Use a path relative to the file or to the repository, and commit the files that it leads to."


def find_outside_link(path: str, target: str) -> Iterator[Finding]:
    """Yield a blocking finding for a link to a target outside of the repository, which is not part of the work."""
    if isabs(target) or normpath(join(dirname(path), target)).split("/")[0] == "..":
        yield finding(
            "links", _CONTENT, Weight.BLOCK, Spot(path, after=target), f"it links to {target}, outside of the repository"
        )


def find_worktree_path(file: FileDiff, worktree: str) -> Iterator[Finding]:
    """Yield a blocking finding for the first line that names the agent's worktree, which is removed after the loop.

    Documents and notes may name it.
    """
    named = re.compile(rf"{re.escape(worktree)}(?![\w.-])")
    line = next((line for line in file.added if named.search(line.text)), None)
    if line and not file.path.endswith((".md", ".rst", ".txt")):
        spot = Spot(file.path, line.number, line.text)
        yield finding("worktree", _RELATIVE, Weight.BLOCK, spot, "it names the folder that the agent works in")


# --- markers of unresolved merge conflicts ----------------------------------------------------------------------------------

_HONEST = "Merge the intent of both sides, remove the markers, and prove both with tests."
_MARKER = re.compile(r"<{7} \S.*|>{7} (?:\S*[0-9a-f]{7}\S*|HEAD|refs/\S+)(?: .*)?")
"""Marker with the name that git appends: seven signs alone may be a heading, and quoted mail looks like the second."""


def conflicts_in(file: FileDiff) -> Iterator[Finding]:
    """Yield a blocking finding for each merge conflict added to a file, or for its remaining markers."""
    marked = [line for line in file.added if _MARKER.fullmatch(line.text.rstrip())]
    for line in [marker for marker in marked if marker.text.startswith("<")] or marked:
        spot = Spot(file.path, line.number, line.text)
        yield finding("markers", _HONEST, Weight.BLOCK, spot, "a merge conflict was left unresolved")
