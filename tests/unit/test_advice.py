"""What an iteration is told to do differently: one row of one table, in one paragraph, without numbers of control."""

import re
from typing import Any

import pytest

from helmsman.config import LoopConfig
from helmsman.orient.allowance import claude_config
from helmsman.orient.brief import brief
from helmsman.oversee.advice import ADVICE, MOST, PERSONAS, advise, without_failed_plan
from helmsman.records.agent import AgentOutcome, Drift, FailureClass, LastCall
from helmsman.records.control import (
    Band,
    Control,
    EscalationLevel,
    IterationSummary,
    Ladder,
    Learning,
    LevelChange,
    Movement,
    Oversight,
    Progress,
)
from helmsman.records.iteration import Choice, WorkingMemory
from helmsman.records.proof import Denial, DoneSignals, JudgeMemory, Rejection
from helmsman.records.state import LoopState
from tests.unit.builders import NOW, check, config, orientation, report, state

pytestmark = pytest.mark.feature("O6", "S8")
CONFIG = config(ladder={"redesign_model": "another"})
WATCHED = config(ladder={"act": False, "redesign_model": "another"})
MOMENT = IterationSummary(
    iteration=1, at=NOW, outcome=AgentOutcome.FINISHED, movement=Movement.STILL, completion=0.4, tool_calls=3, files_changed=1
)
REFUSED = DoneSignals(refused=(Denial(rule="checks", why="the check fails"),))
REJECTED = JudgeMemory(feedback=(Rejection(iteration=3, at=NOW, consecutive=5, reason="no"),), reset_at=3)
LOST = LastCall(drift=Drift(deeds=4, strangers=("a.md", "b.md", "c.md")))


def on(rung: EscalationLevel, reason: str = "stuck: 1 %", **fields: Any) -> Ladder:
    return Ladder.model_validate({"rung": rung, "reason": reason, **fields})


def known(*, of: LoopConfig = CONFIG, **fields: Any) -> LoopState:
    given_to = {name: fields.pop(name) for name in ("done", "judge", "last_call", "checks", "history") if name in fields}
    return state(of, iteration=3, **{"history": (MOMENT,), "oversight": Oversight.model_validate(fields), **given_to})


@pytest.mark.parametrize(
    ("fields", "situation", "fresh", "anew"),
    [
        ({}, "ordinary", False, False),
        ({"diagnosis": "double_bind", "ladder": on(EscalationLevel.REDESIGN)}, "double bind", False, False),
        ({"redirected": ("denied",), "instructions": ("x",)}, "denied", False, False),
        ({"history": (MOMENT.model_copy(update={"tool_calls": 0, "files_changed": 0}),) * 3}, "nothing done", True, False),
        ({"feedback": "broken"}, "broken", False, False),
        ({"ladder": on(EscalationLevel.REFACTOR, "plan.diverged: 3 of 4 files", spent=1)}, "plan diverged", True, True),
        ({"ladder": on(EscalationLevel.REFACTOR, "limit_cycle: tree abc")}, "cycle", True, True),
        ({"ladder": on(EscalationLevel.REDESIGN, "oscillating: 3", spent=1)}, "cycle continues", True, False),
        ({"ladder": on(EscalationLevel.REDESIGN)}, "redesign", True, True),
        ({"ladder": on(EscalationLevel.REDESIGN, spent=1)}, "redesign continues", True, False),
        ({"ladder": on(EscalationLevel.REFACTOR)}, "refactor", True, False),
        ({"ladder": on(EscalationLevel.REFACTOR, "limit_cycle: tree abc", clean=1)}, "improving", False, False),
    ],
)
def test_the_first_row_that_holds_decides_of_orders_session_and_plan(
    fields: dict[str, Any], situation: str, fresh: bool, anew: bool
) -> None:
    advice = advise(known(**fields))
    assert (advice.situation, advice.fresh, advice.new_plan) == (situation, fresh, anew)


@pytest.mark.parametrize(
    ("fields", "situation"),
    [
        ({"diagnosis": "amnesiac"}, "amnesiac"),
        ({"redirected": ("stuck",), "instructions": ("Run the parser alone.",)}, "redirected"),
        ({"diagnosis": "stuck"}, "stuck"),
        ({"idle": 2, "control": Control(band="pivot")}, "stuck"),
        ({"feedback": "gutter"}, "session stuck"),
        ({"judge": REJECTED}, "judge"),
        ({"done": REFUSED, "progress": Progress(completion=0.95)}, "claim denied"),
        ({"last_call": LOST}, "off task"),
        ({"instructions": ("Leave the tests as they are.",)}, "warned"),
        ({"progress": Progress(completion=0.96), "checks": report(check(passed=True))}, "not claimed"),
        ({"progress": Progress(completion=0.81)}, "nearly done"),
        ({"progress": Progress(completion=0.8)}, "ordinary"),
    ],
)
def test_what_is_not_a_failed_level_is_advised_on_by_what_was_seen(fields: dict[str, Any], situation: str) -> None:
    assert advise(known(**fields)).situation == situation


def test_after_a_refused_request_nothing_praises_the_work() -> None:
    near = brief(known(done=REFUSED, progress=Progress(completion=0.95)), orientation()).prompt
    assert "# Advice" not in near


@pytest.mark.feature("S12")
def test_the_gravest_signal_says_what_to_do_and_the_others_are_for_people() -> None:
    told = brief(known(redirected=("stuck",), instructions=("Run it alone.", "Look at b.")), orientation()).prompt
    assert "# Advice\nRun it alone.\n" in told
    assert "Look at b." not in told


def test_whoever_knows_the_class_of_failure_that_recurs_is_asked_and_nobody_for_one_that_is_over() -> None:
    learnt = Learning(kind=FailureClass.TEST, seen=5, in_row=3)
    assert advise(known(ladder=on(EscalationLevel.REDESIGN), learning=(learnt,))).persona == "tester"
    assert advise(known(ladder=on(EscalationLevel.REFACTOR), learning=(learnt.model_copy(update={"in_row": 0}),))).persona == ""
    assert PERSONAS["architect"] in brief(known(ladder=on(EscalationLevel.REDESIGN)), orientation()).prompt


def test_an_easier_rung_that_clean_iterations_led_to_begins_with_what_got_on() -> None:
    eased = LevelChange(
        iteration=5, before=EscalationLevel.REDESIGN, after=EscalationLevel.REFACTOR, reason="2 clean iterations", at=NOW
    )
    assert advise(known(ladder=on(EscalationLevel.REFACTOR, climbs=(eased,)))).situation == "improving"


def test_a_loop_that_is_only_watched_is_advised_of_nothing() -> None:
    assert advise(known(of=WATCHED, ladder=on(EscalationLevel.REDESIGN), instructions=("x",))).instructions == ()


@pytest.mark.feature("M9")
def test_only_a_plan_that_failed_is_discarded_and_what_was_decided_stays() -> None:
    memory = WorkingMemory(remaining_gap="1. parse", decisions=(Choice(chose="a parser"),), uncertainties=("size",))
    assert without_failed_plan(memory, known(ladder=on(EscalationLevel.REDESIGN))) == memory.model_copy(
        update={"remaining_gap": ""}
    )
    assert without_failed_plan(memory, known(ladder=on(EscalationLevel.REFACTOR))) == memory


@pytest.mark.feature("S1", "S8")
@pytest.mark.parametrize(
    ("rung", "band", "of", "model"),
    [
        (EscalationLevel.REDESIGN, "continue", CONFIG, "another"),
        (EscalationLevel.PATCH, "pivot", CONFIG, "another"),
        (EscalationLevel.PATCH, "adjust", CONFIG, ""),
        (EscalationLevel.REDESIGN, "pivot", WATCHED, ""),
    ],
)
def test_the_other_model_is_for_a_redesign_and_where_nothing_gets_on(
    rung: EscalationLevel, band: Band, of: LoopConfig, model: str
) -> None:
    found = known(of=of, ladder=on(rung), control=Control(band=band))
    assert claude_config(found).model == (model or of.claude.model)


def test_no_row_has_more_than_five_orders_or_a_number_or_name_that_is_for_people() -> None:
    assert all(len(row.instructions) < MOST for row in ADVICE.values())
    words = " ".join(text for row in ADVICE.values() for text in (row.reason, *row.instructions, PERSONAS[row.persona]))
    assert not re.search(r"\d|%|\b(?:E-I|rung|urgency|ladder|mend|in vain)\b", words)
