"""Lines about iterations, decisions and control for a terminal."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config.loop import DetectConfig
from helmsman.oversee.decide import decide
from helmsman.oversee.detectors import detect
from helmsman.records.advance import advance
from helmsman.records.agent import AgentOutcome, Compaction, ContextUse, ErrorVector, FailureClass, StopAttempt
from helmsman.records.control import EscalationLevel, Ladder, Oversight, RolledBack
from helmsman.records.decision import Alert, Outcome, PathStep, Severity
from helmsman.records.iteration import Research, WorkingMemory
from helmsman.records.plan import ItemProof
from helmsman.records.proof import Denial, DoneSignals, Proof, SinceStart
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merged
from helmsman.records.verification import Case, Grounds, OutcomeTable
from helmsman.render.artifacts import verdicts_page
from helmsman.render.gate import evidence
from helmsman.render.lines import explanation_lines, iteration_lines, result_name, steering_lines
from helmsman.render.report import html_report
from helmsman.texts import context_text, result_lines, standing_lines
from helmsman.verify.claims import read_claims
from tests.unit.builders import ASKED, CONTINUE, NOW, call, check, config, execution, record, report, situation, state
from tests.unit.histories import BACK, history, step

ESCAPE = "\x1b[2J"


def lines(**fields: object) -> str:
    return "\n".join(iteration_lines(record(execution=execution(call(AgentOutcome.FINISHED, **fields)))))


def test_an_ending_is_told_in_words() -> None:
    assert next(iteration_lines(record(execution=execution(call(AgentOutcome.TIMED_OUT))))).startswith("#1  agent timed out: ")


@pytest.mark.parametrize(("code", "how"), [(0, " with exit status 0,"), (-9, " by signal 9,"), (None, ",")])
def test_a_crash_without_a_message_says_how_the_program_ended(code: int | None, how: str) -> None:
    lines = list(iteration_lines(record(execution=execution(call(AgentOutcome.CRASHED, exit_code=code)))))
    assert any(line.endswith(f"the agent's program ended{how} without a result and without a message") for line in lines)


@pytest.mark.feature("H4")
def test_an_ordinary_session_and_a_failure_seen_once_have_no_extra_lines() -> None:
    told = lines(errors=(ErrorVector(kind=FailureClass.TEST, where="test_a"),))
    assert not [word for word in ("stop ", "rotated", "compacted", "failure", "resumed") if word in told]


@pytest.mark.feature("H4")
def test_an_iteration_has_lines_and_its_checks_a_short_name() -> None:
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


@pytest.mark.feature("H4")
def test_events_inside_a_session_are_shown() -> None:
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


@pytest.mark.feature("H4")
@pytest.mark.parametrize(
    ("use", "told"),
    [
        (ContextUse(peak=61_000, window=100_000), "61% of 100,000 tokens at its peak"),
        (
            ContextUse(peak=61_000, window=100_000, heard=400, noise=100),
            "61% of 100,000 tokens at its peak, 25% of tool output is noise",
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


@pytest.mark.feature("H4")
@pytest.mark.parametrize("said", [BLOCKED, IN_THE_REPORT], ids=["in the message", "in the status report"])
def test_a_blocked_agents_message_is_shown_everywhere(said: str) -> None:
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


@pytest.mark.feature("H4")
def test_the_last_message_of_an_agent_is_shown_with_a_question() -> None:
    found = record(execution=execution(call(AgentOutcome.FINISHED, final_text="Half of it is done.", context=ContextUse(peak=1))))
    after = advance(state(), found)
    assert "blocked" not in "\n".join(iteration_lines(found))
    assert "said       Half of it is done." in standing_lines(after)
    assert "The agent's last message: Half of it is done" in evidence(after, "here")


@pytest.mark.feature("H4", "M6")
def test_research_is_named_with_what_is_missing() -> None:
    approach = "One file after the other."
    told = "\n".join(iteration_lines(record(memory=WorkingMemory(research=Research(tries=1, approach=approach)))))
    assert "#1  research, agent finished" in told
    assert f"research   complete: {approach}" in told
    short = WorkingMemory(research=Research(tries=1, problems=("## GAPS is missing",)))
    told = "\n".join(iteration_lines(record(memory=short)))
    assert "research   incomplete\n    missing    ## GAPS is missing\n" in told
    assert "research" not in "\n".join(iteration_lines(record(iteration=2, memory=short)))


WATCHED = config(ladder={"act": False})


def health(oversight: Oversight, *, acts: bool = True) -> str:
    (line,) = (line for line in steering_lines(oversight, config() if acts else WATCHED) if line.startswith("health"))
    return line


@pytest.mark.feature("S18")
@given(st.text(max_size=400))
def test_the_reason_fits_on_one_short_line(reason: str) -> None:
    told = health(Oversight(ladder=Ladder(rung=EscalationLevel.REFACTOR, reason=reason)))
    assert told.isprintable()
    assert len(told) <= len("health     E-I refactor because of ") + 101


@pytest.mark.feature("S18", "S4")
def test_a_step_back_names_tests_only_if_any_ran() -> None:
    def message(**fields: int) -> str:
        (fallen,) = (one for one in detect(history(*[step(BACK, **fields)] * 2), DetectConfig())[0] if one.rule == "regressing")
        return fallen.message

    assert message(failing_tests=1, passing_tests=3).endswith("completion is 50%, 1 test failing")
    assert message().endswith("completion is 50%")


@pytest.mark.feature("S18")
def test_an_explanation_has_the_path_what_would_have_changed_it_and_the_rollback() -> None:
    yes = PathStep(rule="continue", question="Go on?", held=True, because="the check fails", otherwise="any yes above")
    no = PathStep(rule="limits", question="Is a limit reached?", held=False, because="3 of 50", otherwise="more iterations")
    failed = RolledBack(iteration=1, ref="refs/x", commit="f" * 40, back_to="a" * 40, why="it fell", rule="regressing")
    decided = record(CONTINUE.model_copy(update={"path": (no, yes)}), failed=failed)
    lines = list(explanation_lines(decided))
    assert lines[3:5] == [
        "no         Is a limit reached? 3 of 50",
        "yes        Go on? the check fails; different with: any yes above",
    ]
    assert lines[-1] == "undone     ffffffffff stays at refs/x; the branch is at aaaaaaaaaa"


@pytest.mark.feature("S18", "V19")
def test_completed_work_is_explained_with_its_cases_and_grounds() -> None:
    """In a terminal, on the page and in the engine's UI alike."""
    case = Case(name="t::a", check="pytest", outcome="FAIL_TO_PASS", consequence="proves", why="was red")
    grounds = Grounds(rests_on=("`pytest` on the work in a clean checkout: the check passes",), not_looked_at=("mutants",))
    decided = record(
        CONTINUE.model_copy(update={"grounds": grounds}), since_start=SinceStart(table=OutcomeTable(cases=(case,), unnamed=2))
    )
    shown = "\n".join(explanation_lines(decided)), html_report(state(), [decided], "refs/x"), verdicts_page(state(), decided)
    for text in shown:
        assert "TO" in text.partition("t::a")[0].rpartition("FAIL")[2]
        assert "on the work in a clean checkout" in text
        assert "mutants" in text


@pytest.mark.feature("H4", "V9")
def test_the_reason_of_an_end_is_told_once_and_short() -> None:
    why = "the goal asks for tests, and " + "no new test fails without the change; " * 9
    proof = Proof(asked=True, green=True, denied=tuple(Denial(rule="unproven", why=f"{number} {why}") for number in range(4)))
    green = report(check(passed=True))
    decided = decide(situation(state=state(done=DoneSignals(unproven=1)), checks=green, claims=ASKED, proof=proof))
    warned = Alert(severity=Severity.WARN, rule="completion.denied", message=f"with passing checks, but {why}")
    ended = record(decided, checks=green, claims=ASKED, proof=proof, signals=(warned,))
    assert len(decided.reason) < 700
    assert decided.reason.count("the goal asks for tests") == 2
    assert "; and 2 more; accept the work yourself" in decided.reason
    (told,) = [line for line in iteration_lines(ended) if "the goal asks" in line]
    assert told.startswith("    → unproven: the agent claimed completion 2 times")
    assert list(iteration_lines(ended, before_result=True))[-1] == "    → unproven"
    assert warned.message in "\n".join(explanation_lines(ended))


@pytest.mark.feature("M8", "V9")
def test_checks_of_plan_items_are_shown_and_counted() -> None:
    own = report(*(check(passed=True, name=f"test_{name}", command=f"test_{name}") for name in "ba"))
    item = ItemProof(item="T002", title="b", proven=True)
    found: dict[str, Any] = {"checks": report(check(passed=True)), "own": own, "claims": ASKED}
    lines = list(iteration_lines(record(**found, item=item)))
    assert [line for line in lines if "item" in line] == ["    item check ✔ test_b", "    item       T002: ✔ proven"]
    assert "every check passes (1 of 1, and 2 of the plan's items) on" in decide(situation(**found)).reason


@pytest.mark.feature("H4")
def test_a_branch_that_moved_after_the_proof_says_why() -> None:
    done = CONTINUE.model_copy(update={"kind": "stop", "outcome": Outcome.COMPLETED})
    merged = Merged(base="a" * 40, head="b" * 40, commit="c" * 40, into="main", at=NOW)
    ended = state(ending=done, head="b" * 40, verified="d" * 40)

    def branch(of: LoopState) -> str:
        return next(line for line in result_lines(result_of(of, "")) if line.startswith("branch")).partition(" at ")[2]

    assert branch(ended) == "bbbbbbbbbbbb (proven as dddddddddd, followed by Helmsman's own commits)"
    assert branch(ended.model_copy(update={"merged": merged})) == "bbbbbbbbbbbb (proven as dddddddddd, rebased onto main)"
    assert branch(ended.model_copy(update={"verified": "b" * 40})) == "bbbbbbbbbbbb"
