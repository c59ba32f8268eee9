"""What people read of an iteration: everything that happened inside its session, in one line each, fit for a terminal."""

import pytest

from helmsman.records.advance import advance
from helmsman.records.agent import AgentOutcome, Compaction, ContextUse, ErrorVector, FailureClass, StopAttempt
from helmsman.records.iteration import Research, WorkingMemory
from helmsman.render.gate import evidence
from helmsman.render.lines import iteration_lines, result_name
from helmsman.texts import context_text, standing_lines
from helmsman.verify.claims import read_claims
from tests.unit.builders import call, check, execution, record, report, state

pytestmark = pytest.mark.feature("H4")

ESCAPE = "\x1b[2J"


def lines(**fields: object) -> str:
    return "\n".join(iteration_lines(record(execution=execution(call(AgentOutcome.FINISHED, **fields)))))


def test_a_plain_session_has_nothing_to_tell() -> None:
    told = lines()
    assert not [word for word in ("stop ", "rotated", "compacted", "failure", "resumed") if word in told]


def test_an_iteration_is_told_in_lines_and_its_checks_in_a_few_words() -> None:
    red = check(passed=False).model_copy(update={"name": f"unit{ESCAPE}"})
    half = record(checks=report(check(passed=True), red))
    assert [line.split()[0] for line in iteration_lines(half)] == ["#1", "tree", "check", "check", "→"]
    assert not any("\x1b" in line for line in iteration_lines(half))
    assert result_name(half) == "1 of 2 checks green"
    limited = execution(call(AgentOutcome.USAGE_LIMIT))
    assert [result_name(record(checks=report())), result_name(record(checks=None, execution=limited))] == [
        "no check configured",
        "agent: usage limit",
    ]


def test_what_happened_inside_a_session_is_told() -> None:
    told = lines(
        resumed=True,
        rotated=f"the context is 81 % full{ESCAPE}",
        stops=(StopAttempt(blocked=True, why="1 of 2 checks fails: unit"), StopAttempt(blocked=False, why="it goes on")),
        errors=(ErrorVector(kind=FailureClass.TEST, where="test_a", message="assert 1 == 2", times=3),),
        context=ContextUse(compactions=(Compaction(trigger="auto", before=900_000, after=20_000),)),
    )
    assert "agent finished (resumed)" in told
    assert "rotated    the context is 81 % full" in told
    assert "stop       blocked 1 time (checks fail), then allowed: it goes on" in told
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


BLOCKED = (
    "I looked.\n\nBLOCKED: a person has to connect the \x1bterminal.\n---RALPH_STATUS---\nSTATUS: BLOCKED\n---END_RALPH_STATUS---"
)


IN_THE_REPORT = (
    "A person has to connect the terminal.\n---RALPH_STATUS---\nSTATUS: BLOCKED\n"
    "RECOMMENDATION: a person has to connect the \x1bterminal.\n---END_RALPH_STATUS---"
)


@pytest.mark.parametrize("said", [BLOCKED, IN_THE_REPORT], ids=["in the message", "in the status report"])
def test_an_agent_that_says_that_it_is_blocked_is_heard_wherever_a_person_looks(said: str) -> None:
    spoken = execution(call(AgentOutcome.FINISHED, final_text=said, context=ContextUse(peak=1)))
    found = record(execution=spoken, claims=read_claims(said, "ALL_DONE"))
    after = advance(state(), found)
    assert after.last_call.blocked
    for shown in (
        iteration_lines(found),
        standing_lines(after),
        evidence(after, "here").splitlines(),
    ):
        (line,) = (line for line in shown if "has to connect the" in line)
        assert "blocked" in line.lower()
        assert "RALPH" not in line
        assert line.isprintable()


def test_the_last_words_of_an_agent_that_is_not_blocked_are_shown_where_a_person_decides() -> None:
    found = record(execution=execution(call(AgentOutcome.FINISHED, final_text="Half of it is done.", context=ContextUse(peak=1))))
    after = advance(state(), found)
    assert "blocked" not in "\n".join(iteration_lines(found))
    assert "said       Half of it is done." in standing_lines(after)
    assert "The agent's last words: Half of it is done" in evidence(after, "here")


@pytest.mark.feature("M6")
def test_research_is_called_so_and_what_is_incomplete_is_told() -> None:
    approach = "One file after the other."
    told = "\n".join(iteration_lines(record(memory=WorkingMemory(research=Research(tries=1, approach=approach)))))
    assert "#1  research, agent finished" in told
    assert f"research   complete: {approach}" in told
    short = WorkingMemory(research=Research(tries=1, problems=("## GAPS is missing",)))
    told = "\n".join(iteration_lines(record(memory=short)))
    assert "research   incomplete\n    missing    ## GAPS is missing\n" in told
    assert "research" not in "\n".join(iteration_lines(record(iteration=2, memory=short)))
