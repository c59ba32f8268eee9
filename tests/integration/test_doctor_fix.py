"""`helmsman doctor --fix` on real damage: reported, fixed once, and fine the second time."""

import json
import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from prefect.logging import disable_run_logger

from deployments.doctor import collect_findings
from deployments.leftovers import Finding
from helmsman.records.decision import Outcome
from helmsman.records.gates import Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.records.tracking import IssueLink
from tasks.checks.targets import clean_checkout
from tasks.loop.run import tidy
from tasks.repository.clean_checkout import loop_checkouts
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import is_finished, is_marked_finished, loop_context, loop_folder, mark_finished, worktree_of
from tasks.repository.state_ref import state_ref, write_state
from tasks.system.lock import exclusive_driver
from tasks.system.process import TAG, run
from tests.fakes.command_line import offline_command_line
from tests.fakes.repositories import make_repository
from tests.integration.test_call_kept import open_file_limit
from tests.unit import builders

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Scene:
    repository: Path

    def loop(self, name: str = "mend-it", **fields: Any) -> LoopState:
        head = git(self.repository, "rev-parse", "HEAD").strip()
        own = {"loop": name, "uid": f"uid-{name}", "branch": f"helmsman/{name}", "head": head, "base_commit": head}
        state = builders.state(**own, **fields)
        write_state(open_repository(self.repository), state, over=None, record=None, subject="begin")
        return state

    def newer(self, name: str) -> None:
        """A loop whose state this version cannot read."""
        blob = git(self.repository, "hash-object", "-w", "--stdin", stdin=b'{"schema_version": 99}').strip()
        tree = git(self.repository, "mktree", stdin=f"100644 blob {blob}\tstate.json\n".encode()).strip()
        git(self.repository, "update-ref", state_ref(name), git(self.repository, "commit-tree", tree, "-m", "newer").strip())

    def completed(self, name: str = "mend-it", *, left: bool = True, **fields: Any) -> LoopState:
        """One that has ended just now."""
        ending = builders.STOP.model_copy(update={"at": datetime.now(UTC), "outcome": Outcome.COMPLETED})
        state = self.loop(name, ending=ending, **fields)
        if left:
            mark_finished(loop_context(str(self.repository), state), state)
        return state

    def worktree(self, state: LoopState) -> Path:
        """Its worktree, in which nobody has done anything since: a minute is the loop's own."""
        path = worktree_of(open_repository(self.repository), state.loop, state.config.workspace)
        git(self.repository, "worktree", "add", "--quiet", "-B", state.branch, str(path))
        return path

    def doctor(self, what: str, *, fix: bool = False) -> tuple[Finding, str]:
        ((finding, fixed),) = collect_findings([what], self.repository, fix=fix)
        return finding, fixed


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    make_repository(tmp_path / "repository", {})
    for name in ("HELMSMAN_HOME", "PREFECT_HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return Scene(tmp_path / "repository")


def assert_fixed(scene: Scene, what: str, words: str) -> None:
    """The problem is reported and left alone; then fixed; then absent."""
    for _ in range(2):
        seen, _ = scene.doctor(what)
        assert (seen.verdict != "ok", seen.fix is not None, "--fix" in seen.remedy) == (True, True, True), seen
    after, fixed = scene.doctor(what, fix=True)
    assert words in fixed
    assert (after.verdict, after.fix) == ("ok", None), after
    again, fixed = scene.doctor(what, fix=True)
    assert (again.verdict, fixed) == ("ok", ""), again


@pytest.mark.feature("H4")
def test_processes_of_a_dead_driver_are_ended_and_those_of_a_running_one_are_not(scene: Scene) -> None:
    dead, living = scene.loop("dead"), scene.loop("living")
    left, own = (subprocess.Popen(["sleep", "300"], env={**os.environ, TAG: f"{state.uid}/3-1"}) for state in (dead, living))
    try:
        with exclusive_driver(loop_folder(open_repository(scene.repository), "living").lock, "living"):
            assert_fixed(scene, "processes", "ended 1")
            assert (left.wait(5) < 0, own.poll()) == (True, None)
    finally:
        for process in (left, own):
            process.kill()
            process.wait()


def test_processes_of_another_clones_driver_are_not_ended(scene: Scene) -> None:
    state, stop = scene.loop("shared"), threading.Event()
    started: Queue[int] = Queue()
    how: dict[str, Any] = {"env": dict(os.environ), "tag": f"{state.uid}/1-1", "deadline": 60, "stop": stop.is_set}
    with ThreadPoolExecutor() as other:  # its lock lies in the other clone; all that is seen here is what it started
        agent = other.submit(run, ["sleep", "300"], cwd=scene.repository.parent, on_start=started.put, **how)
        try:
            started.get(timeout=30)
            finding, fixed = scene.doctor("processes", fix=True)
            assert (finding.verdict, finding.fix, fixed, agent.done()) == ("ok", None, "", False), finding
        finally:
            stop.set()
    assert agent.result().by == "stop"


def test_a_loop_that_is_resumed_between_check_and_fix_is_not_touched(scene: Scene) -> None:
    state = scene.loop("resumed")
    with subprocess.Popen(["sleep", "300"], env={**os.environ, TAG: f"{state.uid}/3-1"}) as own:
        try:
            seen, _ = scene.doctor("processes")
            assert seen.fix is not None
            with exclusive_driver(loop_folder(open_repository(scene.repository), "resumed").lock, "resumed"):
                assert (seen.fix(), own.poll()) == ("ended 0", None)
        finally:
            own.kill()


@pytest.mark.feature("H4")
def test_the_worktree_of_a_completed_loop_is_reported_with_the_command_that_removes_it(scene: Scene) -> None:
    path = scene.worktree(scene.completed())
    finding, fixed = scene.doctor("worktrees", fix=True)
    assert (finding.verdict, finding.fix, fixed, path.exists()) == ("warn", None, "", True)
    command, _, _ = finding.remedy.partition(";")
    subprocess.run(command.split(), cwd=scene.repository, check=True)
    assert scene.doctor("worktrees")[0].verdict == "ok"
    assert git(scene.repository, "rev-parse", "helmsman/mend-it")


OWED: dict[str, dict[str, Any]] = {
    "not merged": {"config": builders.config(merge={"into": "main"})},
    "asks": {"gate": Gate(kind=GateKind.LEARNINGS, key="1", question="May it?", asked_at=builders.NOW)},
    "without its pull request": {"issue": IssueLink(repository="them/it", number=7)},
    "cut off before it left": {"left": False},
}


@pytest.mark.feature("H4")
@pytest.mark.parametrize("owed", OWED)
def test_a_completed_loop_killed_before_its_last_steps_is_reported_and_keeps_its_worktree(scene: Scene, owed: str) -> None:
    state = scene.completed(**OWED[owed])
    path = scene.worktree(state)
    finding, fixed = scene.doctor("loops", fix=True)
    assert (finding.verdict, "interrupted before its last steps" in finding.found, fixed) == ("warn", True, ""), finding
    assert finding.remedy.endswith("helmsman resume mend-it")
    assert scene.doctor("worktrees")[0].verdict == "ok"
    assert (path.exists(), is_finished(str(scene.repository), state)) == (True, False)


def test_a_worktree_that_stays_because_git_could_not_be_started_ends_no_completed_loop(scene: Scene) -> None:
    """As on a machine where too much else is open; the mark before it needs less room than git."""
    state = scene.completed(left=False)
    path, place = scene.worktree(state), loop_context(str(scene.repository), state)
    with open_file_limit(3), disable_run_logger():  # no flow run is there to log to
        tidy(place, state)
    assert (path.exists(), is_marked_finished(place, state)) == (True, True)
    assert str(path) in scene.doctor("worktrees")[0].found


@pytest.mark.feature("E3")
def test_what_a_person_edits_in_a_completed_loops_worktree_is_kept_when_it_is_removed(scene: Scene) -> None:
    state = scene.completed(left=False)
    path, place = scene.worktree(state), loop_context(str(scene.repository), state)
    (path / "notes.txt").write_text("mine\n")
    with disable_run_logger():
        tidy(place, state)
    refs = git(scene.repository, "for-each-ref", "--format=%(refname)", f"refs/helmsman/{state.loop}/salvage/").split()
    assert (path.exists(), [git(scene.repository, "show", f"{ref}:notes.txt") for ref in refs]) == (False, ["mine\n"])
    assert git(scene.repository, "rev-parse", state.branch).strip() == state.head


def test_an_interrupted_loop_is_reported_with_the_resume_command(scene: Scene) -> None:
    scene.loop("half-done")
    finding, fixed = scene.doctor("loops", fix=True)
    assert (finding.verdict, fixed) == ("warn", "")
    assert "helmsman resume half-done" in finding.remedy


@pytest.mark.feature("H4")
def test_clean_checkouts_of_loops_that_are_over_or_gone_are_removed_and_others_are_kept(scene: Scene) -> None:
    repository = open_repository(scene.repository)
    gone, over, going = scene.loop("gone"), scene.completed("over"), scene.loop("going")
    made = {state.loop: clean_checkout(loop_context(str(scene.repository), state), state) for state in (gone, over, going)}
    for checkout in made.values():
        checkout.begin()
    git(scene.repository, "update-ref", "-d", state_ref("gone"))
    assert_fixed(scene, "checkouts", str(made["gone"].folder))
    shutil.copytree(made["going"].folder, made["going"].folder.with_name("newer"))
    scene.newer("newer")
    scene.doctor("checkouts", fix=True)
    assert {path.name for path in loop_checkouts(repository)} == {"going", "newer"}
    assert made["going"].store.folder.is_dir()


def test_an_unreadable_loop_is_reported_and_hides_no_other(scene: Scene) -> None:
    path = scene.worktree(scene.completed())
    scene.newer("of-tomorrow")
    finding, fixed = scene.doctor("loops", fix=True)
    assert (finding.verdict, "loop of-tomorrow was written by a newer version" in finding.found) == ("warn", True), finding
    assert finding.remedy.startswith("upgrade Helmsman")
    assert (fixed, path.exists()) == ("", True)
    assert scene.doctor("worktrees")[0].remedy.startswith(f"git worktree remove {path}")


def test_what_cannot_be_looked_at_is_told_and_hides_none_of_the_others(scene: Scene, tmp_path: Path) -> None:
    result = offline_command_line(tmp_path).run(
        "doctor", "--repo", scene.repository, "--json", HELMSMAN_HOME=str(tmp_path / ("x" * 300))
    )
    found = {one["what"]: one for one in json.loads(result.output)}
    assert (found["disk"]["verdict"], "not checked" in found["disk"]["found"]) == ("warn", True)
    assert {"python", "checkouts"} <= found.keys()


@pytest.mark.feature("H4")
def test_the_command_reports_its_fixes(scene: Scene, tmp_path: Path) -> None:
    state = scene.completed()
    checkout = clean_checkout(loop_context(str(scene.repository), state), state)
    checkout.begin()
    helmsman = offline_command_line(tmp_path, HELMSMAN_HOME=os.environ["HELMSMAN_HOME"])
    result = helmsman.run("doctor", "--fix", "--json", "--repo", scene.repository)
    found = {finding["what"]: finding for finding in json.loads(result.output)}
    assert (result.exit_code, found["checkouts"]["verdict"]) == (0, "ok")
    assert found["checkouts"]["fixed"] == f"removed {checkout.folder}"
