"""The wheel as a user has it: installed on its own, and started in a folder whose files are named like ours."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contracts.source import PACKAGES, ROOT, listed_files, named

pytestmark = pytest.mark.xdist_group("wheel")  # built once, by one worker
IMPOSTORS = ("tasks", "flows", "blocks", "deployments", "helmsman", "prefect", "git", "uvicorn")
DEMO_SECONDS = 280


@dataclass(frozen=True)
class Installed:
    """`helmsman` in an environment without the checkout, called from a hostile folder."""

    command: Path
    folder: Path
    home: Path

    def run(self, *arguments: str, seconds: int = 60) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "IS_SANDBOX": "1"}
        command = [str(self.command), *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )

    def imported(self) -> list[str]:
        """The impostors that were imported, here or in any process that a command started."""
        return sorted(path.name for path in self.folder.rglob("*.imported"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _quietly(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and our dependencies lent to it.

    They are lent by a path file. Path files in a lent folder are not read, so the editable checkout beside them stays out.
    """
    folder = tmp_path_factory.mktemp("environment")
    _quietly(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = str(folder / "bin" / "python")
    _quietly(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", str(wheel))
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib"))
    return folder


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Installed:
    folder, home = tmp_path / "hostile", tmp_path / "home"
    home.mkdir()
    (folder / "tasks").mkdir(parents=True)
    shout = "from pathlib import Path\nPath(__file__ + '.imported').touch()\n"
    for impostor in (*(f"{name}.py" for name in IMPOSTORS), "tasks/__init__.py"):
        (folder / impostor).write_text(shout)
    return Installed(environment / "bin" / "helmsman", folder, home)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    identity = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"]
    _quietly("git", "init", "--quiet", str(folder))
    _quietly("git", "-C", str(folder), *identity, "commit", "--quiet", "--allow-empty", "--message", "start")
    return folder


def _quietly(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_wheel_holds_our_five_packages_whole_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    ours = {named(path) for path in listed_files() if named(path).partition("/")[0] in PACKAGES}
    assert held == ours | {"deployments/prefect.yaml"}  # which says how they are deployed


def test_the_checkout_is_out_of_the_wheels_sight(environment: Path, tmp_path: Path) -> None:
    code = "import helmsman, tasks; print(helmsman.__file__, tasks.__file__)"
    ended = subprocess.run(
        [str(environment / "bin" / "python"), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert all(path.startswith(str(environment)) for path in ended.stdout.split())


def test_the_impostors_are_alive(environment: Path, installed: Installed) -> None:
    command = [str(environment / "bin" / "python"), "-c", "import tasks, flows, prefect"]
    subprocess.run(command, cwd=installed.folder, capture_output=True, check=True)
    assert installed.imported() == ["__init__.py.imported", "flows.py.imported", "prefect.py.imported"]


@pytest.mark.feature("X3")
def test_help_works_in_a_hostile_folder(installed: Installed) -> None:
    ended = installed.run("--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "resume" in ended.stdout
    assert installed.imported() == []


@pytest.mark.feature("X3")
def test_the_loops_of_a_repository_are_listed_from_a_hostile_folder(installed: Installed, repository: Path) -> None:
    ended = installed.run("list", "--repo", str(repository), "--json")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[]\n", "")
    assert installed.imported() == []


@pytest.mark.feature("X3")
def test_the_doctor_finds_everything_in_place_from_a_hostile_folder(installed: Installed, repository: Path) -> None:
    ended = installed.run("doctor", "--repo", str(repository))
    assert ended.returncode == 0, ended.stdout
    assert installed.imported() == []


@pytest.mark.slow
@pytest.mark.feature("X3")
@pytest.mark.timeout(DEMO_SECONDS + 20)
def test_a_whole_loop_runs_from_a_hostile_folder(installed: Installed) -> None:
    """Server, agent and checks are separate processes; none imports an impostor either."""
    ended = installed.run("demo", seconds=DEMO_SECONDS)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert installed.imported() == []
