"""A record and a state with every field filled, for displays, and the same with untrusted text everywhere."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from helmsman.records.agent import (
    AgentCall,
    AgentOutcome,
    Change,
    CommandRun,
    Commit,
    Compaction,
    ContextUse,
    Drift,
    ErrorVector,
    Execution,
    FailureClass,
    Guarded,
    LastCall,
    RateLimit,
    Salvage,
    StopAttempt,
)
from helmsman.records.base import Usage
from helmsman.records.checks import CheckReport, CriterionVerdict, Finding, Judgement, JudgementOutcome, TestCounts, Weight
from helmsman.records.claims import Claim, Claims, Contradiction, StatusReport, Trust
from helmsman.records.control import (
    Checkpoint,
    Conflict,
    Control,
    EscalationLevel,
    Gains,
    Imperative,
    Issue,
    Ladder,
    Learning,
    LevelChange,
    Movement,
    Oversight,
    Progress,
    RolledBack,
    Strategy,
    Variety,
)
from helmsman.records.decision import Alert, Decision, Outcome, PathStep, Severity
from helmsman.records.gates import Answer, Choice, Gate, GateKind
from helmsman.records.hats import ChosenHat
from helmsman.records.iteration import IterationRecord, WorkingMemory
from helmsman.records.proof import Denial, JudgeMemory, Proof, Rejection
from helmsman.records.state import LoopState
from tests.unit.builders import HOUR, MINUTE, NOW, check, config, record, state
from tests.unit.histories import history, red, step

_Value = TypeVar("_Value")
FAILED = RolledBack(
    iteration=7,
    ref="refs/helmsman/mend-it/failed/7-1",
    commit="e" * 40,
    back_to="b" * 40,
    rule="regressing",
    why="two more tests failed than before",
    files=("shop.py",),
)
STOP = Decision(
    kind="stop",
    rule="ladder.human",
    reason="the same failure five times; a person has to choose",
    at=NOW,
    outcome=Outcome.WAITING,
    path=(
        PathStep(rule="pain", question="Is there pain?", held=False, because="none"),
        PathStep(rule="ladder.human", question="A person?", held=True, because="rung 3 of 3", otherwise="a clean iteration"),
    ),
    back_to="b" * 40,
)
CALL = AgentCall(
    outcome=AgentOutcome.MAX_TURNS,
    exit_code=1,
    seconds=75,
    error="turns are used up",
    session_id="s-1",
    model="claude-of-the-day",
    cli_version="2.1",
    usage=Usage(cost_usd=1.25, input_tokens=1000, cache_creation_tokens=20, cache_read_tokens=300, output_tokens=4),
    turns=9,
    tools=(("Bash", 12), ("mcp__tool", 3)),
    commands=(CommandRun(command="make", failed=True),),
    edited=("shop.py",),
    looked=("README.md",),
    final_text="It is nearly done.\nOne test fails.",
    permission_denials=("WebFetch",),
    guarded=(Guarded(rule="no-verify", tool="Bash", detail="git commit -n", denied=True),),
    context=ContextUse(
        tokens=50,
        peak=90_000,
        window=200_000,
        heard=100,
        noise=25,
        compactions=(Compaction(trigger="auto", before=9000, after=100),),
    ),
    errors=(ErrorVector(kind=FailureClass.TEST, where="test_a", message="assert", extent=2, times=3),),
    failures_in_row=4,
    stops=(StopAttempt(blocked=True, why="a check fails", failing=("pytest",), failing_tests=1),),
    rotated="the context was full",
    pain="it removed what was not its own",
    resumed=True,
    rate_limit=RateLimit(status="allowed", window="five_hour"),
)
CHANGE = Change(
    start="b" * 40,
    commit="c" * 40,
    tree="d" * 40,
    commits=(Commit(id="c" * 40, subject="Mend the shop"),),
    files=("shop.py", "tests/test_shop.py"),
    files_changed=2,
    insertions=33,
    deletions=11,
    leftovers_committed=True,
)
CHECKS = CheckReport(
    tree="d" * 40,
    results=(
        check(
            passed=False,
            head="collected 3 items",
            tail="1 failed, 2 passed",
            counts=TestCounts(passed=2, failed=1, skipped=4, failing=("test_a",)),
            flaky=("test_b",),
            error="could not start",
        ),
        check(passed=True, name="lint", command="ruff check"),
    ),
    left_behind=("cache.db",),
)
FINDINGS = (
    Finding(rule="tests.deleted", weight=Weight.BLOCK, path="tests/test_shop.py", line=3, message="gone", honest="keep"),
    Finding(rule="lint.suppressed", weight=Weight.HINT, path="shop.py", message="silenced", honest="mend it"),
)
CONTRADICTIONS = (Contradiction(layer="contradiction", said="all tests pass", found="1 test fails", source="last message"),)
JUDGEMENT = Judgement(
    outcome=JudgementOutcome.REJECTED,
    cause="errors are swallowed",
    criteria=(
        CriterionVerdict(
            criterion="errors",
            met=False,
            votes_met=1,
            votes_cast=3,
            votes_needed=2,
            reason="the except is empty",
            evidence="shop.py:4",
        ),
        CriterionVerdict(criterion="calm", met=True, votes_met=3, votes_cast=3, votes_needed=2, reason="it is"),
    ),
    principle="look at the excepts",
    score=0.5,
    model="judge-of-the-day",
    way="api",
    usage=Usage(cost_usd=0.5, input_tokens=60, output_tokens=6),
    calls=3,
    seconds=4,
)
OVERSIGHT = Oversight(
    progress=Progress(checks=0.5, tests=0.75, completion=0.625),
    control=Control(
        proportional=0.375, integral=1.5, derivative=-0.125, gains=Gains(), phase="focused", output=0.8125, band="pivot"
    ),
    idle=3,
    ladder=Ladder(
        rung=EscalationLevel.HUMAN,
        reason="same_error",
        climbs=(
            LevelChange(
                iteration=5, before=EscalationLevel.REDESIGN, after=EscalationLevel.HUMAN, reason="the redesign failed", at=NOW
            ),
        ),
    ),
    feedback="failing",
    diagnosis="stuck",
    learning=(Learning(kind=FailureClass.TEST, seen=4, in_row=3, level=2),),
    strategy=Strategy(stance="pivot", reasoning="nothing moved", priorities=("look again",)),
    issues=(Issue(rule="validation.blocker", critical=True, message="the same test fails"),),
    best=Checkpoint(iteration=4, commit="f" * 40, tree="a" * 40, completion=0.875),
    faults=("the part `drift` broke",),
)
ANSWERS = (
    Answer(
        gate="milestone-6",
        kind=GateKind.MILESTONE,
        choice=Choice.APPROVE,
        guidance="Leave the tests alone.",
        settings={"limits": {"iterations": 40}},
        by="ada",
        via="command line",
        at=NOW - MINUTE / 2,
    ),
)


def full_record(decision: Decision = STOP, **fields: Any) -> IterationRecord:
    """Everything happened in it."""
    (moment,) = history(red(Movement.BACK, "test_a"))
    given: Mapping[str, Any] = {
        "iteration": 7,
        "attempt": 2,
        "execution": Execution(call=CALL, change=CHANGE, put_back=("RUBRIC.md",), transcript="t.zst"),
        "checks": CHECKS,
        "findings": FINDINGS,
        "claims": Claims(
            wants_to_finish=True,
            how="EXIT_SIGNAL",
            status=StatusReport(status="complete"),
            claims=(Claim(kind="tests_pass", said="all pass", source="last message"),),
        ),
        "contradictions": CONTRADICTIONS,
        "claims_checked": 5,
        "proof": Proof(asked=True, how="EXIT_SIGNAL", denied=(Denial(rule="claims", why="a claim was contradicted"),)),
        "judgement": JUDGEMENT,
        "memory": WorkingMemory(),
        "signals": (
            Alert(rule="stuck", severity=Severity.REDIRECT, message="nothing moves", value=3, threshold=2, instruction="Go on."),
            Alert(rule="limits.cost_usd", severity=Severity.LOG, message="70% used"),
        ),
        "oversight": OVERSIGHT,
        "moment": moment,
        "failed": FAILED,
        "hat": ChosenHat(name="debugger", title="Debugger", why="test failures in 2 iterations in a row", preset="bugfix"),
        **fields,
    }
    return record(decision, **given)


def full_state(**fields: Any) -> LoopState:
    """After that record, with a question open."""
    gate = Gate(
        key="human-7",
        kind=GateKind.HUMAN,
        question="What shall become of it?",
        evidence="| # | completion |\n|---|---|\n| 7 | 62% |",
        questions=("Which of the two orders counts?",),
        asked_at=NOW,
        deadline=NOW + HOUR,
    )
    known: Mapping[str, Any] = {
        "updated_at": NOW + timedelta(minutes=2),
        "iteration": 7,
        "spending": {"agent_calls": 9, "cost_usd": 12.5, "tokens": 123_456, "seconds": 7384},
        "checks": CHECKS,
        "salvaged": (Salvage(iteration=3, attempt=1, ref="refs/helmsman/mend-it/salvage/3-1", commit="1" * 40, files=2),),
        "trust": Trust(checked=8, contradicted=2),
        "oversight": OVERSIGHT,
        "failed": FAILED,
        "verified": "9" * 40,
        "gate": gate,
        "answers": ANSWERS,
        "ending": STOP,
        **fields,
    }
    return state(config("Mend the shop.\nAll of it."), **known)


def open_gate(question: str) -> Gate:
    return Gate(key="human-7", kind=GateKind.HUMAN, question=question, questions=(question,), asked_at=NOW, deadline=NOW + HOUR)


def quoting_state(text: str = "some words") -> LoopState:
    """A state in which something is to be shown everywhere, with this text wherever others wrote it."""
    order = Imperative(source="AGENTS.md", text="Never change shop.py.", modality="must_not")
    more = {
        "learning": (Learning(kind=FailureClass.TEST, seen=4, in_row=3, level=2, helped=False),),
        "conflicts": (Conflict(kind="scope", first=order, second=order, about="shop.py"),),
        "variety": (Variety(files=3, lines=900, tests=40), Variety(files=3, lines=950, tests=40, suppressions=6)),
    }
    state = full_state(
        attempt=2,
        oversight=OVERSIGHT.model_copy(update=more),
        history=history(red(Movement.SIDEWAYS, "test_a"), step(Movement.BACK, undone=True)),
        findings=FINDINGS,
        contradictions=CONTRADICTIONS,
        judge=JudgeMemory(
            rejections=2, feedback=(Rejection(iteration=6, at=NOW, consecutive=2, reason="no", criteria=("calm",)),)
        ),
        last_call=LastCall(drift=Drift(deeds=10, related=4)),
        guidance=("Look at the excepts.",),
        ending=None,
    )
    gate = overwritten(open_gate("What now?"), text, IDENTIFIERS | {"evidence"})
    return overwritten(state, text, IDENTIFIERS).model_copy(update={"gate": gate})


def quoting_record(text: str = "some words") -> IterationRecord:
    return overwritten(full_record(), text, IDENTIFIERS)


IDENTIFIERS = frozenset(
    {"loop", "uid", "branch", "base_branch", "base_commit", "head", "start", "commit", "tree", "id", "ref", "key", "via"}
)
"""Fields whose text is checked when it is read, or is Helmsman's own."""


def overwritten(value: _Value, text: str, keep: frozenset[str] = frozenset()) -> _Value:
    """The same with this text in the place of every text. Enumerations, numbers and moments stay; nothing is validated."""
    return cast("_Value", _overwritten(value, text, keep))


def _overwritten(value: Any, text: str, keep: frozenset[str]) -> Any:
    if isinstance(value, BaseModel):
        names = type(value).model_fields.keys() - keep
        return value.model_copy(update={name: _overwritten(getattr(value, name), text, keep) for name in names})
    if isinstance(value, tuple):
        return tuple(_overwritten(item, text, keep) for item in cast("tuple[Any, ...]", value))
    if isinstance(value, dict):
        return {text: text}
    return text if type(value) is str else value
