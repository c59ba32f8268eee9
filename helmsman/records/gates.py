"""Gates: questions to a person, their choices, and the answers."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from pydantic import Field

from helmsman.plain import PLAIN_NAME
from helmsman.records.base import Record

GATE = "gate."
"""Prefix of the rules of endings caused by a gate; its kind follows."""
LONGEST_GUIDANCE = 4000
"""Maximum characters of guidance in one answer."""


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
    """An obstacle that only a person can remove prevents the merge of proven work."""
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


def _rule(
    title: str, *, by_hand: bool = True, stop: str = "The loop ends; its work and its state are kept.", **does: str
) -> Rule:
    """`does`: the effect of each choice, in the order of display."""
    handover = {"take-over": "You commit on the branch yourself; the loop waits until you hand it back."} if by_hand else {}
    return Rule(title, {Choice(name): sentence for name, sentence in {**does, **handover, "stop": stop}.items()})


_DONE = "You accept the work as done."
_WORK_ON = "The loop continues, under your guidance."
GATES: Mapping[GateKind, Rule] = {
    GateKind.PLAN: _rule("Plan", by_hand=False, approve="The first iteration begins."),
    GateKind.QUESTIONS: Rule("Questions", {}),
    GateKind.MILESTONE: _rule("Milestone", approve="The loop continues."),
    GateKind.REJECTIONS: _rule(
        "Rejected by the judge",
        approve="The loop continues, and the count of rejections starts again.",
        accept="You accept the work as done, against the judge's verdict.",
    ),
    GateKind.UNDECIDED: _rule(
        "The judge cannot tell",
        accept=_DONE,
        approve="The loop continues, and the judge is asked again at the next claim of completion.",
    ),
    GateKind.UNPROVEN: _rule(
        "The work is unproven",
        stop="The loop stays ended as unproven; its work and its state are kept.",
        accept=_DONE,
        approve="The loop continues and must prove its work.",
    ),
    GateKind.ITEM: _rule(
        "Is this item done?",
        approve="You accept the item as done, and the loop continues with the next one.",
        revise="The loop continues with this item, under your guidance.",
    ),
    GateKind.HUMAN: _rule("The loop needs a decision", approve="The loop continues, starting with a redesign."),
    GateKind.BUDGET: _rule("A limit is reached", approve="The loop continues under the higher limits that you set."),
    GateKind.MERGE: _rule("Verified: merge it?", approve="The loop ends as completed, approved for merging.", revise=_WORK_ON),
    GateKind.UNMERGED: _rule(
        "Verified, but not merged",
        approve="The merge is retried.",
        accept="The loop ends as completed; its work stays on its branch, unmerged.",
        revise=_WORK_ON,
    ),
    GateKind.LEARNINGS: _rule(
        "Learnings for AGENTS.md",
        by_hand=False,
        approve="The lines are committed on the loop's branch.",
        stop="Nothing is committed; the patch stays next to the loop's records.",
    ),
    GateKind.HANDED_OVER: _rule(
        "Handed over to you", by_hand=False, approve="The loop continues from the commits that are on its branch now."
    ),
}

Way = Literal["engine", "command line", "tracker", "timeout"]
"""Channel of an answer; `engine` is the Prefect UI or its API."""


class Gate(Record):
    key: str = Field(pattern=PLAIN_NAME)
    kind: GateKind
    question: str
    evidence: str = ""
    questions: tuple[str, ...] = ()
    """Individual questions, if it is more than a choice; 20 at most."""
    asked_at: datetime
    deadline: datetime | None = None
    """When the declared outcome replaces an answer; None: never."""
    at_timeout: Choice = Choice.STOP
    refused: str = ""

    @property
    def choices(self) -> Mapping[Choice, str]:
        return GATES[self.kind].choices


class Answer(Record):
    """The decision of a person or of a timeout."""

    gate: str
    kind: GateKind
    choice: Choice
    guidance: str = Field(default="", max_length=LONGEST_GUIDANCE)
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Changed configuration, nested as in helmsman.toml."""
    by: str = ""
    via: Way
    at: datetime
