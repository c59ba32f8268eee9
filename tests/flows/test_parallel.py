"""Groups of loops on a real engine: each in a process of its own, one budget, one that is kept, and an end for all of them."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.sorting import ArtifactSort

from deployments.answer import cancel_loop
from deployments.group import parallel
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import known_state
from tasks.system.lock import process_of
from tests.fakes.processes import eventually
from tests.fakes.repositories import commit, sh
from tests.fakes.scripted_agent import PROMISE, calls_made, says, scripted_agent

pytestmark = [pytest.mark.feature("M5"), pytest.mark.timeout(400)]

NUMBER = 'n=$(basename "$PWD" | grep -o "[0-9]*$")\n'
KEEP = "git add --all; git -c user.name=A -c user.email=a@localhost commit --quiet --message"


@pytest.fixture
def group(engine_url: str, repository: Path, tmp_path: Path) -> Callable[..., int]:
    """Drive the group `num` with agents that all run this shell text, in which `$n` is the number of the loop."""
    assert engine_url

    def run(shell: str, *settings: str, goals: Sequence[str] = (), cost: float = 0.01, **said: object) -> int:
        agent = scripted_agent(tmp_path / "agent", [says(PROMISE, shell=NUMBER + shell, cost=cost)])
        how = (f"claude.binary={agent}", "claude.permission_mode=acceptEdits", "steering.hooks=false")
        quickly = ("limits.iterations=2",)
        given = (*how, *quickly, *settings)
        return parallel(repository, yes=True, as_json=True, goals=goals, name="num", settings=given, **said)

    return run


def states(repository: Path, count: int, name: str = "num-") -> list[LoopState | None]:
    return [known_state(open_repository(repository), f"{name}{number}") for number in range(1, count + 1)]


def outcomes(repository: Path, count: int) -> list[Outcome | None]:
    return [state.outcome if state else None for state in states(repository, count)]


@pytest.mark.slow
@pytest.mark.feature("E3", "E6")
def test_a_loop_that_fails_and_one_whose_process_is_killed_stop_no_other_and_all_share_one_budget(
    group: Callable[..., int], repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    wait = f"touch {tmp_path}/at-work-$n; test $n != 1 || while test -e {hold}; do sleep 0.1; done; "
    shell = f"{wait}test $n = 2 || {{ touch made-$n; {KEEP} made; }}"
    checks = ("ls made-*",)  # of any number: it runs in a clean checkout, which is not named after the loop
    killer = threading.Thread(target=_kill_the_driver, args=(repository, "num-1", tmp_path / "at-work-1", hold))
    killer.start()
    status = group(shell, "limits.cost_usd=0.9", goals=("one", "two", "three"), checks=checks, workers=2, cost=0.02)
    killer.join()
    first, second, third = (state for state in states(repository, 3) if state)
    assert [one.outcome for one in (first, second, third)] == [Outcome.COMPLETED, Outcome.STOPPED, Outcome.COMPLETED]
    assert status == 3
    files = [sh(repository, "ls-tree", "--name-only", f"helmsman/num-{number}").split() for number in (1, 2, 3)]
    assert [[name for name in there if name.startswith("made-")] for there in files] == [["made-1"], [], ["made-3"]]
    assert first.spending.agent_calls == 2  # the one that was cut off, and the one after it
    assert [one.config.limits.cost_usd for one in (first, second)] == pytest.approx([0.3, 0.3])
    assert (third.config.limits.cost_usd or 0) > 0.3  # what another had left over
    assert '"completed":2' in capsys.readouterr().out
    page = page_of_the_group()
    assert all(f"num-{number}" in page for number in (1, 2, 3))


def page_of_the_group() -> str:
    """What the run of the group shows."""
    with get_client(sync_client=True) as client:
        wanted = ArtifactFilter(key=ArtifactFilterKey(any_=["loops-num"]))
        newest, *_ = client.read_artifacts(artifact_filter=wanted, sort=ArtifactSort.CREATED_DESC)
    return str(newest.data)


@pytest.mark.slow
def test_the_best_of_several_is_chosen_and_only_that_one_is_merged(
    group: Callable[..., int], repository: Path, tmp_path: Path
) -> None:
    longer = f'for line in $(seq "$(((5 - n) * 2))"); do echo "$line"; done > answer-file; echo 42 > answer; {KEEP} "try $n"'
    asked = {"goals": ("make it so",), "best_of": 3, "checks": ("sh check.sh",), "merge": "main", "workers": 3}
    assert group(longer, **asked) == 0
    assert outcomes(repository, 3) == [Outcome.COMPLETED] * 3
    assert [bool(state and state.merged) for state in states(repository, 3)] == [False, False, True]
    assert sh(repository, "show", "main:answer") == "42"
    assert len(sh(repository, "show", "main:answer-file").splitlines()) == 4
    approaches = [state.config.prompt.approach for state in states(repository, 3) if state]
    assert len(set(approaches)) == 3
    made = calls_made(tmp_path / "agent")
    assert group(longer, **asked) == 0
    assert calls_made(tmp_path / "agent") == made  # what is chosen stays so


PLAN = """\
[[item]]
id = "T1"
title = "There is one"
check = "test -e made-1"
parallel = true

[[item]]
id = "T2"
title = "There is two"
check = "test -e made-2"
parallel = true

[[item]]
id = "T3"
title = "Both are there"
check = "test -e made-3"
needs = ["T1", "T2"]
"""


@pytest.mark.slow
@pytest.mark.feature("M8")
def test_the_items_of_a_plan_are_done_side_by_side_after_those_that_they_need_and_ticked_on_the_branch(
    group: Callable[..., int], repository: Path
) -> None:
    commit(repository, "plan", {"plan.toml": PLAN})
    needed = "test $n != 3 || test -e made-1 -a -e made-2 || exit 7"
    assert group(f"{needed}; touch made-$n; {KEEP} made-$n", checks=("true",), plan="plan.toml", merge="main", workers=3) == 0
    assert [state.outcome for state in states(repository, 3, "num-t") if state] == [Outcome.COMPLETED] * 3
    assert {"made-1", "made-2", "made-3"} <= set(sh(repository, "ls-tree", "--name-only", "main").split())
    assert sh(repository, "show", "main:plan.toml").count("done = true") == 3
    assert sh(repository, "log", "-1", "--format=%s", "main") == "Merge helmsman/num-t3: T3: Both are there"


def _kill_the_driver(repository: Path, loop: str, at_work: Path, hold: Path) -> None:
    eventually(at_work.exists, 120)
    driver = process_of(loop_folder(open_repository(repository), loop).lock)
    if driver is not None:
        driver.send_signal(signal.SIGKILL)
    at_work.unlink()
    eventually(at_work.exists, 120)
    hold.unlink()


@pytest.mark.slow
@pytest.mark.feature("E5")
def test_cancelling_a_group_stops_its_loops_and_the_same_command_resumes_them(
    group: Callable[..., int], repository: Path, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    shell = f"touch {tmp_path}/at-work-$n; while test -e {hold}; do sleep 0.1; done; touch made-$n; {KEEP} made"
    goals, checks = ("one", "two"), ("ls made-*",)
    cancel = threading.Thread(target=_cancel, args=(repository, [tmp_path / "at-work-1", tmp_path / "at-work-2"]))
    cancel.start()
    assert group(shell, goals=goals, checks=checks, workers=2) == 130
    cancel.join()
    assert outcomes(repository, 2) == [Outcome.CANCELLED] * 2
    assert [one for one in psutil.process_iter() if _works_in(one, tmp_path)] == []
    hold.unlink()
    assert group(shell, goals=goals, checks=checks, workers=2) == 0
    assert outcomes(repository, 2) == [Outcome.COMPLETED] * 2


def _cancel(repository: Path, at_work: Sequence[Path]) -> None:
    eventually(lambda: all(path.exists() for path in at_work), 120)
    cancel_loop(repository, "num", as_json=True)


def _works_in(process: psutil.Process, folder: Path) -> bool:
    """Whether it is at work there. The command that drives the group, which is this process, may still read objects of git."""
    try:
        reads = process.ppid() == os.getpid() and "cat-file" in process.cmdline()
        return process.pid != os.getpid() and not reads and process.cwd().startswith(str(folder))
    except psutil.Error:
        return False
