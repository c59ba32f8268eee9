"""One iteration from start to decision: the only thing that journal, log, report and display are fed from."""

from datetime import datetime
from functools import reduce

from helmsman.records.base import Record
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.claims import Claims, Contradiction, Testimony
from helmsman.records.evidence import Execution
from helmsman.records.findings import Finding
from helmsman.records.focus import Planned
from helmsman.records.hats import Worn
from helmsman.records.judgement import Judgement
from helmsman.records.lessons import Learned, Recalled
from helmsman.records.memory import WorkingMemory
from helmsman.records.moments import Moment
from helmsman.records.oversight import Failed, Oversight, Sought
from helmsman.records.plan import InHand, ItemProof, Tick
from helmsman.records.probes import Probed
from helmsman.records.proof import Proof, SinceStart, Verdict
from helmsman.records.session import Drift
from helmsman.records.usage import Usage
from helmsman.records.verdict import Decision, Outcome, Signal

LAST_WORDS = 600
"""Characters of what the agent said last that people are shown: its summary comes at the end."""


class Evidence(Record):
    """What came back of one iteration, and what it proves."""

    execution: Execution
    checks: CheckReport | None = None
    """None when the agent's call was not worth checking (usage limit, refused start)."""
    findings: tuple[Finding, ...] = ()
    """What the invariants found, blocking ones first, 30 at most."""
    claims: Claims = Claims()
    contradictions: tuple[Contradiction, ...] = ()
    """Claims that did not hold, 20 at most."""
    claims_checked: int = 0
    """Claims that could be compared with evidence."""
    drift: Drift = Drift()
    writing: Usage = Usage()
    """What a model used up that wrote for the prompt."""
    unwritten: tuple[str, ...] = ()
    """Why such a model was asked in vain."""
    sought: Sought | None = None
    """What such a model said of contradictions between orders."""
    since_start: SinceStart | None = None
    """None where nobody compared: the work was not in question as done."""
    hidden: tuple[CheckResult, ...] = ()
    """What the hidden checks said, without what they printed or are; none where there are none, or nobody asked to be done."""
    probed: Probed | None = None
    """What came of cases that a model wrote; None where none are wanted, or something else denies that the work is done."""
    proof: Proof = Proof()
    judgement: Judgement | None = None
    """None where no judge was asked."""
    block_judged: Judgement | None = None
    """Whether the judge sees what the agent says stands in its way; None where it was not asked that."""
    plan: InHand | None = None
    """What of a plan it had in hand; None where there is no plan, or it was not for the work itself."""
    own: CheckReport | None = None
    """What the own check of the item in hand said, where it has one."""
    noted: str = ""
    """Id of the item in hand, where the agent notes it as done."""
    item: ItemProof | None = None
    """Whether that item is proven."""

    def judged(self, verdict: Verdict) -> "Evidence":
        return self.model_copy(update=dict(verdict))

    def ticks(self, decision: Decision) -> bool:
        """Whether the item in hand is to be ticked: it is proven, and its work stays on the branch."""
        stays = not decision.back_to and not decision.repeat and decision.outcome is not Outcome.EJECTED
        return self.item is not None and self.item.proven and stays

    @property
    def proven(self) -> bool:
        """Whether everything that completion needs is there, the judge's approval included where a judge was asked."""
        return self.proof.open and (self.judgement is None or self.judgement.approved)

    @property
    def usage(self) -> Usage:
        """What agent, judge and the models used up that wrote for the prompt and wrote probes."""
        judged = (one.usage for one in (self.judgement, self.block_judged, self.probed) if one)
        return reduce(Usage.plus, judged, self.execution.call.usage.plus(self.writing))

    @property
    def at_work(self) -> float:
        """Seconds that agent and checks took, by a clock that nobody sets."""
        reports = (report for report in (self.checks, self.own) if report)
        return self.execution.call.seconds + sum(result.seconds for report in reports for result in report.results)


class IterationRecord(Evidence):
    """What happened in one attempt at one iteration and what was decided."""

    loop: str
    iteration: int
    attempt: int
    started_at: datetime
    memory: WorkingMemory
    signals: tuple[Signal, ...]
    decision: Decision
    oversight: Oversight = Oversight()
    moment: Moment | None = None
    """In short, as the overseer remembers it."""
    failed: Failed | None = None
    """Work that was taken off the branch at its end."""
    recalled: Recalled = Recalled()
    """What memory had to say to it."""
    hat: Worn | None = None
    """The hat that it was made in; None where hats are not used."""
    tick: Tick | None = None
    """The item of the plan that was ticked at its end."""
    learned: Learned = Learned()
    """What it taught; empty where memory is not used."""

    @property
    def head(self) -> str:
        """Commit of the branch that it ended with, where nothing was taken back."""
        return self.tick.commit if self.tick else self.execution.change.commit

    @property
    def researched(self) -> bool:
        """Whether it only looked: research comes before all work, so its iterations are the first ones."""
        return self.iteration <= self.memory.research.tries

    @property
    def blocked(self) -> bool:
        """Whether the agent says that it cannot go on by itself."""
        return bool(self.claims.blocked)

    @property
    def last_words(self) -> str:
        """The end of what the agent said last, without its status block, 600 characters at most."""
        return self.execution.call.final_text.partition("---RALPH_STATUS---")[0].strip()[-LAST_WORDS:]

    @property
    def ended_at(self) -> datetime:
        return self.decision.at

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.started_at).total_seconds()

    @property
    def counts(self) -> bool:
        """Whether it is one of the loop's iterations: an attempt that a usage limit cut off is not."""
        return not self.decision.repeat


def evidence_of(
    execution: Execution,
    checks: CheckReport | None,
    findings: tuple[Finding, ...],
    testimony: Testimony,
    planned: Planned | None = None,
    plan: InHand | None = None,
    own: CheckReport | None = None,
) -> Evidence:
    """What the steps before the judge brought, in one."""
    return Evidence(
        execution=execution,
        checks=checks,
        findings=findings,
        claims=testimony.claims,
        contradictions=testimony.contradictions,
        claims_checked=testimony.checked,
        drift=testimony.drift,
        writing=planned.usage if planned else Usage(),
        unwritten=planned.reasons if planned else (),
        sought=planned.sought if planned else None,
        plan=plan,
        own=own,
        noted=testimony.noted,
    )
