"""The jobs for GitHub and GitLab, written as docs/verify.md says, on act and gitlab-ci-local with a forge on loopback.

act leaves out actions/checkout and copies the folder instead. pip is offline: it builds our source and takes the dependencies of
these tests for those of the product.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.contracts.source import PACKAGES, ROOT, listed_files, named
from tests.fakes.forge import Forge
from tests.fakes.http_server import serve_http
from tests.fakes.model_apis import agents_path
from tests.fakes.repositories import commit, make_repository, sh

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.feature("V19")]

WORKFLOW, INCLUDING = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "verify.md").read_text(encoding="utf-8"), re.DOTALL)
TESTS = "from calc import half\n\ndef test_zero():\n    assert half(0) == 0\n\ndef test_four():\n    assert half(4) == 2\n"
FILES = {"conftest.py": "", "calc.py": "def half(n):\n    return n\n", "tests/test_calc.py": TESTS}
TOKEN = "token-of-the-forge"  # runners blot it out of their logs
BROKEN = {"calc.py": "def half(n):\n    return n + 1\n"}
FIXED = {"calc.py": "def half(n):\n    return n / 2\n"}


@dataclass(frozen=True)
class Runner:
    folder: Path
    repository: Path
    product: Path
    """A copy of our source without what git ignores."""

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        home = {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        python = f"{Path(sys.executable).parent}{os.pathsep}{agents_path()}"
        return subprocess.run(
            command,
            cwd=self.repository,
            env={**os.environ, **home, "PATH": python},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def variables(self) -> Mapping[str, str]:
        """For pip, which reads the 0 as no isolation, and for temporary files."""
        pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": str(self.folder / "lent")}
        return {**pip, "TMPDIR": str(self.folder)}


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    product, lent = tmp_path / "product", tmp_path / "lent"
    for path in listed_files():
        if named(path).partition("/")[0] in {*PACKAGES, "LICENSE", "README.md", "prefect.yaml", "pyproject.toml"}:
            copy = product / named(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    lent.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "helmsman" not in path.name:
            (lent / path.name).symlink_to(path)
    return Runner(tmp_path, make_repository(tmp_path / "repository", FILES), product)


@pytest.fixture
def forge(request: pytest.FixtureRequest) -> Iterator[Forge]:
    served = Forge(*request.param)
    with serve_http(served.respond) as served.url:
        yield served


def verdicts(forge: Forge) -> list[str]:
    return [comment["body"].splitlines()[1].rpartition(": ")[2] for comment in forge.comments.values()]


@pytest.mark.needs("act")
@pytest.mark.parametrize("forge", [("", "user")], indirect=True)
def test_the_action_fails_a_broken_change_and_keeps_one_comment(runner: Runner, forge: Forge) -> None:
    top, event = runner.repository, runner.folder / "event.json"
    (runner.folder / "workflow.yml").write_text(WORKFLOW)
    base = sh(top, "rev-parse", "HEAD")
    github = {"GITHUB_API_URL": forge.url, "GITHUB_REPOSITORY": "acme/site"}
    options = [f"--env={name}={value}" for name, value in {**runner.variables, **github}.items()]
    options += ["--platform=ubuntu-latest=-self-hosted", "--no-cache-server", f"--secret=GITHUB_TOKEN={TOKEN}"]
    options += [
        f"--eventpath={event}",
        f"--local-repository=OWNER/helmsman@TAG={runner.product}",
        f"--workflows={runner.folder}/workflow.yml",
    ]

    def push(files: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        ends = {"base": {"sha": base}, "head": {"sha": commit(top, "work", files)}}
        event.write_text(json.dumps({"pull_request": {"number": 7, **ends}}))
        return runner.run("act", "pull_request", *options)

    broken = push(BROKEN)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "| NOT VERIFIED (exit status 1)" in broken.stdout, broken.stdout + broken.stderr
    assert verdicts(forge) == ["NOT VERIFIED"]
    fixed = push(FIXED)
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr
    assert "| comment    updated" in fixed.stdout
    assert verdicts(forge) == ["VERIFIED"]


@pytest.mark.needs("gitlab-ci-local", "rsync")
@pytest.mark.parametrize("forge", [("helmsman-bot", "author")], indirect=True)
def test_the_job_fails_a_broken_change_and_keeps_one_comment(runner: Runner, forge: Forge) -> None:
    top = runner.repository
    included = re.sub("remote: .*", "local: gitlab.yml", INCLUDING)
    job = (ROOT / "deployments" / "ci" / "gitlab.yml").read_text()
    files = {".gitlab-ci.yml": re.sub("PACKAGE: .*", f"PACKAGE: {runner.product}", included), "gitlab.yml": job}
    base = commit(top, "job", files)
    sh(top, "remote", "add", "origin", "https://gitlab.invalid/acme/site.git")
    gitlab = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_API_V4_URL": forge.url}
    gitlab |= {"CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "7", "HELMSMAN_TRACKER_TOKEN": TOKEN}

    def push(files: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        given = {**runner.variables, **gitlab, "CI_COMMIT_SHA": commit(top, "work", files)}
        options = [f"--variable={name}={value}" for name, value in given.items()]
        return runner.run("gitlab-ci-local", "--force-shell-executor", *options)

    broken = push(BROKEN)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "> NOT VERIFIED (exit status 1)" in broken.stdout, broken.stdout + broken.stderr
    assert verdicts(forge) == ["NOT VERIFIED"]
    assert ET.parse(top / "helmsman.xml").find("testcase[@name='verdict']/failure") is not None
    fixed = push(FIXED)
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr
    assert verdicts(forge) == ["VERIFIED"]
