"""`helmsman init` in real repositories: commands that are found and tried, files that are written, and interruptions."""

import json
import os
import pty
import signal
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from deployments.definitions import check_rubric
from deployments.init import initialise
from deployments.settings import configuration
from deployments.show import show_configuration
from helmsman.errors import OperatorError
from helmsman.parsers.project import Candidate, Kind, find_commands
from tasks.checks.project import LARGEST_TEXT, Trial, TrialOutcome, read_project, try_all, try_one
from tasks.loop.configure import read_rubric_file
from tasks.repository.clean_checkout import clean_checkout_of
from tasks.repository.git import open_repository
from tasks.system.paths import state_home
from tests.fakes.command_line import HELMSMAN, CommandLine, offline_command_line
from tests.fakes.processes import PATIENCE, eventually, processes
from tests.fakes.repositories import commit, make_repository, sh, write

pytestmark = [pytest.mark.feature("O1"), pytest.mark.usefixtures("home")]

MAKEFILE = "test:\n\t@echo '3 passed in 0.10s'\nlint:\n\t@echo it is ugly; exit 3\nbuild:\n\t@no-such-tool\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", {"Makefile": MAKEFILE})


def footprint(top: Path) -> tuple[str, ...]:
    """All that a try could leave in a repository."""
    looks = (("status", "--porcelain", "--ignored"), ("for-each-ref",), ("worktree", "list"), ("config", "--list", "--local"))
    return tuple(sh(top, *look) for look in looks)


def run_init(
    capsys: pytest.CaptureFixture[str], repo: Path, *, code: int = 0, goal: str | None = None, force: bool = False
) -> Any:
    capsys.readouterr()
    assert initialise(repo, goal, yes=True, force=force, as_json=True) == code
    return json.loads(capsys.readouterr().out)


def tried(top: Path, commands: Iterable[str], longest: float = 60) -> list[Trial]:
    candidates = [Candidate(command, Kind.TESTS, "here") for command in commands]
    with clean_checkout_of(open_repository(top), sh(top, "rev-parse", "HEAD").strip()) as place:
        return [try_one(place, candidate, longest) for candidate in candidates]


# --- reading ------------------------------------------------------------------------------------------------------


def test_the_last_commit_is_read_and_not_the_checkout(top: Path) -> None:
    write(top, {"go.mod": "module x\n"})
    (top / "Makefile").unlink()
    found = find_commands(read_project(open_repository(top)))
    assert [one.command for one in found.candidates] == ["make test", "make lint", "make build"]


def test_folders_below_are_read(top: Path) -> None:
    commit(top, "more", {"web/package.json": "{}", "a b/go.mod": "", "web/deep/go.mod": ""})
    folders = read_project(open_repository(top))
    assert folders.keys() == {"", "web"}
    assert folders["web"].names == {"package.json", "deep"}
    assert folders["web"].texts == {"package.json": "{}"}


def test_links_and_files_beyond_the_bound_are_not_read(top: Path) -> None:
    (top / "tox.ini").symlink_to("/etc/hostname")
    commit(top, "hostile", {"package.json": " " * (LARGEST_TEXT + 1), "pyproject.toml": "[tool.ruff]\n"})
    root = read_project(open_repository(top))[""]
    assert root.texts.keys() == {"Makefile", "pyproject.toml"}


# --- trying -------------------------------------------------------------------------------------------------------


def test_each_command_is_tried_and_its_result_reported(top: Path) -> None:
    every = tried(top, ["echo 2 passed in 1.00s", "echo no; exit 3", "no-such-tool", "./Makefile", "echo no tests ran in 0.01s"])
    fates = [TrialOutcome.WORKS, TrialOutcome.FAILS, TrialOutcome.CANNOT_START, TrialOutcome.CANNOT_START, TrialOutcome.WORKS]
    assert [one.fate for one in every] == fates
    assert [one.exit_code for one in every] == [0, 3, 127, 126, 0]
    assert (every[0].tests, every[1].tail) == (2, "no\n")
    assert [one.proves for one in every] == [True, False, False, False, False]


def test_commands_are_not_tried_after_the_time_is_up(top: Path) -> None:
    heard: list[Candidate] = []
    candidates = [Candidate(command, Kind.TESTS, "here") for command in ("sleep 600", "true")]
    with clean_checkout_of(open_repository(top), sh(top, "rev-parse", "HEAD").strip()) as place:
        fates = [one.fate for one in try_all(place, candidates, heard.append, longest=0.5)]
    assert fates == [TrialOutcome.TOO_SLOW, TrialOutcome.UNTRIED]
    assert heard == candidates[:1]


def test_trials_leave_no_files_in_the_repository(top: Path) -> None:
    write(top, {"uncommitted": "work"})
    before = footprint(top)
    wreck = "echo x > Makefile; echo y > new; mkdir -p shut/in; chmod 500 shut; git checkout -q --detach"
    assert [one.fate for one in tried(top, [wreck, "git diff --exit-code && test ! -e new"])] == [
        TrialOutcome.WORKS,
        TrialOutcome.WORKS,
    ]
    assert footprint(top) == before
    assert [*(state_home() / "checkouts").glob("*/verify-*")] == []


@pytest.mark.parametrize("breaks", ["true", "git init -q .", "ln -s ../x .git", "echo gitdir: /x > .git"])
def test_a_command_that_cuts_the_checkout_off_changes_no_other_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, top: Path, breaks: str
) -> None:
    above = make_repository(tmp_path / "above", {"kept": "as it was"})
    write(above, {"kept": "uncommitted"})
    monkeypatch.setenv("HELMSMAN_HOME", str(above / "home"))
    before = footprint(top)
    assert [one.fate for one in tried(top, [f"rm -r .git; {breaks}", "git diff --exit-code"])] == [
        TrialOutcome.WORKS,
        TrialOutcome.WORKS,
    ]
    assert (above / "kept").read_text() == "uncommitted"
    assert footprint(top) == before


def test_commands_do_not_see_secrets(monkeypatch: pytest.MonkeyPatch, top: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-nobody-at-all")
    (one,) = tried(top, ['test -z "$ANTHROPIC_API_KEY"'])
    assert one.fate is TrialOutcome.WORKS


# --- writing ------------------------------------------------------------------------------------------------------


def test_without_a_terminal_working_commands_become_checks(capsys: pytest.CaptureFixture[str], top: Path) -> None:
    found = run_init(capsys, top, goal="Make it work.\n\nAcceptance criteria:\n- It says so.\n- It is calm.\n")
    assert found["checks"] == ["make test"]
    assert [(one["command"], one["outcome"], one["exit_code"], one["kept"]) for one in found["tried"]] == [
        ("make test", "works", 0, True), ("make lint", "fails", 2, False), ("make build", "cannot start", 2, False),
    ]  # fmt: skip
    assert found["next"] == [f"helmsman {words} --repo {top}" for words in ("rubric check", "run")]
    config = configuration(open_repository(top), {}).config
    assert [(check.name, check.command) for check in config.checks] == [("tests", "make test")]
    assert [criterion.text for criterion in config.judge.criteria] == ["It says so.", "It is calm."]
    assert "#   make lint   (Makefile, target lint: fails, exit 2)\n" in (top / "helmsman.toml").read_text()
    assert check_rubric(top, None, as_json=True) == 0


RED = (
    "import unittest\n\n\nclass Shop(unittest.TestCase):\n"
    "    def test_sum(self): self.assertEqual(1 + 1, 3)\n    def test_one(self): self.assertEqual(1, 1)\n"
)


@pytest.mark.parametrize(
    ("files", "command", "said"),
    [
        ({"tests/test_shop.py": RED}, "python3 -m unittest discover -s tests", "fails now: 1 of 2 tests"),
        ({"check.sh": "#!/bin/bash\n[[ 1 == 2 ]]\n"}, "bash check.sh", "fails, exit 1"),
    ],
    ids=["unittest", "a script"],
)
def test_failing_tests_become_the_first_check_and_are_named_as_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: dict[str, str], command: str, said: str
) -> None:
    found = run_init(capsys, make_repository(tmp_path / "red", files))
    assert found["checks"] == [command]
    assert f"{command} {said}; that is what the loop will work on" in found["notes"]


def test_the_summary_names_running_loops_and_the_next_step(capsys: pytest.CaptureFixture[str], top: Path) -> None:
    assert initialise(top, None, yes=True, force=False, as_json=False) == 0
    shown = capsys.readouterr().out.splitlines()
    (test,) = [line for line in shown if "make test" in line and "works" in line]
    assert test.startswith("1  tests  make test (Makefile, target test): works, ")
    assert test.endswith(", used as a check")
    assert "   it is ugly" in shown
    assert shown[-4:-2] == ["wrote      helmsman.toml", "wrote      RUBRIC.md"]
    assert shown[-1] == f"next       helmsman run GOAL --repo {top}"


HOSTILE_GOALS = [
    'say "hi" and \\ and \'\'\' and """',
    'several\nlines\n\twith """" marks\r\nand "ends"\n"',
    "\n\n# not a comment\n[limits]\niterations = 1\n",
    "émoji 🚢, right-to-left \u202e, line \u2028 break, \x1b[2J, \x00",
]


@pytest.mark.feature("E11")
@pytest.mark.parametrize("goal", HOSTILE_GOALS)
def test_helmsman_config_reads_what_was_written(capsys: pytest.CaptureFixture[str], top: Path, goal: str) -> None:
    run_init(capsys, top, goal=goal)
    show_configuration(top, key="", changed=False, as_json=True)
    read = json.loads(capsys.readouterr().out)
    assert read["goal"] == {"value": goal, "source": "helmsman.toml", "owner": "repository"}
    assert read["checks"] == {
        "value": [{"command": "make test", "name": "tests"}],
        "source": "helmsman.toml",
        "owner": "repository",
    }
    assert {row["source"] for row in read.values()} == {"helmsman.toml", "default"}


def test_an_unknown_project_gets_valid_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    top = make_repository(tmp_path / "empty")
    found = run_init(capsys, top)
    assert (found["goal"], found["checks"], found["criteria"]) == ("", [], [])
    assert found["notes"] == ["no command was found that could prove anything"]
    assert found["next"] == [f"helmsman run GOAL --check COMMAND --repo {top}"]
    assert configuration(open_repository(top), {"goal": "g", "check": ["true"]}).config.judge.criteria == ()
    assert read_rubric_file(top / "RUBRIC.md").flaws == ()


def test_an_existing_file_is_kept_and_its_replacement_shown(capsys: pytest.CaptureFixture[str], top: Path) -> None:
    write(top, {"helmsman.toml": 'goal = "mine"\n'})
    assert initialise(top, "theirs", yes=True, force=False, as_json=False) == 2
    shown = capsys.readouterr().out
    assert (top / "helmsman.toml").read_text() == 'goal = "mine"\n'
    assert "helmsman.toml was not changed: it already exists." in shown
    assert '    goal = "theirs"' in shown
    assert "wrote      RUBRIC.md" in shown
    found = run_init(capsys, top, code=2)
    assert [(page["file"], page["written"]) for page in found["files"]] == [("helmsman.toml", False), ("RUBRIC.md", False)]
    found = run_init(capsys, top, goal="theirs", force=True)
    assert [page["written"] for page in found["files"]] == [True, True]
    assert configuration(open_repository(top), {}).config.goal == "theirs"


def test_no_link_is_followed_when_writing(capsys: pytest.CaptureFixture[str], tmp_path: Path, top: Path) -> None:
    (top / "helmsman.toml").symlink_to(tmp_path / "elsewhere")
    run_init(capsys, top, code=2)
    assert not (tmp_path / "elsewhere").exists()
    write(tmp_path, {"elsewhere": "kept"})
    run_init(capsys, top, force=True)
    assert (tmp_path / "elsewhere").read_text() == "kept"
    assert not (top / "helmsman.toml").is_symlink()


def test_settings_in_pyproject_are_not_hidden_by_a_new_file(capsys: pytest.CaptureFixture[str], top: Path) -> None:
    write(top, {"pyproject.toml": '[tool.helmsman]\ngoal = "mine"\n'})
    found = run_init(capsys, top, code=2)
    assert "[tool.helmsman]" in found["files"][0]["why_not"]
    assert not (top / "helmsman.toml").exists()


@pytest.mark.parametrize("goal", ["", " \n", "\udcff"])
def test_an_invalid_goal_is_rejected(top: Path, goal: str) -> None:
    with pytest.raises(OperatorError):
        initialise(top, goal, yes=True, force=False, as_json=True)
    assert not (top / "helmsman.toml").exists()


def test_folders_that_a_fresh_checkout_lacks_are_reported(capsys: pytest.CaptureFixture[str], top: Path) -> None:
    commit(
        top,
        "a script",
        {"package.json": '{"scripts": {"lint": "no-such-tool"}}', ".gitignore": "node_modules\n", "package-lock.json": "{}"},
    )
    write(top, {"node_modules/x": "", "new": ""})
    notes = run_init(capsys, top)["notes"]
    assert notes[0] == "examined the last commit, as a loop does, without uncommitted changes: new"
    assert "without node_modules" in notes[1]
    text = (top / "helmsman.toml").read_text()
    assert tomllib.loads(text)["workspace"] == {"setup": ["npm ci"]}


def test_set_up_is_proposed_for_a_project_below_the_root(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = {"web/package.json": '{"scripts": {"test": "no-such-tool"}}', "web/package-lock.json": "{}"}
    top = make_repository(tmp_path / "mono", {".gitignore": "node_modules\n", **files})
    write(top, {"web/node_modules/x": ""})
    assert "without web/node_modules" in run_init(capsys, top)["notes"][0]
    assert tomllib.loads((top / "helmsman.toml").read_text())["workspace"] == {"setup": ["cd web && npm ci"]}


def test_a_module_that_failing_tests_do_not_find_may_have_to_be_installed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = {"src/pkg/__init__.py": "", "test_it.py": "import unittest\nimport pkg\n"}
    (note,) = run_init(capsys, make_repository(tmp_path / "layout", files))["notes"]
    assert "that is what the loop will work on, unless pkg only has to be installed" in note


# --- in a terminal ------------------------------------------------------------------------------------------------


def in_terminal(tmp_path: Path, *answers: str, arguments: Sequence[str] = ()) -> str:
    (tmp_path / "state").mkdir(exist_ok=True)
    command = offline_command_line(tmp_path, HELMSMAN_HOME=str(tmp_path / "state"))
    typed = "".join(f"{answer}\n" for answer in answers)
    ended = command.run_in_terminal("init", "--repo", "repository", *arguments, typed=typed)
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_in_a_terminal_goal_and_checks_are_asked_for(tmp_path: Path, top: Path) -> None:
    further = "make lint", "yes", "echo 1 passed in 1.00s", "exit 7", "n", "exit 8", "yes", ""
    shown = in_terminal(tmp_path, "", 'Make "it" work', "", *further)
    assert "Use the commands that are marked as checks? [Y/n]" in shown
    config = configuration(open_repository(top), {}).config
    assert config.goal == 'Make "it" work'
    assert [check.command for check in config.checks] == ["make test", "make lint", "echo 1 passed in 1.00s", "exit 8"]


@pytest.fixture
def helmsman(tmp_path: Path) -> Iterator[CommandLine]:
    """In a repository whose tests say that they have begun, and never end. What a failed test leaves is ended."""
    begun = tmp_path / "begun"
    make_repository(tmp_path / "repository", {"Makefile": f"test:\n\ttouch '{begun}'; sleep 600\n"})
    yield offline_command_line(tmp_path, HELMSMAN_HOME=str(tmp_path / "home of helmsman"))
    for process in processes("HOME", str(tmp_path / "home")):
        process.kill()


def checkouts(helmsman: CommandLine) -> list[Path]:
    """What there is of clean checkouts."""
    return [*(helmsman.folder / "home of helmsman" / "checkouts").glob("*/verify-*")]


def repository_state(helmsman: CommandLine) -> str:
    return sh(helmsman.repository, "status", "--porcelain", "--ignored") + sh(helmsman.repository, "for-each-ref")


def has_begun(helmsman: CommandLine) -> bool:
    return eventually((helmsman.folder / "begun").exists, PATIENCE)


def nothing_lives(helmsman: CommandLine) -> bool:
    return eventually(lambda: not processes("HOME", str(helmsman.folder / "home")))


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT], ids=lambda ending: ending.name)
def test_a_signal_removes_the_checkout_and_ends_the_command(helmsman: CommandLine, ending: signal.Signals) -> None:
    before = repository_state(helmsman)
    process = helmsman.start("init", "--repo", "repository", "--yes")
    assert has_begun(helmsman)
    assert len(checkouts(helmsman)) == 1
    process.send_signal(ending)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors.splitlines()[-1:]) == (128 + ending, ["interrupted"]), output
    assert checkouts(helmsman) == []
    assert nothing_lives(helmsman)
    assert repository_state(helmsman) == before
    assert "wrote" not in output


@pytest.mark.parametrize("typed", ["", "y\n"], ids=["while it asks", "while it tries"])
def test_closing_the_terminal_removes_the_checkout(helmsman: CommandLine, typed: str) -> None:
    before = repository_state(helmsman)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", HELMSMAN, "init", "--repo", "repository"],
        cwd=helmsman.folder,
        env={**helmsman.variables, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    assert has_begun(helmsman) if typed else _asks(ours)
    assert len(checkouts(helmsman)) == bool(typed)
    os.close(ours)  # the system tells all that are in it by SIGHUP
    process.wait(PATIENCE)
    assert checkouts(helmsman) == []
    assert nothing_lives(helmsman)
    assert repository_state(helmsman) == before


def _asks(terminal: int) -> bool:
    shown = b""
    while b"Do you trust" not in shown:
        shown += os.read(terminal, 65536)
    return True
