"""What of a loop is a person's concern, and what that means for its issues at a tracker: open, comment, label, close.

An issue stands for a detection of a loop. What is to be done follows from how the loop stands and from what is found at the
tracker, so doing it again changes nothing, and what was missed is made up for the next time.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from helmsman.oversee.limits import in_words, newly_near
from helmsman.records.control import EscalationLevel, LevelChange, short_level
from helmsman.records.decision import Outcome
from helmsman.records.gates import GATE, GATES, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.records.tracking import OURS, Escalation, TrackedIssue, TrackerAction

OVER = "over."  # how the mark of a comment begins that says that something is over
LIMITS = "limits"
LADDER = "ladder.human"
_STANDS_FOR: Mapping[GateKind, str] = {
    GateKind.REJECTIONS: "judge.rejections",
    GateKind.UNDECIDED: "judge.cannot_tell",
    GateKind.BUDGET: LIMITS,
}
"""Questions about something that is told even where nobody is asked: both are the same issue."""
_ON_THE_LADDER = frozenset({GateKind.HUMAN, GateKind.HANDED_OVER})  # questions about what brought the loop to its rung
_STAMP = "%Y%m%dT%H%M%S%f"
_RULE = re.compile(r"[\w.+-]{1,80}", re.ASCII)


def concerns(state: LoopState) -> tuple[Escalation, ...]:
    """What a person should know of a loop as it stands; nothing where it is done, or was ended by a person."""
    return tuple(_by_detection(state).values())


def _by_detection(state: LoopState) -> dict[str, Escalation]:
    ending = state.ending
    if ending is not None and state.gate is None:
        # whoever has ended it need not be told; the lapse of time is nobody
        by_person = ending.rule.startswith(GATE) and bool(state.answers) and state.answers[-1].via != "timeout"
        if by_person or ending.outcome in {Outcome.COMPLETED, Outcome.CANCELLED}:
            return {}
    found: list[Escalation] = []
    for climb in _in_force(state):  # those that are still in force, the highest last; what is tried below a redesign needs nobody
        if climb.after >= EscalationLevel.REDESIGN:
            level, words = short_level(climb.after), (f"has come to {climb.after.title}", climb.reason)
            found.append(_escalation(state, _rule_of(climb), f"{level}-{climb.at:{_STAMP}}", level, words, climb.at))
    found += _ending(state)
    if gate := state.gate:
        detection = question_detection(state)
        level = short_level(EscalationLevel.HUMAN) if detection == _top(state) else "question"
        words = f"asks: {GATES[gate.kind].title}", gate.question
        found.append(_escalation(state, detection, gate.key, level, words, gate.asked_at, gate))
    return {one.detection: one for one in found}


def changes(before: LoopState, after: LoopState) -> tuple[Escalation, ...]:
    """What is new, and what is over, for those who are told each thing once."""
    old, new = _by_detection(before), _by_detection(after)
    fresh = (one for key, one in new.items() if key not in old or one.at > old[key].at)
    over = (one.model_copy(update={"over": True}) for key, one in old.items() if key not in new)
    # a usage limit that is near passes by itself, so it is news and no issue at a tracker
    near = newly_near(before.usage, after.usage, after.updated_at)
    told = ((window.name, ("comes near a usage limit", in_words(window))) for window in near)
    limits = (_escalation(after, "usage_limit.near", name, "notice", words, after.updated_at) for name, words in told)
    return (*fresh, *over, *limits)


def tracker_actions(wanted: Sequence[Escalation], found: Sequence[TrackedIssue]) -> tuple[TrackerAction, ...]:
    """What is to be done, where these are the loop's concerns and those its issues."""
    issues = {issue.detection: issue for issue in sorted(found, key=lambda issue: -issue.number)}  # of several the oldest
    told = [deed for one in wanted if (deed := _told(one, issues.get(one.detection)))]
    named = {one.detection for one in wanted}
    for issue in found:
        if issue.is_open and issue.detection not in named:
            last = next((stage for stage in reversed(issue.stages) if not stage.startswith(OVER)), "")
            stage = "" if f"{OVER}{last}" in issue.stages else f"{OVER}{last}"
            told.append(TrackerAction(act="close", detection=issue.detection, number=issue.number, stage=stage))
    return tuple(told)


def _told(one: Escalation, issue: TrackedIssue | None) -> TrackerAction | None:
    """An issue that a person has closed stays closed until there is something new to say."""
    if issue is None:
        return TrackerAction(act="open", detection=one.detection, escalation=one, stage=one.stage, add=one.labels)
    add = tuple(label for label in one.labels if label not in issue.labels)
    remove = tuple(label for label in issue.labels if label.startswith(f"{OURS}:") and label not in one.labels)
    deed = TrackerAction(act="label", detection=one.detection, number=issue.number, escalation=one, add=add, remove=remove)
    if one.stage not in issue.stages:
        return deed.model_copy(update={"act": "comment", "stage": one.stage, "reopen": not issue.is_open})
    return deed if issue.is_open and (add or remove) else None


# --- what concerns a person -----------------------------------------------------------------------------------------


def _in_force(state: LoopState) -> list[LevelChange]:
    """For each rung that the loop came to by trouble and has not left downward, the climb that led there."""
    standing: list[LevelChange] = []
    for climb in state.oversight.ladder.climbs if state.config.ladder.act else ():
        standing = [one for one in standing if one.after <= climb.after]
        standing += [climb] if climb.after > climb.before else []
    return standing


def _ending(state: LoopState) -> Iterator[Escalation]:
    """An end that nobody is asked about."""
    ending, top = state.ending, _top(state)
    if ending is None or state.gate is not None or ending.outcome is None:
        return
    kind = next((kind for kind in GateKind if ending.rule == f"{GATE}{kind}"), None)
    if ending.rule.startswith(f"{LIMITS}."):
        detection = LIMITS
    elif kind is not None:
        detection = question_detection(state, kind)
    else:
        detection = (top if ending.rule == LADDER else "") or ending.rule
    level = short_level(EscalationLevel.HUMAN) if top and detection == top else str(ending.outcome)
    level = short_level(EscalationLevel.EJECT) if ending.outcome is Outcome.EJECTED else level
    words = f"has ended as {ending.outcome} ({ending.rule})", ending.reason
    yield _escalation(state, detection, f"{ending.outcome}-{ending.at:{_STAMP}}", level, words, ending.at)


def question_detection(state: LoopState, kind: GateKind | None = None) -> str:
    """Which of the loop's issues its open question, or one of that kind, is asked in; empty where nothing is asked."""
    kind = kind or (state.gate.kind if state.gate else None)
    if kind is None:
        return ""
    return (_top(state) if kind in _ON_THE_LADDER else "") or _STANDS_FOR.get(kind, f"{GATE}{kind}")


def _top(state: LoopState) -> str:
    """What brought the loop to a person, by the ladder; empty where the ladder did not."""
    highest = [climb for climb in _in_force(state) if climb.after >= EscalationLevel.HUMAN]
    return _rule_of(highest[-1]) if highest and state.oversight.ladder.rung >= EscalationLevel.HUMAN else ""


def _escalation(
    state: LoopState, detection: str, stage: str, level: str, said: tuple[str, str], at: datetime, gate: Gate | None = None
) -> Escalation:
    (heading, why), rule = said, detection if _RULE.fullmatch(detection) else "ladder"
    return Escalation(
        uid=state.uid, loop=state.loop, detection=rule, stage=stage, level=level, heading=heading, why=why, at=at, gate=gate
    )


def _rule_of(climb: LevelChange) -> str:
    """The reason of a climb begins with the rule."""
    rule = climb.reason.partition(": ")[0]
    return rule if _RULE.fullmatch(rule) else "ladder"
