"""Section 1: opening, checking or steering a hostile clone executes nothing that the clone planted for us.

Every planted file writes its name into one file outside of the clone. The commands are those that a user types in the clone.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deployments.demo_model import Script, bash, by_call, call, say
from tasks.repository.git import git
from tasks.repository.objects import read_objects, read_sizes
from tests.fakes.command_line import ScriptedCommandLine, offline_command_line, scripted_command_line
from tests.fakes.prefect_database import copy_database
from tests.fakes.prefect_server import TEAM_SERVER, PrefectServer
from tests.fakes.processes import Ended
from tests.fakes.repositories import make_repository, sh

pytestmark = [pytest.mark.feature("X5"), pytest.mark.timeout(300)]

PROMISE = "<promise>COMPLETE</promise>"
COMMIT = "git add --all; git commit --quiet --message 'Answer'"
ANSWER = call(bash(f"echo 42 > answer; {COMMIT}"))
CHECK = ("--check", "test -e answer")
MODULES = (
    "sitecustomize.py", "usercustomize.py", "prefect.py", "uvicorn.py", "typer.py", "yaml.py", "tasks/__init__.py",
    "flows/__init__.py", "flows/loop.py", "deployments/__init__.py", "helmsman/__init__.py", "blocks/__init__.py",
)  # fmt: skip
"""What Python would import from the working directory in place of ours, or at its start."""
PROGRAMS = "git", "claude", "sh", "bwrap", "codex"
"""What a PATH with an empty or relative element would find in the working directory."""


def logging_file(executed: Path, name: str) -> str:
    """Python's logging calls the factory of a handler with whatever arguments the file names."""
    command = f"echo {name} >> {executed}"
    return f"version: 1\nhandlers:\n  planted:\n    (): subprocess.Popen\n    args: [sh, -c, '{command}']\n"


def settings_files(executed: Path) -> dict[str, dict[str, str]]:
    """Each of the ways by which Prefect takes settings from the working directory."""
    return {
        "prefect.toml": {
            "prefect.toml": '[logging]\nconfig_path = "logging.yml"\n',
            "logging.yml": logging_file(executed, "prefect.toml"),
        },
        ".env": {
            ".env": "PREFECT_LOGGING_CONFIG_PATH=logging.env.yml\nPREFECT_LOGGING_SETTINGS_PATH=logging.env.yml\n",
            "logging.env.yml": logging_file(executed, ".env"),
        },
        "pyproject.toml": {
            "pyproject.toml": '[tool.prefect.logging]\nconfig_path = "logging.pyproject.yml"\n',
            "logging.pyproject.yml": logging_file(executed, "pyproject.toml"),
        },
        "profiles.toml": {
            ".env": "PREFECT_PROFILES_PATH=profiles.toml\n",
            "profiles.toml": 'active = "planted"\n[profiles.planted]\nPREFECT_LOGGING_CONFIG_PATH = "logging.profile.yml"\n',
            "logging.profile.yml": logging_file(executed, "profiles.toml"),
        },
    }


def all_settings_files(executed: Path) -> dict[str, str]:
    """All of them at once. If the one that counts most is ignored, the next one counts."""
    files: dict[str, str] = {}
    for planted in settings_files(executed).values():
        files |= {name: files.get(name, "") + text for name, text in planted.items()}
    return files


def everything(executed: Path) -> dict[str, str]:
    """All that a library or program of ours is known to read in its working directory, or above it."""
    files = all_settings_files(executed)
    module = "with open({executed!r}, 'a') as file: file.write({name!r} + chr(10))\n"
    files |= {name: module.format(executed=str(executed), name=name) for name in MODULES}
    files |= {name: f"#!/bin/sh\necho {name} >> {executed}\n" for name in PROGRAMS}
    return files | {
        "alembic.ini": "[alembic]\nscript_location = migrations\n",
        "migrations/env.py": module.format(executed=str(executed), name="migrations/env.py"),
        "prefect.yaml": f"build:\n- prefect.deployments.steps.run_shell_script:\n    script: echo prefect.yaml >> {executed}\n",
        "logging.conf": "[loggers]\nkeys=root\n",
        ".netrc": "default login thief password thief\n",
        "otel.yaml": "file_format: '0.3'\n",
        ".pg_service.conf": "[memory]\nhost=127.0.0.1\n",
        "uvicorn.toml": "[uvicorn]\nreload = true\n",
    }


@dataclass(frozen=True)
class Clone:
    """A clone of a hostile repository, and a user with a shell in it."""

    helmsman: ScriptedCommandLine
    executed: Path

    def run(self, *arguments: str, **variables: str) -> Ended:
        return self.helmsman.run(*arguments, **variables)

    @property
    def seen(self) -> list[str]:
        """What was executed, by name."""
        return sorted(set(self.executed.read_text().split())) if self.executed.exists() else []


@contextmanager
def cloned(folder: Path, files: Mapping[str, str], api_url: str, script: Script) -> Generator[Clone]:
    """`git clone` of a repository with these files. Without an address of a server, each loop starts an engine of its own."""
    make_repository(folder / "theirs", files)
    for name in PROGRAMS:
        if name in files:
            (folder / "theirs" / name).chmod(0o755)
    git(folder / "theirs", "commit", "--quiet", "--all", "--allow-empty", "--message", "executable")
    git(folder, "clone", "--quiet", "theirs", "clone")
    copy_database(folder / "prefect")
    with scripted_command_line(folder, api_url, script, warm=False) as made:
        helmsman = ScriptedCommandLine(folder / "clone", made.variables, made.model, warm=False)
        yield Clone(helmsman, folder / "executed")


@pytest.fixture(scope="module")
def team_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[PrefectServer]:
    with PrefectServer.running(tmp_path_factory.mktemp("team-server"), TEAM_SERVER) as server:
        yield server


def test_no_settings_file_of_a_clone_reaches_prefect(tmp_path: Path, prefect_server: PrefectServer) -> None:
    planted = all_settings_files(tmp_path / "executed")
    with cloned(tmp_path, planted, prefect_server.url, by_call([[say("No.")]])) as clone:
        ended = clone.run("align", "the answer is there", "--yes")
        assert "round 1" in ended.output, ended
    assert clone.seen == []


@pytest.mark.slow
def test_nothing_planted_in_a_clone_executes_by_any_command(tmp_path: Path, team_server: PrefectServer) -> None:
    """With an engine of their own where a command needs one: the server is one more process that must not stand in the clone."""
    executed = tmp_path / "executed"
    with cloned(tmp_path, everything(executed), "", by_call([[ANSWER, say(PROMISE)]])) as clone:
        for command in (["--version"], ["list"], ["status"], ["config"], ["doctor"], ["init", "--json"], ["presets", "list"],
                        ["memory", "stats"], ["rubric", "check"], ["align", "the answer is there", "--yes"]):  # fmt: skip
            ended = clone.run(*command)
            assert "Traceback" not in ended.errors, (command, ended)
            assert clone.seen == [], (command, ended)
        completed = clone.run(_HELMSMAN_COMPLETE="complete_bash", COMP_WORDS="helmsman\nstatus\n", COMP_CWORD="2")
        assert (completed.exit_code, completed.errors) == (0, "")
        run = clone.run("run", "the answer is there", *CHECK, "--name", "loop", "--set", "alignment=", "--yes")
        assert run.exit_code == 0, run
        for command in (["resume", "loop"], ["log", "loop"], ["status", "loop"], ["report", "loop"], ["explain", "loop"]):
            assert clone.run(*command).exit_code == 0
        deployed = clone.run("deploy", PREFECT_API_URL=team_server.url)
        assert deployed.exit_code == 0, deployed
    assert clone.seen == []


@pytest.mark.slow
def test_what_an_agent_commits_in_place_does_not_execute_when_the_loop_is_resumed(
    tmp_path: Path, team_server: PrefectServer
) -> None:
    planted = settings_files(tmp_path / "executed")["prefect.toml"]
    plants = "; ".join(f"cat > {name} <<'EOT'\n{text}EOT\n" for name, text in planted.items())
    sessions = by_call([[call(bash(f"{plants}{COMMIT}")), say("Half.")], [ANSWER, say(PROMISE)]])
    with cloned(tmp_path, {}, team_server.url, sessions) as clone:
        stopped = clone.run(
            "run", "the answer is there", *CHECK, "--in-place", "--max-iterations", "1", "--name", "loop", "--yes"
        )
        assert stopped.exit_code == 3, stopped
        assert (clone.helmsman.folder / "prefect.toml").exists()
        resumed = clone.run("resume", "loop", "--max-iterations", "3")
        assert resumed.exit_code == 0, resumed
    assert clone.seen == []


@pytest.mark.slow
@pytest.mark.parametrize("element", ["", ".", "bin"])
def test_no_program_of_a_clone_runs_because_path_has_a_relative_element(element: str, tmp_path: Path) -> None:
    files = {
        f"{folder}{name}": f"#!/bin/sh\necho {name} >> {tmp_path}/executed\n" for name in PROGRAMS for folder in ("", "bin/")
    }
    with cloned(tmp_path, files, "", by_call([[say("No.")]])) as clone:
        for path in files:
            (clone.helmsman.folder / path).chmod(0o755)
        for command in (["list"], ["doctor"], ["config"]):
            clone.run(*command, PATH=os.pathsep.join((element, os.environ["PATH"])))
    assert clone.seen == []


def test_a_path_that_the_user_gives_is_looked_up_from_where_the_user_stands(tmp_path: Path) -> None:
    """Although the process does not stand there any more."""
    helmsman = offline_command_line(tmp_path, HELMSMAN_HOME="state")
    make_repository(helmsman.repository, {"helmsman.toml": 'goal = "reach it"\n', "kept/RUBRIC.md": "# Goal\nreach it\n"})
    exported = helmsman.run("memory", "export", "../out.json", "--repo", "../repository", HELMSMAN_HOME="")
    assert exported.exit_code == 2, exported
    assert f"found: {tmp_path}/../repository" in exported.errors
    exported = helmsman.run("memory", "export", "out.json", "--repo", "repository/kept")
    assert exported.exit_code == 0, exported
    assert f'"file": "{tmp_path}/out.json"' in helmsman.run("memory", "export", "out.json", "--force", "--json").output
    assert (tmp_path / "out.json").is_file()
    assert (tmp_path / "state" / "memory").is_dir()
    assert helmsman.run("memory", "import", "out.json").exit_code == 0
    checked = helmsman.run("rubric", "check", "repository/kept/RUBRIC.md")
    assert checked.output.startswith("RUBRIC.md: 0 checks"), checked


def test_reading_an_object_that_a_partial_clone_lacks_fetches_it_from_nowhere(tmp_path: Path) -> None:
    """To fetch it, git would run whatever the clone's own configuration says."""
    origin, top, ran = make_repository(tmp_path / "origin", {"a": "text\n"}), tmp_path / "top", tmp_path / "ran"
    sh(origin, "config", "uploadpack.allowFilter", "true")
    sh(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", origin.as_uri(), str(top))
    sh(top, "config", "remote.origin.uploadpack", f"touch {ran}; git-upload-pack")
    blob = sh(origin, "rev-parse", "HEAD:a")
    assert (read_objects(top, [blob]), read_sizes(top, [blob]), ran.exists()) == ([None], [None], False)
    assert (sh(top, "cat-file", "blob", blob), ran.exists()) == ("text", True)
