"""Where `helmsman verify` is called by others: the jobs name options that it has, and a push that breaks something is stopped."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from deployments.cli import app
from tests.fakes.repositories import commit, make_repository, sh

pytestmark = pytest.mark.feature("V19")

ROOT = Path(__file__).parents[2]
CI = ROOT / "deployments" / "ci"
OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")


@pytest.mark.parametrize("name", ["action.yml", "gitlab.yml"])
def test_the_jobs_name_options_that_the_command_has(name: str) -> None:
    command: Any = vars(get_command(app))["commands"]["verify"]
    known = {option for parameter in command.params for option in parameter.opts}
    text = (CI / name).read_text()
    assert yaml.safe_load(text)
    called = text[text.rindex(" verify --") :].partition("artifacts")[0]
    assert set(OPTION.findall(called)) <= known


def test_a_push_that_breaks_something_is_stopped_and_one_that_proves_nothing_goes_through(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top", {"answer": "1\n", "helmsman.toml": "checks = ['grep -q 1 answer']\n"})
    sh(tmp_path, "init", "--quiet", "--bare", "remote.git")
    sh(top, "remote", "add", "origin", str(tmp_path / "remote.git"))
    sh(top, "push", "--quiet", "--set-upstream", "origin", "main")
    hook = top / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text((ROOT / "deployments" / "hooks" / "pre-push").read_text())
    hook.chmod(0o755)
    home = {"HELMSMAN_HOME": str(tmp_path / "home"), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["helmsman", "trust", "--yes"], cwd=top, env={**os.environ, **home}, check=True, capture_output=True)

    def push() -> int:
        return subprocess.run(["git", "push", "--quiet"], cwd=top, env={**os.environ, **home}, check=False).returncode

    commit(top, "break it", {"answer": "2\n"})
    assert push() != 0
    commit(top, "as it was", {"answer": "1\n", "README": "x\n"})
    assert push() == 0
