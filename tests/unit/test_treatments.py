"""What the next iteration does differently, by rung, feedback and diagnosis."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import LoopConfig
from helmsman.orient.allowance import claude_config
from helmsman.orient.budget import whole
from helmsman.orient.treatment_told import treatment_section
from helmsman.orient.treatments import (
    DAMPING,
    NO_ORDERS,
    PERSONAS,
    TREATMENTS,
    Approach,
    Persona,
    Treatment,
    planned_anew,
    treatment,
)
from helmsman.oversee.divergence import divergence
from helmsman.records.control import Band, Control
from helmsman.records.evidence import AgentOutcome
from helmsman.records.memory import Choice, WorkingMemory
from helmsman.records.modes import Climb, Feedback, Ladder, Rung
from helmsman.records.moments import Moment, Movement, Progress
from helmsman.records.oversight import Checkpoint, Diagnosis, Learnt, Oversight
from helmsman.records.session import ErrorVector, FailureClass
from tests.unit.builders import NOW, check, config, report, state

pytestmark = pytest.mark.feature("S8")
CONFIG = config(ladder={"redesign_model": "another"})
WATCHED = config(ladder={"act": False, "redesign_model": "another"})
CLIMBS = (
    Climb(iteration=5, before=Rung.PATCH, after=Rung.REFACTOR, reason="stuck: 1 % gained in 3 iterations, 5 % is enough", at=NOW),
    Climb(iteration=7, before=Rung.REFACTOR, after=Rung.REDESIGN, reason="regressing: worse in 2 iterations", at=NOW),
)
ERROR = ErrorVector(kind=FailureClass.TEST, where="tests/test_parse.py::test_nested", message="assert 3 == 4")


def on(rung: Rung, reason: str = "stuck: 1 %", **fields: object) -> Ladder:
    return Ladder.model_validate({"rung": rung, "reason": reason, "climbs": CLIMBS[:rung], **fields})


def learnt(kind: FailureClass, in_row: int = 3) -> Learnt:
    return Learnt(kind=kind, seen=5, in_row=in_row, recurred=2)


def seen(*errors: ErrorVector) -> Moment:
    return Moment(iteration=1, at=NOW, outcome=AgentOutcome.FINISHED, movement=Movement.STILL, completion=0.4, errors=errors)


def given_on(rung: Rung, **fields: object) -> Treatment:
    return treatment(Oversight.model_validate({"ladder": on(rung), **fields}), CONFIG)


def told(*history: Moment, **fields: object) -> str:
    return whole(treatment_section(Oversight.model_validate(fields), CONFIG, history))


FULL = {
    "progress": Progress(completion=0.42),
    "best": Checkpoint(iteration=3, commit="c", tree="t", completion=0.45),
    "idle": 2,
    "learning": (learnt(FailureClass.TEST),),
    "feedback": Feedback.FAILING,
    "instructions": ("Take the tokens apart before you parse them, and test that alone.",) * 10,
}


def test_an_iteration_of_which_nothing_is_known_is_told_nothing() -> None:
    assert treatment(Oversight(), CONFIG) == TREATMENTS[Approach.PATCH]
    assert told() == ""


def test_a_patch_is_given_the_instructions_and_nothing_else() -> None:
    words = told(instructions=("Run the parser alone first.", "  ", "Commit\nwhat works."))
    assert words.splitlines()[2:] == ["- Run the parser alone first.", "- Commit what works."]
    assert not given_on(Rung.PATCH, instructions=("x",)).fresh


def test_a_refactoring_takes_another_way_in_a_fresh_context_and_reads_what_was_tried() -> None:
    assert given_on(Rung.REFACTOR) == Treatment(fresh=True, text=TREATMENTS[Approach.REFACTOR].text)
    words = told(ladder=on(Rung.REFACTOR), **FULL)
    assert "completion is 42%, the best was 45% in iteration 3, 2 iterations in a row without progress" in words
    assert "5, E-0 patch: stuck: 1 % gained in 3 iterations" in words


@pytest.mark.feature("S8", "M9")
def test_a_redesign_begins_with_an_empty_context_a_new_plan_another_model_and_an_architect() -> None:
    given = given_on(Rung.REDESIGN)
    assert (given.fresh, given.plan, given.model, given.persona) == (True, "regenerate", "another", Persona.ARCHITECT)


def test_a_redesign_reads_reasons_and_what_keeps_failing() -> None:
    words = told(seen(ERROR), seen(), *[seen(ERROR)] * 2, ladder=on(Rung.REDESIGN), **FULL)
    assert "7, E-I refactor: regressing: worse in 2 iterations" in words
    assert "test failures in 5 iterations, 2 times again after it was dealt with" in words
    assert "3 times test at tests/test_parse.py::test_nested: assert 3 == 4" in words
    assert "the assumption that failed" in words
    assert words.count("Take the tokens apart") == 1


def test_a_failure_that_was_mended_is_nothing_that_keeps_failing_and_something_that_may_be_forgotten() -> None:
    other = ERROR.model_copy(update={"where": "tests/test_print.py::test_long"})
    history = (*[seen(ERROR)] * 4, *[seen(other)] * 3)
    words = told(*history, ladder=on(Rung.REDESIGN), **FULL)
    assert ("test_nested" in words, "3 times test at tests/test_print.py::test_long" in words) == (False, True)
    assert "test_nested" in told(*history, diagnosis=Diagnosis.AMNESIAC)


@pytest.mark.feature("S17")
def test_a_failure_that_the_work_taken_back_had_made_is_told_no_more() -> None:
    oversight = Oversight.model_validate({"ladder": on(Rung.REFACTOR), **FULL})
    red = report(check(passed=False, head="FAILED tests/test_parse.py::test_nested - assert 3 == 4"))
    for checks, there in ((None, True), (red, True), (report(check(passed=True)), False), (report(check(passed=False)), False)):
        words = whole(treatment_section(oversight, CONFIG, [seen(ERROR)] * 3, checks))
        assert ("test_nested" in words, "test failures in 5 iterations" in words) == (there, there)


def test_the_best_is_named_only_where_it_was_better() -> None:
    for best, named in ((0.45, True), (0.424, False), (0.42, False), (0.3, False)):
        checkpoint = Checkpoint(iteration=3, commit="c", tree="t", completion=best)
        words = told(ladder=on(Rung.REFACTOR), progress=Progress(completion=0.42), best=checkpoint)
        assert ("the best was" in words) is named


def test_a_failure_that_was_seen_once_is_nothing_that_keeps_failing() -> None:
    assert "test_nested" not in told(seen(ERROR), seen(), ladder=on(Rung.REDESIGN), **FULL)


@pytest.mark.parametrize("diagnosis", Diagnosis)
@pytest.mark.parametrize("reason", ["stuck: 1 %", "limit_cycle: tree abc"])
def test_a_redesign_is_told_in_250_words(diagnosis: Diagnosis, reason: str) -> None:
    own = [piece for piece in treatment_section(
        Oversight.model_validate({"ladder": on(Rung.REDESIGN, reason), "diagnosis": diagnosis, **FULL}), CONFIG, [seen(ERROR)] * 3
    ) if isinstance(piece, str)]  # fmt: skip
    assert len(" ".join(own).split()) <= 250


def test_a_redesign_that_goes_on_keeps_the_plan_that_it_made() -> None:
    given = given_on(Rung.REDESIGN, ladder=on(Rung.REDESIGN, spent=1))
    assert (given.fresh, given.plan, given.model) == (True, "keep", "another")
    assert "The redesign goes on" in told(ladder=on(Rung.REDESIGN, spent=1))


def test_an_approach_that_gets_on_is_left_alone_on_its_rung_and_on_the_way_down() -> None:
    eased = Climb(iteration=9, before=Rung.REDESIGN, after=Rung.REFACTOR, reason="2 clean iterations", at=NOW)
    for ladder in (on(Rung.REDESIGN, clean=1), on(Rung.REFACTOR, climbs=(*CLIMBS, eased))):
        assert "The new approach gets on" in told(ladder=ladder)
        assert given_on(Rung.REFACTOR, ladder=ladder).plan == "keep"
        assert not given_on(Rung.REFACTOR, ladder=ladder).fresh
    assert "The redesign goes on" in told(ladder=on(Rung.REDESIGN, clean=1, spent=1))  # the last iteration was not clean
    troubled = on(Rung.REFACTOR, climbs=(*CLIMBS, eased), spent=1)
    assert "Another approach" in told(ladder=troubled)


def test_after_an_answer_of_a_person_the_loop_begins_with_a_redesign() -> None:
    answered = Climb(iteration=9, before=Rung.HUMAN, after=Rung.REDESIGN, reason="a person goes on: two orders", at=NOW)
    ladder = on(Rung.REDESIGN, climbs=(*CLIMBS, answered))
    assert given_on(Rung.REDESIGN, ladder=ladder).plan == "regenerate"
    assert "a person goes on: two orders" in told(ladder=ladder)


@pytest.mark.parametrize(
    ("kind", "persona"),
    [
        (FailureClass.TEST, Persona.TESTER),
        (FailureClass.EXCEPTION, Persona.DEBUGGER),
        (FailureClass.BUILD, Persona.BUILD_ENGINEER),
        (FailureClass.TYPES, Persona.ARCHITECT),
        (FailureClass.OTHER, Persona.ARCHITECT),
    ],
)
def test_what_keeps_failing_says_who_is_asked(kind: FailureClass, persona: Persona) -> None:
    learning = (learnt(FailureClass.LINT, in_row=2), learnt(kind, in_row=4), learnt(FailureClass.NETWORK, in_row=0))
    assert given_on(Rung.REDESIGN, learning=learning).persona is persona
    assert PERSONAS[persona] in told(ladder=on(Rung.REDESIGN), learning=learning)


def test_a_failure_that_is_over_calls_for_nobody() -> None:
    assert given_on(Rung.REFACTOR, learning=(learnt(FailureClass.TEST, in_row=0),)).persona is Persona.NONE


@pytest.mark.feature("S14")
@pytest.mark.parametrize("rule", ["limit_cycle", "recurring_trees", "oscillating"])
def test_a_loop_that_goes_round_changes_plan_prompt_and_model_on_the_first_rung_already(rule: str) -> None:
    ladder = on(Rung.REFACTOR, f"{rule}: tree abc was there 3 times")
    given = given_on(Rung.REFACTOR, ladder=ladder, learning=(learnt(FailureClass.TEST),))
    assert (given.fresh, given.plan, given.model, given.persona) == (True, "regenerate", "another", Persona.ARCHITECT)
    assert "what changes now is the structure" in told(ladder=ladder)
    assert "what changes now is the structure" not in told(ladder=on(Rung.REFACTOR, "stuck: in a limit_cycle"))


@pytest.mark.feature("M9")
def test_a_plan_that_came_apart_is_made_anew_in_a_fresh_context() -> None:
    ladder = on(Rung.REFACTOR, "plan.diverged: 3 of 4 files that it names are not there")
    given = given_on(Rung.REFACTOR, ladder=ladder)
    assert (given.fresh, given.plan, given.model) == (True, "regenerate", "")
    assert "# A new plan" in told(ladder=ladder)


@pytest.mark.feature("M9")
def test_a_plan_that_came_apart_is_kept_by_no_word_until_the_new_one_gets_on() -> None:
    ladder = on(Rung.REFACTOR, "plan.diverged: 3 of 4 files that it names are not there", spent=1)
    assert given_on(Rung.REFACTOR, ladder=ladder).plan == "regenerate"
    assert "# A new plan" in told(ladder=ladder)
    assert given_on(Rung.REFACTOR, ladder=ladder.model_copy(update={"clean": 1, "spent": 0})).plan == "keep"


@pytest.mark.feature("M9")
def test_beside_the_order_to_throw_the_plan_away_nothing_says_that_it_is_kept() -> None:
    missing = WorkingMemory(remaining_gap="Fix src/money.py and src/tax.py")
    signal = divergence(missing, (), lambda _: False, [seen()], "")
    assert signal
    assert "Keep the goal and the plan, and change the way." in told(ladder=on(Rung.REFACTOR))
    words = told(ladder=on(Rung.REFACTOR), instructions=(signal.instruction,))
    assert "Keep the goal, and change the way." in words
    assert "the plan," not in words.partition("What the last iterations call for")[0]


@pytest.mark.feature("S14")
def test_a_structure_that_gets_on_is_not_changed_again() -> None:
    words = told(ladder=on(Rung.REFACTOR, "limit_cycle: tree abc", clean=1))
    assert "structure" not in words


@pytest.mark.feature("S12")
@pytest.mark.parametrize(
    ("feedback", "strictness", "fresh"),
    [
        (Feedback.NONE, 0, False),
        (Feedback.GREEN, 0, False),
        (Feedback.FAILING, 1, False),
        (Feedback.BROKEN, 2, False),
        (Feedback.GUTTER, 3, True),
    ],
)
@pytest.mark.parametrize("rung", [Rung.PATCH, Rung.REDESIGN])
def test_the_worse_the_feedback_the_less_is_begun_at_once(feedback: Feedback, strictness: int, fresh: bool, rung: Rung) -> None:
    given = given_on(rung, feedback=feedback)
    assert (given.strictness, given.fresh) == (strictness, fresh or rung is Rung.REDESIGN)
    assert DAMPING[feedback].text in told(ladder=on(rung), feedback=feedback)


@pytest.mark.feature("S12")
def test_green_checks_leave_the_work_free_and_a_broken_build_bars_what_is_new() -> None:
    assert told(feedback=Feedback.GREEN) == ""
    assert "New work waits" in told(feedback=Feedback.BROKEN)


@pytest.mark.feature("S11")
def test_what_was_forgotten_is_to_be_read_first() -> None:
    words = told(
        *[seen(ERROR)] * 2, diagnosis=Diagnosis.AMNESIAC, learning=(learnt(FailureClass.TEST),), feedback=Feedback.FAILING
    )
    assert words.startswith("# What earlier sessions learnt and later ones forgot\nRead this and `.helmsman/progress.md`")
    assert "2 times test at tests/test_parse.py::test_nested" in words
    assert told(diagnosis=Diagnosis.AMNESIAC) != ""


def test_a_loop_that_is_only_watched_is_treated_as_ever() -> None:
    oversight = Oversight.model_validate({"ladder": on(Rung.REDESIGN), **FULL})
    assert treatment(oversight, WATCHED) == TREATMENTS[Approach.PATCH]
    assert treatment_section(oversight, WATCHED) == ()


@pytest.mark.feature("M9")
def test_only_a_plan_that_failed_is_discarded_and_what_was_decided_stays() -> None:
    memory = WorkingMemory(remaining_gap="1. parse", decisions=(Choice(chose="a parser"),), uncertainties=("size",))
    assert planned_anew(memory, given_on(Rung.REDESIGN)) == memory.model_copy(update={"remaining_gap": ""})
    assert planned_anew(memory, given_on(Rung.REFACTOR)) == memory


@pytest.mark.feature("S1", "S8")
@pytest.mark.parametrize(
    ("rung", "band", "of", "model"),
    [
        (Rung.REDESIGN, Band.CONTINUE, CONFIG, "another"),
        (Rung.PATCH, Band.PIVOT, CONFIG, "another"),
        (Rung.PATCH, Band.ADJUST, CONFIG, ""),
        (Rung.REDESIGN, Band.PIVOT, WATCHED, ""),
    ],
)
def test_the_other_model_is_for_a_redesign_and_for_the_highest_urgency(
    rung: Rung, band: Band, of: LoopConfig, model: str
) -> None:
    oversight = Oversight(ladder=on(rung), control=Control(band=band))
    assert claude_config(state(of, oversight=oversight)).model == (model or of.claude.model)


def test_the_texts_say_what_to_do() -> None:
    texts = [row.text.template for row in TREATMENTS.values()] + [row.text for row in DAMPING.values()] + [*PERSONAS.values()]
    assert not [text for text in texts if re.search(r"\b(?:do not|don't|never|must not|avoid|forbidden)\b", text, re.IGNORECASE)]
    assert TREATMENTS[Approach.PATCH].text is NO_ORDERS


TEXTS = st.text(max_size=700)
HOSTILE = st.builds(
    Oversight,
    ladder=st.builds(
        Ladder,
        rung=st.sampled_from(Rung),
        reason=TEXTS,
        spent=st.integers(0, 9),
        clean=st.integers(0, 2),
        climbs=st.lists(
            st.builds(
                Climb,
                iteration=st.integers(),
                before=st.sampled_from(Rung),
                after=st.sampled_from(Rung),
                reason=TEXTS,
                at=st.just(NOW - timedelta(days=1)),
            ),
            max_size=10,
        ).map(tuple),
    ),
    feedback=st.sampled_from(Feedback),
    diagnosis=st.sampled_from(Diagnosis),
    learning=st.lists(st.builds(Learnt, kind=st.sampled_from(FailureClass), in_row=st.integers(0, 9)), max_size=9).map(tuple),
    instructions=st.lists(TEXTS, max_size=10).map(tuple),
)
ERRORS = st.builds(ErrorVector, kind=st.sampled_from(FailureClass), where=st.sampled_from(["", "a.py", "```\n"]), message=TEXTS)


@given(HOSTILE, st.lists(ERRORS.map(seen), max_size=8))
def test_whatever_was_said_the_section_is_bounded_and_stays_in_its_lines(oversight: Oversight, history: list[Moment]) -> None:
    pieces = treatment_section(oversight, CONFIG, history)
    assert len(whole(pieces)) < 8000
    assert treatment(oversight, CONFIG).fresh or treatment(oversight, CONFIG).plan == "keep"
    headings = [
        line for line in "\n".join(piece for piece in pieces if isinstance(piece, str)).split("\n") if line.startswith("#")
    ]
    assert len(headings) <= 2
