"""A loop in which there is something to show of everything, and the same with hostile text wherever text is foreign."""

from typing import Any

from helmsman.config.goals import CriterionConfig
from helmsman.records.agent import (
    AgentCall,
    Change,
    Commit,
    ContextUse,
    Drift,
    Execution,
    FailureClass,
    Guarded,
    LastCall,
    Salvage,
    StopAttempt,
)
from helmsman.records.checks import (
    CheckReport,
    CheckResult,
    CriterionVerdict,
    Finding,
    Judgement,
    JudgementOutcome,
    TestCounts,
    Weight,
)
from helmsman.records.claims import Contradiction, Trust
from helmsman.records.control import (
    Checkpoint,
    Conflict,
    Control,
    EscalationLevel,
    Failed,
    Gains,
    Imperative,
    Ladder,
    Learning,
    Oversight,
    Progress,
    Strategy,
    Variety,
)
from helmsman.records.decision import Alert, Considered, Decision, Severity
from helmsman.records.gates import LONGEST_GUIDANCE, Answer, Choice, Gate, GateKind
from helmsman.records.iteration import IterationRecord, WorkingMemory
from helmsman.records.proof import Denial, JudgeMemory, Proof, Rejection
from helmsman.records.state import LoopState, Spending
from tests.unit.builders import HOUR, NOW, call, config, record, state
from tests.unit.histories import BACK, SIDEWAYS, history, step


def troubled_state(text: str = "some words") -> LoopState:
    """After eleven iterations, with a question open."""
    criteria = (CriterionConfig(id="c1", text=text[:4000]), CriterionConfig(id="c2", text=text[:4000]))
    chosen = config(f"Mend the shop.\n{text}", checks=(text, "pytest"), judge={"criteria": criteria}, steering={"hooks": True})
    moments = [step(SIDEWAYS, completion=0.3 + number / 50, passing_tests=number, failing_tests=3) for number in range(10)]
    return state(
        chosen,
        iteration=11,
        attempt=2,
        spending=Spending(agent_calls=13, cost_usd=4.25, tokens=123_456, seconds=5400),
        recent_calls=(NOW,) * 6,
        checks=troubled_report(text),
        memory=WorkingMemory(remaining_gap=text, confidence=70),
        salvaged=(Salvage(iteration=9, attempt=1, ref="refs/helmsman/mend-it/salvage/9-1", commit="e" * 40, files=2),),
        findings=_findings(text),
        contradictions=(_contradiction(text),),
        trust=Trust(checked=20, contradicted=3),
        judge=JudgeMemory(rejections=2, feedback=(_rejection(text),)),
        last_call=LastCall(drift=Drift(deeds=10, related=4)),
        oversight=_oversight(text),
        history=history(*moments, step(BACK, completion=0.2, undone=True)),
        failed=Failed(iteration=10, ref="refs/helmsman/mend-it/failed/10-1", commit="f" * 40, back_to="b" * 40, why=text),
        gate=troubled_gate(text),
        gates_asked=3,
        answers=(_answer(text),),
        guidance=(text,),
    )


def troubled_record(text: str = "some words") -> IterationRecord:
    """The eleventh iteration."""
    change = Change(
        start="b" * 40,
        commit="c" * 40,
        tree="d" * 40,
        commits=(Commit(id="c" * 40, subject=text),),
        files=(text,),
        files_changed=3,
        insertions=31,
        deletions=17,
    )
    decision = Decision(kind="continue", rule="continue", reason=text, at=NOW, path=_path(text))
    found: dict[str, Any] = {
        "execution": Execution(call=_call(text), change=change, put_back=(text,)),
        "checks": troubled_report(text),
        "findings": _findings(text),
        "contradictions": (_contradiction(text),),
        "proof": Proof(asked=True, how=text, green=False, denied=(Denial(rule="invariants", why=text),)),
        "judgement": _judgement(text),
        "signals": (Alert(rule="same_error", severity=Severity.REDIRECT, message=text),),
        "moment": history(step(BACK, completion=0.2))[0],
    }
    return record(decision, iteration=11, **found)


def troubled_report(text: str) -> CheckReport:
    counts = TestCounts(passed=40, failed=2, skipped=1, failing=(text, "tests/test_shop.py::test_total"))
    failing = CheckResult(
        name=text, command=text, passed=False, exit_code=1, seconds=4.5, head=f"{text}\n```\n{text}", counts=counts, flaky=(text,)
    )
    passing = CheckResult(name="pytest", command="python -m pytest", passed=True, exit_code=0, seconds=2.0)
    late = passing.model_copy(update={"passed": False, "exit_code": None, "timed_out": True, "error": text})
    return CheckReport(tree="d" * 40, results=(failing, passing, late), left_behind=(text,))


def troubled_gate(text: str) -> Gate:
    return Gate(
        key="human-11-3",
        kind=GateKind.HUMAN,
        question=text,
        questions=(text, text),
        asked_at=NOW,
        deadline=NOW + 72 * HOUR,
    )


def _call(text: str) -> AgentCall:
    return call(
        error=text,
        model=text,
        turns=9,
        tools=(("Bash", 8), (text, 3)),
        permission_denials=(text,),
        guarded=(Guarded(rule=text, tool=text, detail=text, denied=True),),
        stops=(StopAttempt(blocked=True, why=text),),
        rotated=text,
        context=ContextUse(peak=120_000, window=200_000, heard=1000, noise=300),
    )


def _oversight(text: str) -> Oversight:
    order = Imperative(source=text, text=text, modality="must_not")
    return Oversight(
        progress=Progress(checks=0.5, tests=0.95, criteria=0.25, completion=0.48),
        control=Control(
            proportional=0.52, integral=1.5, derivative=-0.04, gains=Gains(kp=0.5, ki=0.2, kd=0.3), output=0.61, band="adjust"
        ),
        idle=4,
        ladder=Ladder(rung=EscalationLevel.REDESIGN, reason=text),
        conflicts=(Conflict(kind="scope", first=order, second=order, about=text),),
        learning=(Learning(kind=FailureClass.TEST, seen=7, in_row=3, level=2, helped=False),),
        variety=(Variety(files=3, lines=900, tests=40), Variety(files=3, lines=950, tests=40, suppressions=6)),
        strategy=Strategy(reasoning=text, priorities=(text, "then the rest")),
        best=Checkpoint(iteration=9, commit="a" * 40, tree="d" * 40, completion=0.48),
        faults=(text,),
    )


def _path(text: str) -> tuple[Considered, ...]:
    passed_over = Considered(rule="limits", question="Is a limit reached?", held=False, because=text)
    return (passed_over, Considered(rule="continue", question="Else?", held=True, because=text, otherwise=text))


def _findings(text: str) -> tuple[Finding, ...]:
    found = Finding(rule="tests.deleted", weight=Weight.BLOCK, path=text, line=3, message=text, honest=text)
    return (found, found.model_copy(update={"weight": Weight.HINT}))


def _contradiction(text: str) -> Contradiction:
    return Contradiction(layer="contradiction", said=text, found=text, source=text)


def _judgement(text: str) -> Judgement:
    met = CriterionVerdict(criterion="c1", met=True, votes_met=3, votes_cast=3, votes_needed=2, reason=text, evidence=text)
    unmet = met.model_copy(update={"criterion": "c2", "met": False, "votes_met": 1})
    return Judgement(outcome=JudgementOutcome.REJECTED, cause=text, criteria=(met, unmet), score=0.5, model=text, calls=3)


def _rejection(text: str) -> Rejection:
    return Rejection(iteration=10, at=NOW, consecutive=2, reason=text, criteria=("c2",))


def _answer(text: str) -> Answer:
    return Answer(
        gate="milestone-5-1",
        kind=GateKind.MILESTONE,
        choice=Choice.APPROVE,
        guidance=text[:LONGEST_GUIDANCE],
        settings={"limits": {"iterations": 40, "words": text}},
        by=text,
        via="command line",
        at=NOW,
    )
