"""What a decision may depend on, and the forms that it takes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from helmsman.plain import clean, shortened
from helmsman.records.checks import CheckResult, checks_fail
from helmsman.records.evidence import AgentCall
from helmsman.records.iteration import Evidence
from helmsman.records.oversight import Oversight
from helmsman.records.plan import ItemProof
from helmsman.records.plan_folds import remaining_after
from helmsman.records.state import LoopState
from helmsman.records.verdict import Decision, DecisionKind, Outcome, Severity, Signal
from helmsman.verify.objections import findings_that_block, some

NAME = 100
"""Characters of a check's name in a reason."""
BLOWN = "pain.budget"
"""The pain that says nothing against the work."""


@dataclass(frozen=True)
class Situation:
    """All that a decision may depend on."""

    state: LoopState
    """As it was before this iteration."""
    evidence: Evidence
    signals: tuple[Signal, ...]
    now: datetime
    oversight: Oversight = field(default_factory=Oversight)

    @property
    def call(self) -> AgentCall:
        return self.evidence.execution.call

    @property
    def critical_events(self) -> list[Signal]:
        return [signal for signal in self.signals if signal.hurts]

    @property
    def limits(self) -> list[Signal]:
        """Limits that are reached."""
        return [signal for signal in self.signals if signal.severity is Severity.ABORT and not signal.hurts]

    @property
    def steers(self) -> bool:
        """Whether anything follows from what the overseer notices."""
        return self.state.config.ladder.act

    @property
    def commit(self) -> str:
        return self.evidence.execution.change.commit

    @property
    def short(self) -> str:
        return self.commit[:10]


Rule = Callable[[Situation], Decision | None]
Words = Callable[[Situation], str]


@dataclass(frozen=True)
class Question:
    """One row of the decision table."""

    rule: str
    asks: str
    """What is asked, so that yes decides."""
    decide: Rule
    """The decision, or None where the answer is no."""
    because: Words
    """The numbers that the answer rests on, with their thresholds."""
    otherwise: Words
    """What would have changed the answer."""


def question(rule: str, asks: str, because: Words, otherwise: Words | str) -> Callable[[Rule], Question]:
    """A row of the decision table, of the function that answers it."""
    told: Words = (lambda _: str(otherwise)) if isinstance(otherwise, str) else otherwise
    return lambda decide: Question(rule, asks, decide, because, told)


def stop(s: Situation, rule: str, reason: str, outcome: Outcome, *, fault: str = "", repeat: bool = False) -> Decision:
    return Decision(kind=DecisionKind.STOP, rule=rule, reason=reason, at=s.now, outcome=outcome, fault=fault, repeat=repeat)


def wait(s: Situation, rule: str, reason: str, until: datetime, *, repeat: bool = False) -> Decision:
    return Decision(kind=DecisionKind.WAIT, rule=rule, reason=reason, at=s.now, until=until, repeat=repeat)


def go_on(s: Situation, rule: str, reason: str) -> Decision:
    return Decision(kind=DecisionKind.CONTINUE, rule=rule, reason=reason, at=s.now)


def standing(s: Situation) -> str:
    """How far the work is, in a clause."""
    report, asked = s.evidence.checks, s.evidence.claims.wants_to_finish
    if report is None:
        return f"the agent's call ended as {s.call.outcome}, so nothing was checked"
    if report.results and not report.passed:
        all_the_same = "; the agent asked to be done all the same" if asked else ""
        return f"{checks_fail(len(report.failures), len(report.results))}{all_the_same}"
    if not asked and s.evidence.item:
        return _item_standing(s, s.evidence.item)
    if not asked:
        return f"{'all checks pass, but' if report.results else 'nothing is checked and'} the agent has not asked to be done"
    return f"the agent asked to be done, but {_objections(s)}"


def against(s: Situation) -> str:
    """What stands against the work, for the reason of a stop: failing checks with their tests, findings that block."""
    report, blocking = s.evidence.checks, findings_that_block(s.evidence.findings)
    failing = [_with_tests(result) for result in report.failures] if report else []
    told = standing(s)
    return "; ".join(part for part in (told, some(failing), blocking if blocking not in told else "") if part)


def _with_tests(result: CheckResult) -> str:
    """A failing check with the first of its failing tests."""
    tests = some(result.counts.failing) if result.counts else ""
    return f"{shortened(clean(result.name), NAME)} fails{f' at {clean(tests)}' if tests else ''}"


def _item_standing(s: Situation, item: ItemProof) -> str:
    """With a plan nobody has to ask: it is done item by item."""
    if not item.proven:
        return f"the plan's item {item.item} is not proven: {item.why}"
    remaining = remaining_after(item, s.evidence.plan)
    return f"the plan's item {item.item} is proven" + (f", {remaining} remain" if remaining else f", but {_objections(s)}")


def _objections(s: Situation) -> str:
    judgement = s.evidence.judgement
    rejected = f"the judge did not approve: {judgement.cause}" if judgement and not judgement.approved else ""
    return s.evidence.proof.objections or rejected or "force_max goes on"
