"""Advice for the next iteration: the first matching row, as one paragraph without internal numbers."""

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


def ladder_on(rung: EscalationLevel, reason: str = "stuck: 1 %", **fields: Any) -> Ladder:
    return Ladder.model_validate({"rung": rung, "reason": reason, **fields})


def state_with(*, of: LoopConfig = CONFIG, **fields: Any) -> LoopState:
    given_to = {name: fields.pop(name) for name in ("done", "judge", "last_call", "checks", "history") if name in fields}
    return state(of, iteration=3, **{"history": (MOMENT,), "oversight": Oversight.model_validate(fields), **given_to})


@pytest.mark.parametrize(
    ("fields", "situation", "fresh", "anew"),
    [
        ({}, "ordinary", False, False),
        ({"diagnosis": "double_bind", "ladder": ladder_on(EscalationLevel.REDESIGN)}, "double bind", False, False),
        ({"redirected": ("denied",), "instructions": ("x",)}, "denied", False, False),
        ({"history": (MOMENT.model_copy(update={"tool_calls": 0, "files_changed": 0}),) * 3}, "nothing done", True, False),
        ({"feedback": "broken"}, "broken", False, False),
        ({"ladder": ladder_on(EscalationLevel.REFACTOR, "plan.diverged: 3 of 4 files", spent=1)}, "plan diverged", True, True),
        ({"ladder": ladder_on(EscalationLevel.REFACTOR, "limit_cycle: tree abc")}, "cycle", True, True),
        ({"ladder": ladder_on(EscalationLevel.REDESIGN, "oscillating: 3", spent=1)}, "cycle continues", True, False),
        ({"ladder": ladder_on(EscalationLevel.REDESIGN)}, "redesign", True, True),
        ({"ladder": ladder_on(EscalationLevel.REDESIGN, spent=1)}, "redesign continues", True, False),
        ({"ladder": ladder_on(EscalationLevel.REFACTOR)}, "refactor", True, False),
        ({"ladder": ladder_on(EscalationLevel.REFACTOR, "limit_cycle: tree abc", clean=1)}, "improving", False, False),
    ],
)
def test_the_first_matching_row_decides(fields: dict[str, Any], situation: str, fresh: bool, anew: bool) -> None:
    advice = advise(state_with(**fields))
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
        ({"progress": Progress(completion=1.0), "checks": report(check(passed=True)), "history": ()}, "ordinary"),
    ],
)
def test_other_rows_match_what_was_observed(fields: dict[str, Any], situation: str) -> None:
    assert advise(state_with(**fields)).situation == situation


def test_after_a_claim_that_a_person_sent_back_nobody_says_that_there_was_none() -> None:
    claimed = MOMENT.model_copy(update={"asked": True})
    done = state_with(progress=Progress(completion=1.0), checks=report(check(passed=True)), history=(claimed,))
    assert advise(done).situation == "nearly done"


def test_a_denied_claim_gets_no_praise() -> None:
    near = brief(state_with(done=REFUSED, progress=Progress(completion=0.95)), orientation()).prompt
    assert "# Advice" not in near


@pytest.mark.feature("S12")
def test_only_the_most_severe_alert_is_an_instruction() -> None:
    told = brief(state_with(redirected=("stuck",), instructions=("Run it alone.", "Look at b.")), orientation()).prompt
    assert "# Advice\nRun it alone.\n" in told
    assert "Look at b." not in told


def test_an_alert_replaces_the_first_instruction_of_a_level() -> None:
    own = ADVICE["refactor"].instructions
    assert advise(state_with(ladder=ladder_on(EscalationLevel.REFACTOR))).instructions == own
    alerted = advise(state_with(ladder=ladder_on(EscalationLevel.REFACTOR), instructions=("Run it alone.",)))
    assert alerted.instructions == ("Run it alone.", *own[1:])


def test_a_recurring_failure_class_chooses_the_persona() -> None:
    learnt = Learning(kind=FailureClass.TEST, seen=5, in_row=3)
    assert advise(state_with(ladder=ladder_on(EscalationLevel.REDESIGN), learning=(learnt,))).persona == "tester"
    assert (
        advise(
            state_with(ladder=ladder_on(EscalationLevel.REFACTOR), learning=(learnt.model_copy(update={"in_row": 0}),))
        ).persona
        == ""
    )
    assert PERSONAS["architect"] in brief(state_with(ladder=ladder_on(EscalationLevel.REDESIGN)), orientation()).prompt


def test_a_level_reached_downward_starts_as_improving() -> None:
    eased = LevelChange(
        iteration=5, before=EscalationLevel.REDESIGN, after=EscalationLevel.REFACTOR, reason="2 clean iterations", at=NOW
    )
    assert advise(state_with(ladder=ladder_on(EscalationLevel.REFACTOR, climbs=(eased,)))).situation == "improving"


def test_an_observing_ladder_gives_no_advice() -> None:
    assert advise(state_with(of=WATCHED, ladder=ladder_on(EscalationLevel.REDESIGN), instructions=("x",))).instructions == ()


@pytest.mark.feature("M9")
def test_a_failed_plan_is_discarded_and_decisions_stay() -> None:
    memory = WorkingMemory(remaining_gap="1. parse", decisions=(Choice(chose="a parser"),), uncertainties=("size",))
    assert without_failed_plan(memory, state_with(ladder=ladder_on(EscalationLevel.REDESIGN))) == memory.model_copy(
        update={"remaining_gap": ""}
    )
    assert without_failed_plan(memory, state_with(ladder=ladder_on(EscalationLevel.REFACTOR))) == memory


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
def test_the_redesign_model_is_used_for_redesigns_and_without_progress(
    rung: EscalationLevel, band: Band, of: LoopConfig, model: str
) -> None:
    found = state_with(of=of, ladder=ladder_on(rung), control=Control(band=band))
    assert claude_config(found).model == (model or of.claude.model)


def test_rows_have_at_most_five_instructions_without_internal_names() -> None:
    assert all(len(row.instructions) < MOST for row in ADVICE.values())
    words = " ".join(text for row in ADVICE.values() for text in (row.reason, *row.instructions, PERSONAS[row.persona]))
    assert not re.search(r"\d|%|\b(?:E-I|rung|urgency|ladder|mend|in vain)\b", words)
