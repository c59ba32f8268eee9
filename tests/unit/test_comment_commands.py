"""Commands in comments: answers that the open question offers are accepted, others refused with the reason."""

from datetime import timedelta
from typing import Any

import pytest

from helmsman.errors import OperatorError
from helmsman.oversee.comment_commands import answer_from_command, may_set_limits
from helmsman.parsers.issues import parse_command
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import Answer, Choice, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.render.issue import command_lines
from tests.unit.builders import MINUTE, NOW, state

pytestmark = pytest.mark.feature("H3")


def asking(kind: GateKind = GateKind.HUMAN, **fields: Any) -> LoopState:
    gate = Gate(key=f"{kind}-3-1", kind=kind, question="How should it continue?", asked_at=NOW)
    ending = Decision(kind="stop", rule="ladder.human", reason="stuck", at=NOW, outcome=Outcome.WAITING)
    return state(gate=gate, ending=ending, iteration=3, **fields)


def answer_to(comment: str, loop: LoopState | None = None) -> Answer:
    command = parse_command(comment)
    assert command is not None
    return answer_from_command(command, loop or asking(), by="alice", at=NOW + MINUTE)


@pytest.mark.parametrize(
    ("comment", "choice", "guidance"),
    [
        ("/helmsman approve", Choice.APPROVE, ""),
        ("/helmsman approve use the cache", Choice.APPROVE, "use the cache"),
        ("/helmsman approve\r\nUse the cache.\r\n\r\nAnd test it.", Choice.APPROVE, "Use the cache.\n\nAnd test it."),
        ("  \n/Helmsman  APPROVE  gently \nplease", Choice.APPROVE, "gently\nplease"),
        ("/helmsman take-over", Choice.TAKE_OVER, ""),
        ("/helmsman\tapprove\u00a0 with a tab", Choice.APPROVE, "with a tab"),
        ("/helmsman stop it costs too much", Choice.STOP, "it costs too much"),
    ],
)
def test_a_command_and_its_guidance_are_read(comment: str, choice: Choice, guidance: str) -> None:
    answer = answer_to(comment)
    assert (answer.choice, answer.guidance, answer.by, answer.via) == (choice, guidance, "alice", "tracker")
    assert (answer.gate, answer.kind, answer.at) == ("human-3-1", GateKind.HUMAN, NOW + timedelta(minutes=1))


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "Please approve this.",
        "> /helmsman approve",
        "I would say\n/helmsman approve",
        "/helmsmanapprove",
        "`/helmsman approve`",
        "<!-- x --> /helmsman approve",
    ],
)
def test_only_a_first_line_that_begins_with_our_name_is_meant_for_us(comment: str) -> None:
    assert parse_command(comment) is None


@pytest.mark.parametrize("kind", [GateKind.MILESTONE, GateKind.REJECTIONS, GateKind.HUMAN, GateKind.BUDGET])
def test_other_limits_can_be_set_and_approve_going_on(kind: GateKind) -> None:
    answer = answer_to("/helmsman set limits.iterations=40 limits.cost_usd=80.5\nMind the cost.", asking(kind))
    assert (answer.choice, answer.settings) == (Choice.APPROVE, {"limits": {"iterations": 40, "cost_usd": 80.5}})
    assert answer.guidance == "Mind the cost."


@pytest.mark.parametrize("kind", [GateKind.MERGE, GateKind.ITEM, GateKind.HANDED_OVER])
def test_where_approving_means_more_than_going_on_setting_a_limit_does_not_approve(kind: GateKind) -> None:
    with pytest.raises(OperatorError, match="this command is not allowed here"):
        answer_to("/helmsman set limits.iterations=40", asking(kind))


@pytest.mark.parametrize(
    "settings",
    [
        "checks=['true']",
        "limits=5",
        "tracker.allowed_users=['eve']",
        "limits.iterations=40 checks=[]",
    ],
)
def test_nothing_but_limits_can_be_set_by_a_comment(settings: str) -> None:
    with pytest.raises(OperatorError, match="may set only limits"):
        answer_to(f"/helmsman set {settings}")


@pytest.mark.parametrize(
    "settings", ["limits.iterations=many", "limits.iterations=0", "limits.wishes=3", "limits.iterations", ""]
)
def test_a_limit_that_is_none_is_refused_before_anything_changes(settings: str) -> None:
    with pytest.raises(OperatorError):
        answer_to(f"/helmsman set {settings}")


@pytest.mark.parametrize(
    "comment", ["/helmsman", "/helmsman revise", "/helmsman accept", "/helmsman launch \x1b[2J", "/helmsman approve!"]
)
def test_what_the_question_does_not_offer_is_refused(comment: str) -> None:
    with pytest.raises(OperatorError, match="this command is not allowed here") as told:
        answer_to(comment)
    assert "\x1b" not in str(told.value)


def test_everything_that_is_offered_is_understood() -> None:
    for kind in GateKind:
        loop = asking(kind)
        assert loop.gate is not None
        offered = [line.split("`")[1] for line in command_lines(loop.gate) if line.startswith("- ")]
        assert len(offered) == len(loop.gate.choices) + may_set_limits(loop.gate)
        assert [answer_to(command, loop).gate for command in offered] == [loop.gate.key] * len(offered)
