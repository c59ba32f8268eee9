"""Probes: cases that an independent model writes at a claim of completion, and what came of them."""

from helmsman.records.base import Record
from helmsman.records.usage import Usage


class Probe(Record):
    """A case that a model wrote without seeing the new source. It lies outside of the repository: the agent never sees it."""

    says: str
    """What it asks for, in a sentence without its values; this is what the agent is told."""
    code: str
    """A test file of its own."""
    right: bool = False
    """Whether it failed, was read once more, and was found right."""


class Probed(Record):
    """What came of the probes at one claim, without what they are."""

    written: int = 0
    again: bool = False
    """Whether they are those of an earlier claim."""
    passing: int = 0
    failing: tuple[str, ...] = ()
    """What those ask for that fail and are right: they block."""
    unclear: tuple[str, ...] = ()
    """What those ask for that fail, and of which nobody can tell whether they are right."""
    dropped: int = 0
    """Those that fail and are wrong, or could not be run."""
    reason: str = ""
    """Why there are none, or why nobody read those that fail."""
    usage: Usage = Usage()
    """What writing and reading them took."""
