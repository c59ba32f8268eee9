"""Alignment: what is agreed before a loop starts, its request, facts about the repository, and its result."""

import posixpath
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import satisfies
from helmsman.plain import one_line, prose
from helmsman.records.base import Record
from helmsman.records.request import Folder, Request

ALIGNMENT = "ALIGNMENT.md"
ROUNDS = 3
"""Requests to a model for one alignment at most."""
LONGEST_GOAL, LONGEST_PROSE, LONGEST_LINE, LONGEST_ANSWER, LONGEST_MORE = 50_000, 5_000, 1_000, 4_000, 200_000
MOST_LINES, MOST_QUESTIONS = 60, 20
"""Questions at most: as many as a form may have."""
SAME = ".!?: "
"""Characters at the end of a question that do not make it a different one."""


def inside(path: str) -> str:
    """Normalize a path from the top of the repository. Raises ValueError for a path outside of it or in git's own folder."""
    normalized = posixpath.normpath(path) if path else "."
    first, is_outside = normalized.partition("/")[0], ".." in path.split("/")
    if is_outside or first.lower() in {"", ".", ".git"} or not path.isprintable():
        raise PydanticCustomError("outside", "a path in the repository, relative to its root")
    return normalized


_SAID = satisfies(str.strip, "blank", "expected some words")
Line = Annotated[str, Field(max_length=LONGEST_LINE), AfterValidator(one_line), _SAID]
Lines = Annotated[tuple[Line, ...], Field(max_length=MOST_LINES)]
Inside = Annotated[str, AfterValidator(inside)]


class Stage(Record):
    what: Line
    proof: Annotated[str, Field(max_length=LONGEST_LINE), AfterValidator(one_line)] = ""


class AlignmentQuestion(Record):
    question: Line
    answer: Annotated[str, Field(max_length=LONGEST_ANSWER), AfterValidator(one_line)] | None = None
    """None: it is open. Empty: the agent decides."""

    @property
    def open(self) -> bool:
        return self.answer is None

    @property
    def key(self) -> str:
        """Equal for questions that differ only in case and final punctuation."""
        return self.question.casefold().rstrip(SAME)


class Origin(Record):
    """How an alignment came about."""

    by: Literal["model", "template", "person"] = "person"
    model: str = Field(default="", max_length=200)
    round: int = Field(default=0, ge=0, le=1000)
    """How often a model was asked, or should have been."""
    commit: str = Field(default="", max_length=100)
    cost_usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Of all rounds."""
    reason: str = Field(default="", max_length=1000)


class Alignment(Record):
    """What bridges the three gulfs: the goal, the way to reach it, and how to know that it is reached."""

    goal: Annotated[str, Field(max_length=LONGEST_GOAL), AfterValidator(prose), _SAID]
    """In the words of its author; no model changes them."""
    deliverables: Lines = ()
    out_of_scope: Lines = ()
    approach: Annotated[str, Field(max_length=LONGEST_PROSE), AfterValidator(prose)] = ""
    sequence: Annotated[tuple[Stage, ...], Field(max_length=MOST_LINES)] = ()
    assumptions: Lines = ()
    machine_checks: Lines = ()
    behavioural_checks: Lines = ()
    edge_cases: Lines = ()
    capability: Lines = ()
    """What the agent may be unable to do here."""
    instruction: Lines = ()
    """What can be read in more than one way."""
    intentionality: Lines = ()
    """Aspects of the result's form and quality that nobody has described yet."""
    questions: Annotated[tuple[AlignmentQuestion, ...], Field(max_length=MOST_QUESTIONS)] = ()
    answered: Annotated[tuple[AlignmentQuestion, ...], Field(max_length=MOST_LINES)] = ()
    made: Origin = Origin()
    more: Annotated[str, Field(max_length=LONGEST_MORE), AfterValidator(str.rstrip)] = ""

    @field_validator("answered")
    @classmethod
    def _check_answered(cls, answered: tuple[AlignmentQuestion, ...]) -> tuple[AlignmentQuestion, ...]:
        if any(question.open for question in answered):
            raise PydanticCustomError("open", "expected an answer to each")
        return answered

    @property
    def open(self) -> tuple[str, ...]:
        return tuple(question.question for question in self.questions if question.open)

    @property
    def due(self) -> Literal["answers", "folding", ""]:
        """What is left to do: get answers from a person, fold them in, or nothing."""
        return "answers" if self.open else "folding" if self.questions else ""


class AlignRequest(Request):
    """Examine a goal before a loop starts: a form asks for what is missing, and the result is written into a file."""

    repository: Folder
    """Absolute path of the repository on the machine that runs the flow; it needs a checkout."""
    goal: str = Field(default="", max_length=LONGEST_GOAL)
    """What should be true at the end. Empty: as in the repository's helmsman.toml or its alignment file."""
    out: Inside = ALIGNMENT
    """Path of the alignment file, relative to the repository's root. An existing one is continued."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Additional configuration as JSON, nested as in helmsman.toml; it overrides the repository's."""
    ask: bool = True
    """Pause the run for its questions. False: they stay open in the file, and the run ends."""


class RepositoryFacts(Record):
    """Facts about the repository for a model. All except checks and criteria is untrusted."""

    commit: str
    files: tuple[str, ...] = ()
    """Names of the two upper levels, folders with a slash."""
    left_out: int = 0
    readme: str = ""
    guides: str = ""
    commands: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Commands found in its files, each with its kind and place. None was run."""
    commits: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()


class AlignResult(Record):
    """Result of an alignment, as printed by `--json` and returned by a finished flow run."""

    outcome: Literal["aligned", "questions", "stopped", "cancelled"]
    """`questions`: some are open, and a loop does not start before they are answered."""
    file: str
    goal: str
    questions: tuple[str, ...]
    by: Literal["model", "template", "person"]
    round: int
    cost_usd: float
    reason: str


def result_of(
    alignment: Alignment, file: str, outcome: Literal["stopped", "cancelled"] | None = None, why: str = ""
) -> AlignResult:
    """Summarise an alignment for people and machines."""
    made = alignment.made
    return AlignResult(
        outcome=outcome or ("questions" if alignment.open else "aligned"),
        file=file,
        goal=alignment.goal,
        questions=alignment.open,
        by=made.by,
        round=made.round,
        cost_usd=round(made.cost_usd, 6),
        reason=why or made.reason,
    )
