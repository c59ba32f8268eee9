"""The clean checkout as a place to work in: what set-up makes lasts, what checks make does not, and any repository will do."""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.agent import Execution
from helmsman.records.checks import CheckReport
from tasks.checks.missing import start_error
from tasks.loop import steps
from tasks.loop.prepare import set_up_worktree, tear_down
from tasks.repository.git import commit_and_tree, open_repository
from tasks.repository.setup import SetupFailed, fingerprint
from tasks.repository.worktree import commit_turn
from tests.fakes.repositories import LoopWork, commit, make_repository, record_of, sh, start_loop, with_submodule, write
from tests.unit.builders import check

pytestmark = [pytest.mark.feature("V18"), pytest.mark.usefixtures("home")]


def start_configured(tmp_path: Path, top: Path, **settings: Any) -> LoopWork:
    """A loop with this configuration, in a state folder of its own."""
    return start_loop(top, tmp_path / "tree").configured(**settings)


def checked(work: LoopWork, files: Mapping[str, str] | None = None, final_text: str = "") -> CheckReport:
    """What the checks say after an iteration that committed these files, if any."""
    commit(work.path, "work", files)
    change = commit_turn(work.repository, work.path, work.state, work.start)
    call = record_of(work.state, 1).execution.call.model_copy(update={"final_text": final_text})
    return steps.checks.fn(work.context, work.state, Execution(call=call, change=change))


def of_base(work: LoopWork) -> CheckReport:
    return steps.baseline.fn(work.context, work.state, commit_and_tree(work.path)[1])


SET_UP = (
    "echo x >> {count}; mkdir -p deps/inner; cp lock deps/made; echo 1 > deps/inner/other; echo 1 > ~/made; ln -s made deps/link"
)
LOOKS = (
    "cat deps/made deps/inner/other ~/made deps/link; ls deps deps/inner; "
    "echo changed > deps/made; rm -r deps/inner ~/made deps/link; mkdir deps/inner deps/link;"
    " touch deps/new deps/inner/new ~/new new"
)


@pytest.mark.feature("D8")
def test_set_up_runs_once_and_its_files_are_restored_until_a_lock_file_changes(tmp_path: Path) -> None:
    count = tmp_path / "count"
    top = make_repository(tmp_path / "top", {"lock": "v1\n", "package-lock.json": "1", ".gitignore": "deps/\n"})
    work = start_configured(tmp_path, top, checks=(LOOKS,), workspace={"setup": [SET_UP.format(count=count)]})
    seen = [of_base(work).results[0].head, *(checked(work, {"app.py": str(number)}).results[0].head for number in range(3))]
    assert set(seen) == {"v1\n1\n1\nv1\ndeps:\ninner\nlink\nmade\n\ndeps/inner:\nother\n"}
    assert count.read_text() == "x\n"
    assert checked(work, {"lock": "v2\n", "package-lock.json": "2"}).results[0].head.startswith("v2\n")
    assert count.read_text() == "x\nx\n"


@pytest.mark.feature("D8")
def test_set_up_runs_again_if_a_script_or_recipe_that_it_runs_changed(tmp_path: Path) -> None:
    files = {"Makefile": "gen: other\n\tsh write.sh\nother:\n\ttrue\n", "write.sh": "echo 1 > made\n", ".gitignore": "made\n"}
    work = start_configured(
        tmp_path, make_repository(tmp_path / "top", files), checks=("cat made",), workspace={"setup": ["make gen"]}
    )
    assert of_base(work).results[0].head == "1\n"
    assert checked(work, {"write.sh": "echo 2 > made\n"}).results[0].head == "2\n"
    assert checked(work, {"Makefile": "gen:\n\techo 3 > made\n"}).results[0].head == "3\n"


@pytest.mark.feature("D8")
def test_what_set_up_changes_in_the_commits_files_never_counts(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top", {"kept": "1\n", ".gitignore": "made\n"})
    workspace = {"setup": ["echo 2 > kept; echo 2 > made"]}
    work = start_configured(tmp_path, top, checks=("cat kept made",), workspace=workspace)
    assert of_base(work).results[0].head == "1\n2\n"
    assert checked(work, {"app.py": "1\n"}).results[0].head == "1\n2\n"


@pytest.mark.feature("D8")
def test_a_set_up_that_fails_at_the_start_is_the_operators_error_and_shows_the_end_of_its_output(tmp_path: Path) -> None:
    work = start_configured(
        tmp_path, make_repository(tmp_path / "top"), checks=("true",), workspace={"setup": ["echo no network; exit 7"]}
    )
    with pytest.raises(SetupFailed, match="no network") as told:
        of_base(work)
    assert (told.value.fault, told.value.found) == ("operator", "exit code 7: no network")


@pytest.mark.feature("D8")
def test_a_set_up_that_the_agents_commit_breaks_is_a_failing_check(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top", {"package.json": "good"})
    work = start_configured(tmp_path, top, checks=("true",), workspace={"setup": ["grep good package.json"]})
    assert of_base(work).passed
    report = checked(work, {"package.json": "broken"})
    assert not report.passed
    assert "set-up failed: grep good package.json" in report.results[0].error
    assert checked(work, {"package.json": "good again"}).passed


@pytest.mark.feature("D8")
def test_included_files_are_copied_from_the_operator_s_checkout_at_the_start(tmp_path: Path) -> None:
    ignore = {".gitignore": ".env*\nsecret\n", ".worktreeinclude": "/.env.test\n/.env.link\n"}
    top = make_repository(tmp_path / "top", {**ignore, "app.py": "1\n"})
    write(top, {".env.test": "operator's\n", ".env": "not named\n", "secret": "not named\n"})
    (top / ".env.link").symlink_to("secret")
    work = start_configured(tmp_path, top, checks=("ls -A .env*; cat .env.test",))
    set_up_worktree(work.context, work.state)
    assert (work.path / ".env.test").read_text() == "operator's\n"
    for folder in (work.path, top):
        write(folder, {".env.test": "the agent's\n"})
    assert checked(work).results[0].head == ".env.test\noperator's\n"


@pytest.mark.feature("D8")
def test_a_fresh_worktree_is_set_up_once_and_torn_down_with_the_checkout(tmp_path: Path) -> None:
    count = tmp_path / "count"
    workspace = {"setup": [f"echo set-up >> {count}"], "teardown": [f"echo teardown >> {count}"]}
    work = start_configured(tmp_path, make_repository(tmp_path / "top"), checks=("true",), workspace=workspace)
    for _ in range(2):
        set_up_worktree(work.context, work.state)
    assert count.read_text() == "set-up\n"
    assert of_base(work).passed
    tear_down(work.context, work.state)
    assert count.read_text() == "set-up\nset-up\nteardown\nteardown\n"
    assert not list((tmp_path / "state" / "checkouts").glob("*/the-loop"))


ABOUT_GIT = "git status --porcelain; git log --format=%s; git symbolic-ref --short HEAD; git fsck 2>&1; cat app.py"


@pytest.mark.parametrize("form", ["sha1", "sha256", "shallow", "borrowing"])
def test_checks_see_the_commit_with_its_history_and_branch(tmp_path: Path, form: str) -> None:
    top = make_repository(tmp_path / "first", {"app.py": "1\n"}, *(["--object-format=sha256"] if form == "sha256" else []))
    commit(top, "second", {"other": "1"})
    if form in {"shallow", "borrowing"}:
        how = ["--depth=1"] if form == "shallow" else ["--shared"]
        sh(tmp_path, "clone", "--quiet", *how, f"file://{top}" if form == "shallow" else str(top), "top")
        top = tmp_path / "top"
    work = start_configured(tmp_path, top, checks=(ABOUT_GIT,))
    assert of_base(work).passed
    history = "second\n" if form == "shallow" else "second\nstart\n"
    report = checked(work, {"app.py": "2\n"})
    assert report.results[0].head == f"work\n{history}helmsman/the-loop\n2\n"


def test_submodules_are_laid_out_at_the_commit_that_the_work_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (tmp_path / "config").write_text('[protocol "file"]\n\tallow = always\n')
    work = start_configured(tmp_path, with_submodule(tmp_path / "top"), checks=("cat lib/lib.py; ls lib; touch lib/left",))
    assert of_base(work).results[0].head == "LIB = 1\nlib.py\n"
    commit(work.path / "lib", "in the library", {"lib.py": "LIB = 2\n"})
    write(work.path / "lib", {"junk.log": ""})
    assert checked(work).results[0].head.startswith("LIB = 2\n")
    (work.path / "lib" / "more").write_text("x")
    assert "left" not in checked(work).results[0].head


def test_programs_of_an_environment_in_the_repository_are_those_that_set_up_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = make_repository(tmp_path / "top", {".gitignore": ".venv/\n"})
    write(top, {".venv/bin/judge": "#!/bin/sh\necho operator's\n"})
    (top / ".venv/bin/judge").chmod(0o755)
    monkeypatch.setenv("PATH", f"{top}/.venv/bin{os.pathsep}relative{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    script = "mkdir -p .venv/bin; printf '#!/bin/sh\\necho set-up\\n' > .venv/bin/judge; chmod +x .venv/bin/judge"
    work = start_configured(tmp_path, top, checks=("judge; echo $PATH",), workspace={"setup": [script]})
    printed = of_base(work).results[0].head
    assert printed.startswith("set-up\n")
    assert not [entry for entry in printed.split()[1].split(os.pathsep) if not entry.startswith("/")]
    assert str(top) not in printed


def test_a_virtual_environment_outside_stays_one_when_another_program_in_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    own = home / "venv"
    (own / "bin").mkdir(parents=True)
    (own / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (own / "bin/python-of-it").symlink_to(os.path.realpath(sys.executable))
    shutil.copy("/bin/true", own / "bin/other")
    monkeypatch.setenv("PATH", f"{own / 'bin'}{os.pathsep}{os.environ['PATH']}")
    work = start_configured(
        tmp_path, make_repository(tmp_path / "top"), checks=("python-of-it -c 'import sys; print(sys.prefix)'; other",)
    )
    assert of_base(work).passed
    (own / "bin/other").write_bytes(b"#!/bin/sh\nexit 0\n")
    result = checked(work).results[0]
    assert (result.head.splitlines()[0], result.exit_code) == (str(own), 127)
    assert "other" in result.remark


def test_what_passes_only_in_the_agents_folder_is_said_at_a_claim_with_the_likely_cause(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top", {".gitignore": "build/\n"})
    work = start_configured(tmp_path, top, checks=("test -e build/out", "test -e hidden", "exit 3"))
    write(work.path, {"build/out": "1"})
    write(work.repository.common / "info", {"exclude": "/hidden\n"})
    write(work.path, {"hidden": "1"})
    claimed = checked(work, final_text="<promise>COMPLETE</promise>")
    cause = "passes only in the agent's folder: no commit contains `build/`, `hidden`"
    assert [result.remark for result in claimed.results] == [cause, cause, ""]
    assert [result.remark for result in checked(work).results] == ["", "", ""]


@pytest.mark.parametrize("committed", [True, False])
def test_failing_checks_are_not_explained_where_that_would_reset_what_a_person_did_meanwhile(
    tmp_path: Path, committed: bool
) -> None:
    top = make_repository(tmp_path / "top")
    more = "git commit --quiet -m mine" if committed else "true"
    mine = f"cd {tmp_path / 'tree'} && echo 1 > mine && git add mine && {more}; exit 3"
    work = start_configured(tmp_path, top, checks=(mine,))
    claimed = checked(work, final_text="<promise>COMPLETE</promise>")
    assert (claimed.results[0].passed, (work.path / "mine").read_text()) == (False, "1\n")
    assert ("mine" in work.names()) == committed


def test_two_loops_share_the_history_and_one_that_takes_an_earlier_ones_name_shares_nothing_else(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    work = start_configured(tmp_path, top, checks=("cat ~/.bashrc",), workspace={"setup": ["echo mine > ~/.bashrc"]})
    assert of_base(work).results[0].head == "mine\n"
    other = work.configured(checks=["ls -A ~"], workspace={})
    other = replace(other, state=other.state.model_copy(update={"uid": "another"}))
    assert of_base(other).results[0].head == ".gitconfig\n"
    assert open_repository(top).common == work.repository.common


@pytest.mark.needs("bubblewrap")
@pytest.mark.feature("D5")
def test_in_a_box_a_check_has_the_checkout_and_its_own_home_and_nothing_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    write(home, {".netrc": "secret"})
    monkeypatch.setenv("HOME", str(home))
    look = (
        f"touch ~/x $TMPDIR/x $XDG_CACHE_HOME/x new; git log --format=%s; cat {home}/.netrc; ls -A {home}; ls -A {tmp_path}/tree"
    )
    top = make_repository(tmp_path / "top")
    work = start_configured(
        tmp_path, top, checks=(f"{look} 2>&1",), sandbox={"kind": "bubblewrap"}, workspace={"setup": ["echo 1 > ~/made"]}
    )
    result = of_base(work).results[0]
    assert result.head.splitlines()[0] == "start"
    assert "secret" not in result.head
    assert "app.py" not in result.head


def test_code_in_a_set_up_command_is_not_taken_for_a_path(tmp_path: Path) -> None:
    code = "import re; text = open('Cargo.toml').read(); " + "text = re.sub('a', 'b', text); " * 20
    assert fingerprint([f'python3 -c "{code}"'], b"", tmp_path / "included", tmp_path)


def test_a_check_that_lacks_an_installed_package_of_its_folder_gets_that_folder_s_set_up(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top", {"web/package-lock.json": "{}", "app.py": ""})
    write(top, {"web/node_modules/.bin/vitest": ""})
    output = "sh: 1: vitest: not found\n"
    for command, setup in (("cd web && npm test", '["cd web && npm ci"]'), ("cd gone && npm test", ""), ("npm test", "")):
        failed = check(passed=False, command=command, exit_code=127, head=output)
        error = start_error(CheckReport(tree="d" * 40, results=(failed,), clean=True), open_repository(top), "HEAD")
        assert (setup in error.remedy) if error and setup else (error is None and not setup), command
