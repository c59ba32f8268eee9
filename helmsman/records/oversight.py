"""What the overseer made of an iteration: the whole of it is kept with the state and is where the next one begins."""

from enum import StrEnum
from typing import Literal

from helmsman.records.base import Record
from helmsman.records.control import Control
from helmsman.records.modes import Feedback, Ladder
from helmsman.records.moments import Moment, Progress
from helmsman.records.pain import Scan
from helmsman.records.session import FailureClass
from helmsman.records.verdict import Signal


class Diagnosis(StrEnum):
    """Why the same thing happens again and again."""

    NONE = "none"
    AMNESIAC = "amnesiac"
    """Each fresh session forgets what the one before learnt: it needs a note, not a judge."""
    DOUBLE_BIND = "double_bind"
    """Two of its orders contradict each other: no note helps, a person has to choose."""
    STUCK = "stuck"
    """It does the same in vain."""
    PRODUCTIVE = "productive"
    """A stable cycle that gets on: leave it alone."""


Modality = Literal["must", "must_not", "should", "should_not"]
ConflictKind = Literal["scope", "pattern", "completeness", "priority"]


class Imperative(Record):
    """A sentence that orders something, with where it stands."""

    source: str
    """goal, RUBRIC.md, AGENTS.md, guardrails…: a path, or the name of a part of the configuration."""
    line: int = 0
    """Counted from 1; 0 where there are no lines."""
    text: str
    """300 characters at most."""
    modality: Modality

    @property
    def place(self) -> str:
        """Where a person finds it."""
        return f"{self.source}:{self.line}" if self.line else self.source


class Conflict(Record):
    """Two orders that cannot both be followed."""

    kind: ConflictKind
    first: Imperative
    second: Imperative
    about: str
    """What both speak of."""
    by: Literal["rules", "model"] = "rules"
    """Who found it. A model's reading weighs less: alone it asks for nobody."""


class Sought(Record):
    """What a model said of contradictions that rules had not found."""

    orders: str
    """Fingerprint of the orders that it was asked about; it is not asked about them again."""
    conflicts: tuple[Conflict, ...] = ()
    """5 at most."""


class Learnt(Record):
    """A class of failure, and what was done about it."""

    kind: FailureClass
    seen: int = 0
    """Iterations in which a check failed so, in all."""
    in_row: int = 0
    level: Literal[0, 1, 2, 3] = 0
    """0: new. 1: stagnation. 2: an intervention is being tried. 3: a matter for a person."""
    intervened_at: int | None = None
    """Iteration after which the intervention was ordered."""
    recurred: int = 0
    """Iterations since then in which it came back."""
    helped: bool | None = None
    """Whether the intervention ended it; None while that is open."""


class Variety(Record):
    """Ways that the code leaves open for later work, counted over the whole tree."""

    files: int = 0
    lines: int = 0
    """Of source, tests left out."""
    suppressions: int = 0
    skips: int = 0
    casts: int = 0
    """`any`, casts, and what else turns a type checker off for one place."""
    imports: int = 0
    public_names: int = 0
    dead: int = 0
    """Private names of Python that their module defines and mentions nowhere else."""
    tests: int = 0


class Checkpoint(Record):
    """A commit worth going back to."""

    iteration: int
    commit: str
    tree: str
    completion: float
    green: bool = False


LATER = "later"
"""The rule of work that came after the best tree of a loop that ended there."""


class Failed(Record):
    """Work that was taken off the branch, kept on a ref."""

    iteration: int
    ref: str
    commit: str
    back_to: str
    """Commit that the branch went back to."""
    rule: str = ""
    """What took it off: `regressing`, `later`, or the rule of a pain."""
    why: str
    """For a person, 300 characters at most."""
    files: tuple[str, ...] = ()
    """20 at most."""


class Stance(StrEnum):
    PERSIST = "persist"
    PIVOT = "pivot"
    ESCALATE = "escalate"


class Strategy(Record):
    """How the next iteration goes about it."""

    stance: Stance = Stance.PERSIST
    reasoning: str = ""
    priorities: tuple[str, ...] = ()
    """Sentences for the agent, the most important first, 5 at most."""


class Issue(Record):
    """Something that validation before or after an iteration found."""

    rule: str
    critical: bool
    message: str


class Oversight(Record):
    """Everything that control between iterations rests on. Bounded."""

    progress: Progress = Progress()
    control: Control = Control()
    idle: int = 0
    """Iterations in a row that did not get on."""
    ladder: Ladder = Ladder()
    feedback: Feedback = Feedback.NONE
    diagnosis: Diagnosis = Diagnosis.NONE
    conflicts: tuple[Conflict, ...] = ()
    """5 at most."""
    sought: Sought | None = None
    """None: no model was asked."""
    learning: tuple[Learnt, ...] = ()
    """One for each class of failure that was seen."""
    variety: tuple[Variety, ...] = ()
    """One for each of the last iterations, newest last, 10 at most."""
    strategy: Strategy = Strategy()
    issues: tuple[Issue, ...] = ()
    """10 at most."""
    gaps: tuple[str, ...] = ()
    """REMAINING_GAP of progress.md after each of the last iterations, newest last, 5 at most of 1,000 characters."""
    baseline: Scan | None = None
    """What the security scan found first; what it finds later is compared with it."""
    best: Checkpoint | None = None
    """The commit that measured best; of equals the latest."""
    instructions: tuple[str, ...] = ()
    """What signals of this iteration tell the next one to do, 10 at most."""
    redirected: tuple[str, ...] = ()
    """Rules of the signals of this iteration that ask for another way, 10 at most."""
    faults: tuple[str, ...] = ()
    """Parts of the overseer that broke and were replaced by their defaults, in words, 10 at most."""


class Overseen(Record):
    """What the step `oversee` returns."""

    signals: tuple[Signal, ...] = ()
    oversight: Oversight = Oversight()
    moment: Moment | None = None
    """The iteration as it will be remembered; None where it is not (an attempt that a usage limit cut off)."""
