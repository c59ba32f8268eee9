"""What outlives an iteration: episodes, lessons, guardrails and estimates.

Three tiers: working (progress.md, within a loop), episodic (what happened, by iteration), semantic (valid beyond one loop).
"""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from helmsman.records.agent import FailureClass
from helmsman.records.base import Record, Usage
from helmsman.records.control import Figures, Learning
from helmsman.records.decision import Outcome

LONGEST_TEXT = 600
LONGEST_DETAIL = 1_000
MOST_SOURCES = 20


class TaskType(StrEnum):
    FEATURE = "feature"
    BUGFIX = "bugfix"
    TEST_FIX = "test_fix"
    REFACTOR = "refactor"
    PERFORMANCE = "performance"
    MIGRATION = "migration"
    TESTS = "tests"
    DOCS = "docs"
    REVIEW = "review"
    RESEARCH = "research"
    OTHER = "other"


class LessonKind(StrEnum):
    STRATEGY = "strategy"
    ANTIPATTERN = "antipattern"
    """What failed repeatedly, and attempts that did not help."""
    CONVENTION = "convention"


class Tier(StrEnum):
    EPISODIC = "episodic"
    SEMANTIC = "semantic"


class Subject(Record):
    """The subject of an iteration, used to find lessons."""

    project: str
    """Identity of the repository, the same on every machine and in every worktree."""
    task_type: TaskType
    text: str
    """Text of the goal, 2,000 characters at most."""
    failures: tuple[FailureClass, ...] = ()
    tests: tuple[str, ...] = ()


class GradedCriterion(Record):
    """The judge's verdict on a criterion in one iteration."""

    criterion: str
    met: bool
    reason: str = ""


class Episode(Figures):
    """One iteration in memory; its size is bounded."""

    uid: str
    loop: str
    subject: Subject
    approach: str = ""
    """Subjects of its commits, 300 characters at most."""
    files: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    """Ids of the lessons in its prompt; `guarded`: those of the guardrails."""
    guarded: tuple[str, ...] = ()
    learning: tuple[Learning, ...] = ()
    verdicts: tuple[GradedCriterion, ...] = ()
    """The judge's verdict on each criterion; 20 at most."""


class Summary(Record):
    """Numbers of an ended loop, on which estimates are based."""

    uid: str
    loop: str
    subject: Subject
    outcome: Outcome
    rule: str
    iterations: int
    seconds: float
    cost_usd: float
    tokens: int = 0
    untold: tuple[str, ...] = ()
    """What the agent's program did not report, by names of `Capability`: such numbers are unknown."""
    started_at: datetime
    ended_at: datetime


class _Taught(Record):
    kind: LessonKind
    text: str = Field(max_length=LONGEST_TEXT)
    """Instruction for an agent: what to do, or what to do instead."""
    detail: str = Field(default="", max_length=LONGEST_DETAIL)
    failure: FailureClass | None = None
    confidence: float = Field(ge=0, le=1)
    """For a lesson: the average of all observations merged into it."""
    by: Literal["rules", "model", "person"] = "rules"


class Observation(_Taught):
    """A potential lesson of an iteration or a loop, before it is compared with known ones."""

    subject: Subject
    good: bool
    source: str


class Learned(Record):
    lessons: tuple[str, ...] = ()


class ExtractedLessons(Record):
    observations: tuple[Observation, ...] = ()
    usage: Usage = Usage()
    reason: str = ""


class Lesson(_Taught):
    id: str
    tier: Tier = Tier.EPISODIC
    project: str
    task_type: TaskType
    tests: tuple[str, ...] = ()
    observed: int = Field(default=1, ge=1)
    uses: int = Field(default=1, ge=0)
    """Number of loops that tested it: observed in it, or part of its prompt."""
    successes: int = Field(default=0, ge=0)
    sources: tuple[str, ...] = ()
    """uids of loops in which it was observed, newest last, 20 at most."""
    created_at: datetime
    updated_at: datetime
    used_at: datetime | None = None
    retired: str = ""

    @property
    def success_rate(self) -> float:
        return self.successes / self.uses if self.uses else 0.0


class Guardrail(Record):
    """An instruction that is active until it proves useless, created by a person or from a recurring class of failure."""

    id: str
    project: str
    failure: FailureClass | None = None
    trigger: str = Field(default="", max_length=300)
    instruction: str = Field(max_length=LONGEST_TEXT)
    origin: str = Field(default="", max_length=300)
    """Its origin: loop, iterations, numbers."""
    by: Literal["helmsman", "person"] = "helmsman"
    edited: bool = False
    before_seen: int = Field(default=0, ge=0)
    before_of: int = Field(default=0, ge=0)
    """Checked iterations before its creation; `before_seen`: those in which the class failed."""
    after_seen: int = Field(default=0, ge=0)
    after_of: int = Field(default=0, ge=0)
    """The same for iterations with the guardrail in the prompt."""
    loops: int = Field(default=0, ge=0)
    unneeded: int = Field(default=0, ge=0)
    """Consecutive latest loops in which its class of failure never came close to occurring."""
    created_at: datetime
    loaded_at: datetime | None = None
    retired: str = ""
    retired_at: datetime | None = None


class Range(Record):
    """A value over several ended loops."""

    low: float
    median: float
    high: float
    """A quarter of them took less than `low`, a quarter more than `high`."""


class Estimate(Record):
    task_type: TaskType
    project: str = ""
    """Empty: loops of all projects."""
    loops: int
    completed: float
    iterations: Range
    minutes: Range
    dollars: Range | None = None


class Reminder(Record):
    lesson: str
    kind: LessonKind
    text: str
    why: str
    score: float


class Recalled(Record):
    subject: Subject | None = None
    reminders: tuple[Reminder, ...] = ()
    """Best match first; 5 and 2 antipatterns at most."""
    guardrails: tuple[Guardrail, ...] = ()
    estimate: Estimate | None = None
    problem: str = ""
