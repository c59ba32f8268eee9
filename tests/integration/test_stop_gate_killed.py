"""The gate before the agent's end, whose process is killed: whoever comes next undoes what the checks did to the agent's work."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from helmsman.config import WorkspaceConfig
from tasks.agents.call_folder import CallFolder, begin
from tasks.loops.opening import mark_interrupted
from tasks.places import worktree_of
from tasks.processes.process import end_tagged
from tasks.repository.git import open_repository
from tasks.worktrees.holding import finish_held
from tests.fakes.repositories import LOOP, Work
from tests.integration.held_work import littered, picture, staged, store_of
from tests.integration.processes import carriers, driver, eventually, own_tag

pytestmark = pytest.mark.feature("A4", "E3")

MESS = "git -c user.name=c -c user.email=c@c stash -q --include-untracked; echo junk > snap.txt; git add snap.txt"
GATE = """
from helmsman.config import LoopConfig
from tasks.session.stop_gate import Held, StopGate
config = LoopConfig.model_validate({{"goal": "make it work", "checks": [{check!r}]}})
StopGate(Held(Path({worktree!r}), Path({store!r})), tag, config).run(active=False, full=False)
"""
FINISH = """
from tasks.worktrees.holding import finish_held
left, acts = {acts}, {{"open", "os.remove", "os.rename", "os.chmod", "os.utime", "os.rmdir", "os.mkdir", "os.truncate"}}
def watch(what, arguments):
    global left
    left -= what in acts
    if not left and what in acts:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
finish_held(Path({worktree!r}), Path({store!r}))
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "home"))
    return littered(tmp_path, lambda top: worktree_of(open_repository(top), LOOP, WorkspaceConfig()))


def killed_in_gate(work: Work, began: Path, check: str = MESS) -> None:
    """Leave the worktree as it is where our process is killed while a check runs."""
    code = GATE.format(check=f"{check}; touch '{began}'; sleep 300", worktree=str(work.path), store=str(store_of(work)))
    with own_tag() as tag, driver(code, tag) as process:
        assert eventually(began.exists)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        end_tagged(tag, prefix=True)
        assert eventually(lambda: not carriers(tag))


def test_who_comes_next_puts_all_back_and_keeps_nothing(work: Work, tmp_path: Path) -> None:
    before, known = picture(work.path), staged(work)
    killed_in_gate(work, tmp_path / "began")
    assert picture(work.path).keys() - before.keys() == {"snap.txt", "gone.py"}
    assert before.keys() - picture(work.path).keys() > {"notes", "pkg/mod.py", "src/new.py", "link", "secret"}
    assert finish_held(work.path, store_of(work)) == []
    assert (picture(work.path), staged(work)) == (before, known)
    assert not store_of(work).exists()


@pytest.mark.parametrize("acts", [1, 30, 60, 90, 120, 140])
def test_who_is_killed_while_putting_back_does_no_harm(work: Work, tmp_path: Path, acts: int) -> None:
    before, known = picture(work.path), staged(work)
    killed_in_gate(work, tmp_path / "began")
    code = FINISH.format(acts=acts, worktree=str(work.path), store=str(store_of(work)))
    with own_tag() as tag, driver(code, tag) as process:
        assert process.wait() == -signal.SIGKILL, process.communicate()
    assert finish_held(work.path, store_of(work)) == []
    assert (picture(work.path), staged(work)) == (before, known)
    assert not store_of(work).exists()


def test_putting_back_twice_changes_nothing(work: Work, tmp_path: Path) -> None:
    killed_in_gate(work, tmp_path / "began")
    assert finish_held(work.path, store_of(work)) == []
    (work.path / "app.py").write_text("later work\n")
    assert finish_held(work.path, store_of(work)) == []
    assert (work.path / "app.py").read_text() == "later work\n"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "junk": lambda _: b"\xff junk",
    "half": lambda whole: whole[: len(whole) // 2],
    "another name": lambda whole: whole.replace(b'"notes"', b'"other"'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_manifest_is_ignored_and_told(work: Work, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    killed_in_gate(work, tmp_path / "began")
    (manifest,) = store_of(work).glob("*/manifest.json")
    manifest.write_bytes(damage(manifest.read_bytes()))
    messy = picture(work.path)
    assert finish_held(work.path, store_of(work)) == [f"what is kept in {manifest.parent} cannot be read"]
    assert picture(work.path) == messy
    assert finish_held(work.path, store_of(work)) == []


def test_who_was_killed_before_any_check_ran_left_nothing_to_put_back(work: Work, tmp_path: Path) -> None:
    killed_in_gate(work, tmp_path / "began", "true")
    (manifest,) = store_of(work).glob("*/manifest.json")
    manifest.rename(manifest.with_suffix(".part"))
    (work.path / "app.py").write_text("as the agent has it\n")
    before = picture(work.path)
    assert finish_held(work.path, store_of(work)) == []
    assert picture(work.path) == before
    assert not store_of(work).exists()


def subject(work: Work) -> str:
    return work.sh("log", "-1", "--format=%s", f"refs/helmsman/{LOOP}/state")


def test_a_loop_that_is_resumed_keeps_the_agent_s_work_not_the_check_s(work: Work, tmp_path: Path) -> None:
    folder = CallFolder(store_of(work).parent)
    begin(folder, "prompt", work.start, None)
    commits = "git -c user.name=c -c user.email=c@c commit -qm 'by a check'"
    locks = 'touch "$(git rev-parse --git-path refs/heads/helmsman/the-loop.lock)"'
    killed_in_gate(work, tmp_path / "began", f"{MESS}; {commits}; {locks}")
    after = mark_interrupted(str(work.repository.top), work.state)
    (salvage,) = work.refs()
    assert after.attempt == work.state.attempt + 1
    assert "could not be put back" not in subject(work)
    assert {"notes", "src/new.py", "pkg/mod.py"} < work.names(salvage)
    assert {"snap.txt", "gone.py"}.isdisjoint(work.names(salvage))
    assert work.at("app.py", salvage) == "changed"
    assert work.at("app.py", f"{salvage}~") == "staged"
    assert not folder.held.exists()


def test_what_could_not_be_put_back_is_told_in_the_history_of_the_loop(work: Work, tmp_path: Path) -> None:
    begin(CallFolder(store_of(work).parent), "prompt", work.start, None)
    killed_in_gate(work, tmp_path / "began", f"{MESS}; rm -rf '{store_of(work)}'/*/.git/objects/??")
    mark_interrupted(str(work.repository.top), work.state)
    assert "; what the checks of a stop changed could not be put back: " in subject(work)
