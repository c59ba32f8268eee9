"""One iteration from start to decision: the only source of journal, log, report and display."""

from datetime import datetime
from functools import reduce
from typing import Any

from helmsman.records.agent import Commit, Drift, Execution
from helmsman.records.base import Record, Usage
from helmsman.records.checks import CheckReport, CheckResult, Finding, Judgement, ProbeResult
from helmsman.records.claims import Claims, Contradiction
from helmsman.records.control import Overseen, RolledBack
from helmsman.records.decision import Decision
from helmsman.records.hats import ChosenHat
from helmsman.records.lessons import Learned, Recalled
from helmsman.records.plan import CurrentItem, ItemProof, Tick
from helmsman.records.proof import Proof, SinceStart


class Question(Record):
    """One question to a model in a fresh context. Only `more` may be empty."""

    rules: str
    """The model's role and how it answers; trusted text only."""
    task: str
    facts: str
    """Untrusted texts in it are fenced."""
    closing: str
    form: dict[str, Any]
    """JSON schema of the answer."""
    more: str = ""
    """Addition for a repeated question; all before it is unchanged, so that the provider's cache serves it."""

    @property
    def prompt(self) -> str:
        """Everything after the rules, as one text."""
        return "\n\n".join(part for part in (self.task, self.facts, self.closing, self.more) if part)


class WrittenParts(Record):
    """Parts of an iteration's prompt that a model wrote."""

    focus: str = ""
    """Section on what the iteration should look at. It adds to the fixed prompt and replaces nothing."""
    compacted: str = ""
    """Section that summarizes everything before the iteration."""
    reasons: tuple[str, ...] = ()
    """Why a part could not be written, 500 characters each at most."""
    usage: Usage = Usage()
    """It is charged even if an answer was unusable."""


RESEARCH_TRIES = 3
"""Iterations until research must be complete; then work starts with what there is."""


class Research(Record):
    """The valid content of research.md."""

    tries: int = 0
    strengths: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    approaches: tuple[str, ...] = ()
    approach: str = ""
    confidence: int | None = None
    """0 to 100: the agent's own, a claim."""
    problems: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return self.tries > 0 and not self.problems


class Completed(Record):
    """A piece of work that the agent considers done, with its confidence."""

    text: str
    confidence: int | None = None


class Choice(Record):
    """A decision of the agent that would have to be made again without this note."""

    chose: str
    rejected: str = ""
    reason: str = ""
    revisit_if: str = ""


class WorkingMemory(Record):
    """The agent's notes, in full and by kind, and the research."""

    notes: str = ""
    """progress.md as free text, 40 lines at most; empty in records of the older form."""
    completed: tuple[Completed, ...] = ()
    decisions: tuple[Choice, ...] = ()
    uncertainties: tuple[str, ...] = ()
    remaining_gap: str = ""
    confidence: int | None = None
    """0 to 100: the agent's own, a claim."""
    problems: tuple[str, ...] = ()
    """Problems of the file when it was last read, shown in the next prompt."""
    research: Research = Research()


class Orientation(Record):
    """Facts gathered outside the agent before it starts."""

    started_at: datetime
    start_commit: str
    commits: tuple[Commit, ...] = ()
    recalled: Recalled = Recalled()
    hat: ChosenHat | None = None
    plan: CurrentItem | None = None
    template: str = ""
    """The repository's own template, at the start commit of the loop; empty: none."""


class Briefing(Record):
    system: str = ""
    """The part that is the same in every iteration, so that the provider's cache serves it."""
    prompt: str
    sections: tuple[tuple[str, int], ...] = ()
    """Section names with their size in tokens, in order."""
    trimmed: tuple[str, ...] = ()


class Evidence(Record):
    """The results of one iteration, and what they prove."""

    execution: Execution
    memory: WorkingMemory = WorkingMemory()
    """The agent's notes at the end of the iteration."""
    checks: CheckReport | None = None
    """None if the agent call was not checked (usage limit, refused start)."""
    findings: tuple[Finding, ...] = ()
    """What the invariants found, blocking ones first, 30 at most."""
    claims: Claims = Claims()
    contradictions: tuple[Contradiction, ...] = ()
    claims_checked: int = 0
    drift: Drift = Drift()
    writing: Usage = Usage()
    unwritten: tuple[str, ...] = ()
    since_start: SinceStart | None = None
    """None if not compared, because completion was not in question."""
    hidden: tuple[CheckResult, ...] = ()
    """Results of the hidden checks, without their output and commands; empty if there are none, or without a claim of
    completion."""
    probed: ProbeResult | None = None
    """Results of the test cases that a model wrote; None if none are requested, or something else already denies completion."""
    proof: Proof = Proof()
    judgement: Judgement | None = None
    block_judged: Judgement | None = None
    """Whether the judge confirms what blocks the agent; None if the judge was not asked."""
    plan: CurrentItem | None = None
    own: CheckReport | None = None
    """Results of the current item's check and, with the last item, of those of the items before."""
    own_cannot_fail: bool = False
    """Whether the item's check fails at the start, and passes there as soon as it has the work's tests."""
    own_passed_before: bool = False
    """Whether the item's check, which passes, passed already when the loop came to the item."""
    noted: str = ""
    """Id of the current item, if the agent notes it as done."""
    item: ItemProof | None = None

    @property
    def proven(self) -> bool:
        """Whether completion is fully proven, including the judge's approval if a judge was asked."""
        return self.proof.open and (self.judgement is None or self.judgement.approved)

    @property
    def items_left(self) -> int:
        """Number of the plan's items left after it."""
        return self.plan.remaining - bool(self.item and self.item.proven) if self.plan else 0

    @property
    def usage(self) -> Usage:
        """Usage of the agent, the judge and the models that wrote parts of the prompt and probes."""
        judged = (verdict.usage for verdict in (self.judgement, self.block_judged, self.probed) if verdict)
        return reduce(Usage.plus, judged, self.execution.call.usage.plus(self.writing))

    @property
    def at_work(self) -> float:
        """Seconds spent by agent and checks, by a monotonic clock."""
        reports = (report for report in (self.checks, self.own) if report)
        return self.execution.call.seconds + sum(result.seconds for report in reports for result in report.results)


class IterationRecord(Evidence, Overseen):
    """What happened in one attempt at one iteration and what was decided."""

    loop: str
    iteration: int
    attempt: int
    started_at: datetime
    decision: Decision
    failed: RolledBack | None = None
    recalled: Recalled = Recalled()
    hat: ChosenHat | None = None
    tick: Tick | None = None
    learned: Learned = Learned()

    @property
    def head(self) -> str:
        """The branch's commit at its end, before any rollback."""
        return self.tick.commit if self.tick else self.execution.change.commit

    @property
    def was_research(self) -> bool:
        """Whether it was research, which comes before all work, so its iterations are the first ones."""
        return self.iteration <= self.memory.research.tries

    @property
    def blocked(self) -> bool:
        """Whether the agent says that it cannot continue by itself."""
        return bool(self.claims.blocked)

    @property
    def ended_at(self) -> datetime:
        return self.decision.at

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.started_at).total_seconds()

    @property
    def counts(self) -> bool:
        """Whether it counts as an iteration; an attempt interrupted by a usage limit does not."""
        return not self.decision.repeat
