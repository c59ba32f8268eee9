"""What of a loop is a person's concern, and what that means for its issues at a tracker: open, comment, label, close.

An issue stands for a detection of a loop. What is to be done follows from how the loop stands and from what is found at the
tracker, so doing it again changes nothing, and what was missed is made up for the next time.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from helmsman.oversee.limits import in_words, newly_near
from helmsman.records.gates import GATE, GATES, Gate, GateKind
from helmsman.records.modes import Climb, Rung, short_rung
from helmsman.records.state import LoopState
from helmsman.records.tracking import OURS, Act, Change, Deed, Escalation, TrackedIssue
from helmsman.records.verdict import Decision, Outcome

OVER = "over."
"""How the mark of a comment begins that says that something is over."""
LIMITS = "limits"
LADDER = "ladder.human"
_STANDS_FOR: Mapping[GateKind, str] = {
    GateKind.REJECTIONS: "judge.rejections",
    GateKind.UNDECIDED: "judge.cannot_tell",
    GateKind.BUDGET: LIMITS,
}
"""Questions about something that is told even where nobody is asked: both are the same issue."""
_ON_THE_LADDER = frozenset({GateKind.HUMAN, GateKind.HANDED_OVER})
"""Questions about what brought the loop to its rung."""
_RULE = re.compile(r"[\w.+-]{1,80}", re.ASCII)


def concerns(state: LoopState) -> tuple[Escalation, ...]:
    """What a person should know of a loop as it stands; nothing where it is done, or was ended by a person."""
    if _settled(state):
        return ()
    found = (*_rungs(state), *_ending(state), *_question(state))
    return tuple({one.detection: one for one in found}.values())


def changes(before: LoopState, after: LoopState) -> tuple[Change, ...]:
    """What is new, and what is over, for those who are told each thing once."""
    old, new = _by_detection(concerns(before)), _by_detection(concerns(after))
    fresh = (Change(escalation=one) for key, one in new.items() if key not in old or one.at > old[key].at)
    over = (Change(escalation=one, over=True) for key, one in old.items() if key not in new)
    return (*fresh, *over, *(Change(escalation=one) for one in _windows(before, after)))


def deeds(wanted: Sequence[Escalation], found: Sequence[TrackedIssue]) -> tuple[Deed, ...]:
    """What is to be done, where these are the loop's concerns and those its issues."""
    oldest_last = sorted(found, key=lambda issue: -issue.number)
    issues = {issue.detection: issue for issue in oldest_last}
    told = (_told(one, issues.get(one.detection)) for one in wanted)
    named = {one.detection for one in wanted}
    over = (_closed(issue) for issue in found if issue.is_open and issue.detection not in named)
    return (*(deed for deed in told if deed), *over)


def _by_detection(found: Iterable[Escalation]) -> dict[str, Escalation]:
    return {one.detection: one for one in found}


def _told(one: Escalation, issue: TrackedIssue | None) -> Deed | None:
    """An issue that a person has closed stays closed until there is something new to say."""
    if issue is None:
        return Deed(act=Act.OPEN, detection=one.detection, escalation=one, stage=one.stage, add=one.labels)
    add = tuple(label for label in one.labels if label not in issue.labels)
    remove = tuple(label for label in issue.labels if label.startswith(f"{OURS}:") and label not in one.labels)
    deed = Deed(act=Act.LABEL, detection=one.detection, number=issue.number, escalation=one, add=add, remove=remove)
    if one.stage not in issue.stages:
        return deed.model_copy(update={"act": Act.COMMENT, "stage": one.stage, "reopen": not issue.is_open})
    return deed if issue.is_open and (add or remove) else None


def _closed(issue: TrackedIssue) -> Deed:
    last = next((stage for stage in reversed(issue.stages) if not stage.startswith(OVER)), "")
    stage = f"{OVER}{last}"
    told = "" if stage in issue.stages else stage
    return Deed(act=Act.CLOSE, detection=issue.detection, number=issue.number, stage=told)


# --- what concerns a person -----------------------------------------------------------------------------------------


def _settled(state: LoopState) -> bool:
    if state.gate is not None or state.ending is None:
        return False
    return state.ending.outcome in {Outcome.COMPLETED, Outcome.CANCELLED} or _ended_by_person(state, state.ending)


def _ended_by_person(state: LoopState, ending: Decision) -> bool:
    """Whoever has ended it need not be told; the lapse of time is nobody."""
    return ending.rule.startswith(GATE) and bool(state.answers) and state.answers[-1].via != "timeout"


def _windows(before: LoopState, after: LoopState) -> Iterator[Escalation]:
    """News of a usage limit that is near. It passes by itself, so it is no issue at a tracker."""
    for window in newly_near(after.config.usage_limit, before.usage, after.usage, after.updated_at):
        about = "comes near a usage limit"
        yield _escalation(after, "usage_limit.near", window.name, "notice", (about, in_words(window)), after.updated_at)


def _rungs(state: LoopState) -> Iterator[Escalation]:
    """The climbs that are still in force, the highest last, from the rung on that is configured."""
    if not state.config.ladder.act:
        return
    for climb in _in_force(state.oversight.ladder.climbs):
        if climb.after >= state.config.tracker.from_rung:
            level = short_rung(climb.after)
            about = f"has come to {climb.after.title}"
            yield _escalation(state, _rule_of(climb), f"{level}-{_stamp(climb.at)}", level, (about, climb.reason), climb.at)


def _in_force(climbs: Sequence[Climb]) -> list[Climb]:
    """For each rung that the loop came to by trouble and has not left downward, the climb that led there."""
    standing: list[Climb] = []
    for climb in climbs:
        standing = [one for one in standing if one.after <= climb.after]
        standing += [climb] if climb.after > climb.before else []
    return standing


def _ending(state: LoopState) -> Iterator[Escalation]:
    """An end that nobody is asked about."""
    ending = state.ending
    if ending is None or state.gate is not None or ending.outcome is None:
        return
    top = _top(state)
    detection = _ending_detection(ending.rule, top)
    level = short_rung(Rung.HUMAN) if top and detection == top else str(ending.outcome)
    level = short_rung(Rung.EJECT) if ending.outcome is Outcome.EJECTED else level
    about = f"has ended as {ending.outcome} ({ending.rule})"
    yield _escalation(state, detection, f"{ending.outcome}-{_stamp(ending.at)}", level, (about, ending.reason), ending.at)


def _ending_detection(rule: str, top: str) -> str:
    if rule.startswith(f"{LIMITS}."):
        return LIMITS
    kind = next((kind for kind in GateKind if rule == f"{GATE}{kind}"), None)
    if kind is not None:
        return _gate_detection(kind, top)
    return top or rule if rule == LADDER else rule


def _question(state: LoopState) -> Iterator[Escalation]:
    gate = state.gate
    if gate is None:
        return
    top = _top(state)
    detection = _gate_detection(gate.kind, top)
    level = short_rung(Rung.HUMAN) if top and detection == top else "question"
    about = f"asks: {GATES[gate.kind].title}"
    yield _escalation(state, detection, gate.key, level, (about, gate.question), gate.asked_at, gate)


def _gate_detection(kind: GateKind, top: str) -> str:
    return (top if kind in _ON_THE_LADDER else "") or _STANDS_FOR.get(kind, f"{GATE}{kind}")


def question_detection(state: LoopState) -> str:
    """Which of the loop's issues its open question is asked in; empty where nothing is asked."""
    return _gate_detection(state.gate.kind, _top(state)) if state.gate else ""


def _top(state: LoopState) -> str:
    """What brought the loop to a person, by the ladder; empty where the ladder did not."""
    if state.oversight.ladder.rung < Rung.HUMAN or not state.config.ladder.act:
        return ""
    highest = [climb for climb in _in_force(state.oversight.ladder.climbs) if climb.after >= Rung.HUMAN]
    return _rule_of(highest[-1]) if highest else ""


def _escalation(
    state: LoopState, detection: str, stage: str, level: str, said: tuple[str, str], at: datetime, gate: Gate | None = None
) -> Escalation:
    heading, why = said
    rule = _named(detection)
    return Escalation(
        uid=state.uid, loop=state.loop, detection=rule, stage=stage, level=level, heading=heading, why=why, at=at, gate=gate
    )


def _rule_of(climb: Climb) -> str:
    """The reason of a climb begins with the rule."""
    return _named(climb.reason.partition(": ")[0])


def _named(rule: str) -> str:
    return rule if _RULE.fullmatch(rule) else "ladder"


def _stamp(at: datetime) -> str:
    return f"{at:%Y%m%dT%H%M%S%f}"
