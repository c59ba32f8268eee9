"""Checks, and what became of them, as a prompt tells them: whichever section names one says it alike."""

from collections.abc import Iterable, Sequence

from helmsman.orient.budget import Foreign, Piece
from helmsman.plain import clean, clean_lines
from helmsman.records.checks import CheckResult


def commands(given: Iterable[str]) -> str:
    """Commands set in, those of several lines as well; empty for none."""
    return "\n".join(f"    {line}" for command in given for line in clean_lines(command).splitlines())


def how(result: CheckResult) -> str:
    """How a failed check ended."""
    if result.error:
        return clean(result.error)
    if result.timed_out:
        return f"ended after {result.seconds:.0f} s without an exit code"
    return f"exit code {result.exit_code}"


def printed(result: CheckResult) -> Sequence[Piece]:
    """What it printed, head and tail."""
    output = "\n[…]\n".join(part for part in (result.head.strip(), result.tail.strip()) if part)
    return ("Output:", Foreign(output)) if output else ("It printed nothing.",)
