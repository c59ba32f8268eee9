"""Section 6: the credentials that a driver was started with are not there to be read by what the agent starts.

From root nothing is hidden. As root these tests therefore look at who owns `/proc/PID/environ`, or look as another user.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from deployments.demo_model import Request, Turn, bash, call, say
from tasks.engine.embedded import MODULE as SERVER
from tasks.groups.members import MODULE as MEMBER
from tasks.repository.objects import close_readers, read_objects, read_sizes
from tests.fakes.command_line import HELMSMAN, scripted_command_line
from tests.fakes.prefect_database import copy_database
from tests.fakes.processes import eventually, is_supervisor, processes
from tests.fakes.repositories import make_repository
from tests.fakes.requirements import need

pytestmark = [
    pytest.mark.feature("X1"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux can hide a process from its own user"),
]

ROOT = Path(__file__).parents[2]
NOBODY = 65534
SECRET = "sk-ant-of-the-operator"
SIGNS = "what each driver signs the state with"
PATIENCE = 100
WAITS = "import os, sys; sys.path.insert(0, sys.argv[1]); print(flush=True); sys.stdin.read()"
HIDES = f"import sys; sys.path.insert(0, sys.argv[1]); from tasks.system.environment import hide_process; hide_process(); {WAITS}"


def as_an_ordinary_user(command: Sequence[str]) -> list[str]:
    """The command, as somebody who is not root. Skips where nobody else can be had."""
    if os.getuid():
        return list(command)
    need("setpriv")
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]


def python_for_everybody() -> str:
    """The Python of the tests, or the system's, where only root may read this one."""
    for python in (sys.executable, "/usr/bin/python3"):
        if (
            Path(python).exists()
            and not subprocess.run(as_an_ordinary_user([python, "-c", "import ctypes"]), check=False).returncode
        ):
            return python
    pytest.skip("there is no Python that an ordinary user may start")


@pytest.mark.parametrize(("code", "readable"), [(WAITS, True), (HIDES, False)])
def test_no_process_of_the_same_user_reads_the_environment_of_one_that_hides(code: str, readable: bool) -> None:
    command = as_an_ordinary_user([python_for_everybody(), "-c", code, str(ROOT)])
    with subprocess.Popen(command, env={"KEY": SECRET}, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        look = as_an_ordinary_user(["cat", f"/proc/{process.pid}/environ"])
        seen = subprocess.run(look, capture_output=True, text=True, check=False)
        process.stdin.close()
    assert (SECRET in seen.stdout, seen.returncode == 0) == (readable, readable), seen.stderr


def script(request: Request) -> Turn:
    return (call(bash("touch ~/held-$PPID; while test -e ~/hold; do sleep 0.1; done; echo 42 > answer")),
            say("<promise>COMPLETE</promise>"))[min(request.turn, 1)]  # fmt: skip


def is_hidden(process: psutil.Process) -> bool:
    """Root owns what tells of a hidden process; of any other, the user and the group that it runs as."""
    owner = Path(f"/proc/{process.pid}/environ").stat()
    return (owner.st_uid, owner.st_gid) == (0, 0) != (process.uids().effective, process.gids().effective)


def arguments_and_environment(process: psutil.Process) -> tuple[list[str], list[str]] | None:
    """Its arguments and the values of its environment; None where it has ended meanwhile, as each `sleep` of an agent does."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline(), list(process.environ().values())
    return None


@pytest.mark.slow
def test_driver_engine_and_members_of_a_group_are_hidden_while_their_agents_work(tmp_path: Path) -> None:
    """Root gives them a group of their own, for else it could not be told who owns what."""
    make_repository(tmp_path / "repository", {})
    copy_database(tmp_path / "prefect")
    goals = ("--goal", "reach it", "--goal", "reach it otherwise", "--check", "test -e answer", "--name", "both")
    with scripted_command_line(tmp_path, "", script, warm=False) as helmsman:
        home = tmp_path / "home"
        (home / "hold").touch()
        other = [] if os.getuid() else ["setpriv", f"--regid={NOBODY}", "--clear-groups"]
        command = [*other, HELMSMAN, "parallel", *goals, "--json"]
        variables = {**helmsman.variables, "OPERATORS_KEY": SECRET, "HELMSMAN_STATE_KEY": SIGNS}
        pipe = subprocess.PIPE
        group = subprocess.Popen(command, cwd=helmsman.repository, env=variables, stdout=pipe, stderr=pipe, text=True)
        assert eventually(lambda: len(list(home.glob("held-*"))) == 2, PATIENCE), group.poll()
        found = {one: said for one in processes("HOME", str(home)) if (said := arguments_and_environment(one))}
        named = [one for one, (words, _) in found.items() if {SERVER, MEMBER} & set(words) and not is_supervisor(one)]
        ours = [psutil.Process(group.pid), *named]
        assert len(ours) == 4
        assert [one.cmdline() for one in ours if not is_hidden(one)] == []
        assert [words for one, (words, values) in found.items() if one.pid != group.pid and {SECRET, SIGNS} & set(values)] == []
        (home / "hold").unlink()
        output, errors = group.communicate(timeout=PATIENCE)
    assert group.returncode == 0, (output, errors)


def test_a_git_that_stays_while_an_agent_works_was_told_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = make_repository(tmp_path / "top")
    for name in ("ANTHROPIC_API_KEY", "HELMSMAN_STATE_KEY", "HTTPS_PROXY", "GIT_HTTP_EXTRA", "SOMETHING_ELSE"):
        monkeypatch.setenv(name, SECRET)
    close_readers()
    assert read_objects(top, ["HEAD"]) != read_sizes(top, ["HEAD"])
    found = [child for child in psutil.Process().children() if "cat-file" in child.cmdline()]
    assert len(found) == 2
    assert not [child for child in found if SECRET in (*child.environ().values(), *child.cmdline())]
