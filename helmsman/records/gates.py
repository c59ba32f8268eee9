"""Gates: what a person is asked, which choices there are, and what was answered."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from pydantic import Field

from helmsman.naming import PLAIN_NAME
from helmsman.records.base import Record

GATE = "gate."
"""How the rules begin of endings that a gate brought about; then comes its kind."""
LONGEST_GUIDANCE = 4000
"""Characters of guidance that one answer may hold."""


class GateKind(StrEnum):
    PLAN = "plan"
    QUESTIONS = "questions"
    """An alignment could not be finished without answers."""
    MILESTONE = "milestone"
    REJECTIONS = "rejections"
    UNDECIDED = "undecided"
    UNPROVEN = "unproven"
    ITEM = "item"
    HUMAN = "human"
    """E-III of the ladder, or a signal that asks for a person."""
    BUDGET = "budget"
    MERGE = "merge"
    UNMERGED = "unmerged"
    """Something that only a person can clear away keeps proven work from being merged."""
    LEARNINGS = "learnings"
    HANDED_OVER = "handed-over"


class Choice(StrEnum):
    APPROVE = "approve"
    REVISE = "revise"
    ACCEPT = "accept"
    TAKE_OVER = "take-over"
    STOP = "stop"


class Rule(NamedTuple):
    title: str
    choices: Mapping[Choice, str]


_STOP = {Choice.STOP: "The loop ends; its work and its state are kept."}
_TAKE_OVER = {Choice.TAKE_OVER: "You commit on the branch by hand; the loop waits until you hand it back."}

GATES: Mapping[GateKind, Rule] = {
    GateKind.PLAN: Rule("Plan", {Choice.APPROVE: "The first iteration begins.", **_STOP}),
    GateKind.QUESTIONS: Rule("Questions", {}),
    GateKind.MILESTONE: Rule("Milestone", {Choice.APPROVE: "The loop goes on.", **_TAKE_OVER, **_STOP}),
    GateKind.REJECTIONS: Rule(
        "Rejected by the judge",
        {
            Choice.APPROVE: "The loop goes on, and rejections are counted anew.",
            Choice.ACCEPT: "The work is taken as done by your word, against the judge's.",
            **_TAKE_OVER,
            **_STOP,
        },
    ),
    GateKind.UNDECIDED: Rule(
        "The judge cannot tell",
        {
            Choice.ACCEPT: "The work is taken as done by your word.",
            Choice.APPROVE: "The loop goes on, and the judge is asked again when the agent asks to be done.",
            **_TAKE_OVER,
            **_STOP,
        },
    ),
    GateKind.UNPROVEN: Rule(
        "Nothing proves the work",
        {
            Choice.ACCEPT: "The work is taken as done by your word.",
            Choice.APPROVE: "The loop goes on, and has to show its work.",
            **_TAKE_OVER,
            Choice.STOP: "The loop stays ended as unproven; its work and its state are kept.",
        },
    ),
    GateKind.ITEM: Rule(
        "Is this item done?",
        {
            Choice.APPROVE: "The item is ticked by your word, and the loop goes on with the next one.",
            Choice.REVISE: "The loop goes on with this item, under your guidance.",
            **_TAKE_OVER,
            **_STOP,
        },
    ),
    GateKind.HUMAN: Rule(
        "The loop needs you", {Choice.APPROVE: "The loop goes on, beginning with a redesign.", **_TAKE_OVER, **_STOP}
    ),
    GateKind.BUDGET: Rule(
        "A limit is reached", {Choice.APPROVE: "The loop goes on under the higher limits that you give.", **_TAKE_OVER, **_STOP}
    ),
    GateKind.MERGE: Rule(
        "Proven: may it be merged?",
        {
            Choice.APPROVE: "The loop ends as completed, approved for merging.",
            Choice.REVISE: "The loop goes on working, under your guidance.",
            **_TAKE_OVER,
            **_STOP,
        },
    ),
    GateKind.UNMERGED: Rule(
        "Proven, and not merged",
        {
            Choice.APPROVE: "The merge is tried again.",
            Choice.ACCEPT: "The loop ends as completed; its work stays on its branch, unmerged.",
            Choice.REVISE: "The loop goes on working, under your guidance.",
            **_TAKE_OVER,
            **_STOP,
        },
    ),
    GateKind.LEARNINGS: Rule(
        "Learnings for AGENTS.md",
        {
            Choice.APPROVE: "The lines are committed on the loop's branch.",
            Choice.STOP: "Nothing is committed; the patch stays beside the loop's records.",
        },
    ),
    GateKind.HANDED_OVER: Rule(
        "In your hands", {Choice.APPROVE: "The loop goes on from the commits that are on its branch now.", **_STOP}
    ),
}

Way = Literal["engine", "command line", "tracker", "timeout"]
"""Through which an answer came; `engine` is the Prefect UI or its API."""


class Gate(Record):
    key: str = Field(pattern=PLAIN_NAME)
    kind: GateKind
    question: str
    evidence: str = ""
    questions: tuple[str, ...] = ()
    """What is asked one by one, where it is more than a choice; 20 at most."""
    asked_at: datetime
    deadline: datetime | None = None
    """When the declared outcome takes the place of an answer; None: never."""
    at_timeout: Choice = Choice.STOP
    refused: str = ""

    @property
    def choices(self) -> Mapping[Choice, str]:
        return GATES[self.kind].choices


class Answer(Record):
    """What a person, or the lapse of time, decided."""

    gate: str
    kind: GateKind
    choice: Choice
    guidance: str = Field(default="", max_length=LONGEST_GUIDANCE)
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Configuration that is changed, nested as in helmsman.toml."""
    by: str = ""
    via: Way
    at: datetime
