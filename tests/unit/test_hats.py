"""Hats: which one is put on and why, what it changes, and how files of hats and presets are read."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.orient.allowance import claude_config
from helmsman.orient.brief import brief
from helmsman.orient.hats import CALLED, DEFAULT_REASON, Scene, choose, current_hat, scene_of
from helmsman.oversee.advice import PERSONAS
from helmsman.parsers.definitions import LARGEST, read_hat, read_sheet
from helmsman.records.agent import AgentOutcome, Commit, ErrorVector, FailureClass
from helmsman.records.checks import Finding, Weight
from helmsman.records.control import Control, EscalationLevel, IterationSummary, Ladder, Learning, Movement, Oversight, RolledBack
from helmsman.records.hats import Condition, Preset
from helmsman.records.proof import JudgeMemory
from helmsman.records.state import LoopState
from helmsman.records.tracking import MergeProblem, Merging
from tests.unit import builders
from tests.unit.builders import NOW, check, config, orientation, report
from tests.unit.hat_scenes import DEBUGGER, QUIET, hat, preset, scene_for

pytestmark = pytest.mark.feature("M10")

CONDITIONS = st.builds(
    Condition,
    rung=st.lists(st.sampled_from(["patch", "refactor", "redesign"]), max_size=3).map(tuple),
    failing=st.lists(st.sampled_from(FailureClass), min_size=1, max_size=3).map(tuple),
    in_row=st.none() | st.integers(1, 100),
    idle=st.none() | st.integers(1, 100),
    first=st.sampled_from([None, True]),
)

SCENES = st.builds(
    Scene,
    phase=st.sampled_from(["work", "research"]),
    rung=st.sampled_from(["patch", "refactor", "redesign"]),
    checks=st.sampled_from(["red", "green", "none"]),
    failing=st.dictionaries(st.sampled_from(FailureClass), st.integers(0, 9), max_size=3),
    idle=st.integers(0, 9),
    rejections=st.integers(0, 9),
    findings=st.integers(0, 9),
    first=st.booleans(),
    replan=st.booleans(),
    persona=st.sampled_from(list(PERSONAS)),
)
TEST = FailureClass.TEST
RED = report(check(passed=False))


def summary(*kinds: FailureClass, iteration: int = 1, **fields: Any) -> IterationSummary:
    errors = tuple(ErrorVector(kind=kind, message="it failed") for kind in kinds)
    known = {
        "at": NOW,
        "outcome": AgentOutcome.FINISHED,
        "movement": Movement.STILL,
        "completion": 0.5,
        "errors": errors,
        "tool_calls": 1,
    }
    return IterationSummary.model_validate({"iteration": iteration, **known, **fields})


def failing_twice(wardrobe: Preset | None = None, *, of: LoopConfig | None = None, **fields: Any) -> LoopState:
    """Two iterations ended with the same failing test."""
    seen = (summary(TEST), summary(TEST, iteration=2))
    known = {"iteration": 2, "checks": RED, "history": seen, "preset": wardrobe or preset()}
    oversight = Oversight(learning=(Learning(kind=TEST, seen=2, in_row=2),))
    return builders.state(of, **{**known, "oversight": oversight, **fields})


# --- the table ------------------------------------------------------------------------------------------------------


@given(st.lists(CONDITIONS, max_size=4), SCENES)
def test_every_scene_has_one_hat_of_the_preset_and_a_reason(conditions: list[Condition], scene: Scene) -> None:
    of = preset(hat(), *(hat(f"other-{number}", condition) for number, condition in enumerate(conditions)))
    chosen, why = choose(of, scene)
    assert chosen in of.hats
    assert why.strip()
    assert choose(of, scene) == (chosen, why)


@given(CONDITIONS, SCENES)
def test_a_hat_is_worn_where_all_that_it_asks_for_holds(condition: Condition, scene: Scene) -> None:
    of = preset(hat(), hat("other", condition))
    assert choose(of, scene_for(condition))[0].name == "other"
    if condition.failing and not set(condition.failing) & set(scene.failing):
        assert choose(of, scene) == (of.hats[0], DEFAULT_REASON)


def test_a_reason_is_the_rule_that_holds() -> None:
    for condition, scene, why in [
        (Condition(failing=(TEST,), in_row=2), Scene(failing={TEST: 2}), "failures of test, 2 in a row"),
        (Condition(failing=(TEST, FailureClass.LINT)), Scene(failing={FailureClass.LINT: 0}), "failures of test or lint"),
        (Condition(phase=("research",)), Scene(phase="research"), "in an iteration of research"),
        (Condition(phase=("work",), first=True), Scene(first=True), "in an iteration of work, nothing is done yet"),
        (Condition(rung=("refactor",)), Scene(rung="refactor"), "at the level refactor"),
        (Condition(checks=("red",), untrue=True), Scene(checks="red", untrue=1), "checks are red, a claim was contradicted"),
        (Condition(checks=("none",)), Scene(), "checks are none"),
        (Condition(idle=2), Scene(idle=3), "no progress, 2 in a row"),
        (Condition(rejections=1), Scene(rejections=1), "rejections by the judge, 1 in a row"),
        (Condition(findings=True), Scene(findings=2), "a finding blocks"),
        (Condition(taken_back=True), Scene(taken_back=True), "work was rolled back"),
        (Condition(replan=True), Scene(replan=True), "the plan is rewritten"),
        (Condition(conflict=True), Scene(conflict=True), "a merge must be fixed"),
        (Condition(item=("[verify]",)), Scene(item="[VERIFY] Look"), "the plan's item contains [verify]"),
        (Condition(item=("docs", "tests")), Scene(item="Write Tests, and protests"), "the plan's item contains docs or tests"),
    ]:  # fmt: skip
        assert choose(preset(hat(), hat("other", condition)), scene) == (hat("other", condition), why)
        assert choose(preset(hat(), hat("other", condition)), replace(QUIET, checks="red"))[1] == DEFAULT_REASON


def test_of_several_the_one_of_highest_priority_is_put_on_and_of_equals_the_first() -> None:
    low, first, second = (
        hat(name, Condition(first=True), priority=priority) for name, priority in (("a", 1), ("c", 9), ("b", 9))
    )
    assert choose(preset(hat(), low, first, second), Scene(first=True))[0] is first


@pytest.mark.feature("S8")
def test_the_ladder_s_hat_comes_before_all_others() -> None:
    for persona in filter(None, PERSONAS):
        asked = hat(CALLED[persona], priority=0)
        of = preset(hat(), hat("other", Condition(first=True), priority=100), asked)
        assert choose(of, Scene(first=True, persona=persona, rung="redesign")) == (
            asked,
            "the escalation level asks for it: redesign",
        )


# --- the scene ------------------------------------------------------------------------------------------------------


def test_a_loop_begins_with_nothing_done_and_red_checks_of_which_nobody_is_to_blame() -> None:
    base = summary(TEST, iteration=0)
    scene = scene_of(builders.state(checks=RED, history=(base,)))
    assert (scene.first, scene.checks, scene.failing, scene.phase) == (True, "red", {TEST: 0}, "work")
    assert scene_of(builders.state()).checks == "none"
    assert scene_of(builders.state(iteration=1)).first is False


def test_what_stands_against_the_work_is_part_of_the_scene() -> None:
    finding = Finding(rule="stubs", weight=Weight.BLOCK, path="a.py", message="a stub", honest="Write it.")
    failed = RolledBack(iteration=1, ref="r", commit="c" * 40, back_to="b" * 40, why="worse")
    trouble = MergeProblem(
        kind="conflict", into="main", base="b", work="w", head="h", ours=(Commit(id="a", subject="s"),), why="w"
    )
    oversight = Oversight(idle=2, ladder=Ladder(rung=EscalationLevel.HUMAN))
    scene = scene_of(
        builders.state(
            findings=(finding, finding.model_copy(update={"weight": Weight.HINT})),
            judge=JudgeMemory(rejections=3),
            failed=failed,
            merging=Merging(trouble=trouble),
            oversight=oversight,
        )
    )
    assert (scene.findings, scene.rejections, scene.taken_back, scene.conflict) == (1, 3, True, True)
    assert (scene.idle, scene.rung) == (2, "redesign")
    watched = builders.state(config(ladder={"act": False}), oversight=oversight)
    assert (scene_of(watched).rung, scene_of(watched).persona) == ("patch", "")


# --- what it changes ------------------------------------------------------------------------------------------------


def test_the_hat_is_in_the_prompt_with_its_reason_behind_the_kind_of_work() -> None:
    briefing = brief(failing_twice(), orientation())
    names = [name for name, _ in briefing.sections]
    assert names[names.index("preset") :][:3] == ["preset", "hat", "iteration"]
    assert "# The kind of work: Mine\nKeep it short." in briefing.prompt
    told = "# Your role in this iteration: Debugger\nWork as a debugger."
    assert told in briefing.prompt


def test_a_hats_tools_come_on_top_and_what_is_denied_stays_denied() -> None:
    of = config(claude={"allowed_tools": ("Read",), "disallowed_tools": ("Bash(git push:*)",)})
    generous = DEBUGGER.model_copy(update={"allowed_tools": ("Read", "Bash(git push:*)")})
    claude = claude_config(failing_twice(preset(hat(), generous), of=of))
    assert claude.allowed_tools == ("Read", "Bash(git push:*)")
    assert claude.disallowed_tools == ("Bash(git push:*)", "WebSearch")


@pytest.mark.parametrize(
    ("replaces", "sections", "model"),
    [
        ("", {}, "opus"),
        ("sonnet", {"claude": {"model": "sonnet"}}, "opus"),
        (None, {}, ""),  # named by hand at the start
        ("sonnet", {"claude": {"model": "haiku"}}, "haiku"),  # and since
        ("", {"hats": {"models": {"debugger": "haiku"}}}, "haiku"),
        ("", {"hats": {"models": {"tester": "haiku"}}}, "opus"),
    ],
)
def test_a_hats_model_takes_the_place_of_what_nobody_named_by_hand(
    replaces: str | None, sections: dict[str, Any], model: str
) -> None:
    assert claude_config(failing_twice(preset(replaces=replaces), of=config(**sections))).model == model


def test_the_model_of_the_ladder_comes_before_the_hats() -> None:
    of = config(ladder={"redesign_model": "strong"})
    urgent = Oversight(control=Control(band="pivot"), learning=(Learning(kind=TEST, in_row=2),))
    state = failing_twice(of=of, oversight=urgent)
    assert current_hat(state) == DEBUGGER
    assert claude_config(state).model == "strong"


HAT = '+++\nname = "tester"\ntitle = "Tester"\n\n[[when]]\nfirst = true\n+++\n\nFind the smallest case.\n'
SHEET = '+++\nname = "mine"\ntitle = "Mine"\nabout = "Ours."\n\n[settings.limits]\niterations = 5\n+++\n\nKeep it short.\n'


def hat_complaint(text: str) -> str:
    with pytest.raises(OperatorError) as caught:
        read_hat(text, "hats/x.md")
    return str(caught.value)


def sheet_complaint(text: str) -> str:
    with pytest.raises(OperatorError) as caught:
        read_sheet(text, "presets/x.md")
    return str(caught.value)


def test_conditions_are_one_table_or_several() -> None:
    one = read_hat(HAT.replace("[[when]]", "[when]"), "x.md")
    assert one == read_hat(HAT, "x.md")
    assert one.when == (Condition(first=True),)


def test_what_is_wrong_with_a_hat_is_told_with_file_line_and_key() -> None:
    for text, words in [
        ("no front matter", ("hats/x.md:1:", "+++")),
        ("+++\nname = 'x'\n", ("hats/x.md:1:", "closes")),
        (HAT.replace('"Tester"', "Tester"), ("hats/x.md:3:", "Invalid value")),
        (HAT.replace("title", "titel"), ("hats/x.md:3: 'titel': unknown key; did you mean title?", "hats/x.md:1: title:")),
        (HAT.replace("first = true", "frist = true"), ("hats/x.md:6: when.0.'frist': unknown key; did you mean first?",)),
        (HAT.replace("first = true", "in_row = 2"), ("hats/x.md:5:", "failing together with in_row")),
        (HAT.replace("first = true", ""), ("hats/x.md:5: when:", "at least one condition")),
        (HAT.replace("first = true", "failing = ['tests']"), ("hats/x.md:6: when.0.failing.0:", "'tests'")),
        (HAT.replace("first = true", "failing = ['test']\nin_row = '2'"), ("hats/x.md:7: when.0.in_row: expected a whole",)),
        (HAT.replace('"tester"', '"../tester"'), ("hats/x.md:2: name:",)),
        (HAT.replace("Find the smallest case.", ""), ("prompt:",)),
        (HAT.replace("Find", "x" * LARGEST), ("hats/x.md:1:", "longer than 16,384")),
        (HAT.replace("\n\n[[when]]", '\nallowed_tools = ["Bash(a:*),Write"]\n\n[[when]]'), ("hats/x.md:4: allowed_tools.0:",)),
        (HAT.replace("\n\n[[when]]", f"\nmodel = {'[' * 9000}{']' * 900}\n\n[[when]]"), ("hats/x.md:1:", "nested too deeply")),
        ("+++\nwhen = 5\n+++\nx", ("hats/x.md:2: when:",)),
    ]:  # fmt: skip
        told = hat_complaint(text)
        assert not [word for word in words if word not in told], told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SHEET.replace("iterations", "iteration"), (":7: settings.limits.iteration: unknown key; did you mean limits.iter",)),
        (SHEET.replace("= 5", "= 'many'"), (":7: settings.limits.iterations: expected a whole number, found 'many'",)),
        (SHEET.replace("settings.limits]", "settings]\ngoal = 'x'\npreset = 'y'\n[settings.limits]"),
         (":7: settings.goal: not in a preset", ":8: settings.preset: not in a preset")),
        (SHEET.replace("[settings.limits]\niterations", "settings"), (":6: settings: expected",)),
        (SHEET.replace('"Ours."', '"Ours.\\u001b[2J"'), (":4: about:",)),
        (SHEET.replace('title = "Mine"', 'title = "Mine"\nhats = ["../../x"]'), (":4: hats.0:",)),
        (SHEET.replace("iterations = 5", "tokens = 1\n[settings.tracker]\nkind = 'gitea'"),
         (":8: settings.tracker: expected tracker.repository",)),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_preset_is_told_with_file_line_and_key(text: str, words: tuple[str, ...]) -> None:
    told = sheet_complaint(text)
    assert not [word for word in words if f"presets/x.md{word}" not in told], told


def test_control_characters_of_a_file_reach_neither_prompt_nor_terminal() -> None:
    hat = read_hat(HAT.replace("smallest", "small\x1b[2Jest\tone\x07"), "x.md")
    assert all(mark.isprintable() for mark in hat.prompt)
