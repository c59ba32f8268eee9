"""Without a sandbox nothing starts, and the message says what to do."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from deployments.doctor import collect_findings
from deployments.leftovers import Finding
from helmsman.config import SandboxConfig
from helmsman.errors import OperatorError
from tasks.loop.run import begin_loop
from tasks.sandbox.probe import CONTAINERS, require_sandbox
from tests.fakes.command_line import offline_command_line
from tests.fakes.repositories import make_repository
from tests.fakes.sandbox_scene import SANDBOXED
from tests.unit.builders import config, state

pytestmark = pytest.mark.feature("D5")

BUBBLEWRAP = SandboxConfig(kind="bubblewrap")
NO_NAMESPACES = '#!/bin/sh\nexec {bwrap} --unshare-user --disable-userns --dev-bind / / -- {bwrap} "$@"\n'
"""The real one, where the kernel really forbids it."""


@pytest.fixture
def forbidden(tmp_path: Path) -> str:
    """PATH of a machine whose kernel lets nobody make namespaces."""
    return path_with(tmp_path / "bin", NO_NAMESPACES.format(bwrap=shutil.which("bwrap")))


def path_with(folder: Path, program: str) -> str:
    folder.mkdir()
    (folder / "bwrap").write_text(program)
    (folder / "bwrap").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def path_without(folder: Path) -> str:
    """Git and a shell, and nothing else."""
    folder.mkdir()
    for name in ("git", "sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return str(folder)


@pytest.mark.needs("bubblewrap")
def test_a_working_sandbox_is_reported() -> None:
    assert require_sandbox(BUBBLEWRAP).endswith("bwrap; network: model")
    assert require_sandbox(SandboxConfig()) == "none: the agent has your permissions"


def test_what_cannot_stay_hidden_is_refused_at_the_start(tmp_path: Path) -> None:
    opened = SandboxConfig(kind="bubblewrap", write=(str(tmp_path),), hide=(str(tmp_path / "private"),))
    with pytest.raises(OperatorError, match=r"sandbox\.hide"):
        require_sandbox(opened)


@pytest.mark.needs("bubblewrap")
def test_a_loop_is_refused_where_the_kernel_allows_no_box(tmp_path: Path, forbidden: str) -> None:
    make_repository(tmp_path / "repository", {"app.py": "1\n"})
    command_line = offline_command_line(tmp_path)
    told = command_line.run("run", "g", "--check", "true", "--repo", command_line.repository, **SANDBOXED, PATH=forbidden)
    assert told.exit_code == 2
    assert "the kernel or its settings do not allow a sandbox" in told.errors
    assert "namespace" in told.errors
    assert 'sandbox.kind = "container"' in told.errors
    assert command_line.run("list", "--repo", command_line.repository, "--json").output.strip() in {"", "[]"}


@pytest.mark.needs("bubblewrap")
def test_the_doctor_says_whether_there_could_be_one(tmp_path: Path, forbidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repository(tmp_path / "repository", {"app.py": "1\n"})

    def found() -> Finding:
        ((finding, _),) = collect_findings(["sandbox"], tmp_path / "repository")
        return finding

    assert found().found == 'none; sandbox.kind = "bubblewrap" would work here'
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("PATH", forbidden)
        assert "bubblewrap would not work here: the kernel" in found().found
    monkeypatch.setenv("HELMSMAN_SANDBOX__KIND", "bubblewrap")
    assert found().found.endswith("network: model")
    monkeypatch.setenv("PATH", forbidden)
    assert (found().verdict, "not allow a sandbox" in found().found) == ("missing", True)


def test_without_bubblewrap_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin"))
    with pytest.raises(OperatorError, match="bubblewrap is not installed") as caught:
        require_sandbox(BUBBLEWRAP)
    assert "apt-get install bubblewrap" in caught.value.remedy


def test_one_that_is_no_program_is_told_to_be_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path_with(tmp_path / "bin", "not a program"))
    with pytest.raises(OperatorError, match="bubblewrap cannot be run"):
        require_sandbox(BUBBLEWRAP)


def test_an_old_one_is_told_to_be_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = "#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2; exit 1\n"
    monkeypatch.setenv("PATH", path_with(tmp_path / "bin", old))
    with pytest.raises(OperatorError) as caught:
        require_sandbox(BUBBLEWRAP)
    assert caught.value.remedy == "install bubblewrap 0.8 or newer"


def test_elsewhere_than_on_linux_a_container_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OperatorError, match="bubblewrap runs only on Linux") as caught:
        require_sandbox(BUBBLEWRAP)
    assert "container" in caught.value.remedy


def test_a_container_that_is_none_is_refused_and_one_is_believed_by_its_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("container", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    if not any(Path(sign).exists() for sign in CONTAINERS):
        with pytest.raises(OperatorError, match="but this is no container"):
            require_sandbox(SandboxConfig(kind="container"))
    monkeypatch.setenv("container", "podman")
    assert "container that Helmsman runs in" in require_sandbox(SandboxConfig(kind="container"))


def test_a_run_under_a_worker_is_refused_before_anything_is_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin"))
    nobody_looked_at: Any = "a repository"
    with pytest.raises(OperatorError, match="bubblewrap is not installed"):
        begin_loop(nobody_looked_at, state(config(sandbox=BUBBLEWRAP)))
