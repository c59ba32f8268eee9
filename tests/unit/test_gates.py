"""When a person is asked, what each answer does, and which answers are invalid."""

import json
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.oversee.answers import answer_from_form, apply_answer, reconfigure, rejection_reason, timeout_answer
from helmsman.oversee.gates import SAFE_TO_ASSUME, due_gate, open_gate
from helmsman.oversee.merging import is_merge_due
from helmsman.records.checks import TestCounts
from helmsman.records.decision import Decision, Outcome
from helmsman.records.forms import form_for, read_answers, read_form
from helmsman.records.gates import GATES, Answer, Choice, GateKind
from helmsman.records.state import LoopState, Spending
from helmsman.render.gate import evidence, form_text, loop_summary
from tests.unit import builders

pytestmark = pytest.mark.feature("H1")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OF_A_LOOP = [kind for kind in GateKind if kind is not GateKind.QUESTIONS]


def ending(rule: str, outcome: Outcome) -> Decision:
    return Decision(kind="stop", rule=rule, reason=f"because of {rule}", at=NOW, outcome=outcome)


def loop_with(gates: dict[str, Any] | None = None, **changes: Any) -> LoopState:
    config = LoopConfig.model_validate({"goal": "make it so", "checks": ["make test"], "gates": gates or {}})
    return builders.state(config).model_copy(update=changes)


def asking(kind: GateKind, **changes: Any) -> LoopState:
    state = loop_with(**changes)
    return state.model_copy(update={"gate": open_gate(state, kind, "Well?", NOW), "gates_asked": 1})


def answer(state: LoopState, choice: Choice, **more: Any) -> Answer:
    assert state.gate is not None
    return Answer(gate=state.gate.key, kind=state.gate.kind, choice=choice, via="engine", at=NOW, **more)


WHEN: list[tuple[GateKind, LoopState]] = [
    (GateKind.PLAN, loop_with({"plan": True})),
    (GateKind.MILESTONE, loop_with({"milestone_every": 3}, iteration=6)),
    (GateKind.REJECTIONS, loop_with(ending=ending("judge.rejections", Outcome.WAITING))),
    (GateKind.UNDECIDED, loop_with(ending=ending("judge.cannot_tell", Outcome.WAITING))),
    (GateKind.HUMAN, loop_with(ending=ending("ladder.human", Outcome.WAITING))),
    (GateKind.BUDGET, loop_with({"budget": True}, ending=ending("limits.iterations", Outcome.STOPPED))),
    (GateKind.MERGE, loop_with({"merge": True}, ending=ending("completion.verified", Outcome.COMPLETED))),
]

NEVER: list[LoopState] = [
    loop_with(),
    loop_with({"plan": True}, iteration=1),
    loop_with({"milestone_every": 3}),
    loop_with({"milestone_every": 3}, iteration=4),
    loop_with(iteration=3),
    loop_with(ending=ending("limits.iterations", Outcome.STOPPED)),
    loop_with(ending=ending("completion.verified", Outcome.COMPLETED)),
    loop_with({"merge": True, "budget": True}, ending=ending("cancelled", Outcome.CANCELLED)),
    loop_with({"merge": True}, ending=ending("gate.merge", Outcome.COMPLETED)),
    loop_with({"budget": True}, ending=ending("completion.denied", Outcome.STOPPED)),
    loop_with({"plan": True, "merge": True}, ending=ending("pain.secret", Outcome.EJECTED)),
]


@pytest.mark.feature("M7", "O1")
@pytest.mark.parametrize(("kind", "state"), WHEN)
def test_a_person_is_asked_where_the_loop_needs_one(kind: GateKind, state: LoopState) -> None:
    gate = due_gate(state, NOW)
    assert gate is not None
    assert gate.kind is kind
    assert gate.deadline == NOW + timedelta(hours=72)
    later = state.model_copy(update={"gate": gate, "gates_asked": 1})
    assert due_gate(later, NOW + timedelta(days=30)) == gate  # while it is open


@pytest.mark.feature("M7")
def test_no_question_is_asked_when_the_loop_needs_no_answer() -> None:
    assert [due_gate(state, NOW) for state in NEVER] == [None] * len(NEVER)


@pytest.mark.feature("M7")
@pytest.mark.parametrize("kind", [GateKind.PLAN, GateKind.MILESTONE])
def test_what_was_answered_is_not_asked_again_at_the_same_iteration(kind: GateKind) -> None:
    state = dict(WHEN)[kind]
    gate = due_gate(state, NOW)
    asked = state.model_copy(update={"gate": gate, "gates_asked": 1})
    after = apply_answer(asked, answer(asked, Choice.APPROVE), NOW)
    assert due_gate(after, NOW) is None


@pytest.mark.parametrize("kind", OF_A_LOOP)
def test_every_answer_closes_its_question_and_is_on_record(kind: GateKind) -> None:
    state = asking(kind, ending=ending("ladder.human", Outcome.WAITING), iteration=2)
    outcomes = {Choice.STOP: Outcome.STOPPED, Choice.ACCEPT: Outcome.COMPLETED}
    for choice in GATES[kind].choices:
        after = apply_answer(state, answer(state, choice, guidance="Mind the gap.", by="Ada"), NOW)
        assert after.gate is None
        assert (after.answers[-1].choice, after.answers[-1].by, after.guidance) == (choice, "Ada", ("Mind the gap.",))
        completes = kind in {GateKind.MERGE, GateKind.ITEM} and choice is Choice.APPROVE  # of a plan of one item
        expected = Outcome.COMPLETED if completes else outcomes.get(choice)
        stays = kind is GateKind.LEARNINGS or (kind, choice) == (GateKind.UNPROVEN, Choice.STOP)
        assert after.outcome is (state.outcome if stays else expected), choice


@pytest.mark.feature("L9")
def test_what_a_loop_learnt_is_asked_for_once_it_is_done_where_somebody_may_be_there() -> None:
    done = ending("completed", Outcome.COMPLETED)
    wanted: dict[str, Any] = {"memory": {"agents_md": "commit"}, "gates": {"ask": True}}
    state = loop_with(config=builders.config(**wanted), ending=done, proposed=("Run make check.",))
    gate = due_gate(state, NOW)
    assert gate is not None
    assert gate.kind is GateKind.LEARNINGS
    assert gate.question == "The loop proposes 1 lesson for AGENTS.md. Commit them on its branch?"
    asked = state.model_copy(update={"gate": gate, "gates_asked": 1})
    for choice in GATES[GateKind.LEARNINGS].choices:
        after = apply_answer(asked, answer(asked, choice), NOW)
        assert (after.outcome, due_gate(after, NOW)) == (Outcome.COMPLETED, None)
    patch_only: dict[str, Any] = {"memory": {"agents_md": "patch"}, "gates": {"ask": True}}
    nobody: dict[str, Any] = {"memory": {"agents_md": "commit"}}
    for other in (patch_only, nobody):
        assert due_gate(state.model_copy(update={"config": builders.config(**other)}), NOW) is None
    assert due_gate(state.model_copy(update={"proposed": ()}), NOW) is None


@pytest.mark.feature("M4")
def test_work_that_a_person_accepts_against_the_judge_is_asked_about_once_more_before_it_is_merged() -> None:
    wanted = builders.config(gates={"merge": True}, merge={"into": "main"})
    rejected = asking(GateKind.REJECTIONS, config=wanted, ending=ending("judge.rejections", Outcome.WAITING))
    accepted = apply_answer(rejected, answer(rejected, Choice.ACCEPT), NOW)
    gate = due_gate(accepted, NOW)
    assert gate is not None
    assert (gate.kind, gate.question) == (GateKind.MERGE, "The work is accepted as done against the judge. May it be merged?")
    asked = accepted.model_copy(update={"gate": gate, "gates_asked": 2})
    approved = apply_answer(asked, answer(asked, Choice.APPROVE), NOW)
    assert (due_gate(approved, NOW), is_merge_due(approved)) == (None, True)
    for other in (builders.config(gates={"merge": True}), builders.config(merge={"into": "main"})):
        assert due_gate(accepted.model_copy(update={"config": other}), NOW) is None


def test_a_loop_that_was_taken_over_asks_for_the_way_back() -> None:
    state = asking(GateKind.HUMAN, ending=ending("ladder.human", Outcome.WAITING))
    after = apply_answer(state, answer(state, Choice.TAKE_OVER), NOW)
    gate = due_gate(after, NOW)
    assert gate is not None
    assert gate.kind is GateKind.HANDED_OVER
    handed = after.model_copy(update={"gate": gate})
    back = apply_answer(handed, answer(handed, Choice.APPROVE), NOW)
    assert (due_gate(back, NOW), back.ending) == (None, None)


@pytest.mark.feature("E6")
def test_no_answer_continues_past_a_limit() -> None:
    cases: dict[str, tuple[GateKind, Choice, dict[str, Any]]] = {
        "handed back after a limit": (GateKind.HANDED_OVER, Choice.APPROVE, {}),
        "not to be merged yet": (GateKind.MERGE, Choice.REVISE, {}),
        "not what is wanted": (GateKind.UNMERGED, Choice.REVISE, {}),
        "a limit that is passed already": (GateKind.MILESTONE, Choice.APPROVE, {"settings": {"limits": {"iterations": 20}}}),
    }
    for case, (kind, choice, more) in cases.items():
        state = asking(kind, iteration=30, gates={"budget": True})
        after = apply_answer(state, answer(state, choice, guidance="mind the tests", **more), NOW)
        assert after.ending is not None
        assert (after.ending.rule, after.ending.outcome) == ("limits.iterations", Outcome.STOPPED)
        assert f"despite the answer ({choice})" in after.ending.reason
        assert after.guidance == ("mind the tests",)
        budget = due_gate(after, NOW)
        assert budget is not None
        assert budget.kind is GateKind.BUDGET, case


@pytest.mark.parametrize(
    ("choice", "more", "words"),
    [
        (Choice.ACCEPT, {}, "accept is not one of the choices"),
        (Choice.APPROVE, {"settings": {"limits": {"iterations": "many"}}}, "limits.iterations"),
        (Choice.APPROVE, {"settings": {"limitz": {}}}, "limitz"),
    ],
)
def test_an_answer_that_cannot_be_followed_says_why(choice: Choice, more: dict[str, Any], words: str) -> None:
    state = asking(GateKind.MILESTONE)
    with pytest.raises(OperatorError, match=words):
        apply_answer(state, answer(state, choice, **more), NOW)


def test_an_answer_to_a_question_that_is_over_is_refused() -> None:
    state = asking(GateKind.MILESTONE)
    late = answer(state, Choice.APPROVE).model_copy(update={"gate": "plan-0-1"})
    with pytest.raises(OperatorError, match="no longer asks this question"):
        apply_answer(state, late, NOW)


@pytest.mark.feature("E6")
def test_a_budget_is_extended_only_past_the_limit_that_is_reached() -> None:
    spent = Spending(cost_usd=3)
    state = asking(GateKind.BUDGET, iteration=30, spending=spent, ending=ending("limits.iterations", Outcome.STOPPED))
    assert state.gate is not None
    for field, enough in (("more_usd", False), ("more_iterations", True)):
        form = read_form(state.gate, {"decision": "approve", field: 5})
        answer = answer_from_form(state, state.gate, form, via="engine", now=NOW)
        if enough:
            after = apply_answer(state, answer, NOW)
            assert (after.ending, after.config.limits.iterations) == (None, state.config.limits.iterations + 5)
        else:
            with pytest.raises(OperatorError, match="a limit is still reached"):
                apply_answer(state, answer, NOW)


def test_a_form_asks_for_a_decision_among_the_choices_and_assumes_none() -> None:
    for kind in OF_A_LOOP:
        schema = form_for(kind).model_json_schema()
        fields = schema["properties"]
        assert next(iter(fields)) == "decision"
        assert fields["decision"]["enum"] == list(GATES[kind].choices)
        assert schema["required"] == ["decision"]
        assert all(field.get("title") and field.get("description") for field in fields.values())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "decision"),
        ({"decision": "perhaps"}, "decision"),
        ({"decision": "stop", "guidance": "x" * 4001}, "guidance"),
        ({"decision": "stop", "settings": "limits iterations 5"}, "settings"),
        ({"decision": "stop", "gaol": "x"}, "gaol"),
        ({"decision": "approve", "more_usd": -1}, "more_usd"),
        ({"decision": "approve", "settings": "limits=5"}, "limits must be a table"),
    ],
)
def test_a_form_that_is_filled_in_wrongly_names_the_field(given: dict[str, Any], words: str) -> None:
    state = asking(GateKind.BUDGET)
    assert state.gate is not None
    with pytest.raises(OperatorError, match=words):
        answer_from_form(state, state.gate, read_form(state.gate, given), via="engine", now=NOW)


def test_a_semicolon_before_a_variable_belongs_to_the_command_that_it_stands_in() -> None:
    state = asking(GateKind.HUMAN)
    assert state.gate is not None
    settings = 'checks=["cd web; CI=1 make", "A=1; B=2 make"]; pain.scan="x; Y=1 z"; limits.tokens=9'
    changed = read_form(state.gate, {"decision": "approve", "settings": settings}).changed()
    assert changed["checks"] == ["cd web; CI=1 make", "A=1; B=2 make"]
    assert (changed["pain"], changed["limits"]) == ({"scan": "x; Y=1 z"}, {"tokens": 9})


def test_questions_are_answered_one_by_one_and_what_is_left_empty_stays_open() -> None:
    questions = ("Which port?", "Why?", "Who?")
    assert read_answers(questions, {"answer_1": "8080", "answer_2": " ", "answer_3": "-"}) == {"Which port?": "8080", "Who?": ""}
    with pytest.raises(OperatorError, match="decision"):
        read_answers(questions, {"decision": "approve"})


@pytest.mark.parametrize("declared", ["stop", "approve"])
def test_silence_never_accepts_work_nor_spends_more(declared: str) -> None:
    assert not {GateKind.MERGE, GateKind.BUDGET, GateKind.QUESTIONS} & SAFE_TO_ASSUME
    for kind in GateKind:
        gate = open_gate(loop_with({"at_timeout": declared}), kind, "Well?", NOW)
        assert timeout_answer(gate, NOW + timedelta(hours=71)) is None
        lapse = timeout_answer(gate, NOW + timedelta(hours=72))
        assert lapse is not None
        approves = declared == "approve" and kind in SAFE_TO_ASSUME
        assert (lapse.choice, lapse.via) == (Choice.APPROVE if approves else Choice.STOP, "timeout")


class _Elements(HTMLParser):
    def __init__(self) -> None:
        """Collect the names of elements."""
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as HTMLParser has it
        self.found.append(tag)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"limits": {"iterations": "many"}}, "limits.iterations must be a whole number, not 'many'"),
        ({"limits": {"iterations": 0}}, "limits.iterations must be at least 1, not 0"),
        ({"limits": {"iteration": 5}}, "limits.iteration: unknown key; did you mean limits.iterations"),
    ],
)
def test_a_refused_answer_is_explained_in_one_line_in_the_words_of_the_form(settings: dict[str, object], why: str) -> None:
    with pytest.raises(OperatorError) as refused:
        reconfigure(builders.state(), settings)
    assert rejection_reason(refused.value).startswith(why)
    assert "\n" not in rejection_reason(refused.value)


HOSTILE = st.text(alphabet=st.sampled_from(list("<>&`*_[]()!#|\\\n\r\x1b\"' abscript=/:")), max_size=60)


@pytest.mark.feature("X3")
@given(goal=HOSTILE, reason=HOSTILE, problem=HOSTILE, output=HOSTILE)
def test_nothing_foreign_becomes_markup_of_a_form(goal: str, reason: str, problem: str, output: str) -> None:
    config = LoopConfig.model_validate({"goal": f"g{goal}", "checks": ["make test"]})
    stopped = ending("ladder.human", Outcome.WAITING).model_copy(update={"reason": reason})
    report = builders.report(builders.check(passed=False, tail=output))
    state = builders.state(config).model_copy(update={"ending": stopped, "checks": report})
    gate = open_gate(state, GateKind.HUMAN, "Well?", NOW).model_copy(update={"refused": problem})
    text = form_text(gate, f"{loop_summary(state)}\n\n{evidence(state, goal)}")
    outside = [line for at, line in enumerate(text.split("\n")) if not _in_fence(text.split("\n"), at)]
    parser = _Elements()
    parser.feed("\n".join(line for line in outside if "`" not in line))
    assert parser.found == []
    assert "](" not in "\n".join(line for line in outside if "`" not in line)
    assert json.loads(json.dumps(text)) == text


def _in_fence(lines: list[str], at: int) -> bool:
    return sum(line.startswith("```") for line in lines[:at]) % 2 == 1


def test_a_form_says_who_is_asked_how_the_loop_stands_what_fails_and_what_each_choice_does() -> None:
    reason = "checks fail: `make test`; E-III human: 3 in vain"
    stopped = ending("ladder.human", Outcome.WAITING).model_copy(update={"reason": reason})
    tests = tuple(f"test_a.py::test_{number}" for number in range(10))
    red = builders.check(passed=False, counts=TestCounts(passed=4, failed=10, failing=tests))
    report = builders.report(red, builders.check(passed=True))
    state = loop_with(iteration=3, ending=stopped, checks=report)
    assert form_text(open_gate(state, GateKind.HUMAN, "Does `it` do?", NOW), loop_summary(state)).split("\n\n") == [
        "**Does 'it' do?**",
        "\n".join(f"- **{choice}**: {effect}" for choice, effect in GATES[GateKind.HUMAN].choices.items()),
        "Without an answer by 2026-03-04 12:00 UTC: **stop**.",
        f"3 of 30 iterations · $0.00 of $50.00 · 0.0 s · 1 of 2 checks green · `{state.branch}`",
        "Failing:",
        "\n".join([*(f"- `{name}`" for name in tests[:8]), "- … and 2 more"]),
        "Why it stopped: checks fail: 'make test'; E-III human: 3 in vain",
        "Goal: make it so",
    ]
