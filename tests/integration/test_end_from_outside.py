"""A driver that fails behind its last word, as when the remote refuses a push: what it wrote down counts, and is no lie."""

import os
import subprocess

import pytest
from prefect.logging import disable_run_logger

from helmsman.config import MergeConfig
from helmsman.errors import Cancelled, TransientError
from helmsman.records.advance import advance
from helmsman.records.decision import Decision, Outcome
from helmsman.records.events import Event, MemoryNoted
from helmsman.records.state import LoopState
from tasks.loop.recover import close_loop
from tasks.loop.run import end_from_outside
from tasks.repository.state_ref import Fenced, read_state, replace_state
from tasks.system.journal import listening
from tasks.system.process import TAG
from tests.fakes.repositories import LOOP, NOW, LoopWork, record_of

pytestmark = pytest.mark.feature("E3")

REFUSED = TransientError("the loop could not be pushed to remote origin", found="closed for the night")
DONE = Decision(kind="stop", rule="completion.verified", reason="done", at=NOW, outcome=Outcome.COMPLETED)


def recorded(work: LoopWork, before: LoopState, decision: Decision | None = None) -> LoopState:
    """One more iteration on the loop's ref, of which the driver never heard."""
    what = record_of(before, before.iteration + 1)
    what = what.model_copy(update={"decision": decision}) if decision else what
    return replace_state(work.repository, before, advance(before, what), "iteration", what)


def ended(work: LoopWork, before: LoopState, why: BaseException = REFUSED) -> LoopState:
    with disable_run_logger():  # no flow run is there to log to
        return end_from_outside(work.context, before, why)


def test_an_iteration_that_is_written_down_and_could_not_be_pushed_counts_and_the_world_is_to_blame(work: LoopWork) -> None:
    written = recorded(work, work.state)
    after = ended(work, work.state)
    assert after.ending is not None
    assert (after.iteration, after.spending, after.outcome) == (1, written.spending, Outcome.FAILED)
    assert (after.ending.rule, after.ending.fault) == ("error.world", "world")
    assert after.ending.reason.endswith(f"continue with: helmsman resume {LOOP}")


def test_a_loop_that_has_completed_stays_so_when_its_last_push_fails_and_that_is_told(work: LoopWork) -> None:
    told: list[Event] = []
    written = recorded(work, work.state, DONE)
    with listening(told.append):
        assert ended(work, work.state) == written
    assert [event.lines for event in told if isinstance(event, MemoryNoted)] == [(str(REFUSED),)]


def test_a_loop_that_is_proven_and_still_to_be_merged_is_not_called_done_when_a_push_fails(work: LoopWork) -> None:
    merging = work.state.config.model_copy(update={"merge": MergeConfig(into="main")})
    before = replace_state(work.repository, work.state, work.state.model_copy(update={"config": merging}), "merges")
    written = recorded(work, before, DONE)
    with pytest.raises(TransientError, match="could not be pushed"):
        ended(work, before)
    assert read_state(work.repository, LOOP)[0] == written


def test_a_cancel_counts_although_a_message_or_an_answer_was_read_after_it(work: LoopWork) -> None:
    """Whoever waits for an answer, or for a tracker, has not returned the loop as it wrote it down."""
    told = replace_state(work.repository, work.state, work.state.model_copy(update={"guidance": ("use the parser",)}), "told")
    after = ended(work, work.state, Cancelled("cancelled"))
    assert (after.outcome, after.guidance) == (Outcome.CANCELLED, told.guidance)


def test_processes_of_a_killed_driver_end_before_its_work_is_saved(work: LoopWork) -> None:
    """An event at an issue may end a loop within the grace that the processes of a dead driver have."""
    left = subprocess.Popen(["sleep", "60"], env={**os.environ, TAG: f"{work.state.uid}/1-1"}, start_new_session=True)
    assert close_loop(work.context, work.state, Cancelled("stop"), NOW).outcome is Outcome.CANCELLED
    assert left.wait(30) < 0


def test_what_another_driver_wrote_is_not_taken_for_our_own(work: LoopWork) -> None:
    theirs = recorded(work, work.state)
    with pytest.raises(Fenced):
        ended(work, work.state, Fenced("advanced by another process"))
    assert read_state(work.repository, LOOP)[0] == theirs


def test_an_os_error_without_a_disk_problem_is_raised_unchanged(work: LoopWork) -> None:
    with pytest.raises(FileNotFoundError):
        ended(work, work.state, FileNotFoundError("a bug"))
    with_disk_full = ended(work, work.state, OSError(28, "No space left on device", "x"))
    assert with_disk_full.ending is not None
    assert with_disk_full.ending.fault == "world"
