"""What one file contributes to the variety of a tree: small, and kept by the id of its text, so that no text is read twice."""

from typing import Literal

from helmsman.records.base import Record


class FileFacts(Record):
    """Counts and names of one file. It depends on its path and its text alone."""

    role: Literal["source", "tests", "other"] = "other"
    """`tests`: it holds tests or serves them. `other`: nothing in it is counted: generated, vendored, or no code."""
    lines: int = 0
    """That are not blank."""
    suppressions: int = 0
    skips: int = 0
    """Tests that never run, or that keep others from running; those that depend on the platform are left out."""
    casts: int = 0
    public_names: int = 0
    tests: int = 0
    imports: tuple[str, ...] = ()
    """As written, 500 at most: dotted, with leading dots where relative, for Python; relative paths for JavaScript."""
    late: tuple[str, ...] = ()
    """Imports within functions or for types only, 500 at most: they couple and make no cycle."""
    lonely: tuple[str, ...] = ()
    """Private names that are defined at the top and that this text mentions nowhere else, 200 at most."""
    mentions: tuple[str, ...] = ()
    """Words that begin with an underscore, without `lonely`, 2,000 at most; the private names of Python look so."""
    reads_names: bool = False
    """Whether it looks names up by text, so that nothing in it is known to be dead."""
