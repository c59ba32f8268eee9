"""The verdict comes from a clean checkout: what an agent leaves beside its commits does not decide whether its work is done.

Each test does what an agent did in a review to have a broken tree pass: `app.py` is committed with a wrong answer, no test is
touched, and the good answer lies somewhere that a check in the agent's folder or in the user's home comes across.
"""

import os
import py_compile
import shlex
import sys
import sysconfig
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from helmsman.records.agent import Execution
from helmsman.records.checks import CheckReport
from helmsman.records.decision import Outcome
from tasks.loop import steps
from tasks.repository.git import commit_and_tree
from tasks.repository.worktree import commit_turn
from tests.fakes.repositories import LoopWork, commit, make_repository, record_of, sh, start_loop
from tests.fakes.scripted_agent import PROMISE, says
from tests.flows import conftest as flows
from tests.flows.conftest import Drive

drive = flows.drive
pytestmark = pytest.mark.feature("V18")

PYTHON = shlex.quote(os.path.realpath(sys.executable))
WRONG, GOOD = "def answer():\n    return 10\n", "def answer():\n    return 42\n"
CHECK = f"PYTHONPATH=build/lib:. {PYTHON} -P -c 'import app; assert app.answer() == 42'"
USER_SITE = Path(f".local/lib/python{sysconfig.get_python_version()}/site-packages")
ALWAYS_GOOD = "import sys, types\nfound = types.ModuleType('app')\nfound.answer = lambda: 42\nsys.modules['app'] = found\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home, which an agent without a sandbox can write to; first on PATH is its folder of programs."""
    home = tmp_path / "home"
    (home / ".local/bin").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", f"{home / '.local/bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return home


@pytest.fixture
def work(home: Path, tmp_path: Path) -> LoopWork:
    files = {
        "app.py": "def answer():\n    return 0\n",
        "check.sh": "exit 1\n",
        "package.json": '{"scripts": {"test": "sh check.sh"}}',
        ".gitignore": "build/\n__pycache__/\n*.log\n",
    }
    return start_loop(make_repository(tmp_path / "top", files), tmp_path / "tree")


def verdict(work: LoopWork, deed: Callable[[], object], check: str = CHECK) -> CheckReport:
    """What the checks say of the tree of a loop that began before the deed."""
    state = work.configured(checks=[check]).state
    assert not steps.baseline.fn(work.context, state, commit_and_tree(work.path)[1]).passed
    deed()
    change = commit_turn(work.repository, work.path, state, work.start)
    return steps.checks.fn(work.context, state, Execution(call=record_of(state, 1).execution.call, change=change))


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def committed(work: LoopWork) -> str:
    return work.at("app.py")


def test_a_good_copy_of_the_source_in_an_ignored_folder_does_not_pass(work: LoopWork) -> None:
    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        put(work.path / "build/lib/app.py", GOOD)

    assert not verdict(work, deed).passed


def test_compiled_code_that_says_something_else_than_its_source_does_not_pass(work: LoopWork) -> None:
    def deed() -> None:
        good = put(work.path / "app.py", GOOD)
        py_compile.compile(str(good), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        commit(work.path, "work", {"app.py": WRONG})

    assert not verdict(work, deed).passed


def test_files_hidden_by_info_exclude_do_not_pass(work: LoopWork) -> None:
    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        put(work.repository.common / "info/exclude", "/app/\n")
        put(work.path / "app/__init__.py", GOOD)

    assert not verdict(work, deed).passed


def test_files_hidden_by_an_excludes_file_do_not_pass(work: LoopWork, home: Path) -> None:
    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        work.sh("config", "core.excludesFile", str(put(home / "ignore", "/app/\n")))
        put(work.path / "app/__init__.py", GOOD)

    assert not verdict(work, deed).passed


def test_a_filter_that_shows_git_another_file_than_the_checks_does_not_pass(work: LoopWork) -> None:
    def deed() -> None:
        put(work.repository.common / "info/attributes", "app.py filter=cheat\n")
        work.sh("config", "filter.cheat.clean", "sed s/42/10/")
        work.sh("config", "filter.cheat.smudge", "sed s/10/42/")
        commit(work.path, "work", {"app.py": GOOD})
        assert committed(work) == WRONG.strip()

    assert not verdict(work, deed).passed


def test_a_file_swapped_behind_the_size_and_time_that_git_looks_at_does_not_pass(work: LoopWork) -> None:
    def deed() -> None:
        work.sh("config", "core.checkStat", "minimal")
        work.sh("config", "core.trustctime", "false")
        path = put(work.path / "app.py", WRONG)
        os.utime(path, (10**9, 10**9))
        commit(work.path, "work")
        path.write_text(GOOD)
        os.utime(path, (10**9, 10**9))

    assert not verdict(work, deed).passed


def test_a_setting_that_sends_git_to_another_folder_does_not_pass(work: LoopWork, tmp_path: Path) -> None:
    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        other = tmp_path / "other"
        sh(work.repository.common, "worktree", "add", "--quiet", "--detach", str(other), "helmsman/the-loop")
        work.sh("config", "extensions.worktreeConfig", "true")
        work.sh("config", "--worktree", "core.worktree", str(other))
        put(work.path / "app.py", GOOD)

    assert not verdict(work, deed).passed


def test_a_usercustomize_in_the_users_packages_does_not_pass(work: LoopWork, home: Path) -> None:
    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        put(home / USER_SITE / "usercustomize.py", ALWAYS_GOOD)

    assert not verdict(work, deed).passed


def test_a_pth_file_in_the_users_packages_does_not_pass(work: LoopWork, home: Path) -> None:
    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        put(home / USER_SITE / "cheat.pth", "import cheat\n")
        put(home / USER_SITE / "cheat.py", ALWAYS_GOOD)

    assert not verdict(work, deed).passed


@pytest.mark.needs("npm")
def test_a_shell_that_npm_takes_from_the_users_settings_does_not_pass(work: LoopWork, home: Path) -> None:
    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        put(home / ".npmrc", "script-shell=/bin/true\n")

    assert not verdict(work, deed, "npm test").passed


def test_a_program_that_is_put_before_the_real_one_on_path_does_not_pass(work: LoopWork, home: Path) -> None:
    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        put(home / ".local/bin/grep", "#!/bin/sh\nexit 0\n").chmod(0o755)

    report = verdict(work, deed, "grep -q 42 app.py")
    assert not report.passed
    assert "grep" in report.results[0].remark


def test_a_program_of_the_user_that_was_changed_since_the_start_is_left_out_and_named(work: LoopWork, home: Path) -> None:
    put(home / ".local/bin/judge", "#!/bin/sh\ngrep -q 42 app.py\n").chmod(0o755)
    put(home / ".local/bin/other", "#!/bin/sh\nexit 1\n").chmod(0o755)

    def deed() -> None:
        commit(work.path, "work", {"app.py": WRONG})
        put(home / ".local/bin/judge", "#!/bin/sh\nexit 0\n")

    report = verdict(work, deed, "judge || other")
    assert not report.passed
    assert "judge" in report.results[0].remark
    assert "other" not in report.results[0].remark


def test_a_program_that_the_user_had_before_the_start_is_there_for_checks(work: LoopWork, home: Path) -> None:
    put(home / ".local/bin/judge", "#!/bin/sh\ngrep -q 42 app.py\n").chmod(0o755)
    assert verdict(work, lambda: commit(work.path, "work", {"app.py": GOOD}), "judge").passed


def loose(work: LoopWork, name: str) -> Path:
    return work.repository.common / "objects" / name[:2] / name[2:]


def tampered(work: LoopWork, to: Path | None = None) -> None:
    """Give the committed check another content under its own name, in the repository or in a store that it borrows from."""
    name = sh(work.path, "rev-parse", f"{work.start}:check.sh")
    path = loose(work, name)
    path.unlink(missing_ok=True)
    place = to / name[:2] / name[2:] if to else path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(zlib.compress(b"blob 7\0exit 0\n"))
    (work.path / "check.sh").unlink()
    sh(work.path, "checkout", "--", "check.sh")
    assert (work.path / "check.sh").read_text() == "exit 0\n"
    index = work.path / sh(work.path, "rev-parse", "--git-path", "index")
    os.utime(index, (time.time() + 10, time.time() + 10))
    while time.time() <= (work.path / "check.sh").stat().st_mtime + 1:  # in the same second, git would look into the file
        time.sleep(0.05)


def test_an_object_whose_content_is_not_what_its_name_says_does_not_pass(work: LoopWork) -> None:
    def deed() -> None:
        tampered(work)
        commit(work.path, "work", {"app.py": WRONG})
        assert sh(work.path, "rev-parse", "HEAD:check.sh") == sh(work.path, "rev-parse", f"{work.start}:check.sh")

    assert not verdict(work, deed, "sh check.sh").passed


def test_a_tampered_object_that_no_clean_checkout_has_seen_yet_ends_the_loop(work: LoopWork) -> None:
    def deed() -> None:
        commit(work.path, "work", {"check.sh": "exit 2\n"})
        name = sh(work.path, "rev-parse", "HEAD:check.sh")
        loose(work, name).unlink()
        loose(work, name).write_bytes(zlib.compress(b"blob 7\0exit 0\n"))

    with pytest.raises(Exception, match="clean checkout"):
        verdict(work, deed, "sh check.sh")


def test_a_store_of_objects_that_is_borrowed_from_since_the_start_is_refused(work: LoopWork, tmp_path: Path) -> None:
    def deed() -> None:
        put(work.repository.common / "objects/info/alternates", f"{tmp_path / 'planted'}\n")
        tampered(work, tmp_path / "planted")
        commit(work.path, "work", {"app.py": WRONG})

    with pytest.raises(Exception, match="alternates"):
        verdict(work, deed, "sh check.sh")


def test_what_the_checks_of_one_iteration_leave_does_not_reach_those_of_the_next(work: LoopWork) -> None:
    """The agent's code runs in the clean checkout as well: it may plant there what it could not from its own folder."""
    plant = (
        'mkdir -p "$HOME/.config" "$XDG_CACHE_HOME" build; echo x | tee "$HOME/.npmrc" "$HOME/.config/x" "$XDG_CACHE_HOME/x"'
        ' "$TMPDIR/x" build/x untracked app.py .git/info/exclude; git config core.hooksPath /x; exit 1'
    )
    look = 'cat app.py; find . "$HOME" "$XDG_CACHE_HOME" "$TMPDIR" -name x -o -name .npmrc -o -name untracked; cat .git/config'
    check = f"{look}; sh plant"
    commit(work.path, "work", {"app.py": WRONG, "plant": plant})
    state = work.configured(checks=[check]).state
    seen: list[str] = []
    for number in range(2):
        commit(work.path, f"work {number}")
        change = commit_turn(work.repository, work.path, state, work.start)
        report = steps.checks.fn(work.context, state, Execution(call=record_of(state, 1).execution.call, change=change))
        seen.append(report.results[0].head)
    assert "hooksPath" not in seen[1]
    assert seen[0] == seen[1]


# --- whole loops --------------------------------------------------------------------------------------------------

PLANT_AND_CLAIM = "echo wrong > answer; git add answer; git commit -qm Work; "
LOOPS = {
    "an ignored folder": ("cat build/answer answer 2>/dev/null | head -1 | grep -qx 42", "mkdir build; echo 42 > build/answer"),
    "info/exclude": (
        "cat hidden answer 2>/dev/null | head -1 | grep -qx 42",
        'echo /hidden >> "$(git rev-parse --git-common-dir)/info/exclude"; echo 42 > hidden',
    ),
    "a shim": ("answered answer", 'printf "#!/bin/sh\\nexit 0\\n" > ~/.local/bin/answered; chmod +x ~/.local/bin/answered'),
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", {".gitignore": "build/\n", "answer": "none\n"})


@pytest.mark.slow
@pytest.mark.parametrize("exploit", LOOPS)
def test_a_loop_is_not_completed_by(home: Path, drive: Drive, exploit: str) -> None:
    check, plant = LOOPS[exploit]
    driven = drive([says(f"Done.\n{PROMISE}", shell=PLANT_AND_CLAIM + plant)], checks=(check,), limits={"iterations": 2})
    assert driven.state.outcome is not Outcome.COMPLETED


@pytest.mark.slow
def test_a_loop_that_could_never_be_verified_does_not_start(home: Path, drive: Drive, repository: Path) -> None:
    """What git ignores and somebody has installed is not in a clean checkout: said at the start, with the set-up to propose."""
    put(repository / "build/bin/judge", "#!/bin/sh\ncat answer\n").chmod(0o755)
    commit(repository, "a lock file", {"package-lock.json": '{"packages": {"node_modules/judge": {}}}'})
    driven = drive([says(PROMISE)], checks=("judge",))
    ending = driven.state.ending
    assert ending is not None
    assert (ending.outcome, ending.fault, driven.state.iteration, driven.state.spending.agent_calls) == (
        Outcome.FAILED,
        "operator",
        0,
        0,
    )
    assert "cannot start in a clean checkout" in ending.reason
    assert 'setup = ["npm ci"]' in ending.reason
    assert "workspace.clean = false" in ending.reason


@pytest.mark.slow
def test_a_verdict_from_the_agents_folder_says_so(home: Path, drive: Drive) -> None:
    call = says(PROMISE, shell="echo 42 > answer; git add answer; git commit -qm Work")
    driven = drive([call], checks=("grep -q 42 answer",), workspace={"clean": False})
    assert driven.state.outcome is Outcome.COMPLETED
    assert driven.state.ending is not None
    assert "verified in the agent's folder" in driven.state.ending.reason
