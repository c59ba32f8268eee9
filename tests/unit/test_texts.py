"""What people read of an iteration: everything that happened inside its session, in one line each, fit for a terminal."""

import pytest

from helmsman.records.evidence import AgentOutcome
from helmsman.records.session import Compaction, ContextUse, ErrorVector, FailureClass, StopAttempt
from helmsman.texts import context_text, iteration_lines
from tests.unit.builders import call, execution, record

pytestmark = pytest.mark.feature("H4")

ESCAPE = "\x1b[2J"


def lines(**fields: object) -> str:
    return "\n".join(iteration_lines(record(execution=execution(call(AgentOutcome.FINISHED, **fields)))))


def test_a_plain_session_has_nothing_to_tell() -> None:
    told = lines()
    assert not [word for word in ("stop ", "rotated", "compacted", "failure", "resumed") if word in told]


def test_what_happened_inside_a_session_is_told() -> None:
    told = lines(
        resumed=True,
        rotated=f"the context is 81 % full{ESCAPE}",
        stops=(StopAttempt(blocked=True, why="1 of 2 checks fail: unit"), StopAttempt(blocked=False, why="no progress")),
        errors=(ErrorVector(kind=FailureClass.TEST, where="test_a", message="assert 1 == 2", times=3),),
        context=ContextUse(compactions=(Compaction(trigger="auto", before=900_000, after=20_000),)),
    )
    assert "agent finished (resumed)" in told
    assert "rotated    the context is 81 % full" in told
    assert "stop       sent back 1 time, then let go: no progress" in told
    assert "failure    3 times test test_a: assert 1 == 2" in told
    assert "compacted  900,000 → 20,000 tokens (auto)" in told
    assert "\x1b" not in told


def test_a_failure_that_was_seen_once_is_not_worth_a_line() -> None:
    assert "failure" not in lines(errors=(ErrorVector(kind=FailureClass.TEST, where="test_a"),))


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (ContextUse(peak=61_000, window=100_000), "61% of 100,000 tokens at its fullest"),
        (
            ContextUse(peak=61_000, window=100_000, heard=400, noise=100),
            "61% of 100,000 tokens at its fullest, 25% of tool output is noise",
        ),
        (ContextUse(peak=61_000), "61,000 tokens"),
    ],
)
def test_the_use_of_the_context_is_one_line(use: ContextUse, told: str) -> None:
    assert context_text(use) == told
