"""Behaviour and control of the loop: controller, ladder, summaries of iterations, and results of the overseer."""

from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Literal

from helmsman.records.agent import AgentOutcome, CommitRange, ErrorVector, FailureClass
from helmsman.records.base import Record
from helmsman.records.checks import Scan
from helmsman.records.decision import Alert

Phase = Literal["exploration", "focused", "aggressive"]


class Gains(Record):
    kp: float = 0.3
    ki: float = 0.1
    kd: float = 0.2


Band = Literal["continue", "watch", "adjust", "pivot"]
"""Response to the output; bounds at 0.3, 0.5 and 0.7."""


class Control(Record):
    """State and output of the controller after an iteration."""

    proportional: float = 1.0
    """P = 1 - completion."""
    integral: float = 0.0
    """I: sum of P, each earlier one worth 0.9 of the one after it, clamped."""
    derivative: float = 0.0
    """D: change of completion an iteration, positive where it grows."""
    gains: Gains = Gains()
    phase: Phase = "exploration"
    output: float = 0.0
    """Urgency, 0 to 1."""
    band: Band = "continue"


class EscalationLevel(IntEnum):
    """Escalation level: a repeated failure leads to the next one."""

    PATCH = 0
    REFACTOR = 1
    REDESIGN = 2
    HUMAN = 3
    EJECT = 4

    @property
    def title(self) -> str:
        return ("E-0 patch", "E-I refactor", "E-II redesign", "E-III human", "E-IV eject")[self]


def short_level(level: int) -> str:
    """The first word of its title, such as E-II. Newer versions may have recorded unknown levels."""
    return EscalationLevel(level).title.partition(" ")[0] if level in set(EscalationLevel) else str(level)


class LevelChange(Record):
    iteration: int
    before: EscalationLevel
    after: EscalationLevel
    reason: str
    at: datetime


class Ladder(Record):
    """The escalation level of the loop, and its history."""

    rung: EscalationLevel = EscalationLevel.PATCH
    reason: str = ""
    since: datetime | None = None
    spent: int = 0
    """Iterations at this level since the last clean one."""
    clean: int = 0
    last_good: EscalationLevel = EscalationLevel.PATCH
    climbs: tuple[LevelChange, ...] = ()


Feedback = Literal["green", "failing", "broken", "gutter", "none"]
"""Quality of the feedback for the next iteration. `broken`: nothing can run, and no new work starts until it builds. `gutter`:
the session accumulated failures, and a fresh context follows."""


REMEMBERED = 50
"""Iterations that the overseer remembers: the longest window of a detector."""
MOST_NAMES, MOST_ERRORS = 20, 5
"""Files or failures, and errors, listed in a summary."""


class Progress(Record):
    """Progress by evidence alone. Each share is 0 to 1, None if there is nothing of its kind."""

    checks: float | None = None
    tests: float | None = None
    criteria: float | None = None
    items: float | None = None
    completion: float = 0.0
    """All shares combined, 0 to 1; 1 only if completion is proven."""


class Movement(StrEnum):
    """Effect of an iteration on the evidence, compared with the remembered iterations."""

    FORWARD = "forward"
    """Something is better than it ever was, or a failure was got past and another one stands in its place."""
    SIDEWAYS = "sideways"
    """A tree that was never seen, and the evidence says the same."""
    STILL = "still"
    """No change, or a tree that was there before."""
    BACK = "back"
    """The evidence is worse than after the iteration before."""
    WAITED = "waited"
    """The agent never got to work: a limit, a refused start. It says nothing about the work."""


class Figures(Record):
    """Stored numbers of an iteration, wherever one is remembered."""

    iteration: int
    attempt: int = 1
    at: datetime
    seconds: float = 0.0
    cost_usd: float = 0.0
    tokens: int = 0
    """Input and output, cache reads included."""
    movement: Movement
    completion: float
    checked: bool = True
    """Whether checks ran; if not, failures are unknown."""
    green: bool = False
    errors: tuple[ErrorVector, ...] = ()
    """Failures of the checks, one per check, 5 at most."""
    troubles: tuple[ErrorVector, ...] = ()
    """Failures inside the session, most frequent first, 3 at most."""


class IterationSummary(Figures, CommitRange):
    """One iteration, in numbers and identities."""

    written: int = 0
    outcome: AgentOutcome
    commits: int = 0
    passing_tests: int = 0
    failing_tests: int = 0
    failing: tuple[str, ...] = ()
    tool_calls: int = 0
    untold: tuple[str, ...] = ()
    """What the agent's program does not report, by names of `Capability`."""
    denials: int = 0
    reverted: int = 0
    relevance: float = 1.0
    """Share of its actions that relate to the task (POSIWID)."""
    asked: bool = False
    test_only: bool = False
    undone: bool = False
    rung: int = 0


Diagnosis = Literal["none", "amnesiac", "double_bind", "stuck", "productive"]
"""Why the loop repeats itself. `amnesiac`: each fresh session forgets what the previous one learned, and needs a note.
`double_bind`: two of its instructions contradict each other, and a person must choose. `productive`: a cycle with progress."""


Modality = Literal["must", "must_not", "should", "should_not"]
ConflictKind = Literal["scope", "pattern", "completeness", "priority"]


class Imperative(Record):
    """An instruction in a text, with its place."""

    source: str
    """goal, RUBRIC.md, AGENTS.md, guardrails…: a path, or the name of a part of the configuration."""
    line: int = 0
    text: str
    modality: Modality

    @property
    def place(self) -> str:
        """Location for people."""
        return f"{self.source}:{self.line}" if self.line else self.source


class Conflict(Record):
    kind: ConflictKind
    first: Imperative
    second: Imperative
    about: str


class Learning(Record):
    """A class of failure, and the reactions to it."""

    kind: FailureClass
    seen: int = 0
    """Total iterations with this class of failure in a check."""
    in_row: int = 0
    level: Literal[0, 1, 2, 3] = 0
    """0: new. 1: stagnation. 2: an intervention is being tried. 3: needs a person."""
    intervened_at: int | None = None
    recurred: int = 0
    helped: bool | None = None


class Variety(Record):
    """Flexibility of the code for later work, counted over the whole tree."""

    files: int = 0
    lines: int = 0
    """Lines of source, without tests."""
    suppressions: int = 0
    skips: int = 0
    casts: int = 0
    """`any`, casts, and anything else that switches a type checker off for one place."""
    imports: int = 0
    public_names: int = 0
    dead: int = 0
    """Private Python names that their module defines and never uses."""
    tests: int = 0


class Checkpoint(Record):
    """A commit to return to."""

    iteration: int
    commit: str
    tree: str
    completion: float
    green: bool = False


LATER = "later"
"""Rule of work after the best tree of an ended loop."""


class RolledBack(Record):
    """Work that was removed from the branch and is kept on a ref."""

    iteration: int
    ref: str
    commit: str
    back_to: str
    rule: str = ""
    """Rule that removed it: `regressing`, `later`, or the rule of a critical event."""
    why: str
    files: tuple[str, ...] = ()


Stance = Literal["persist", "pivot", "escalate"]


class Strategy(Record):
    stance: Stance = "persist"
    reasoning: str = ""
    priorities: tuple[str, ...] = ()
    """Sentences for the agent, the most important first, 5 at most."""


class Issue(Record):
    """A finding of the validation before or after an iteration."""

    rule: str
    critical: bool
    message: str


class GitChanges(Record):
    """Changes in the repository's git folder since the loop began, 20 of each kind at most."""

    followed: tuple[str, ...] = ()
    """What a person's git runs or follows: hooks, files, settings, replacements of objects."""
    moved: tuple[str, ...] = ()
    """Branches and tags, without those of loops."""


class Oversight(Record):
    """State of the control between iterations. Bounded."""

    progress: Progress = Progress()
    control: Control = Control()
    idle: int = 0
    ladder: Ladder = Ladder()
    feedback: Feedback = "none"
    diagnosis: Diagnosis = "none"
    conflicts: tuple[Conflict, ...] = ()
    learning: tuple[Learning, ...] = ()
    variety: tuple[Variety, ...] = ()
    """One for each of the last iterations, newest last, 10 at most."""
    strategy: Strategy = Strategy()
    issues: tuple[Issue, ...] = ()
    gaps: tuple[str, ...] = ()
    """REMAINING_GAP of progress.md after each of the last iterations, newest last, 5 at most of 1,000 characters."""
    baseline: Scan | None = None
    """First findings of the security scan; later ones are compared with them."""
    best: Checkpoint | None = None
    instructions: tuple[str, ...] = ()
    """Instructions of this iteration's signals for the next one, 10 at most."""
    redirected: tuple[str, ...] = ()
    """Rules of this iteration's signals that ask for another approach, 10 at most."""
    faults: tuple[str, ...] = ()
    """Parts of the overseer that failed and were replaced by their defaults, 10 at most."""
    git: GitChanges = GitChanges()


class Overseen(Record):
    signals: tuple[Alert, ...] = ()
    oversight: Oversight = Oversight()
    moment: IterationSummary | None = None
    """Summary for the history; None if it is not kept (an attempt that a usage limit ended)."""
