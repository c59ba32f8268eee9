"""What outlives an iteration: episodes, lessons, guardrails and estimates. Three tiers: working (progress.md, within a loop),
episodic (what happened, iteration by iteration), semantic (what holds beyond one loop).
"""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.records.base import Record, Usage
from helmsman.records.control import Learning, Movement
from helmsman.records.decision import Outcome

LONGEST_TEXT = 600
LONGEST_DETAIL = 1_000
MOST_SOURCES = 20


class TaskType(StrEnum):
    FEATURE = "feature"
    BUGFIX = "bugfix"
    TEST_FIX = "test_fix"
    """Failing tests are to pass, whatever is behind them."""
    REFACTOR = "refactor"
    PERFORMANCE = "performance"
    MIGRATION = "migration"
    """Another version, library, language or format."""
    TESTS = "tests"
    DOCS = "docs"
    REVIEW = "review"
    RESEARCH = "research"
    OTHER = "other"


class LessonKind(StrEnum):
    STRATEGY = "strategy"
    ANTIPATTERN = "antipattern"
    """What failed again and again, and what was tried in vain."""
    CONVENTION = "convention"


class Tier(StrEnum):
    EPISODIC = "episodic"
    """Known from one loop: kept, and not told to others."""
    SEMANTIC = "semantic"
    """Promoted: other loops are told of it."""


class Subject(Record):
    """What an iteration is about: by this, lessons are looked for."""

    project: str
    """Which repository, the same on every machine and in every worktree."""
    task_type: TaskType
    text: str
    """The goal's own words, 2,000 characters at most."""
    failures: tuple[FailureClass, ...] = ()
    tests: tuple[str, ...] = ()


class Graded(Record):
    """What the judge found of a criterion in one iteration."""

    criterion: str
    met: bool
    reason: str = ""


class Episode(Record):
    """One iteration as memory keeps it: bounded, whatever the iteration was."""

    uid: str
    loop: str
    iteration: int
    attempt: int
    subject: Subject
    at: datetime
    """Its end."""
    seconds: float
    cost_usd: float
    tokens: int = 0
    movement: Movement
    checked: bool
    """Whether checks ran: where not, nothing is known of failures."""
    green: bool
    completion: float
    """0 to 1, by evidence."""
    errors: tuple[ErrorVector, ...] = ()
    """What the failing checks say afterwards, 5 at most."""
    troubles: tuple[ErrorVector, ...] = ()
    """What failed inside the session, 3 at most."""
    approach: str = ""
    """What was done, by its commits' subjects, 300 characters at most."""
    files: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    """Ids of the lessons that its prompt carried."""
    guarded: tuple[str, ...] = ()
    """Ids of the guardrails that its prompt carried."""
    learning: tuple[Learning, ...] = ()
    """Levels of learning after it, and whether what was ordered helped."""
    verdicts: tuple[Graded, ...] = ()
    """The judge's, of each criterion, where it was asked; 20 at most."""


class Summary(Record):
    """A loop that has ended, in numbers: estimates are made of these."""

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
    """What the agent's program did not tell, as `Capability` names it: its numbers here are no prices."""
    started_at: datetime
    ended_at: datetime


class Observation(Record):
    """Something that an iteration or a loop teaches, before it is compared with what is known."""

    kind: LessonKind
    text: str = Field(max_length=LONGEST_TEXT)
    """For an agent: what to do, or what to do instead."""
    detail: str = Field(default="", max_length=LONGEST_DETAIL)
    subject: Subject
    failure: FailureClass | None = None
    """Of an antipattern: the class that it is about."""
    confidence: float = Field(ge=0, le=1)
    good: bool
    """Whether the work that it comes from got on."""
    source: str
    by: Literal["rules", "model", "person"] = "rules"


class Learned(Record):
    lessons: tuple[str, ...] = ()
    """As they are kept, before they merge with what other loops taught."""


class ExtractedLessons(Record):
    observations: tuple[Observation, ...] = ()
    usage: Usage = Usage()
    reason: str = ""
    """Why nothing of it could be used; empty where it could."""


class Lesson(Record):
    id: str
    kind: LessonKind
    tier: Tier = Tier.EPISODIC
    project: str
    task_type: TaskType
    text: str = Field(max_length=LONGEST_TEXT)
    detail: str = Field(default="", max_length=LONGEST_DETAIL)
    failure: FailureClass | None = None
    tests: tuple[str, ...] = ()
    confidence: float = Field(ge=0, le=1)
    """Averaged over all that was merged into it."""
    observed: int = Field(default=1, ge=1)
    uses: int = Field(default=1, ge=0)
    """Times that it was put to the test: seen in a loop, or told to one that has ended since."""
    successes: int = Field(default=0, ge=0)
    """Of those, the ones that went well."""
    sources: tuple[str, ...] = ()
    """uids of loops that it was seen in, newest last, 20 at most."""
    by: Literal["rules", "model", "person"] = "rules"
    created_at: datetime
    updated_at: datetime
    """When it was seen last."""
    used_at: datetime | None = None
    """When it was told last."""
    retired: str = ""
    """Why it is told no more; empty while it is."""

    @property
    def success_rate(self) -> float:
        return self.successes / self.uses if self.uses else 0.0


class Guardrail(Record):
    """An instruction that stands until it proves useless. Made of a class of failure that was seen too often, or by a person."""

    id: str
    project: str
    failure: FailureClass | None = None
    """None: a person wrote it, of no class."""
    trigger: str = Field(default="", max_length=300)
    instruction: str = Field(max_length=LONGEST_TEXT)
    origin: str = Field(default="", max_length=300)
    """What it was made of: loop, iterations, numbers."""
    by: Literal["helmsman", "person"] = "helmsman"
    edited: bool = False
    """Whether a person changed the words: they are not changed again."""
    before_seen: int = Field(default=0, ge=0)
    """Checked iterations in which the class failed before it was made…"""
    before_of: int = Field(default=0, ge=0)
    """…of so many."""
    after_seen: int = Field(default=0, ge=0)
    """Checked iterations in which the class failed although the agent was told…"""
    after_of: int = Field(default=0, ge=0)
    """…of so many."""
    loops: int = Field(default=0, ge=0)
    """Loops that ended and had carried it."""
    unneeded: int = Field(default=0, ge=0)
    """Of those the newest ones in a row in which nothing of its class was anywhere near."""
    created_at: datetime
    loaded_at: datetime | None = None
    """When an agent was told last."""
    retired: str = ""
    """Why it stands no more; empty while it does."""
    retired_at: datetime | None = None


class Range(Record):
    """A figure of loops that are over."""

    low: float
    """A quarter of them took no more."""
    median: float
    high: float
    """A quarter of them took more."""


class Estimate(Record):
    task_type: TaskType
    project: str = ""
    """Empty: loops of all projects."""
    loops: int
    completed: float
    """Share of the ended loops of this sort that completed."""
    iterations: Range
    minutes: Range
    dollars: Range | None = None
    """None: the programs of these loops did not tell."""


class Reminder(Record):
    lesson: str
    kind: LessonKind
    text: str
    why: str
    """Why this one was chosen: numbers, for whoever reads the journal."""
    score: float


class Recalled(Record):
    subject: Subject | None = None
    reminders: tuple[Reminder, ...] = ()
    """The most fitting first: 5 and 2 antipatterns at most."""
    guardrails: tuple[Guardrail, ...] = ()
    estimate: Estimate | None = None
    problem: str = ""
    """Why there is no memory; empty where there is."""
