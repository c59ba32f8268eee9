"""The gate before the agent's end, with real checks in a real worktree: they may do anything, and its work is as it was."""

import os
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from helmsman.config import LoopConfig
from tasks.session.stop_gate import Held, StopGate
from tests.fakes.repositories import Work, calls_of, commit, counting_git, write
from tests.integration.held_work import ended, gate, littered, picture, staged, store_of
from tests.integration.processes import STUBBORN, carriers, eventually, own_tag
from tests.unit.builders import check, report

pytestmark = pytest.mark.feature("A4")

FAILS = "echo 'FAILED tests/test_a.py::test_one'; echo '1 failed, 2 passed in 0.1s'; exit 1"


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return littered(tmp_path)


@pytest.fixture
def tag() -> Generator[str]:
    with own_tag() as tag:
        yield tag


# what it answers ------------------------------------------------------------------------------------------------------


def test_a_failing_check_is_handed_back_until_there_is_no_progress(work: Work, tag: str) -> None:
    gated = gate(work, tag, "true", FAILS)
    first, text = gated.run(active=False, full=False)
    assert (first.blocked, first.failing, first.failing_tests) == (True, (FAILS,), 1)
    assert "sent back 1 of 3 times" in text
    assert "tests/test_a.py::test_one" in text
    assert "1 failed, 2 passed" in text
    assert "sent back 2 of 3 times" in gated.run(active=True, full=False)[1]
    third, text = gated.run(active=True, full=False)
    assert (third.blocked, text) == (False, "")
    assert third.why.startswith("no progress")
    assert len(gated.attempts) == 3


def test_the_agent_mends_it_and_may_end(work: Work, tag: str) -> None:
    gated = gate(work, tag, "grep -q mended app.py")
    assert ended(gated).blocked
    write(work.path, {"app.py": "mended\n"})
    assert ended(gated, active=True).why == "every check that ran passes"


def test_an_agent_that_has_written_down_what_fails_is_not_sent_back_again(work: Work, tag: str, tmp_path: Path) -> None:
    notes = work.path / ".helmsman" / "progress.md"
    write(work.path, {".helmsman/progress.md": "as it was before the session"})
    gated = gate(work, tag, f"echo >> '{tmp_path}/ran'; exit 1", notes=notes.read_text, stop_no_progress=9)
    notes.write_text("written before anything was said")
    assert ended(gated).blocked
    assert ended(gated, active=True).blocked
    notes.write_text("this fails, and I know why")
    assert ended(gated, active=True).why == "it gets no further and has written down what remains"
    assert (tmp_path / "ran").read_text() == "\n" * 3


@pytest.mark.parametrize("after", ["", None], ids=["gone", "unreadable"])
def test_notes_that_are_gone_are_no_notes(work: Work, tag: str, after: str | None) -> None:
    found = iter(["before", "before", after, after])
    gated = gate(work, tag, "exit 1", notes=lambda: next(found))
    assert [ended(gated).blocked, ended(gated, active=True).blocked] == [True, True]


def test_what_failed_before_the_session_is_told(work: Work, tag: str) -> None:
    last = report(check(passed=False, command="exit 1"), check(passed=True, command="exit 2"))
    text = gate(work, tag, "exit 1", "exit 2", last=last).run(active=False, full=False)[1]
    assert "(sent back 1 of 3 times at most; failed before this session already: exit 1)." in text


@pytest.mark.parametrize(
    ("checks", "asked", "why"),
    [
        ((), {}, "there are no checks"),
        (("RUN",), {"stop_seconds": 0}, "checks are given no time before the end"),
        (("RUN",), {"stop_blocks": 0}, "it was sent back 0 times, and may be no more"),
        (("RUN",), {"full": True}, "its context is full: a new session serves better"),
        (("RUN",), {"active": True}, "another hook keeps it from ending"),
    ],
    ids=["no checks", "no time", "turned off", "full", "another hook"],
)
def test_no_check_runs_where_its_result_would_not_matter(
    work: Work, tag: str, tmp_path: Path, checks: tuple[str, ...], asked: dict[str, Any], why: str
) -> None:
    ran = tmp_path / "ran"
    call = {name: asked.pop(name) for name in ("full", "active") if name in asked}
    attempt = ended(gate(work, tag, *(f"touch '{ran}'; exit 1" for _ in checks), **asked), **call)
    assert (attempt.blocked, attempt.why) == (False, why)
    assert not ran.exists()


def test_processes_carry_the_tag_and_the_number_of_the_attempt(work: Work, tag: str) -> None:
    gated = gate(work, tag, "true", "echo $HELMSMAN_TAG; exit 1")
    assert f"\n{tag}/stop/1/1\n" in gated.run(active=False, full=False)[1]
    assert f"\n{tag}/stop/2/1\n" in gated.run(active=True, full=False)[1]


def test_no_secret_is_handed_back(work: Work, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-hunter2")
    text = gate(work, tag, {"command": "echo $DEPLOY_TOKEN; exit 1", "environment": ["DEPLOY_TOKEN"]}).run(
        active=False, full=False
    )[1]
    assert "hunter2-hunter2" not in text.replace("$DEPLOY_TOKEN", "")
    assert "\n[DEPLOY_TOKEN]\n" in text


def test_attempts_from_several_threads_wait_for_one_another(work: Work, tag: str, tmp_path: Path) -> None:
    alone = f"mkdir '{tmp_path}/one' && sleep 0.1 && rmdir '{tmp_path}/one' && exit 7"
    gated = gate(work, tag, alone, stop_blocks=7, stop_no_progress=9)
    threads = [threading.Thread(target=gated.run, kwargs={"active": True, "full": False}) for _ in range(3)]
    ended(gated)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(one.blocked, one.failing) for one in gated.attempts] == [(True, (alone,))] * 4
    assert not (tmp_path / "one").exists()


# the allowance --------------------------------------------------------------------------------------------------------


def test_a_check_that_takes_longer_than_what_is_left_is_not_started(work: Work, tag: str, tmp_path: Path) -> None:
    slow, quick = f"touch '{tmp_path}/slow'", f"touch '{tmp_path}/quick'; exit 1"
    last = report(check(passed=True, command=slow, seconds=31), check(passed=True, command=quick, seconds=29))
    attempt, text = gate(work, tag, slow, quick, last=last, stop_seconds=30).run(active=False, full=False)
    assert (attempt.blocked, attempt.failing) == (True, (quick,))
    assert f"Not run to the end: {slow}" in text
    assert not (tmp_path / "slow").exists()
    assert (tmp_path / "quick").exists()


def test_where_no_check_fits_it_may_end(work: Work, tag: str) -> None:
    last = report(check(passed=False, command="false", seconds=31))
    assert ended(gate(work, tag, "false", last=last, stop_seconds=30)).why == "every check takes longer than it may"


def test_a_check_that_hangs_is_ended_and_sends_nobody_back(work: Work, tag: str) -> None:
    before = picture(work.path)
    gated = gate(work, tag, "setsid sh -c 'sleep 300' & echo x > app.py; sleep 300", "exit 1", stop_seconds=1)
    attempt = ended(gated)
    assert (attempt.blocked, attempt.why) == (False, "no check could be run to its end")
    assert carriers(tag) == []
    assert picture(work.path) == before


def test_a_check_has_no_longer_than_its_own_time(work: Work, tag: str) -> None:
    attempt = ended(gate(work, tag, {"command": "sleep 300", "timeout_seconds": 0.5}, "exit 1"))
    assert (attempt.blocked, attempt.failing) == (True, ("exit 1",))


def test_a_check_that_was_ended_is_known_to_take_that_long(work: Work, tag: str) -> None:
    gated = gate(work, tag, "sleep 300", stop_seconds=1)
    assert ended(gated).why == "no check could be run to its end"
    assert ended(gated).why == "every check takes longer than it may"


def test_whoever_closes_the_gate_waits_until_all_is_put_back(work: Work, tag: str, tmp_path: Path) -> None:
    before, began = picture(work.path), tmp_path / "began"
    gated = gate(work, tag, f"rm -rf src; echo x > app.py; touch '{began}'; {STUBBORN}", f"touch '{tmp_path}/second'; exit 1")
    thread = threading.Thread(target=gated.run, kwargs={"active": False, "full": False})
    thread.start()
    assert eventually(began.exists)
    gated.close()
    assert picture(work.path) == before
    assert carriers(tag) == []
    thread.join()
    assert [(one.blocked, one.why) for one in gated.attempts] == [(False, "the session is at its end")]
    assert ended(gated).why == "the session is at its end"
    assert not (tmp_path / "second").exists()


def test_a_loop_that_is_cancelled_ends_the_checks(work: Work, tag: str, tmp_path: Path) -> None:
    config = LoopConfig.model_validate({"goal": "g", "checks": [f"touch '{tmp_path}/began' new; sleep 300"]})
    before = picture(work.path)
    attempt = ended(StopGate(Held(work.path, store_of(work)), tag, config, stop=(tmp_path / "began").exists))
    assert (attempt.blocked, attempt.why) == (False, "the session is at its end")
    assert picture(work.path) == before


# what it puts back ----------------------------------------------------------------------------------------------------

DEEDS = {
    "leaves files": "echo x > new; mkdir -p d/e/empty; echo x > d/e/f; ln -s f d/l; echo x > 'a b'; echo x > ./-n; mkfifo pipe",
    "changes files": "for f in app.py src/new.py kept.txt notes secret; do echo x >> $f; done; printf x > 'line\nbreak'",
    "same size and time": "touch -r app.py t; printf 'CHANGED\\n' > app.py; touch -r t app.py; rm t",
    "deletes files": "rm -- -rf *.py link notes line*; echo x > gone.py",
    "deletes all": "find . -mindepth 1 -maxdepth 1 ! -name .git ! -name build ! -name venv -exec rm -rf {} +",
    "changes modes": "chmod 777 secret src app.py; chmod 600 run.sh; chmod 500 pkg; chmod 0 empty notes",
    "touches all": "find . ! -path './.git/*' ! -path './venv*' ! -path './build*' -exec touch -h {} +",
    "file to folder": "rm app.py notes; mkdir -p app.py/in notes; touch app.py/in/x app.py/y.log",
    "folder to file": "rm -rf src empty pkg; echo x > src; echo x > empty; ln -s src pkg",
    "folder to link": 'mv src elsewhere; ln -s "$OUTSIDE" src; rm -rf empty; ln -s "$OUTSIDE" empty',
    "hard links": 'cp "$OUTSIDE/b.py" src/b.py; ln -f "$OUTSIDE/b.py" notes; ln -f "$OUTSIDE/b.py" app.py; ln run.sh other',
    "other links": "ln -sfn app.py link; rm to-folder nowhere; mkdir to-folder; echo x > nowhere",
    "moves": "mv src/deep d; mv src/b.py app.py",
    "closed folder": "mkdir -p c/d; touch c/d/x; chmod 0 c/d; chmod 100 c; chmod 500 src/deep",
    "ignores all": "for d in . src empty; do echo '*' > $d/.gitignore; done; touch src/hidden hidden",
    "new repositories": "git init -q src; git init -q fresh; touch fresh/x fresh/y.log src/y",
    "a deep folder": "d=$(printf 'd/%.0s' $(seq 400)); mkdir -p $d; touch $d/x",
    "stages": "git add --all; git rm -q --cached app.py",
    "commits": "git add --all; git -c user.name=c -c user.email=c@c commit -qm 'by a check'",
    "resets": "git reset -q --hard; git clean -ffdq",
    "stashes": "git -c user.name=c -c user.email=c@c stash -q --include-untracked",
    "another branch": "git checkout -q -f -b other; echo x > app.py; git -c user.name=c -c user.email=c@c commit -qam x",
    "detaches": "git checkout -q -f --detach; git -c user.name=c -c user.email=c@c commit -q --allow-empty -m x",
    "leaves a lock": 'touch "$(git rev-parse --git-path index.lock)"',
    "no index": 'rm "$(git rev-parse --git-path index)"',
    "only looks": "git status; git diff; cat app.py",
}  # fmt: skip


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
def test_whatever_a_check_does_the_agent_s_work_is_as_it_was(work: Work, tag: str, tmp_path: Path, deed: str) -> None:
    write(tmp_path / "outside", {"b.py": "mine\n", "deep/a.py": "mine\n", "within": "mine\n"})
    before, known, outside = picture(work.path), staged(work), picture(tmp_path / "outside")
    attempt, text = gate(work, tag, f"OUTSIDE='{tmp_path}/outside'; {deed}; exit 9").run(active=False, full=False)
    assert (attempt.blocked, "exit code 9" in text) == (True, True), attempt.why
    assert picture(work.path) == before
    assert staged(work) == known
    assert picture(tmp_path / "outside") == outside


def test_a_closed_folder_is_closed_again(work: Work, tag: str) -> None:
    (work.path / "pkg").chmod(0o500)
    before = picture(work.path)
    assert ended(gate(work, tag, "chmod 700 pkg; echo x > pkg/mod.py; chmod 500 pkg; exit 1")).blocked
    assert picture(work.path) == before


def test_a_folder_in_a_folder_that_was_replaced_by_a_link_comes_back(work: Work, tag: str, tmp_path: Path) -> None:
    (work.path / "empty" / "within" / "deeper").mkdir()
    (tmp_path / "outside" / "within" / "deeper").mkdir(parents=True)
    before = picture(work.path)
    assert ended(gate(work, tag, f"rm -rf empty; ln -s '{tmp_path}/outside' empty; exit 1")).blocked
    assert picture(work.path) == before


def test_a_file_that_is_only_touched_stays_the_same_file(work: Work, tag: str) -> None:
    before = (work.path / "notes").stat()
    assert ended(gate(work, tag, "touch notes; chmod 777 notes; exit 1")).blocked
    after = (work.path / "notes").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, before.st_mtime_ns, before.st_mode)


def test_a_process_that_has_a_file_open_goes_on_writing_to_it(work: Work, tag: str) -> None:
    with (work.path / "notes").open("ab", buffering=0) as server:
        assert ended(gate(work, tag, "echo 'a longer text' > notes; exit 1")).blocked
        server.write(b"later")
        assert os.fstat(server.fileno()).st_ino == (work.path / "notes").stat().st_ino
    assert (work.path / "notes").read_bytes() == b"nlater"


def test_however_many_files_are_put_back_git_is_asked_as_often(
    work: Work, tag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(work.path, {f"many/{number}": str(number) for number in range(300)})
    before, counting = picture(work.path), counting_git(tmp_path / "counting")
    monkeypatch.setenv("PATH", str(counting), prepend=os.pathsep)
    changes = [gate(work, tag, f"for f in {names}; do echo x > many/$f; done; exit 1") for names in ("7", "$(seq 0 299)")]
    one, all_of_them = [calls_of(counting, lambda gated=gated: ended(gated)) for gated in changes]
    assert one == all_of_them > 0
    assert picture(work.path) == before


def test_a_detached_head_is_put_back(work: Work, tag: str) -> None:
    work.sh("checkout", "--quiet", "--detach")
    before, known = picture(work.path), staged(work)
    assert ended(gate(work, tag, "git checkout -q -f helmsman/the-loop; exit 1")).blocked
    assert (picture(work.path), staged(work)) == (before, known)
    assert ended(gate(work, tag, "git -c user.name=c -c user.email=c@c commit -q --allow-empty -m x; exit 1")).blocked
    assert (picture(work.path), staged(work)) == (before, known)


def test_conflicts_of_a_merge_stay_as_they_are(work: Work, tag: str) -> None:
    commit(work.path, "ours", {"app.py": "ours\n"})
    work.sh("checkout", "-q", "-b", "theirs", "HEAD~")
    commit(work.path, "theirs", {"app.py": "theirs\n"})
    work.sh("checkout", "-q", "helmsman/the-loop")
    with pytest.raises(AssertionError, match="merge"):
        work.sh("merge", "theirs")
    before, known = picture(work.path), staged(work)
    assert "<<<<<<<" in (work.path / "app.py").read_text()
    assert ended(gate(work, tag, "git checkout -q --ours app.py; git add app.py; exit 1")).blocked
    assert (picture(work.path), staged(work)) == (before, known)


def test_the_repository_keeps_nothing_of_it(work: Work, tag: str) -> None:
    objects = work.repository.common / "objects"
    before, refs = picture(objects).keys(), work.sh("for-each-ref")
    assert ended(gate(work, tag, "echo x > app.py; exit 1")).blocked
    assert picture(objects).keys() == before
    assert work.sh("for-each-ref") == refs


def test_nothing_is_kept_once_all_is_put_back(work: Work, tag: str) -> None:
    assert ended(gate(work, tag, f"test -e '{store_of(work)}'/*/manifest.json && echo x > app.py && exit 1")).blocked
    assert not store_of(work).exists()


def test_what_is_ignored_is_there_for_a_check_and_stays_as_it_leaves_it(work: Work, tag: str) -> None:
    uses = "grep -q t venv/bin/tool && echo 2 > build/out && echo x > some.log"
    leaves = "mkdir -p d/__pycache__ && touch d/__pycache__/a.pyc d/x"
    assert ended(gate(work, tag, f"{uses} && {leaves} && exit 9; exit 0")).blocked
    assert (work.path / "build" / "out").read_text() == "2\n"
    assert (work.path / "some.log").exists()
    assert (work.path / "d" / "__pycache__" / "a.pyc").exists()
    assert not (work.path / "d" / "x").exists()


def test_what_was_ignored_is_not_removed_when_a_check_deletes_the_rule(work: Work, tag: str) -> None:
    write(work.path, {"env/bin/tool": "t", "env/.gitignore": "*\n"})
    assert ended(gate(work, tag, "rm env/.gitignore; exit 1")).blocked
    assert (work.path / "env" / "bin" / "tool").exists()
