"""What stands against being done, for the loop and for an item of its plan alike: the first few by name, the rest by number."""

from collections.abc import Iterable, Sequence

from helmsman.records.agent import survivors_named
from helmsman.records.checks import Finding, Weight
from helmsman.records.iteration import Evidence

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
