"""The stop gate with real checks on the files of a real worktree: answers, time limits, files, obstacles."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmsman.config import LoopConfig
from helmsman.records.agent import StopAttempt
from tasks.agents.stop import StopGate
from tasks.checks.run import CheckContext, run_on_checkout
from tasks.checks.targets import clean_checkout
from tasks.system.process import never_stop
from tests.fakes.processes import eventually, tagged_pids
from tests.fakes.repositories import LoopWork, commit, make_repository, start_loop, with_submodule, write
from tests.unit.builders import check, report

pytestmark = pytest.mark.feature("A4")

NAMES = "=== short test summary info ===\\nFAILED tests/test_a.py::test_one - boom\\n=== 1 failed, 2 passed in 0.1s ===\\n"
FAILS = f"printf '{NAMES}'; exit 1"


ASKS = "All is done.\n<promise>COMPLETE</promise>"
SLOW_TO_END = "trap 'sleep 0.5; exit' TERM; while :; do sleep 0.1; done"
NOT_UTF8 = os.fsdecode(b"caf\xe9 \xff")


@pytest.fixture
def work(home: Path, tmp_path: Path) -> LoopWork:
    """A worktree full of what an agent leaves: staged, changed, deleted, new, closed, linked, and names from hell."""
    committed = {
        "app.py": "one\n", "gone.py": "1\n", "src/deep/a.py": "a\n", "src/b.py": "b\n", "kept.txt": "text\n",
        ".gitignore": "*.log\nbuild/\nvenv/\n", ".gitattributes": "*.txt text eol=lf\n", "-rf": "dash\n", "run.sh": "#!/bin/sh\n",
    }  # fmt: skip
    work = start_loop(make_repository(tmp_path / 'the "top" of\\it', committed), tmp_path / "tree with : and \\ in it")
    write(work.path, {"app.py": "staged\n", "src/new.py": "new\n"})
    work.sh("add", "app.py", "src/new.py")
    untracked = {
        "app.py": "changed\n",
        "src/new.py": "newer\n",
        "notes": "n",
        "line\nbreak": "1",
        'say "hi"\\\t': "2",
        NOT_UTF8: "3",
    }
    write(work.path, {**untracked, "pkg/mod.py": "m\n", "build/out": "o", "venv/bin/tool": "t", "venv/.gitignore": "*\n"})
    (work.path / "kept.txt").write_bytes(b"text\r\nas it is\r\n")
    (work.path / "secret").write_text("mine")
    (work.path / "secret").chmod(0o600)
    (work.path / "run.sh").chmod(0o755)
    (work.path / "gone.py").unlink()
    (work.path / "empty" / "within").mkdir(parents=True)
    (work.path / "link").symlink_to("src/b.py")
    (work.path / "to-folder").symlink_to("src")
    (work.path / "nowhere").symlink_to("./../there//is nothing")
    return work


class Session:
    """A gate, and what the agent has tried so far."""

    def __init__(self, gate: StopGate) -> None:
        """Nothing was tried yet."""
        self.attempts: list[StopAttempt] = []
        self.close, self._gate = gate.close, gate

    def run(self, *, active: bool, full: bool, said: str) -> tuple[StopAttempt, str]:
        attempt, text = self._gate.run(tuple(self.attempts), active, full, said)
        self.attempts.append(attempt)
        return attempt, text


def gate(
    work: LoopWork,
    tag: str,
    *checks: Any,
    last: Any = None,
    item: str = "",
    stop: Callable[[], bool] = never_stop,
    workspace: Any = None,
    **steering: Any,
) -> Session:
    sections = {"steering": steering, "workspace": workspace or {}}
    config = LoopConfig.model_validate({"goal": "make it work", "checks": checks, **sections})
    checkout = clean_checkout(work.context, work.state.model_copy(update={"config": config}))
    return Session(StopGate(checkout, work.start, tag, config, last, stop, item))


def ended(session: Session, *, active: bool = False, full: bool = False, said: str = ASKS) -> StopAttempt:
    return session.run(active=active, full=full, said=said)[0]


def picture(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Everything in a folder but what is git's: kind and mode, and content and time or target."""
    return {str(path.relative_to(folder)): look(path) for path in folder.rglob("*") if path != folder / ".git"}


def look(path: Path) -> tuple[Any, ...]:
    found = path.lstat()
    if path.is_symlink():
        return found.st_mode, os.readlink(path)  # noqa: PTH115 - to the letter
    return (found.st_mode, path.read_bytes(), found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else (found.st_mode,)


def staged(work: LoopWork) -> tuple[str, ...]:
    """What git knows of the worktree: index, HEAD and branches."""
    index = Path(work.sh("rev-parse", "--absolute-git-dir")) / "index"
    told = work.sh("ls-files", "--stage"), work.sh("rev-parse", "HEAD"), work.sh("rev-parse", "--symbolic-full-name", "HEAD")
    lock = str(index.with_name("index.lock").exists())
    return index.read_bytes().hex(), lock, *told, work.sh("rev-parse", "refs/heads/helmsman/the-loop")


# what it answers ------------------------------------------------------------------------------------------------------


def test_a_failing_check_blocks_a_claim_of_completion_twice(work: LoopWork, tag: str) -> None:
    gated = gate(work, tag, "true", FAILS)
    first, text = gated.run(active=False, full=False, said=ASKS)
    assert (first.blocked, first.failing, first.failing_tests) == (True, (FAILS,), 1)
    assert "tests/test_a.py::test_one" in text
    assert gated.run(active=True, full=False, said=ASKS)[1] == text
    third, text = gated.run(active=True, full=False, said=ASKS)
    assert (third.blocked, text) == (False, "")
    assert third.why == "the limit is reached"
    assert len(gated.attempts) == 3


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("I fixed the parser; the lexer is next.", "it does not claim completion"),
        ("CONTINUE: the lexer is next.", "it says that work remains"),
        ("---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nEXIT_SIGNAL: false\n---END_RALPH_STATUS---", "it says that work remains"),
        ("BLOCKED: the test contradicts the goal.", "it says that it is blocked"),
    ],
)
def test_without_a_claim_of_completion_the_agent_may_stop_and_no_check_runs(
    work: LoopWork, tag: str, tmp_path: Path, said: str, why: str
) -> None:
    attempt = ended(gate(work, tag, f"touch '{tmp_path}/ran'; exit 1"), said=said)
    assert (attempt.blocked, attempt.why) == (False, why)
    assert not (tmp_path / "ran").exists()


def test_with_a_plan_item_only_its_own_check_runs(work: LoopWork, tag: str, tmp_path: Path) -> None:
    gated = gate(work, tag, f"touch '{tmp_path}/ran'; exit 1", item="grep -q fixed app.py")
    first = ended(gated, said="T001 is in.")
    assert (first.blocked, first.failing) == (True, ("grep -q fixed app.py",))
    assert ended(gated, active=True, said="CONTINUE: half of T001 is in.").why == "it says that work remains"
    write(work.path, {"app.py": "fixed\n"})
    assert ended(gated, active=True, said="T001 is in.").why == "every check that ran passes"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("checks", "asked", "why"),
    [
        ((), {}, "there are no checks"),
        (("RUN",), {"stop_seconds": 0}, "every check exceeds the time limit"),
        (("RUN",), {"full": True}, "its context is full; a new session is better"),
        (("RUN",), {"active": True}, "another hook blocks the stop"),
    ],
    ids=["no checks", "no time", "full", "another hook"],
)
def test_no_check_runs_if_its_result_does_not_matter(
    work: LoopWork, tag: str, tmp_path: Path, checks: tuple[str, ...], asked: dict[str, Any], why: str
) -> None:
    ran = tmp_path / "ran"
    call = {name: asked.pop(name) for name in ("full", "active") if name in asked}
    attempt = ended(gate(work, tag, *(f"touch '{ran}'; exit 1" for _ in checks), **asked), **call)
    assert (attempt.blocked, attempt.why) == (False, why)
    assert not ran.exists()


def test_no_secret_is_in_the_reason(work: LoopWork, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-hunter2")
    gated = gate(work, tag, {"command": "echo $DEPLOY_TOKEN; exit 1", "environment": ["DEPLOY_TOKEN"]})
    text = gated.run(active=False, full=False, said=ASKS)[1]
    assert "hunter2-hunter2" not in text.replace("$DEPLOY_TOKEN", "")
    assert "\n[DEPLOY_TOKEN]\n" in text


def test_attempts_of_several_threads_are_serialised(work: LoopWork, tag: str, tmp_path: Path) -> None:
    alone = f"mkdir '{tmp_path}/one' && sleep 0.1 && rmdir '{tmp_path}/one' && exit 7"
    gated = gate(work, tag, alone)
    threads = [threading.Thread(target=gated.run, kwargs={"active": False, "full": False, "said": ASKS}) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(one.blocked, one.failing) for one in gated.attempts] == [(True, (alone,))] * 2
    assert not (tmp_path / "one").exists()


def failing_until(marker: Path, until: int) -> str:
    """A check whose named test fails in the first runs."""
    return f"echo >> '{marker}'; test $(wc -l < '{marker}') -ge {until} && exit 0; {FAILS}"


def test_a_check_that_passes_when_repeated_does_not_block(work: LoopWork, tag: str, tmp_path: Path) -> None:
    attempt = ended(gate(work, tag, failing_until(tmp_path / "ran", 2)))
    assert (attempt.blocked, attempt.why, attempt.failing) == (False, "every check that ran passes", ())


def test_a_check_that_failed_before_is_not_repeated(work: LoopWork, tag: str, tmp_path: Path) -> None:
    gated = gate(work, tag, failing_until(tmp_path / "ran", 99))
    assert [ended(gated).blocked, ended(gated, active=True).blocked] == [True, True]
    assert len((tmp_path / "ran").read_text().splitlines()) == 3


# the allowance --------------------------------------------------------------------------------------------------------


def test_a_check_longer_than_the_remaining_time_is_not_started(work: LoopWork, tag: str, tmp_path: Path) -> None:
    slow, quick = f"touch '{tmp_path}/slow'", f"touch '{tmp_path}/quick'; exit 1"
    last = report(check(passed=True, command=slow, seconds=31), check(passed=True, command=quick, seconds=9))
    attempt, _ = gate(work, tag, slow, quick, last=last, stop_seconds=30).run(active=False, full=False, said=ASKS)
    assert (attempt.blocked, attempt.failing) == (True, (quick,))
    assert not (tmp_path / "slow").exists()
    assert (tmp_path / "quick").exists()


def test_a_hanging_check_is_ended_and_does_not_block(work: LoopWork, tag: str) -> None:
    before = picture(work.path)
    gated = gate(work, tag, "setsid sh -c 'sleep 300' & echo x > app.py; sleep 300", "exit 1", stop_seconds=1)
    attempt = ended(gated)
    assert (attempt.blocked, attempt.why) == (False, "no check finished")
    assert tagged_pids(tag) == []
    assert picture(work.path) == before


def test_a_check_is_repeated_only_within_the_allowance(work: LoopWork, tag: str, tmp_path: Path) -> None:
    left = iter((60.0, 0.0))
    room = CheckContext(clean_checkout(work.context, work.state), tag, never_stop, allowance=lambda _: next(left))
    room.checkout.prepare(work.start)
    config = LoopConfig.model_validate({"goal": "g", "checks": [failing_until(tmp_path / "ran", 2)]})
    (result,), _ = run_on_checkout(room, config)
    assert (result.passed, result.flaky, (tmp_path / "ran").read_text()) == (False, (), "\n")


def test_a_check_that_timed_out_is_not_started_again(work: LoopWork, tag: str) -> None:
    gated = gate(work, tag, {"command": "sleep 300", "timeout_seconds": 0.5})
    assert ended(gated).why == "no check finished"
    assert ended(gated).why == "every check exceeds the time limit"


def test_closing_the_gate_waits_for_running_checks(work: LoopWork, tag: str, tmp_path: Path) -> None:
    before, began = picture(work.path), tmp_path / "began"
    gated = gate(work, tag, f"rm -rf src; echo x > app.py; touch '{began}'; {SLOW_TO_END}", f"touch '{tmp_path}/second'; exit 1")
    thread = threading.Thread(target=gated.run, kwargs={"active": False, "full": False, "said": ASKS})
    thread.start()
    assert eventually(began.exists)
    gated.close()
    assert picture(work.path) == before
    assert tagged_pids(tag) == []
    thread.join()
    assert [(one.blocked, one.why) for one in gated.attempts] == [(False, "the session is ending")]
    assert ended(gated).why == "the session is ending"
    assert not (tmp_path / "second").exists()


def test_a_loop_that_is_cancelled_ends_the_checks(work: LoopWork, tag: str, tmp_path: Path) -> None:
    before = picture(work.path)
    attempt = ended(gate(work, tag, f"touch '{tmp_path}/began' new; sleep 300", stop=(tmp_path / "began").exists))
    assert (attempt.blocked, attempt.why) == (False, "the session is ending")
    assert picture(work.path) == before


def conflicted(work: LoopWork) -> None:
    commit(work.path, "ours", {"app.py": "ours\n"})
    work.sh("checkout", "-q", "-b", "theirs", "HEAD~")
    commit(work.path, "theirs", {"app.py": "theirs\n"})
    work.sh("checkout", "-q", "helmsman/the-loop")
    with pytest.raises(AssertionError, match="merge"):
        work.sh("merge", "theirs")


# the clean checkout ---------------------------------------------------------------------------------------------------


def test_uncommitted_files_are_checked_without_ignored_ones(work: LoopWork, tag: str) -> None:
    there = "grep -q changed app.py && grep -q newer src/new.py && test -e pkg/mod.py -a -x run.sh -a -L link -a ! -e gone.py"
    attempt, text = gate(work, tag, f"{there} && test ! -e build -a ! -e venv && exit 9").run(active=False, full=False, said=ASKS)
    assert (attempt.blocked, "exit code 9" in text) == (True, True), attempt.why


def test_edits_during_the_checks_stay(work: LoopWork, tag: str, tmp_path: Path) -> None:
    wait = f"touch '{tmp_path}/began'; until test -e '{tmp_path}/goes-on'; do sleep 0.02; done; grep -q meanwhile app.py"
    gated = gate(work, tag, wait)
    thread = threading.Thread(target=gated.run, kwargs={"active": False, "full": False, "said": ASKS})
    thread.start()
    assert eventually((tmp_path / "began").exists)
    write(work.path, {"app.py": "meanwhile\n", "later.py": "1\n"})
    (tmp_path / "goes-on").touch()
    thread.join()
    assert [one.blocked for one in gated.attempts] == [True]
    assert ((work.path / "app.py").read_text(), (work.path / "later.py").exists()) == ("meanwhile\n", True)
    assert ended(gated, active=True).why == "every check that ran passes"


@pytest.mark.parametrize("state", ["as it is", "detached", "in the middle of a merge", "with a lock of git's"])
def test_neither_files_nor_index_nor_branch_of_the_agent_change(work: LoopWork, tag: str, state: str) -> None:
    if state == "detached":
        work.sh("checkout", "--quiet", "--detach")
    elif state == "in the middle of a merge":
        conflicted(work)
    elif state == "with a lock of git's":
        Path(work.sh("rev-parse", "--git-path", "index.lock")).touch()
    before, known, refs = picture(work.path), staged(work), work.sh("for-each-ref")
    commits = "git -c user.name=c -c user.email=c@c commit -qam x"
    attempt = ended(gate(work, tag, f"rm -rf src; echo x > app.py; {commits}; git stash -q; chmod -R 0 pkg; exit 9"))
    assert attempt.blocked, attempt.why
    assert (picture(work.path), staged(work), work.sh("for-each-ref")) == (before, known, refs)


def test_the_checkout_is_reused_without_leftovers_of_checks(work: LoopWork, tag: str) -> None:
    gated = gate(work, tag, "test ! -e left -a ! -e ~/left && touch left ~/left && grep -q fixed app.py")
    assert ended(gated).failing_tests == 0
    write(work.path, {"app.py": "fixed\n"})
    assert ended(gated, active=True).why == "every check that ran passes"


def test_setup_never_runs_at_a_stop(work: LoopWork, tag: str, tmp_path: Path) -> None:
    attempt = ended(gate(work, tag, f"touch '{tmp_path}/ran'; exit 1", workspace={"setup": [f"touch '{tmp_path}/ran'"]}))
    assert (attempt.blocked, attempt.why[:26]) == (False, "setup must run again first")
    assert not (tmp_path / "ran").exists()


def obstruct(work: LoopWork, name: str) -> None:
    if name == "no commit":
        work.sh("checkout", "-q", "--orphan", "fresh")
    elif name == "no repository":
        (work.path / ".git").unlink()
    else:
        lent = work.repository.common / "objects" / "info" / "alternates"
        lent.write_text(f"{make_repository(work.path.parent / 'other')}/.git/objects\n")


@pytest.mark.parametrize("name", ["no commit", "no repository", "objects from elsewhere"])
def test_if_the_files_cannot_be_checked_out_no_check_runs_and_the_agent_may_stop(
    work: LoopWork, tag: str, tmp_path: Path, name: str
) -> None:
    gated = gate(work, tag, f"echo >> '{tmp_path}/ran'; exit 1")
    assert ended(gated).blocked
    obstruct(work, name)
    before = picture(work.path)
    attempt, text = gated.run(active=True, full=False, said=ASKS)
    assert (attempt.blocked, text) == (False, "")
    assert attempt.why not in {"", "no check finished"}
    assert (tmp_path / "ran").read_text() == "\n"
    assert picture(work.path) == before


def test_a_nested_repository_and_a_damaged_index_are_no_obstacles(work: LoopWork, tag: str) -> None:
    make_repository(work.path / "vendor" / "inner", {"lib.py": "1\n"})
    Path(work.sh("rev-parse", "--git-path", "index")).write_bytes(b"nonsense")
    assert ended(gate(work, tag, "test -e vendor/inner/lib.py -a -e pkg/mod.py")).why == "every check that ran passes"


def test_uncommitted_work_in_a_submodule_cannot_be_checked(tmp_path: Path, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (tmp_path / "config").write_text("[protocol.file]\nallow = always\n")
    work = start_loop(with_submodule(tmp_path / "top"), tmp_path / "tree")
    write(work.path / "lib", {"new.py": "1\n"})
    assert ended(gate(work, tag, "test -e lib/new.py")).why == "a submodule has uncommitted work, which cannot be checked"
    commit(work.path / "lib", "work", {})
    assert ended(gate(work, tag, "test -e lib/new.py")).why == "every check that ran passes"
