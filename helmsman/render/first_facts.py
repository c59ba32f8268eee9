"""What a person asks first of a loop: is it done, what proves it, what fails, what did it cost. As facts, for any form."""

from collections.abc import Iterator

from helmsman.records.checks import CheckReport
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.texts import counted, duration, merged_text, money_text, tokens_told

LISTED = 8
"""Failing tests, or whatever else is listed, that are named."""


class Code(str):
    """A piece of a line that is a name, a commit or a command."""

    __slots__ = ()


Line = tuple[str, ...]
"""Pieces with a space between them."""


def first_facts(state: LoopState) -> Iterator[tuple[str, list[Line]]]:
    """Questions with their answers; a question without an answer is none."""
    facts = (
        ("Done", [_done(state)]),
        ("Proof", [_proof(state)]),
        ("Fails", list(_fails(state))),
        ("Cost", [_cost(state)]),
        ("Branch", list(_branch(state))),
    )
    yield from ((name, lines) for name, lines in facts if lines)


def failing_names(report: CheckReport) -> Iterator[str]:
    """Tests by name; a command that names none by itself."""
    for result in report.failures:
        names = result.counts.failing if result.counts else ()
        yield from names or (result.command,)


def _done(state: LoopState) -> Line:
    if state.ending:
        return ("yes:" if state.outcome is Outcome.COMPLETED else "no:", state.ending.reason)
    if state.gate:
        return ("not yet:", state.gate.question)
    if state.waiting:
        return (f"not yet: it goes on at {state.waiting.until:%Y-%m-%d %H:%M} UTC:", state.waiting.reason)
    return ("not yet",)


def _proof(state: LoopState) -> Line:
    if not state.config.checks:
        return ("no check is configured: nothing is verified",)
    if state.checks is None:
        return ("none yet: no check has run",)
    results = state.checks.results
    counts = [result.counts for result in results if result.counts]
    tests = f", {sum(one.passed for one in counts)} tests passed" if counts else ""
    green = f"{len(results) - len(state.checks.failures)} of {counted(len(results), 'check')} green{tests}"
    return (f"{green}; proven at", Code(state.verified[:12])) if state.verified else (f"{green}; not proven yet",)


def _fails(state: LoopState) -> Iterator[Line]:
    found = list(failing_names(state.checks)) if state.checks else []
    yield from ((Code(one),) for one in found[:LISTED])
    if len(found) > LISTED:
        yield (f"… and {len(found) - LISTED} more",)


def _cost(state: LoopState) -> Line:
    limits, spent = state.config.limits, state.spending
    iterations = f"{state.iteration} of {counted(limits.iterations, 'iteration')}"
    tokens = tokens_told(spent.tokens, state.untold)
    return (f"{money_text(spent.cost_usd, limits.cost_usd, state.untold)}, {iterations}, {duration(spent.seconds)}, {tokens}",)


def _branch(state: LoopState) -> Iterator[Line]:
    yield Code(state.branch), "at", Code(state.head[:12])
    if state.merged:
        yield (merged_text(state.merged),)
