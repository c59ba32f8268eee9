"""What people must know about a loop, and the resulting actions on its tracker issues: open, comment, label, close.

An issue represents one detection of a loop, and one represents its escalation level. Actions follow from the loop's state and the
tracker's, so repeating them changes nothing, and a missed action is done the next time.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from helmsman.oversee.limits import describe_window, newly_nearly_used
from helmsman.records.control import EscalationLevel, short_level
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import GATE, GATES, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.records.tracking import LABEL, Escalation, TrackedIssue, TrackerAction

OVER = "over."  # prefix of the marker in comments that report the end of something
LIMITS, LADDER = "limits", "ladder"  # rules that start with these share one issue each
_STANDS_FOR: Mapping[GateKind, str] = {
    GateKind.REJECTIONS: "judge.rejections",
    GateKind.UNDECIDED: "judge.cannot_tell",
    GateKind.BUDGET: LIMITS,
}
"""Questions about something that is also reported without a question; both share an issue."""
_ON_THE_LADDER = frozenset({GateKind.HUMAN, GateKind.HANDED_OVER})  # questions about the loop's level, if it is that of a person
_STAMP = "%Y%m%dT%H%M%S%f"


def open_concerns(state: LoopState) -> tuple[Escalation, ...]:
    """What people should know about a loop now; nothing if it is done or a person ended it."""
    return tuple(_by_detection(state).values())


def _by_detection(state: LoopState) -> dict[str, Escalation]:
    ending, ladder = state.ending, state.oversight.ladder
    if ending is not None and state.gate is None:
        # do not notify the person who ended it; a timeout is no person
        by_person = ending.rule.startswith(GATE) and bool(state.answers) and state.answers[-1].via != "timeout"
        if by_person or ending.outcome in {Outcome.COMPLETED, Outcome.CANCELLED}:
            return {}
    escalations: list[Escalation] = []
    if state.config.ladder.act and ladder.climbs and ladder.rung >= EscalationLevel.REDESIGN:  # lower levels need no person
        change, level = ladder.climbs[-1], short_level(ladder.rung)
        texts = f"has reached {ladder.rung.title}", change.reason
        escalations.append(_make_escalation(state, LADDER, f"{level}-{change.at:{_STAMP}}", level, texts, change.at))
    if gate := state.gate:
        detection = question_detection(state)
        level = short_level(EscalationLevel.HUMAN) if detection == LADDER else "question"
        texts = f"asks: {GATES[gate.kind].title}", gate.question
        escalations.append(_make_escalation(state, detection, gate.key, level, texts, gate.asked_at, gate))
    elif ending is not None and ending.outcome is not None:
        detection = _ending_detection(state, ending)
        level = short_level(EscalationLevel.HUMAN) if detection == LADDER else str(ending.outcome)
        level = short_level(EscalationLevel.EJECT) if ending.outcome is Outcome.EJECTED else level
        texts = f"has ended as {ending.outcome} ({ending.rule})", ending.reason
        escalations.append(_make_escalation(state, detection, f"{ending.outcome}-{ending.at:{_STAMP}}", level, texts, ending.at))
    return {escalation.detection: escalation for escalation in escalations}


def concern_changes(before: LoopState, after: LoopState) -> tuple[Escalation, ...]:
    """New and ended concerns, for observers who are notified of each once."""
    old, new = _by_detection(before), _by_detection(after)
    new_ones = (concern for key, concern in new.items() if key not in old or concern.at > old[key].at)
    over = (concern.model_copy(update={"over": True}) for key, concern in old.items() if key not in new)
    # a near usage limit passes by itself, so it is a notice and not a tracker issue
    near = newly_nearly_used(before.usage, after.usage, after.updated_at)
    notices = ((window.name, ("is near a usage limit", describe_window(window))) for window in near)
    limits = (_make_escalation(after, "usage_limit.near", name, "notice", texts, after.updated_at) for name, texts in notices)
    return (*over, *new_ones, *limits)


def tracker_actions(wanted: Sequence[Escalation], issues_found: Sequence[TrackedIssue]) -> tuple[TrackerAction, ...]:
    """Actions that make the found issues match the wanted escalations."""
    # the oldest of several
    issues = {issue.detection: issue for issue in sorted(issues_found, key=lambda issue: -issue.number)}
    actions = [action for escalation in wanted if (action := _action_for(escalation, issues.get(escalation.detection)))]
    wanted_detections = {escalation.detection for escalation in wanted}
    for issue in issues_found:
        if issue.is_open and issue.detection not in wanted_detections:
            last = next((stage for stage in reversed(issue.stages) if not stage.startswith(OVER)), "")
            stage = "" if f"{OVER}{last}" in issue.stages else f"{OVER}{last}"
            actions.append(TrackerAction(act="close", detection=issue.detection, number=issue.number, stage=stage))
    return tuple(actions)


def _action_for(escalation: Escalation, issue: TrackedIssue | None) -> TrackerAction | None:
    """The action for one concern. An issue closed by a person stays closed until there is news."""
    if issue is None:
        return TrackerAction(
            act="open", detection=escalation.detection, escalation=escalation, stage=escalation.stage, add=escalation.labels
        )
    add = tuple(label for label in escalation.labels if label not in issue.labels)
    remove = tuple(label for label in issue.labels if label.startswith(f"{LABEL}:") and label not in escalation.labels)
    action = TrackerAction(
        act="label", detection=escalation.detection, number=issue.number, escalation=escalation, add=add, remove=remove
    )
    if escalation.stage not in issue.stages:
        return action.model_copy(update={"act": "comment", "stage": escalation.stage, "reopen": not issue.is_open})
    return action if issue.is_open and (add or remove) else None


def _ending_detection(state: LoopState, ending: Decision) -> str:
    kind = next((kind for kind in GateKind if ending.rule == f"{GATE}{kind}"), None)
    if kind is not None:
        return question_detection(state, kind)
    prefix = LADDER if ending.outcome is Outcome.EJECTED else ending.rule.partition(".")[0]
    return prefix if prefix in {LIMITS, LADDER} else ending.rule


def question_detection(state: LoopState, kind: GateKind | None = None) -> str:
    """The detection whose issue carries the open question, or one of the given kind; empty without a question."""
    kind = kind or (state.gate.kind if state.gate else None)
    if kind is None:
        return ""
    is_at_person = state.config.ladder.act and state.oversight.ladder.rung >= EscalationLevel.HUMAN
    return LADDER if is_at_person and kind in _ON_THE_LADDER else _STANDS_FOR.get(kind, f"{GATE}{kind}")


def _make_escalation(
    state: LoopState, detection: str, stage: str, level: str, texts: tuple[str, str], at: datetime, gate: Gate | None = None
) -> Escalation:
    heading, why = texts
    return Escalation(
        uid=state.uid, loop=state.loop, detection=detection, stage=stage, level=level, heading=heading, why=why, at=at, gate=gate
    )
