"""The circuit breaker: two iterations that try nothing and gain nothing, one more that decides, a pause."""

from datetime import datetime, timedelta
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import BreakerConfig
from helmsman.config.base import LONGEST_HOURS
from helmsman.oversee.breaker import TRANSITIONS, Event, breaker_after, cooled, event_of, just_opened, reset, until
from helmsman.oversee.movement import got_on
from helmsman.records.evidence import AgentOutcome
from helmsman.records.modes import Breaker, Position
from helmsman.records.moments import Moment, Movement
from helmsman.records.verdict import Severity, Signal
from tests.unit.builders import HOUR, MINUTE, NOW

pytestmark = pytest.mark.feature("S7")
CONFIG = BreakerConfig()
SAME_ERROR = Signal(rule="same_error", severity=Severity.REDIRECT, message="build at a.c failed in 5 iterations in a row (5)")
DENIED = Signal(rule="denied", severity=Severity.PAUSE, message="permissions were denied in 2 iterations in a row (2)")
OTHER = Signal(rule="stuck", severity=Severity.REDIRECT, message="it gains too little")


def moment(movement: Movement, *, green: bool = False, checked: bool = True, iteration: int = 7) -> Moment:
    return Moment(
        iteration=iteration,
        at=NOW,
        outcome=AgentOutcome.FINISHED,
        movement=movement,
        completion=0.4,
        green=green,
        checked=checked,
    )


MOMENTS = st.builds(moment, st.sampled_from(Movement), green=st.booleans(), checked=st.booleans())
SIGNALS = st.lists(st.sampled_from([SAME_ERROR, DENIED, OTHER]), max_size=2)
GAPS = st.integers(0, 90).map(lambda minutes: minutes * MINUTE)
RUNS = st.lists(st.tuples(MOMENTS, SIGNALS, GAPS), max_size=30)
CONFIGS = st.builds(
    BreakerConfig, half_open_after=st.integers(1, 5), cool_down_minutes=st.sampled_from([0, 1, 30, LONGEST_HOURS * 60])
)


def course(
    run: list[tuple[Moment, list[Signal], timedelta]], config: BreakerConfig = CONFIG, start: datetime = NOW
) -> list[Breaker]:
    """The breaker before the run and after each of its iterations."""
    found, now = [Breaker()], start
    for seen, signals, gap in run:
        now += gap
        found.append(breaker_after(found[-1], seen, signals, now, config))
    return found


def after(*movements: Movement, before: Breaker | None = None) -> Breaker:
    breaker = before or Breaker()
    for movement in movements:
        breaker = breaker_after(breaker, moment(movement), (), NOW, CONFIG)
    return breaker


def test_every_position_has_an_answer_to_every_event() -> None:
    assert set(TRANSITIONS) == set(product(Position, Event))


def test_two_iterations_without_progress_make_it_half_open_and_one_more_opens_it() -> None:
    idle = [after(*[Movement.STILL] * times) for times in range(4)]
    assert [breaker.position for breaker in idle] == ["closed", "closed", "half_open", "open"]
    assert [breaker.idle for breaker in idle] == [0, 1, 2, 3]
    assert idle[3].reason == "3 iterations in a row without progress, 2 until one more decides"
    assert (idle[3].since, idle[3].opened) == (NOW, 1)


@pytest.mark.parametrize("movement", [Movement.STILL, Movement.BACK])
def test_nothing_new_or_something_worse_is_no_progress(movement: Movement) -> None:
    assert after(movement, movement, movement).position is Position.OPEN


@pytest.mark.parametrize("before", [Breaker(position=position, idle=3, since=NOW, opened=2) for position in Position])
@pytest.mark.parametrize("signals", [[], [SAME_ERROR, DENIED]], ids=["nothing", "trips"])
def test_a_tree_that_was_never_there_is_no_progress_and_no_reason_to_pause(before: Breaker, signals: list[Signal]) -> None:
    seen = moment(Movement.SIDEWAYS)
    tried = breaker_after(before, seen, signals, NOW, CONFIG)
    assert event_of(seen, signals, 9, CONFIG) is Event.TRIED
    assert (tried.position, tried.idle, tried.since) == (before.position if before.since else Position.HALF_OPEN, 4, NOW)


def test_any_number_of_new_trees_under_red_checks_leaves_it_closed_until_one_is_not_new() -> None:
    tried = after(*[Movement.SIDEWAYS] * 9)
    assert (tried.position, tried.idle) == (Position.CLOSED, 9)
    assert after(Movement.STILL, before=tried).position is Position.HALF_OPEN
    assert after(Movement.STILL, Movement.SIDEWAYS, Movement.STILL, before=tried).position is Position.OPEN


@pytest.mark.parametrize("before", [Breaker(position=position, idle=3, since=NOW, opened=2) for position in Position])
def test_progress_closes_it_from_anywhere(before: Breaker) -> None:
    closed = after(Movement.FORWARD, before=before)
    assert (closed.position, closed.idle, closed.opened) == (Position.CLOSED, 0, 0)


@pytest.mark.parametrize(
    ("seen", "on"),
    [
        (moment(Movement.FORWARD), True),
        (moment(Movement.SIDEWAYS, green=True), True),
        (moment(Movement.SIDEWAYS, checked=False), True),
        (moment(Movement.SIDEWAYS), False),
        (moment(Movement.STILL, green=True), False),
        (moment(Movement.BACK), False),
    ],
    ids=["forward", "new work under green", "new work, no checks", "new work under red", "nothing under green", "back"],
)
def test_new_work_counts_where_no_check_speaks_against_it(seen: Moment, on: bool) -> None:
    assert got_on(seen) is on


def test_a_hundred_small_tasks_under_green_checks_leave_it_closed() -> None:
    run = [(moment(Movement.SIDEWAYS, green=True), list[Signal](), MINUTE)] * 100
    assert {breaker.position for breaker in course(run)} == {Position.CLOSED}


def test_one_iteration_of_research_leaves_it_closed() -> None:
    assert after(Movement.FORWARD, Movement.STILL, Movement.FORWARD).position is Position.CLOSED


def test_waiting_changes_nothing() -> None:
    for before in (Breaker(), after(Movement.STILL, Movement.STILL), after(*[Movement.STILL] * 3)):
        assert breaker_after(before, moment(Movement.WAITED), [SAME_ERROR], NOW + HOUR, CONFIG) == before


@pytest.mark.parametrize("signal", [SAME_ERROR, DENIED], ids=lambda signal: signal.rule)
def test_the_same_error_or_denials_need_no_count_but_leave_a_last_chance(signal: Signal) -> None:
    half_open = breaker_after(Breaker(), moment(Movement.BACK), [OTHER, signal], NOW, CONFIG)
    assert half_open.position is Position.HALF_OPEN
    assert half_open.reason == f"{signal.message} (1 iteration in a row without progress, 2 until one more decides)"
    assert after(Movement.BACK, before=half_open).position is Position.OPEN
    assert after(Movement.FORWARD, before=half_open).position is Position.CLOSED


def test_denials_that_are_only_told_of_are_counted_as_any_other_iteration() -> None:
    told = DENIED.model_copy(update={"severity": Severity.WARN})
    assert breaker_after(Breaker(), moment(Movement.STILL), [told], NOW, CONFIG).position is Position.CLOSED


def test_who_gets_on_may_fail_at_one_thing_all_the_while() -> None:
    assert breaker_after(Breaker(), moment(Movement.FORWARD), [SAME_ERROR], NOW, CONFIG).position is Position.CLOSED


def test_the_cool_down_ends_on_the_minute() -> None:
    opened = after(*[Movement.STILL] * 3)
    over = NOW + 30 * MINUTE
    assert until(opened, CONFIG) == over
    assert cooled(opened, over - timedelta(microseconds=1), CONFIG) == opened
    half_open = cooled(opened, over, CONFIG)
    assert (half_open.position, half_open.idle, half_open.since, half_open.opened) == (Position.HALF_OPEN, 3, over, 1)
    assert "cool-down of 30 minutes is over" in half_open.reason
    assert until(half_open, CONFIG) is None


def test_after_the_cool_down_one_iteration_opens_it_again() -> None:
    half_open = cooled(after(*[Movement.STILL] * 3), NOW + HOUR, CONFIG)
    again = after(Movement.STILL, before=half_open)
    assert (again.position, again.opened, just_opened(half_open, again)) == (Position.OPEN, 2, True)
    assert after(Movement.SIDEWAYS, before=half_open).position is Position.HALF_OPEN


def test_an_iteration_in_spite_of_an_open_breaker_prolongs_no_pause() -> None:
    opened = after(*[Movement.STILL] * 3)
    still = breaker_after(opened, moment(Movement.STILL), [DENIED], NOW + MINUTE, CONFIG)
    assert (still.position, still.since, still.opened, still.idle) == (Position.OPEN, NOW, 1, 4)
    assert not just_opened(opened, still)


def test_one_that_was_left_open_past_its_cool_down_counts_as_half_open() -> None:
    opened = after(*[Movement.STILL] * 3)
    again = breaker_after(opened, moment(Movement.STILL), (), NOW + HOUR, CONFIG)
    assert (again.position, again.since, again.opened) == (Position.OPEN, NOW + HOUR, 2)
    assert just_opened(opened, again)


def test_without_a_cool_down_it_goes_on_at_once() -> None:
    config = BreakerConfig(cool_down_minutes=0)
    opened = after(*[Movement.STILL] * 3)
    assert cooled(opened, NOW, config).position is Position.HALF_OPEN


def test_a_person_closes_it() -> None:
    closed = reset(after(*[Movement.STILL] * 3), NOW + MINUTE)
    assert (closed.position, closed.idle, closed.opened, closed.since) == (Position.CLOSED, 0, 0, NOW + MINUTE)
    assert closed.reason == "a person closed it"


def test_one_that_is_open_since_nobody_knows_when_is_not_open_for_ever() -> None:
    lost = Breaker(position=Position.OPEN)
    assert until(lost, CONFIG) is None
    assert cooled(lost, NOW, CONFIG).position is Position.HALF_OPEN


@given(RUNS, CONFIGS)
def test_half_open_is_never_skipped(run: list[tuple[Moment, list[Signal], timedelta]], config: BreakerConfig) -> None:
    seen = course(run, config)
    pairs = {(before.position, now.position) for before, now in pairwise(seen)}
    assert (Position.CLOSED, Position.OPEN) not in pairs


@given(RUNS, CONFIGS)
def test_it_is_open_only_after_more_idle_iterations_than_are_allowed_or_a_trip(
    run: list[tuple[Moment, list[Signal], timedelta]], config: BreakerConfig
) -> None:
    untripped = [(seen, [OTHER], gap) for seen, _, gap in run]
    assert all(one.idle > config.half_open_after for one in course(untripped, config) if one.position is Position.OPEN)
    new_or_vain = [one for one in untripped if event_of(one[0], (), 1, CONFIG) is not Event.TRIED]
    for breaker in course(new_or_vain, config):
        assert (breaker.position is Position.OPEN) == (breaker.idle > config.half_open_after)


@given(RUNS, CONFIGS)
def test_it_never_opens_at_an_iteration_that_tried_something_new(
    run: list[tuple[Moment, list[Signal], timedelta]], config: BreakerConfig
) -> None:
    seen = course(run, config)
    opened = [one for one, before, now in zip(run, seen, seen[1:], strict=False) if just_opened(before, now)]
    assert all(one[0].movement in (Movement.STILL, Movement.BACK) for one in opened)


@given(RUNS, CONFIGS, st.integers(-10_000, 10_000))
def test_only_time_that_passes_matters(
    run: list[tuple[Moment, list[Signal], timedelta]], config: BreakerConfig, hours: int
) -> None:
    shift = hours * HOUR
    here, there = course(run, config), course(run, config, NOW + shift)
    assert there == [one.model_copy(update={"since": one.since and one.since + shift}) for one in here]


@given(RUNS, st.integers(0, 30))
def test_a_restart_in_between_changes_nothing(run: list[tuple[Moment, list[Signal], timedelta]], cut: int) -> None:
    whole = course(run)
    kept = Breaker.model_validate_json(whole[min(cut, len(run))].model_dump_json())
    now = NOW + sum((gap for _, _, gap in run[:cut]), timedelta())
    for seen, signals, gap in run[cut:]:
        now += gap
        kept = breaker_after(kept, seen, signals, now, CONFIG)
    assert kept == whole[-1]


@given(st.text(max_size=2000), st.integers(0, 10**9))
def test_its_reason_is_one_bounded_line(message: str, idle: int) -> None:
    signal = Signal(rule="same_error", severity=Severity.REDIRECT, message=message)
    found = breaker_after(Breaker(idle=idle), moment(Movement.STILL), [signal], NOW, CONFIG)
    assert len(found.reason) < 400
    assert found.reason.isprintable()
