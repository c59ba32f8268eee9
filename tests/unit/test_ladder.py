"""The escalation ladder: up one level on trouble; down after clean iterations or by a person."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import DetectConfig, LadderConfig
from helmsman.oversee.detectors import DETECTORS, detect
from helmsman.oversee.ladder import KEPT_CLIMBS, UNAMBIGUOUS_RULES, idle_after, ladder_after, ladder_after_resume, patience_of
from helmsman.oversee.learning import learn
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import EscalationLevel, IterationSummary, Ladder, Learning, Movement
from helmsman.records.decision import Alert, Severity
from tests.unit.builders import MINUTE, NOW
from tests.unit.histories import LEGITIMATE, history, red

pytestmark = pytest.mark.feature("S8")
CONFIG = LadderConfig()


def signal(rule: str, severity: Severity, message: str = "3 of 3") -> Alert:
    return Alert(rule=rule, severity=severity, message=message)


STUCK = signal("stuck", Severity.REDIRECT, "1 % gained in 3 iterations, 5 % is enough")
CYCLE = signal("limit_cycle", Severity.REDIRECT, "tree abc was there 3 times")
BIND = signal("double_bind", Severity.PAUSE, "two instructions contradict each other")
SECRET = signal("pain.secrets", Severity.ABORT, "the diff holds 1 secret")
BUDGET = signal("limits.cost_usd", Severity.ABORT, "50 of 50 dollars used")
TOLD = (signal("variety", Severity.WARN), signal("stuck", Severity.WARN), signal("pain.tests", Severity.LOG), BUDGET)


class Iteration(NamedTuple):
    movement: Movement = Movement.STILL
    signals: tuple[Alert, ...] = ()
    green: bool = False
    idle: int = 0
    tests: int = 20
    """Passing tests that the checks count; one more fails unless it is green. 0: they count nothing."""
    failed: int = 1


CLEAN = Iteration(Movement.FORWARD)
TROUBLE = Iteration(Movement.STILL, (STUCK,))
TRIED = Iteration(Movement.SIDEWAYS, (STUCK,))
NOTHING = Iteration(Movement.STILL)
QUIET = Iteration(Movement.SIDEWAYS)
PAINFUL = Iteration(Movement.BACK, (STUCK, BIND, SECRET))
ASKING = Iteration(Movement.FORWARD, (STUCK, BIND))
ITERATIONS = st.builds(
    Iteration,
    st.sampled_from(Movement),
    st.lists(st.sampled_from([STUCK, CYCLE, BIND, SECRET, *TOLD]), max_size=3).map(tuple),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 20]),
)
CONFIGS = st.builds(LadderConfig, patience=st.integers(1, 5))


def ladders_after(*iterations: Iteration, before: Ladder | None = None, config: LadderConfig = CONFIG) -> list[Ladder]:
    """The ladder before the iterations and after each of them."""
    found = [before or Ladder()]
    for number, one in enumerate(iterations, 1):
        now = NOW + number * MINUTE
        told = {"iteration": number, "at": now, "outcome": AgentOutcome.FINISHED, "movement": one.movement, "green": one.green}
        moment = IterationSummary.model_validate(
            told
            | {"completion": 0.5, "passing_tests": one.tests, "failing_tests": one.failed * (one.tests > 0 and not one.green)}
        )
        found.append(ladder_after(found[-1], moment, one.signals, idle=one.idle, now=now, config=config))
    return found


def levels(*iterations: Iteration, before: Ladder | None = None) -> list[int]:
    return [int(ladder.rung) for ladder in ladders_after(*iterations, before=before)]


def test_the_first_trouble_leaves_the_lowest_rung_and_every_other_rung_gets_five_iterations_that_try_new_things() -> None:
    assert levels(*[TRIED] * 12) == [0, *[1] * 5, *[2] * 5, 3, 3]


def test_a_level_gets_one_iteration_when_the_trouble_is_plain() -> None:
    for rule in sorted(UNAMBIGUOUS_RULES):
        for movement in [Movement.SIDEWAYS, Movement.BACK]:
            assert levels(*[Iteration(movement, (signal(rule, Severity.REDIRECT),))] * 4) == [0, 1, 2, 3, 3]


def test_a_level_gets_one_iteration_when_nothing_is_tried() -> None:
    assert levels(*[TROUBLE] * 4) == [0, 1, 2, 3, 3]
    assert levels(*[TROUBLE._replace(tests=0)] * 4) == [0, 1, 2, 3, 3]


@pytest.mark.parametrize(("tests", "failed", "spends"), [(2, 1, 10), (3, 1, 10), (4, 1, 5), (500, 1, 5), (20, 9, 5), (20, 10, 4)])
def test_a_level_gets_more_iterations_with_few_counts_and_fewer_with_many_failures(tests: int, failed: int, spends: int) -> None:
    tried = TRIED._replace(tests=tests, failed=failed)
    assert levels(*[tried] * (spends + 1)) == [0, *[1] * spends, 2]


def test_a_level_gets_fewer_iterations_when_no_test_passes() -> None:
    wreck = history(red(Movement.SIDEWAYS, "test_a", "test_b", "test_c") | {"passing_tests": 0})[0]
    beside = wreck.model_copy(update={"passing_tests": 1})
    assert [patience_of(moment, (STUCK,), CONFIG) for moment in (wreck, beside)] == [4, 10]


def test_regressions_are_unambiguous_only_on_a_level_without_progress() -> None:
    fell = Iteration(Movement.BACK, (signal("regressing", Severity.REDIRECT),))
    assert levels(fell, before=Ladder(rung=EscalationLevel.REFACTOR)) == [1, 2]
    assert levels(CLEAN, *[fell] * 10, before=Ladder(rung=EscalationLevel.REFACTOR)) == [*[1] * 11, 2]


def test_progress_doubles_the_patience_unless_the_trouble_is_unambiguous() -> None:
    assert levels(CLEAN, *[TRIED] * 10, before=Ladder(rung=EscalationLevel.REFACTOR)) == [*[1] * 11, 2]
    assert levels(CLEAN, *[TRIED._replace(tests=0)] * 20, before=Ladder(rung=EscalationLevel.REFACTOR)) == [*[1] * 21, 2]
    assert levels(CLEAN, TROUBLE, before=Ladder(rung=EscalationLevel.REFACTOR)) == [1, 1, 2]


def test_a_clean_iteration_resets_the_patience_of_a_level() -> None:
    ladder = ladders_after(CLEAN, before=Ladder(rung=EscalationLevel.REDESIGN, spent=9))[-1]
    assert (ladder.spent, ladder.clean) == (0, 1)
    assert levels(*[TRIED] * 3, CLEAN, *[TRIED] * 7, before=Ladder(rung=EscalationLevel.REDESIGN))[-1] == EscalationLevel.REDESIGN


@pytest.mark.feature("S7")
@pytest.mark.parametrize("movement", [Movement.STILL, Movement.BACK])
def test_the_third_iteration_in_a_row_without_progress_is_trouble_by_itself(movement: Movement) -> None:
    second, third = (ladders_after(Iteration(movement, idle=idle))[-1] for idle in (2, 3))
    assert second.rung is EscalationLevel.PATCH
    assert (third.rung, third.reason) == (EscalationLevel.REFACTOR, "no_progress: 3 iterations in a row without progress")


@pytest.mark.feature("S7")
def test_progress_ends_the_count_and_a_wait_leaves_it() -> None:
    moments = [
        IterationSummary(iteration=1, at=NOW, outcome=AgentOutcome.FINISHED, movement=one, completion=0.5)
        for one in (Movement.STILL, Movement.BACK, Movement.SIDEWAYS, Movement.WAITED, Movement.FORWARD)
    ]
    assert [idle_after(4, moment) for moment in moments] == [5, 5, 5, 4, 0]


def test_two_clean_iterations_lead_from_redesign_to_refactor_and_three_more_to_patch() -> None:
    ladders = ladders_after(*[CLEAN] * 6, before=Ladder(rung=EscalationLevel.REDESIGN))
    assert [int(ladder.rung) for ladder in ladders] == [2, 2, 1, 1, 1, 0, 0]
    assert [climb.reason for climb in ladders[-1].climbs] == [
        "2 clean iterations on E-II redesign",
        "3 clean iterations on E-I refactor",
    ]


def test_a_rung_gets_twice_as_many_where_no_check_counts_anything_and_fewer_where_no_word_of_a_failure_moves() -> None:
    assert levels(*[TRIED._replace(tests=0)] * 11) == [0, *[1] * 10, 2]
    unmoved = TRIED._replace(signals=(STUCK, signal("same_words", Severity.REDIRECT)))
    for tests in (3, 20):
        assert levels(*[unmoved._replace(tests=tests)] * 5) == [0, 1, 1, 1, 1, 2]
    assert levels(*[unmoved._replace(tests=0)] * 11) == [0, *[1] * 10, 2]


def test_clean_iterations_count_despite_alerts_and_gaps() -> None:
    objected = Iteration(Movement.SIDEWAYS, (STUCK, CYCLE), green=True)
    for one in (CLEAN, Iteration(Movement.SIDEWAYS, green=True), CLEAN._replace(signals=TOLD), objected):
        ladder = ladders_after(one, before=Ladder(rung=EscalationLevel.REDESIGN))[-1]
        assert (ladder.clean, ladder.last_good, ladder.spent) == (1, EscalationLevel.REDESIGN, 0)
    assert levels(*[objected] * 9) == [0] * 10
    for between in (NOTHING, TRIED, QUIET):
        lived = [CLEAN, between, CLEAN, between, CLEAN]
        assert levels(*lived, before=Ladder(rung=EscalationLevel.REFACTOR)) == [*[1] * 5, 0]


def test_critical_events_eject_from_every_level_and_questions_lead_to_a_person() -> None:
    for rung in EscalationLevel:
        assert levels(PAINFUL, before=Ladder(rung=rung))[-1] == EscalationLevel.EJECT
        assert levels(ASKING, before=Ladder(rung=rung))[-1] == max(rung, EscalationLevel.HUMAN)


def test_only_a_person_leads_down_from_where_a_person_is_asked_to_a_redesign_or_to_the_beginning() -> None:
    ways = zip(EscalationLevel, (0, 1, 2, EscalationLevel.REDESIGN, EscalationLevel.PATCH), strict=True)
    for before, after in ways:
        stood = Ladder(rung=before, reason="double_bind: two orders", spent=4, last_good=EscalationLevel.REFACTOR)
        ladder = ladder_after_resume(stood, 8, NOW)
        assert (ladder.rung, ladder.last_good) == (after, EscalationLevel.REFACTOR)
        if before < EscalationLevel.HUMAN:
            assert ladder == stood
            continue
        assert levels(*[CLEAN] * 20, *[TROUBLE] * 20, before=stood)[-1] == before
        assert (ladder.spent, ladder.since, ladder.climbs[-1].iteration) == (0, NOW, 8)
        assert ladder.reason.endswith("because of double_bind: two orders")


def test_a_wait_changes_nothing_but_critical_events_and_questions_count() -> None:
    stood = Ladder(rung=EscalationLevel.REFACTOR, spent=7, clean=2)
    assert ladders_after(Iteration(Movement.WAITED, (STUCK,), idle=3), before=stood)[-1] == stood
    assert levels(Iteration(Movement.WAITED, (BIND,)), Iteration(Movement.WAITED, (SECRET,)), before=stood) == [1, 3, 4]


def test_a_climb_is_kept_with_reason_time_and_the_last_good_rung() -> None:
    ladder = ladders_after(CLEAN, TROUBLE)[-1]
    (climb,) = ladder.climbs
    assert (climb.iteration, climb.before, climb.after, climb.at) == (
        2,
        EscalationLevel.PATCH,
        EscalationLevel.REFACTOR,
        NOW + 2 * MINUTE,
    )
    assert climb.reason == ladder.reason == "stuck: 1 % gained in 3 iterations, 5 % is enough"
    assert (ladder.since, ladder.spent, ladder.clean, ladder.last_good) == (NOW + 2 * MINUTE, 0, 0, EscalationLevel.PATCH)


@pytest.mark.feature("S14")
def test_of_several_troubles_a_cycle_is_the_reason() -> None:
    assert ladders_after(Iteration(Movement.STILL, (STUCK, CYCLE)))[-1].reason == "limit_cycle: tree abc was there 3 times"


def ladders_of(lived: Sequence[IterationSummary], detection: DetectConfig | None = None) -> list[Ladder]:
    """The ladder after each iteration, with what the detectors and the levels of learning say of it."""
    ladder, idle, learnt = Ladder(), 0, tuple[Learning, ...]()
    found: list[Ladder] = []
    for end, moment in enumerate(lived, 1):
        learnt, untaught = learn(learnt, lived[:end], intervened=True)
        signals = (*detect(lived[:end], detection or DetectConfig())[0], *untaught)
        idle = idle_after(idle, moment)
        ladder = ladder_after(ladder, moment, signals, idle=idle, now=moment.at, config=CONFIG)
        found.append(ladder)
    return found


def test_legitimate_work_stays_on_the_lowest_level() -> None:
    assert {ladder.rung for lived in LEGITIMATE.values() for ladder in ladders_of(lived)} == {EscalationLevel.PATCH}


@pytest.mark.feature("S10")
def test_what_cannot_be_learnt_comes_before_a_person_by_way_of_every_rung() -> None:
    words = (red(Movement.SIDEWAYS, f"test_{number}") for number in range(20))
    ladder = ladders_of(history(*words), DetectConfig.model_validate({"off": [one.rule for one in DETECTORS]}))[-1]
    assert [(climb.iteration, climb.after, climb.reason.split(":")[0]) for climb in ladder.climbs] == [
        (3, EscalationLevel.REFACTOR, "learning.stagnation"),
        (9, EscalationLevel.REDESIGN, "learning.unlearnable"),
        (15, EscalationLevel.HUMAN, "learning.unlearnable"),
    ]


@given(st.lists(ITERATIONS, max_size=30), CONFIGS)
def test_trouble_raises_at_most_one_level_and_success_lowers_one(iterations: list[Iteration], config: LadderConfig) -> None:
    ladders = ladders_after(*iterations, config=config)
    for before, after, one in zip(ladders, ladders[1:], iterations, strict=False):
        asked = any(signal.severity in (Severity.PAUSE, Severity.ABORT) for signal in one.signals)
        assert abs(after.rung - before.rung) <= 1 or asked


@given(st.lists(ITERATIONS, max_size=60), st.text(max_size=1000))
def test_what_is_kept_is_bounded_and_survives_a_restart(iterations: list[Iteration], words: str) -> None:
    hostile = Iteration(Movement.BACK, (signal("stuck", Severity.REDIRECT, words),))
    ladder = ladders_after(hostile, *iterations)[-1]
    assert len(ladder.climbs) <= KEPT_CLIMBS
    assert all(len(climb.reason) <= 300 and climb.reason.isprintable() for climb in ladder.climbs)
    assert Ladder.model_validate_json(ladder.model_dump_json()) == ladder
