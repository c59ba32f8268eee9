"""The loop's state on its ref: one writer wins each step, a killed one breaks nothing, and any clone can go on."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helmsman.errors import OperatorError, TransientError
from helmsman.records.state import LoopState
from tasks.repository.git import HARDENED, Repository, git, open_repository, read_ref
from tasks.repository.state_ref import (
    STALE_LOCK_SECONDS,
    Fenced,
    free_ref,
    list_loops,
    loop_names,
    read_records,
    read_state,
    replace_state,
    state_ref,
    write_state,
)
from tests.fakes.repositories import LOOP, loop_state, make_repository, record_of, sh

pytestmark = pytest.mark.feature("E3")

REF = state_ref(LOOP)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return open_repository(make_repository(tmp_path / "top"))


@pytest.fixture
def state(repository: Repository) -> LoopState:
    return loop_state(sh(repository.top, "rev-parse", "HEAD"))


def at(state: LoopState, iteration: int, by: str = "") -> LoopState:
    return state.model_copy(update={"iteration": iteration, "base_branch": by})


def write(repository: Repository, state: LoopState, over: str | None) -> str:
    record = record_of(state, state.iteration) if state.iteration else None
    return write_state(repository, state, over=over, record=record, subject=f"iteration {state.iteration}")


def chain(repository: Repository) -> list[str]:
    return sh(repository.top, "rev-list", REF).split()


def sound(repository: Repository) -> bool:
    return sh(repository.top, "fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_what_was_written_is_read_back_with_the_commit_that_holds_it(repository: Repository, state: LoopState) -> None:
    first = write(repository, state, None)
    second = write(repository, at(state, 1), first)
    assert read_state(repository, LOOP) == (at(state, 1), second)
    assert chain(repository) == [second, first]
    assert sh(repository.top, "status", "--porcelain", "--ignored") == ""
    assert sound(repository)


def test_a_loop_that_is_not_there_is_refused_with_the_names_of_those_that_are(repository: Repository, state: LoopState) -> None:
    with pytest.raises(OperatorError, match="none was started here yet"):
        read_state(repository, "nonesuch")
    write(repository, state, None)
    with pytest.raises(OperatorError, match=f"one of: {LOOP}"):
        read_state(repository, "nonesuch")


def test_loops_are_listed_most_recently_changed_first(repository: Repository, state: LoopState) -> None:
    for number, name in enumerate(("old", "new", "middle")):
        moment = state.updated_at.replace(minute=(0, 20, 10)[number])
        write(repository, state.model_copy(update={"loop": name, "updated_at": moment}), None)
    sh(repository.top, "update-ref", free_ref(repository, "new", "salvage", "1-1"), "HEAD")
    assert loop_names(repository) == ["new", "middle", "old"]
    assert [one.state.loop for one in list_loops(repository)] == ["new", "middle", "old"]


def test_records_are_read_newest_first_across_states_that_have_none(repository: Repository, state: LoopState) -> None:
    commit_id = write(repository, state, None)
    for number in (1, 2, 3):
        commit_id = write(repository, at(state, number), commit_id)
        interrupted = at(state, number, "interrupted")
        commit_id = write_state(repository, interrupted, over=commit_id, record=None, subject="interrupted")
    assert [record.iteration for record in read_records(repository, LOOP)] == [3, 2, 1]


def put_state(repository: Repository, text: str, ref: str = REF) -> str:
    """As another version of Helmsman might have written it. Returns the commit."""
    blob = git(repository.top, "hash-object", "-w", "--stdin", stdin=text.encode()).strip()
    tree = git(repository.top, "mktree", stdin=f"100644 blob {blob}\tstate.json\n".encode()).strip()
    commit = sh(repository.top, "commit-tree", tree, "-m", "by another version")
    sh(repository.top, "update-ref", ref, commit)
    return commit


@pytest.mark.feature("X4")
def test_a_state_of_a_newer_version_is_refused_with_the_remedy_and_stays(repository: Repository, state: LoopState) -> None:
    newer = put_state(repository, json.dumps({**state.model_dump(mode="json"), "schema_version": 2, "config": {"new": 1}}))
    with pytest.raises(OperatorError) as caught:
        read_state(repository, LOOP)
    assert caught.value.problem == f"the state of loop {LOOP} was written by a newer version of Helmsman"
    assert (caught.value.expected, caught.value.found) == ("schema version 1", "schema version 2")
    assert caught.value.remedy == "upgrade Helmsman; nothing was changed"
    assert read_ref(repository.common, REF) == newer


@pytest.mark.feature("X4")
@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"schema_version": 1e400}', "[" * 10**5, '{"loop": "\x00"}'],
)
def test_a_state_that_is_damaged_is_an_error_with_the_place_to_look_at(repository: Repository, text: str) -> None:
    put_state(repository, text)
    with pytest.raises(OperatorError) as caught:
        read_state(repository, LOOP)
    assert f"git show {REF}:state.json" in caught.value.remedy
    assert len(str(caught.value)) < 1000


@pytest.mark.feature("X4")
def test_a_loop_that_cannot_be_read_hides_none_of_the_others(repository: Repository, state: LoopState) -> None:
    write(repository, state, None)
    put_state(repository, '{"schema_version": 99}', state_ref("of-tomorrow"))
    told: list[OperatorError] = []
    assert [one.state.loop for one in list_loops(repository, told.append)] == [LOOP]
    assert [one.problem for one in told] == ["the state of loop of-tomorrow was written by a newer version of Helmsman"]


@pytest.mark.feature("X4")
def test_a_record_that_cannot_be_read_is_an_error_with_the_place_to_look_at(repository: Repository, state: LoopState) -> None:
    blob = git(repository.top, "hash-object", "-w", "--stdin", stdin=b'{"loop": "x"').strip()
    tree = git(repository.top, "mktree", stdin=f"100644 blob {blob}\trecord.json\n".encode()).strip()
    commit = sh(repository.top, "commit-tree", tree, "-m", "damaged")
    sh(repository.top, "update-ref", REF, commit)
    with pytest.raises(OperatorError, match="a record of loop") as caught:
        list(read_records(repository, LOOP))
    assert f"git show {commit}:record.json" in caught.value.remedy


def test_going_to_a_state_that_is_stored_already_writes_nothing(repository: Repository, state: LoopState) -> None:
    write(repository, state, None)
    for _ in range(3):
        replace_state(repository, state, at(state, 1), "iteration 1", record_of(state, 1))
    assert len(chain(repository)) == 2


def test_a_writer_that_read_an_old_state_is_fenced(repository: Repository, state: LoopState) -> None:
    first = write(repository, state, None)
    second = write(repository, at(state, 1), first)
    for over in (first, None):
        with pytest.raises(Fenced) as caught:
            write(repository, at(state, 1, "late"), over)
        assert caught.value.found == second
    with pytest.raises(Fenced):
        replace_state(repository, state, at(state, 2), "iteration 2")
    assert chain(repository) == [second, first]


def test_a_loop_whose_ref_was_deleted_is_not_silently_restarted(repository: Repository, state: LoopState) -> None:
    first = write(repository, state, None)
    second = write(repository, at(state, 1), first)
    sh(repository.top, "update-ref", "-d", REF)
    with pytest.raises(OperatorError):
        replace_state(repository, at(state, 1), at(state, 2), "iteration 2")
    sh(repository.top, "update-ref", REF, second)
    assert replace_state(repository, at(state, 1), at(state, 2), "iteration 2") == at(state, 2)


WRITER = """
import sys
from pathlib import Path
from tasks.repository.git import open_repository
from tasks.repository.state_ref import Fenced, read_state, write_state
from tests.fakes.repositories import record_of
repository, by = open_repository(Path(sys.argv[1])), sys.argv[2]
while True:
    state, commit = read_state(repository, "the-loop")
    if state.iteration >= int(sys.argv[3]):
        break
    after = state.model_copy(update={"iteration": state.iteration + 1, "base_branch": by})
    try:
        write_state(repository, after, over=commit, record=record_of(after, after.iteration), subject=by)
    except Fenced:
        continue
    print(after.iteration, flush=True)
"""


def writer(repository: Repository, by: str, until: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(repository.top), by, str(until)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_processes_that_write_side_by_side_never_lose_a_record(repository: Repository, state: LoopState) -> None:
    write(repository, state, None)
    running = [writer(repository, by, 24) for by in ("a", "b", "c")]
    claimed = [int(line) for process in running for line in process.communicate(timeout=100)[0].split()]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sorted(claimed) == list(range(1, 25))
    assert len(chain(repository)) == 25
    assert [record.iteration for record in read_records(repository, LOOP)] == list(range(24, 0, -1))


def test_a_writer_killed_at_any_moment_leaves_the_old_state_or_the_new_one(repository: Repository, state: LoopState) -> None:
    write(repository, state, None)
    for _ in range(5):
        process = writer(repository, "killed", 10**6)
        assert process.stdout
        with process.stdout as lines:
            seen = int(lines.readline())
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (repository.common / f"{REF}.lock").unlink(missing_ok=True)
        stored, last = read_state(repository, LOOP)
        assert stored.iteration >= seen
        assert len(chain(repository)) == stored.iteration + 1
        write(repository, at(state, stored.iteration + 1, "after"), last)
    assert sound(repository)


def test_the_lock_of_a_writer_that_was_killed_is_broken_when_it_is_old_and_only_then(
    repository: Repository, state: LoopState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.repository.git.HARDENED", (*HARDENED, "core.filesRefLockTimeout=100"))  # git waits for 5 s
    first = write(repository, state, None)
    lock = repository.common / f"{REF}.lock"
    lock.touch()
    with pytest.raises(TransientError, match="lock"):
        write(repository, at(state, 1), first)
    long_ago = lock.stat().st_mtime - STALE_LOCK_SECONDS - 1
    os.utime(lock, (long_ago, long_ago))
    assert read_state(repository, LOOP)[1] == first
    assert write(repository, at(state, 1), first) == chain(repository)[0]


@pytest.mark.feature("X3")
def test_a_goal_full_of_commands_for_the_importer_is_only_text(repository: Repository, state: LoopState) -> None:
    subject = "start\ndata 3\nreset refs/heads/main\n\x00 from \udcff"
    config = state.config.model_copy(update={"goal": "x\nreset refs/heads/main\ndone\n'\"\x00é"})
    hostile = state.model_copy(update={"config": config})
    main = read_ref(repository.common, "refs/heads/main")
    write_state(repository, hostile, over=None, record=None, subject=subject)
    assert read_state(repository, LOOP)[0] == hostile
    assert read_ref(repository.common, "refs/heads/main") == main
    assert sh(repository.top, "log", "--format=%s", REF).startswith("start data 3 reset")
