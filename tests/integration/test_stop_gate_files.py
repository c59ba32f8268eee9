"""The stop gate: the files that its checks see; those of the agent stay unchanged."""

import threading
from pathlib import Path

import pytest

from tests.fakes.processes import eventually
from tests.fakes.repositories import LoopWork, commit, write
from tests.integration.stop_work import ASKS, ended, gate, picture, staged, work

__all__ = ["work"]
pytestmark = pytest.mark.feature("A4")


def conflicted(work: LoopWork) -> None:
    commit(work.path, "ours", {"app.py": "ours\n"})
    work.sh("checkout", "-q", "-b", "theirs", "HEAD~")
    commit(work.path, "theirs", {"app.py": "theirs\n"})
    work.sh("checkout", "-q", "helmsman/the-loop")
    with pytest.raises(AssertionError, match="merge"):
        work.sh("merge", "theirs")


# the clean checkout ---------------------------------------------------------------------------------------------------


def test_what_is_not_committed_yet_is_checked_and_what_git_ignores_is_not_there(work: LoopWork, tag: str) -> None:
    there = "grep -q changed app.py && grep -q newer src/new.py && test -e pkg/mod.py -a -x run.sh -a -L link -a ! -e gone.py"
    attempt, text = gate(work, tag, f"{there} && test ! -e build -a ! -e venv && exit 9").run(active=False, full=False, said=ASKS)
    assert (attempt.blocked, "exit code 9" in text) == (True, True), attempt.why


def test_what_the_agent_does_while_its_checks_run_is_not_undone(work: LoopWork, tag: str, tmp_path: Path) -> None:
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


def test_the_checkout_is_used_again_and_what_a_check_left_in_it_is_gone(work: LoopWork, tag: str) -> None:
    gated = gate(work, tag, "test ! -e left -a ! -e ~/left && touch left ~/left && grep -q fixed app.py")
    assert ended(gated).failing_tests == 0
    write(work.path, {"app.py": "fixed\n"})
    assert ended(gated, active=True).why == "every check that ran passes"


def test_set_up_never_runs_at_a_stop_as_it_could_leave_what_no_commit_shows(work: LoopWork, tag: str, tmp_path: Path) -> None:
    attempt = ended(gate(work, tag, f"touch '{tmp_path}/ran'; exit 1", workspace={"setup": [f"touch '{tmp_path}/ran'"]}))
    assert (attempt.blocked, attempt.why[:26]) == (False, "setup must run again first")
    assert not (tmp_path / "ran").exists()
