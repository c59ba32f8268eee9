"""Concerns of a loop and their issues: one for each detection, published once, closed when resolved."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.escalation import concern_changes, open_concerns, question_detection, tracker_actions
from helmsman.parsers.issues import read_mark
from helmsman.records.control import EscalationLevel, Ladder, LevelChange, Oversight
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import Answer, Choice, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.records.tracking import Act, Comment, Escalation, TrackedIssue, TrackerAction, TrackerItem
from helmsman.render.gate import evidence
from helmsman.render.issue import closing_comment, issue_body, neutralise, notification, title, tracked_issue
from tests.unit.builders import HOUR, MINUTE, NOW, state
from tests.unit.rendered import outside_of_fences

pytestmark = pytest.mark.feature("H3")
CYCLE, WORSE = "limit_cycle: tree abc was there 3 times", "regressing: 40 % lost"
UP_TO_2 = ((EscalationLevel.PATCH, EscalationLevel.REFACTOR, CYCLE), (EscalationLevel.REFACTOR, EscalationLevel.REDESIGN, CYCLE))
UP_TO_3 = (*UP_TO_2, (EscalationLevel.REDESIGN, EscalationLevel.HUMAN, WORSE))


def ladder(*climbs: tuple[EscalationLevel, EscalationLevel, str]) -> Oversight:
    made = tuple(
        LevelChange(iteration=at, before=before, after=after, reason=reason, at=NOW + at * MINUTE)
        for at, (before, after, reason) in enumerate(climbs, 1)
    )
    return Oversight(ladder=Ladder(rung=made[-1].after if made else EscalationLevel.PATCH, reason=made[-1].reason, climbs=made))


def loop_on_level(*climbs: tuple[EscalationLevel, EscalationLevel, str], **fields: Any) -> LoopState:
    return state(oversight=ladder(*climbs), iteration=len(climbs), **fields)


def ending(rule: str, outcome: Outcome = Outcome.STOPPED, reason: str = "because") -> Decision:
    return Decision(kind="stop", rule=rule, reason=reason, at=NOW + HOUR, outcome=outcome)


def gate(kind: GateKind = GateKind.HUMAN, number: int = 1, **fields: Any) -> Gate:
    return Gate.model_validate(
        {"key": f"{kind}-3-{number}", "kind": kind, "question": "And now?", "asked_at": NOW + number * HOUR, **fields}
    )


def concerns_of(loop: LoopState) -> list[tuple[str, str]]:
    return [(one.detection, one.level) for one in open_concerns(loop)]


def issue_for(one: Escalation, number: int = 7, **fields: Any) -> TrackedIssue:
    made = {"number": number, "is_open": True, "detection": one.detection, "stages": (one.stage,), "labels": one.labels}
    return TrackedIssue.model_validate({**made, **fields})


def acts_of(done: tuple[TrackerAction, ...]) -> list[tuple[Act, str]]:
    return [(deed.act, deed.detection) for deed in done]


# --- what concerns a person -----------------------------------------------------------------------------------------


def test_a_progressing_loop_has_no_concern() -> None:
    assert open_concerns(state()) == ()
    assert open_concerns(loop_on_level(UP_TO_2[0])) == ()


def test_a_climb_concerns_a_person_from_a_redesign_on() -> None:
    assert concerns_of(loop_on_level(*UP_TO_2)) == [("ladder", "E-II")]


def test_the_level_is_one_concern_until_the_loop_is_below_a_redesign() -> None:
    assert concerns_of(loop_on_level(*UP_TO_3)) == [("ladder", "E-III")]
    assert concerns_of(loop_on_level(*UP_TO_3, (EscalationLevel.HUMAN, EscalationLevel.REDESIGN, "a person goes on"))) == [
        ("ladder", "E-II")
    ]
    assert concerns_of(loop_on_level(*UP_TO_2, (EscalationLevel.REDESIGN, EscalationLevel.REFACTOR, "2 clean iterations"))) == []


def test_a_question_about_the_rung_belongs_to_what_led_there() -> None:
    for kind in (GateKind.HUMAN, GateKind.HANDED_OVER):
        loop = loop_on_level(*UP_TO_3, gate=gate(kind), ending=ending("ladder.human", Outcome.WAITING))
        assert concerns_of(loop) == [("ladder", "E-III")]
        assert question_detection(loop) == "ladder"
        assert [one.stage for one in open_concerns(loop) if one.gate] == [f"{kind}-3-1"]


def test_every_question_is_a_concern() -> None:
    for kind in GateKind:
        loop = state(gate=gate(kind))
        assert [(one.detection, one.level, one.stage) for one in open_concerns(loop)] == [
            (question_detection(loop), "question", f"{kind}-3-1")
        ]


@pytest.mark.parametrize(
    ("rule", "kind"),
    [("limits.cost_usd", GateKind.BUDGET), ("judge.rejections", GateKind.REJECTIONS), ("ladder.human", GateKind.HUMAN)],
)
def test_an_end_and_the_question_about_it_are_one_issue(rule: str, kind: GateKind) -> None:
    climbs = UP_TO_3 if kind is GateKind.HUMAN else UP_TO_2
    ended = loop_on_level(*climbs, ending=ending(rule))
    asked = ended.model_copy(update={"gate": gate(kind)})
    left_open = asked.model_copy(update={"ending": ending(f"gate.{kind}", Outcome.WAITING)})
    assert {one.detection for one in open_concerns(ended)} == {one.detection for one in open_concerns(asked)}
    assert open_concerns(asked) == open_concerns(left_open)


@pytest.mark.parametrize(
    ("outcome", "level"), [(Outcome.STOPPED, "stopped"), (Outcome.FAILED, "failed"), (Outcome.WAITING, "waiting")]
)
def test_an_end_without_completion_concerns_a_person(outcome: Outcome, level: str) -> None:
    assert concerns_of(state(ending=ending("some.rule", outcome))) == [("some.rule", level)]


def test_an_ejection_and_its_level_are_one_concern() -> None:
    ejected = loop_on_level((EscalationLevel.PATCH, EscalationLevel.EJECT, "pain.secret: a key"))
    with_end = ejected.model_copy(update={"ending": ending("pain.secret", Outcome.EJECTED)})
    assert concerns_of(ejected) == concerns_of(with_end) == [("ladder", "E-IV")]


def test_a_completed_or_cancelled_loop_has_no_concern() -> None:
    stopped = Answer(gate="human-3-1", kind=GateKind.HUMAN, choice=Choice.STOP, via="tracker", at=NOW)
    for last in (ending("completion.verified", Outcome.COMPLETED), ending("cancelled", Outcome.CANCELLED)):
        assert concerns_of(loop_on_level(*UP_TO_3, ending=last)) == []
    assert concerns_of(loop_on_level(*UP_TO_3, ending=ending("gate.human"), answers=(stopped,))) == []
    lapsed = stopped.model_copy(update={"via": "timeout"})
    assert concerns_of(loop_on_level(*UP_TO_3, ending=ending("gate.human"), answers=(lapsed,))) == [("ladder", "E-III")]


# --- what is done at the tracker ------------------------------------------------------------------------------------


def test_a_concern_without_an_issue_opens_one_and_then_nothing_more_is_done() -> None:
    wanted = open_concerns(loop_on_level(*UP_TO_2))
    assert acts_of(tracker_actions(wanted, ())) == [("open", "ladder")]
    assert tracker_actions(wanted, ())[0].add == ("helmsman", "helmsman:E-II")
    assert tracker_actions(wanted, (issue_for(wanted[0]),)) == ()


def test_something_new_is_a_comment_and_moves_the_label() -> None:
    before, after = (
        open_concerns(loop_on_level(*UP_TO_2))[0],
        open_concerns(loop_on_level(*UP_TO_2, (EscalationLevel.REDESIGN, EscalationLevel.HUMAN, CYCLE))),
    )
    known = issue_for(before, labels=(*before.labels, "urgent"))
    (deed,) = tracker_actions(after, (known,))
    assert (deed.act, deed.number, deed.reopen) == ("comment", 7, False)
    assert (deed.add, deed.remove) == (("helmsman:E-III",), ("helmsman:E-II",))


def test_a_recurrence_is_a_comment_that_reopens_its_issue() -> None:
    first = open_concerns(loop_on_level(*UP_TO_2))[0]
    closed = issue_for(first, is_open=False, stages=(first.stage, f"over.{first.stage}"))
    again = open_concerns(
        loop_on_level(
            *UP_TO_2,
            (EscalationLevel.REDESIGN, EscalationLevel.REFACTOR, "clean"),
            (EscalationLevel.REFACTOR, EscalationLevel.REDESIGN, CYCLE),
        )
    )
    (deed,) = tracker_actions(again, (closed,))
    assert (deed.act, deed.number, deed.reopen) == ("comment", 7, True)


def test_an_issue_that_a_person_closed_stays_closed_until_something_is_new() -> None:
    wanted = open_concerns(loop_on_level(*UP_TO_2))
    assert tracker_actions(wanted, (issue_for(wanted[0], is_open=False),)) == ()


def test_a_resolved_concern_is_closed_and_commented_once() -> None:
    known = issue_for(open_concerns(loop_on_level(*UP_TO_2))[0])
    (deed,) = tracker_actions((), (known,))
    assert (deed.act, deed.stage) == ("close", f"over.{known.stages[0]}")
    (again,) = tracker_actions((), (known.model_copy(update={"stages": (*known.stages, deed.stage)}),))
    assert (again.act, again.stage) == ("close", "")


PLACE = "/srv/shop"

# --- what is told once ----------------------------------------------------------------------------------------------


def test_notifications_report_new_and_resolved_concerns_once() -> None:
    quiet, second, third = state(), loop_on_level(*UP_TO_2), loop_on_level(*UP_TO_3)
    assert [(one.detection, one.over) for one in concern_changes(quiet, second)] == [("ladder", False)]
    assert [(one.detection, one.over) for one in concern_changes(second, third)] == [("ladder", False)]
    assert [(one.detection, one.over) for one in concern_changes(second, quiet)] == [("ladder", True)]
    assert concern_changes(third, third.model_copy(update={"iteration": 9})) == ()


def test_a_notification_is_plain_text_without_mentions() -> None:
    (change,) = concern_changes(
        state(),
        loop_on_level(*UP_TO_2[:1], (EscalationLevel.REFACTOR, EscalationLevel.REDESIGN, "stuck: @everyone <!channel> #12")),
    )
    subject, body = notification(change, state(), PLACE)
    assert subject == "Helmsman, loop mend-it: an escalation (shop)"
    text = "The loop mend-it in /srv/shop has reached E-II redesign. stuck: @everyone <!channel> #12"
    assert body.replace("\u200b", "") == f"{text}\n\nDetails: helmsman status mend-it --repo /srv/shop"
    assert "@everyone" not in body
    assert "!channel" not in body  # of which Prefect's Slack block makes a mention, whatever precedes it


def test_a_notification_of_an_answer_does_not_say_that_a_loop_with_another_question_continues() -> None:
    asking, handed_over = state(gate=gate(GateKind.MILESTONE)), state(gate=gate(GateKind.HANDED_OVER))
    answered, asked = (notification(change, handed_over, PLACE)[1] for change in concern_changes(asking, handed_over))
    assert answered == "Resolved: the loop mend-it in /srv/shop waits for another answer."
    assert asked.startswith("The loop mend-it in /srv/shop asks: Handed over to you.")


@pytest.mark.parametrize(("ask", "form"), [(False, ""), (True, ". Or choose Resume in the menu of its run in the Prefect UI.")])
def test_a_notification_of_a_question_names_the_ways_to_answer(form: str, *, ask: bool) -> None:
    loop = state(gate=gate(GateKind.MERGE), config={"goal": "g", "gates": {"ask": ask}})
    text = "The loop mend-it in /srv/my shop asks: Verified: merge it? And now?"
    _, body = notification(open_concerns(loop)[0], loop, "/srv/my shop")
    assert body == f"{text}\n\nThe choices: helmsman answer mend-it --repo '/srv/my shop'{form}"


# --- how it reads ---------------------------------------------------------------------------------------------------

LOADED = re.compile(r"(?<![\w`])@\w|\B#\d|<!--|</?[a-z]|\bGH-\d|!\d", re.IGNORECASE)
EVIL = "fixes #1, closes acme/site#2 and GH-3 !4 @alice <img src=x> <!-- helmsman: uid=u1 stage=y -->\n```\n@bob\n# Title"


def body_of(loop: LoopState) -> str:
    return issue_body(open_concerns(loop)[0], evidence(loop, "/tmp/tree"), answers=True)


def test_a_heading_that_asks_ends_with_its_question_mark_alone() -> None:
    loop = state(gate=gate(GateKind.MERGE))
    assert "The loop `mend-it` asks: Verified: merge it?\n" in body_of(loop)


def test_an_issue_tells_what_happened_what_can_be_done_and_what_was_seen() -> None:
    loop = state(gate=gate(GateKind.BUDGET, deadline=NOW + 72 * HOUR), config={"goal": "mend the parser", "checks": ["pytest"]})
    body = body_of(loop)
    assert title(open_concerns(loop)[0]) == "Helmsman, loop mend-it: a limit is reached"
    assert body.startswith(
        "<!-- helmsman: uid=u1 detection=limits stage=budget-3-1 -->\nThe loop `mend-it` asks: A limit is reached."
    )
    for part in (
        "And now?",
        "`/helmsman approve`",
        "`/helmsman set limits.iterations=40`",
        "mend the parser",
        "`pytest`",
        "**stop**",
    ):
        assert part in body


@pytest.mark.parametrize("text", [EVIL, "`@alice`", "a\\@alice \\#1", "&#64;alice <b>", "@alice\u200b#1"])
def test_nothing_from_the_repository_is_obeyed(text: str) -> None:
    loop = state(
        config={"goal": text, "checks": [{"command": "true", "name": text}]},
        ending=ending("some.rule", reason=text),
        branch=text.replace(" ", "")[:40],
    )
    first, _, rest = body_of(loop).partition("\n")
    assert read_mark(first) == {"uid": "u1", "detection": "some.rule", "stage": f"stopped-{NOW + HOUR:%Y%m%dT%H%M%S%f}"}
    shown = re.sub(r"(`+)[^`].*?\1", "", "\n".join(outside_of_fences(rest)))
    assert not LOADED.search(shown.replace("\\", ""))


# --- how it is found again ------------------------------------------------------------------------------------------


@given(st.text(max_size=60))
def test_neutralised_text_looks_the_same_and_is_stable(text: str) -> None:
    once = neutralise(text)
    assert once.replace("\u200b", "") == text.replace("\u200b", "")
    assert neutralise(once) == once


def issue_with(loop: LoopState, **fields: Any) -> TrackerItem:
    return TrackerItem.model_validate({"number": 7, "is_open": True, "author": "bot", "body": body_of(loop), **fields})


def comment(author: str, body: str) -> Comment:
    return Comment(identity=1, author=author, body=body, created_at=NOW)


def test_an_issue_is_known_by_its_first_line_alone() -> None:
    loop = loop_on_level(*UP_TO_2)
    known = tracked_issue(issue_with(loop), (), "u1")
    assert known is not None
    assert (known.detection, known.stages) == ("ladder", (open_concerns(loop)[0].stage,))
    assert tracked_issue(issue_with(loop), (), "u2") is None
    assert tracked_issue(issue_with(loop, body=f"see:\n{body_of(loop)}"), (), "u1") is None
    with_returns = tracked_issue(issue_with(loop, body=body_of(loop).replace("\n", "\r\n")), (), "u1")
    assert with_returns is not None
    assert (with_returns.detection, with_returns.stages) == (known.detection, known.stages)


def test_marks_count_where_we_wrote_them() -> None:
    loop, later = loop_on_level(*UP_TO_2), loop_on_level(*UP_TO_3[:2], (EscalationLevel.REDESIGN, EscalationLevel.HUMAN, CYCLE))
    said = comment("bot", body_of(later))
    known, forged = (tracked_issue(issue_with(loop), (one,), "u1") for one in (said, said.model_copy(update={"author": "eve"})))
    assert known is not None
    assert forged is not None
    assert [len(known.stages), len(forged.stages)] == [2, 1]


def test_an_issue_is_closed_with_the_reason() -> None:
    approved = Answer(gate="human-3-1", kind=GateKind.HUMAN, choice=Choice.APPROVE, via="tracker", by="alice", at=NOW)
    eased = *UP_TO_2, (EscalationLevel.REDESIGN, EscalationLevel.REFACTOR, "2 clean iterations")
    cases: dict[str, dict[str, Any]] = {
        "alice": {"answers": (approved,)},
        "every check passes": {"ending": ending("completion.verified", Outcome.COMPLETED, "every check passes")},
        "2 clean iterations": {"oversight": ladder(*eased)},
        "continues": {},
    }
    issue = TrackedIssue(number=7, is_open=True, detection="stuck", stages=("human-3-1",))
    for words, fields in cases.items():
        said = closing_comment(issue, "over.human-3-1", state(**fields))
        assert read_mark(said)["stage"] == "over.human-3-1"
        assert words in said
