"""The overseer as a whole: what it carries over, and how it survives failing parts."""

from typing import Any

import pytest

from helmsman.oversee.decide import Situation, decide
from helmsman.oversee.oversee import Observations, oversee
from helmsman.records.advance import advance, record_of, with_consequences
from helmsman.records.agent import Change, Execution
from helmsman.records.checks import Finding, Leak, TestCounts, Weight
from helmsman.records.control import EscalationLevel, Ladder, LevelChange, Movement, Oversight, RolledBack
from helmsman.records.decision import Decision
from helmsman.records.iteration import WorkingMemory
from helmsman.records.state import LoopState
from tests.unit.builders import HOUR, MINUTE, NOW, call, check, config, iteration_view, orientation, report, state, usage_limited

LEAK = Leak(path="a.py", line=3, kind="AWS Access Key", digest="abcdef", weight=Weight.BLOCK)
GAMED = Finding(rule="tests.deleted", weight=Weight.BLOCK, path="t.py", message="test_a was deleted", honest="keep it")


def execution_of(number: int, *, tree: str = "", files: int = 1, begun: int = 0) -> Execution:
    """An iteration that made a tree of its own, on top of the one before or of another one."""
    commit, start = f"{number:040x}", f"{begun or number - 1:040x}" if number > 1 else "b" * 40
    names = tuple(f"f{one}.py" for one in range(files))
    change = Change(start=start, commit=commit, tree=tree or commit, files=names, files_changed=files)
    return Execution(call=call(), change=change)


def report_of(passed: int, failed: int) -> Any:
    counts = TestCounts(passed=passed, failed=failed, failing=tuple(f"test_{one}" for one in range(failed)))
    output = "\n".join(f"FAILED tests/test_a.py::test_{one} - assert 1 == 2" for one in range(failed))
    return report(check(passed=not failed, counts=counts, head=output))


def next_state(before: LoopState, observed: Observations | None = None, **fields: Any) -> tuple[LoopState, Decision]:
    """One iteration from evidence to the next state, an hour after the one before."""
    now = before.updated_at + HOUR
    seen = iteration_view(state=before, started_at=now - MINUTE, now=now, **fields)
    overseen = oversee(seen, observed or Observations())
    decision = decide(Situation(before, seen.evidence, overseen.signals, now, overseen.oversight))
    begun = orientation(started_at=now - MINUTE)
    return advance(before, record_of(before, begun, seen.evidence, overseen, decision)), decision


@pytest.mark.feature("S4", "S7", "S8", "S18")
def test_an_agent_without_progress_is_redirected_and_reaches_a_person() -> None:
    now, rungs = state(), list[EscalationLevel]()
    for number in range(1, 16):
        now, decision = next_state(now, execution=execution_of(number), checks=report_of(3, 2))
        rungs.append(now.oversight.ladder.rung)
        if decision.kind == "stop":
            break
    assert now.ending
    assert now.ending.rule == "ladder.human"
    assert rungs == sorted(rungs)
    assert set(EscalationLevel) - {EscalationLevel.EJECT} == set(rungs)
    assert now.iteration <= 12  # it tries new things all the while
    assert len(now.history) == now.iteration


def test_a_wait_for_a_limit_leaves_everything_as_it_was() -> None:
    before, _ = next_state(state(), execution=execution_of(1), checks=report_of(3, 2))
    waited = oversee(
        iteration_view(state=before, execution=Execution(call=usage_limited(), change=execution_of(1).change), checks=None),
        Observations(),
    )
    assert waited.oversight == before.oversight
    assert waited.moment is None


@pytest.mark.feature("S17")
def test_the_best_commit_is_the_latest_best_without_findings_or_critical_events() -> None:
    now, _ = next_state(state(), execution=execution_of(1), checks=report_of(3, 2))
    now, _ = next_state(now, execution=execution_of(2), checks=report_of(3, 2))
    assert now.oversight.best
    assert now.oversight.best.iteration == 2
    worse, _ = next_state(now, execution=execution_of(3), checks=report_of(1, 4))
    gamed, _ = next_state(now, execution=execution_of(3), checks=report_of(5, 0), findings=(GAMED,))
    hurts, _ = next_state(now, Observations(leaks=(LEAK,)), execution=execution_of(3), checks=report_of(5, 0))
    for after in (worse, gamed, hurts):
        assert after.oversight.best
        assert after.oversight.best.iteration == 2
        assert after.best_checks == now.checks


@pytest.mark.feature("S13", "S8")
def test_a_secret_ejects_at_once_and_the_branch_returns_to_where_it_was_best() -> None:
    now, _ = next_state(state(), execution=execution_of(1), checks=report_of(3, 2))
    after, decision = next_state(now, Observations(leaks=(LEAK,)), execution=execution_of(2), checks=report_of(5, 0))
    assert (after.oversight.ladder.rung, decision.rule) == (EscalationLevel.EJECT, "pain.secret")
    assert decision.back_to == f"{1:040x}"


def unreadable(_path: str) -> bool:
    raise OSError("the disk is gone")


BROKEN: dict[str, Any] = {
    "double bind": {"orders": (None,)},
    "pain": {"leaks": (None,)},
    "oversight": {"variety": "no counts"},
    "divergence": {"exists": unreadable, "memory": WorkingMemory(remaining_gap="mend `src/api.py` and `src/cli.py`")},
}


@pytest.mark.feature("S6")
def test_a_part_that_breaks_is_named_and_replaced_by_its_default() -> None:
    for part, broken in BROKEN.items():
        now = state(config(ladder={"act": False}))
        for number in range(1, 7):
            now, decision = next_state(now, Observations(**broken), execution=execution_of(number), checks=report_of(3, 7))
            assert decision.kind == "continue"
        assert any(fault.startswith(part) for fault in now.oversight.faults), now.oversight.faults


@pytest.mark.feature("S6")
def test_a_fault_is_warned_of_once_and_stays_on_record_while_it_is_there() -> None:
    now, told = state(), list[list[str]]()
    for number in range(1, 4):
        seen = iteration_view(state=now, execution=execution_of(number), checks=report_of(number, 5))
        found = oversee(seen, Observations(faults=("security scan: it told nothing",)))
        told.append([signal.message for signal in found.signals if signal.rule == "oversight.fault"])
        now = now.model_copy(update={"oversight": found.oversight})
    assert [len(messages) for messages in told] == [1, 0, 0]
    assert "security scan: it told nothing" in told[0][0]
    assert now.oversight.faults == ("security scan: it told nothing",)


@pytest.mark.feature("S17")
def test_after_work_was_taken_back_the_loop_goes_on_from_where_it_was_best() -> None:
    now = state()
    for number, passed in enumerate((2, 4, 3), 1):
        now, _ = next_state(now, execution=execution_of(number), checks=report_of(passed, 5 - passed))
    moment, seen = now.updated_at + HOUR, {"execution": execution_of(4), "checks": report_of(1, 9), "findings": (GAMED,)}
    looked = iteration_view(state=now, started_at=moment - MINUTE, now=moment, **seen)
    overseen = oversee(looked, Observations())
    decision = decide(Situation(now, looked.evidence, overseen.signals, moment, overseen.oversight))
    failed = RolledBack(iteration=4, ref="refs/x", commit=f"{4:040x}", back_to=decision.back_to, rule="regressing", why="it fell")
    begun = orientation(started_at=moment - MINUTE)
    after = advance(now, with_consequences(record_of(now, begun, looked.evidence, overseen, decision), failed, None))
    assert after.head == f"{2:040x}"
    assert [one.undone for one in after.history] == [False, False, True, True]
    assert (after.checks, after.findings) == (report_of(4, 1), ())
    assert after.most_tests == {"pytest": 5}  # not 10: five of them are gone with the work
    assert after.oversight.strategy.stance == "pivot"
    assert after.oversight.instructions == ()
    again, decision = next_state(after, execution=execution_of(5, begun=2), checks=report_of(3, 2))
    assert again.history[-1].movement is Movement.BACK
    assert decision.back_to == ""
    _, decision = next_state(again, execution=execution_of(6, begun=5), checks=report_of(2, 3))
    assert decision.back_to == f"{2:040x}"  # two falls again, counted anew


@pytest.mark.feature("S13", "E7")
def test_a_secret_in_work_that_a_usage_limit_cut_off_is_seen() -> None:
    cut_off = Execution(call=usage_limited(), change=execution_of(1).change)
    _, decision = next_state(state(), Observations(leaks=(LEAK,)), execution=cut_off, checks=None)
    assert decision.rule == "pain.secret"


@pytest.mark.feature("S8", "S13")
def test_a_critical_event_after_the_ladder_reached_a_person_ejects() -> None:
    """Where the ladder is only watched, the loop goes on from E-III by itself."""
    up = LevelChange(iteration=4, before=EscalationLevel.HUMAN, after=EscalationLevel.EJECT, reason="pain.secret: a key", at=NOW)
    watched = state(config(ladder={"act": False}), oversight=Oversight(ladder=Ladder(rung=EscalationLevel.EJECT, climbs=(up,))))
    for number in range(1, 5):
        watched, _ = next_state(watched, execution=execution_of(number), checks=report_of(3, 2))
    found = oversee(iteration_view(state=watched, execution=execution_of(5), checks=report_of(3, 2)), Observations())
    assert any(signal.rule == "same_error" for signal in found.signals)
