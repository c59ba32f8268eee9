"""Commits made in a sandbox are imported, and nothing else is."""

import os
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmsman.config import CheckConfig, LoopConfig, SandboxConfig
from helmsman.errors import OperatorError
from helmsman.records.agent import StopAttempt
from helmsman.sandbox import config_text, parse_config_list
from tasks.agents.stop import StopGate
from tasks.checks.run import CheckContext, run_check
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.git import git, open_repository
from tasks.repository.worktree import Worktree
from tasks.sandbox.enter import Agent, Command, agent_sandbox
from tasks.system.process import never_stop
from tests.fakes.sandbox_scene import AS_ADA, BRANCH, SandboxScene, scene

__all__ = ["scene"]
pytestmark = [pytest.mark.slow, pytest.mark.needs("bubblewrap"), pytest.mark.feature("D5")]

CHECKS_TOO = SandboxConfig(kind="bubblewrap")


def status(scene: SandboxScene) -> str:
    return git(scene.worktree, "status", "--short", "--branch")


def test_commits_come_home_with_branch_head_and_index(scene: SandboxScene) -> None:
    git(scene.worktree, "config", "user.name", "Ada")
    git(scene.worktree, "config", "user.email", "ada@example.com")
    ended = scene.inside("echo 2 > app.py; git commit -qam two; git mv app.py b.py; git commit -qm three; git log --format=%an")
    assert ended.head == "Ada\nAda\nSomebody\n"
    assert scene.subjects() == ["start"]
    scene.import_commits()
    assert scene.subjects() == ["three", "two", "start"]
    assert status(scene) == f"## {BRANCH}\n"
    git(scene.repository, "fsck", "--full", "--strict")
    assert not (scene.folder.root / "sandbox" / "git").exists()
    scene.import_commits()


def test_what_was_packed_or_is_on_another_branch_comes_home_too(scene: SandboxScene) -> None:
    script = (
        f"{AS_ADA} git commit -q --allow-empty -m two; git checkout -q -b other; git commit -q --allow-empty -m three; git gc -q"
    )
    scene.inside(script)
    scene.import_commits()
    assert (scene.subjects(), scene.subjects("HEAD")) == (["two", "start"], ["start"])
    assert git(scene.worktree, "rev-parse", "HEAD^{commit}") != git(scene.repository, "rev-parse", "main")
    assert git(scene.worktree, "log", "-1", "--format=%s").strip() == "three"


def test_the_repository_s_hooks_run_inside(scene: SandboxScene) -> None:
    for folder, word in ((scene.repository / ".git" / "hooks", "usual"), (scene.worktree / "own", "own")):
        folder.mkdir(exist_ok=True)
        (folder / "pre-commit").write_text(f"#!/bin/sh\necho {word}\n")
        (folder / "pre-commit").chmod(0o755)
    commit = f"{AS_ADA} git commit -q --allow-empty -m two 2>&1; git config core.safecrlf"
    assert scene.inside(commit).head == "usual\n"
    git(scene.repository, "config", "core.hooksPath", "own")
    git(scene.repository, "config", "core.safecrlf", "warn")
    assert scene.inside(commit).head == "own\nwarn\n"


def test_uncommitted_files_stay_as_they_are(scene: SandboxScene) -> None:
    scene.inside("echo 2 > app.py; echo 3 > new; git add new")
    scene.import_commits()
    assert status(scene) == f"## {BRANCH}\n M app.py\n?? new\n"


DIR = "$(git rev-parse --git-dir)"
OBJECT = f"{DIR}/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)"
BROKEN = {
    "no repository any more": f"rm -rf {DIR}/*",
    "a commit without its tree": f"{AS_ADA} git commit -q --allow-empty -m x; echo 9 > app.py; git commit -qam y;"
    f"for o in $(git rev-list --objects HEAD~1..HEAD | cut -c1-40 | tail -n +2); do rm -f {OBJECT}; done",
    "an object of another content": f"{AS_ADA} echo 9 > app.py; git commit -qam y; o=$(git rev-parse HEAD);"
    f"chmod u+w {OBJECT}; echo x > {OBJECT}",
    "a reference to nothing": f"echo {'1' * 40} > {DIR}/refs/heads/{BRANCH}",
    "a reference that leads out": f"rm {DIR}/HEAD; ln -s {{root}}/homes/eve/key {DIR}/HEAD",
    "a pipe": f"rm {DIR}/HEAD; mkfifo {DIR}/HEAD",
    "a name with dots": f"echo 'ref: refs/heads/../../../../x' > {DIR}/HEAD",
    "folders without rights": f"mkdir {DIR}/x; chmod 0 {DIR}/x",
    "a program in the configuration": f"{AS_ADA} git config core.fsmonitor 'touch {{root}}/evil';"
    "git config uploadpack.packObjectsHook 'touch {root}/evil'; git config core.alternateRefsCommand 'touch {root}/evil'",
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
def test_what_is_not_whole_is_left_and_nothing_of_it_runs(scene: SandboxScene, script: str) -> None:
    scene.inside("echo kept > file; " + script.replace("{root}", str(scene.root)))
    scene.import_commits()
    assert set(scene.subjects()) <= {"start"}
    assert (scene.worktree / "file").read_text() == "kept\n"
    assert git(scene.worktree, "symbolic-ref", "HEAD").strip() == f"refs/heads/{BRANCH}"
    git(scene.repository, "fsck", "--full")
    assert not (scene.root / "evil").exists()
    assert not (scene.folder.root / "sandbox" / "git").exists()


@pytest.mark.parametrize("lenders", [1, 3])
def test_a_repository_that_borrows_is_seen_whole(scene: SandboxScene, tmp_path: Path, lenders: int) -> None:
    (scene.repository / ".git").rename(tmp_path / "lender-0")
    for number in range(1, lenders):
        git(tmp_path, "clone", "--quiet", "--bare", "--shared", f"lender-{number - 1}", f"lender-{number}")
    git(tmp_path, "clone", "--quiet", "--shared", f"lender-{lenders - 1}", "borrower")
    other = SandboxScene(tmp_path / "other", scene.config)
    other.home.mkdir(parents=True)
    (tmp_path / "borrower").rename(other.repository)
    git(other.repository, "worktree", "add", "--quiet", "-b", BRANCH, str(other.worktree))
    assert other.inside("git log --format=%s; git fsck --full 2>&1").head == "start\n"


def check_context(scene: SandboxScene) -> CheckContext:
    return CheckContext(Worktree(scene.worktree), f"check-{uuid4().hex}", never_stop, sandbox=CHECKS_TOO)


def checked(scene: SandboxScene, command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int | None, str]:
    monkeypatch.setenv("HOME", str(scene.home))
    result = run_check(check_context(scene), 0, CheckConfig(command=command), 30)
    return result.exit_code, result.head


def test_a_check_reads_no_secret_and_reaches_nothing(scene: SandboxScene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked(scene, "cat ~/.ssh/key || cat ../homes/eve/key", monkeypatch)[0] == 1
    assert checked(scene, 'echo x > out.txt && git log --format=%s && test -z "$(ls -A ~)"', monkeypatch) == (0, "start\n")
    assert (scene.worktree / "out.txt").exists()


def test_what_the_agent_leaves_in_its_home_is_not_there_for_a_check(scene: SandboxScene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.inside("echo 'exit 0' > ~/.profile; mkdir -p ~/.local/bin ~/.claude; echo x > ~/.claude/x")
    assert checked(scene, "find ~ -type f", monkeypatch) == (0, "")
    assert scene.inside("find ~ -type f").head == ""


def test_what_the_operator_opens_can_be_read_or_written_and_what_is_hidden_cannot(scene: SandboxScene) -> None:
    tools, cache = scene.root / "tools", scene.root / "cache"
    for folder in (tools, cache):
        folder.mkdir()
    (cache / "private").write_text("p")
    (tools / "public").write_text("q")
    hide = [str(cache / "private"), "/not/there", "~/.ssh/none"]
    opened = {"read": ["~/.ssh", str(cache)], "write": [str(tools)], "hide": hide}
    config = SandboxConfig.model_validate({"kind": "bubblewrap", "network": "off", **opened})
    ended = scene.inside(
        f"cat ~/.ssh/key {tools}/public {cache}/private; echo x > {tools}/made; echo x > ~/.ssh/made", config=config
    )
    assert ended.head == "the-secretq"
    assert (tools / "made").exists()
    assert not (scene.home / ".ssh" / "made").exists()


def test_a_program_behind_a_link_runs_with_its_virtual_environment_and_its_python(scene: SandboxScene) -> None:
    python, tool = scene.home / "pythons" / "3", scene.home / "tools" / "x"
    for path in (python / "bin", python / "lib", tool / "bin", tool / "lib", scene.home / "links"):
        path.mkdir(parents=True)
    for path in (python, tool):
        (path / "lib" / "word").write_text(f"of {path.name}\n")
        (path / "private").write_text("p")
    (python / "bin" / "python").write_text(f"#!/bin/sh\ncat {python}/lib/word {tool}/lib/word {python}/private; ls -A ~\n")
    (python / "bin" / "python").chmod(0o755)
    (tool / "bin" / "python").symlink_to(python / "bin" / "python")
    (tool / "pyvenv.cfg").write_text("")
    (tool / "bin" / "tool").write_text(f"#!{tool}/bin/python\n")
    (tool / "bin" / "tool").chmod(0o755)
    program = scene.home / "links" / "tool"
    program.symlink_to(tool / "bin" / "tool")
    environment = {"PATH": os.environ["PATH"], "HOME": str(scene.home)}
    with agent_sandbox(
        scene.config, scene.worktree, scene.folder, Agent(program, is_claude=False), Command([str(program)], environment)
    ) as boxed:
        ended = scene.run(boxed, 30)
    assert ended.head == "of 3\nof x\nlinks\npythons\ntools\n"


def test_a_virtual_environment_in_the_worktree_does_not_choose_what_is_shown(scene: SandboxScene) -> None:
    own = scene.worktree / "venv"
    (own / "bin").mkdir(parents=True)
    (own / "pyvenv.cfg").write_text("")
    (own / "bin" / "python").symlink_to(scene.home / ".ssh" / "x")
    (own / "bin" / "tool").symlink_to(scene.home / ".ssh" / "x")
    environment = {"PATH": f"{own}/bin:{os.environ['PATH']}", "HOME": str(scene.home)}
    command = Command(["sh", "-c", "ls -A ~; cat ~/.ssh/key"], environment)
    with agent_sandbox(
        scene.config, scene.worktree, scene.folder, Agent(own / "bin" / "tool", is_claude=False), command
    ) as boxed:
        assert scene.run(boxed, 30).head == ""


@pytest.mark.parametrize("hidden", ["{root}/tools/a/private", "{root}/link/a/private", "{root}/worktree/private", "~/w/private"])
def test_what_could_be_moved_away_cannot_be_hidden(scene: SandboxScene, hidden: str) -> None:
    (scene.root / "tools").mkdir()
    (scene.root / "link").symlink_to(scene.root / "tools")
    write, hide = [str(scene.root / "tools"), "~/w"], [hidden.format(root=scene.root)]
    config = SandboxConfig.model_validate({"kind": "bubblewrap", "network": "off", "write": write, "hide": hide})
    with pytest.raises(OperatorError, match="could be moved"):
        scene.inside("true", config=config)


def stopped(scene: SandboxScene, command: str) -> StopAttempt:
    """What the gate says to an agent whose box still stands."""
    base = git(scene.repository, "rev-parse", BRANCH).strip()
    made = CleanCheckout(open_repository(scene.repository), scene.worktree, scene.root / "checkouts/loop", "u", BRANCH, base)
    told = {"goal": "g", "checks": [command], "sandbox": {"kind": "bubblewrap"}, "steering": {"stop_seconds": 30}}
    return StopGate(made, base, f"gate-{scene.root}", LoopConfig.model_validate(told)).run(
        (), active=False, full=False, message="<promise>COMPLETE</promise>"
    )[0]


def test_at_a_stop_a_check_sees_what_the_agent_has_committed_in_its_box(
    scene: SandboxScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(scene.home))
    works = f"{AS_ADA} echo '*.log' > .gitignore; echo 2 > app.py; git add -A; git commit -qm two"
    with scene.box("sh", "-c", works) as boxed:
        scene.run(boxed, 30)
        sees = "git diff --exit-code HEAD && grep -q 2 app.py"
        assert stopped(scene, sees).why == "every check that ran passes"
    assert scene.subjects() == ["start"]
    scene.import_commits()
    assert scene.subjects() == ["two", "start"]


PLANTED = {
    "no repository any more": f"rm -rf {DIR}/*",
    "an index that leads out": f"ln -sf {{root}}/homes/eve/key {DIR}/index",
    "an index that is a pipe": f"rm {DIR}/index; mkfifo {DIR}/index",
    "a program in the configuration": f"{AS_ADA} git config core.fsmonitor 'touch {{root}}/worktree/evil'",
}


@pytest.mark.parametrize("script", PLANTED.values(), ids=PLANTED)
def test_what_the_agent_plants_in_its_repository_shows_a_check_nothing(
    scene: SandboxScene, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setenv("HOME", str(scene.home))
    scene.inside(script.replace("{root}", str(scene.root)))
    assert stopped(scene, "! grep -rs the-secret . && grep -q 1 app.py").why == "every check that ran passes"
    assert not (scene.worktree / "evil").exists()


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=20), st.text(max_size=20))
def test_git_reads_settings_as_they_were(tmp_path: Path, name: str, value: str) -> None:
    value = value.replace("\0", "").replace("\r", "").encode(errors="ignore").decode()
    file = tmp_path / "config"
    file.write_bytes(config_text([(f"filter.{name}.clean", value)]).encode())
    alone = {"GIT_CONFIG_GLOBAL": str(file), "GIT_CONFIG_NOSYSTEM": "1"}
    told = parse_config_list(git(tmp_path, "config", "--list", "-z", "--show-scope", env=alone))
    assert told == [(f"filter.{name}.clean", value)]
