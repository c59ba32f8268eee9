"""Nothing that the agent or a check started is alive when the verdict is made, whatever it did to be overlooked.

What a manager of the machine starts for it (systemd, cron, docker, a tmux that was there before) is outside: docs/sandbox.md.
"""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Literal

import psutil
import pytest

from deployments.demo_model import bash, by_call, call, say
from helmsman.config import CheckConfig
from helmsman.records.checks import CheckResult
from tasks.checks.run import CheckContext, run_check
from tasks.repository.worktree import Worktree
from tasks.system.process import ProcessResult, end_tagged, run
from tasks.system.supervised import cgroups, end_cgroup, make_cgroup, still_alive
from tests.fakes.command_line import read_object, scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import ENV, eventually, run_driver, sleeper, sleeping_pids, start_driver, tagged_pids
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.feature("E5")

CLEARED = "setsid env -i sh -c 'echo $$ > {file}; exec {nap}' >/dev/null 2>&1 &"
FORKED_TWICE = "(setsid sh -c '(env -i sh -c \"echo \\$\\$ > {file}; exec {nap}\" &) &' >/dev/null 2>&1 &)"
DEAF_TO_TERM = "setsid env -i sh -c 'trap \"\" TERM HUP INT; echo $$ > {file}; exec {nap}' >/dev/null 2>&1 &"
DAEMON = """{python} -c '
import os
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
os.closerange(0, 1024)
with open("{file}", "w") as file: file.write(str(os.getpid()))
os.execve("/bin/sleep", "{nap}".split(), dict())
' &"""
STARTED = "until test -s {file}; do sleep 0.01; done"
FORKS_ON = "import os, sys\nos.setsid()\nwhile True:\n    if os.fork(): os._exit(0)\n"
AS_ROOT_OF_ITSELF = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
WITHOUT_CGROUPS = (*AS_ROOT_OF_ITSELF, 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh")
WITHOUT_NETWORKS = (*AS_ROOT_OF_ITSELF, 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"', "sh")
FREEZER = Path("/sys/fs/cgroup/freezer")
MADE = make_cgroup("test")
end_cgroup(MADE)
CGROUP = MADE is not None


def sh(script: str, tag: str, tmp_path: Path, *, grace: float = 1) -> ProcessResult:
    """Run a script in which `{file}` and `{nap}` stand for what is its test's own."""
    told = script.replace("{file}", str(tmp_path / "pid")).replace("{nap}", sleeper(tag)).replace("{python}", sys.executable)
    return run(["sh", "-c", told], cwd=tmp_path, env=ENV, tag=tag, deadline=60, grace=grace)


# --- what a command leaves behind


@pytest.mark.parametrize(
    "daemon",
    [
        pytest.param(CLEARED, id="a-session-and-an-empty-environment"),
        pytest.param(FORKED_TWICE, id="a-double-fork"),
        pytest.param(DEAF_TO_TERM, id="deaf-to-TERM"),
        pytest.param(DAEMON, id="no-descriptors-and-another-folder"),
    ],
)
def test_a_daemon_does_not_outlive_the_command_that_started_it(daemon: str, tag: str, tmp_path: Path) -> None:
    ended = sh(f"{daemon}\n{STARTED}; echo done", tag, tmp_path)
    assert (ended.by, ended.exit_code, ended.head, ended.survivors) == ("itself", 0, "done\n", ())
    assert not sleeping_pids(tag)
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    "within",
    [
        pytest.param((), id="with-a-cgroup"),
        pytest.param(WITHOUT_CGROUPS, id="without-cgroups", marks=pytest.mark.needs("user namespaces")),
    ],
)
def test_a_process_that_forks_faster_than_it_can_be_listed_is_ended(within: tuple[str, ...], tag: str) -> None:
    code = f"""
ended = run([sys.executable, "-c", {FORKS_ON!r}, tag], cwd=here, env=env, tag=tag, deadline=60, grace=0.2)
print(ended.by, ended.survivors)
"""
    assert run_driver(code, tag, within=within) == "itself ()\n"
    assert not any(tagged_pids(tag) for _ in range(20))


def test_a_daemon_that_a_check_started_does_not_outlive_it(tag: str, tmp_path: Path) -> None:
    daemon = f"{CLEARED}\n{STARTED}".replace("{file}", str(tmp_path / "pid")).replace("{nap}", sleeper(tag))
    check = CheckConfig(command=daemon)
    result = run_check(CheckContext(Worktree(tmp_path), tag, lambda: False), 0, check, deadline=60)
    assert (result.passed, result.error) == (True, "")
    assert not sleeping_pids(tag)


# --- who ends it when the driver cannot


def test_a_daemon_does_not_outlive_a_driver_that_was_killed(tag: str, tmp_path: Path) -> None:
    with _driving_daemon(tag, tmp_path) as process:
        process.kill()
    assert eventually(lambda: not sleeping_pids(tag) and not tagged_pids(tag))


@pytest.mark.needs("cgroups")
def test_what_is_left_when_driver_and_supervisor_were_killed_is_ended_by_the_next_driver(tag: str, tmp_path: Path) -> None:
    with _driving_daemon(tag, tmp_path) as process:
        for one in psutil.Process(process.pid).children():
            one.kill()
            process.kill()  # at once: it would do the work of the supervisor
    assert sleeping_pids(tag)
    assert end_tagged(tag[:-1], prefix=True) >= 1
    assert not sleeping_pids(tag)


def _driving_daemon(tag: str, tmp_path: Path) -> "subprocess.Popen[str]":
    """A driver whose command has started a daemon and goes on."""
    daemon = f"{CLEARED}\n{STARTED}; echo; sleep 300".replace("{file}", str(tmp_path / "pid")).replace("{nap}", sleeper(tag))
    how = "cwd=here, env=env, tag=tag, deadline=60, grace=1, on_line=lambda _: print(flush=True)"
    process = start_driver(f"run(['sh', '-c', {daemon!r}], {how})", tag)
    assert process.stdout
    process.stdout.readline()
    return process


# --- what cannot be ended, or is not known to have ended


def test_a_command_that_kills_its_supervisor_is_said_to_have_left_processes(tag: str, tmp_path: Path) -> None:
    ended = sh(f"{CLEARED}\n{STARTED}; kill -KILL $PPID; sleep 300", tag, tmp_path)
    assert ended.exit_code is None
    assert [one.name for one in ended.survivors] == ["unknown processes, since the one that contained them was killed"]
    assert not tagged_pids(tag)
    left = sleeping_pids(tag)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not (CGROUP and left)


@pytest.mark.needs("freezer")
def test_a_process_that_cannot_be_ended_is_named(tag: str, tmp_path: Path) -> None:
    frozen = FREEZER / tag
    frozen.mkdir()
    try:
        freeze = f"{{ echo $(cat {{file}}) > {frozen}/cgroup.procs && echo FROZEN > {frozen}/freezer.state; }}"
        ended = sh(f"{CLEARED}\n{STARTED}; {freeze}", tag, tmp_path)
        (pid,) = sleeping_pids(tag)
        assert [(one.pid, one.name) for one in ended.survivors] == [(pid, "sleep")]
        assert ended.exit_code == 0
        assert still_alive(ended.survivors) == ended.survivors
    finally:
        (frozen / "freezer.state").write_text("THAWED")
        assert eventually(lambda: not sleeping_pids(tag))
        frozen.rmdir()
    assert still_alive(ended.survivors) == ()
    end_tagged(tag)
    assert tag not in dict(cgroups())


# --- the verdict


@pytest.mark.slow
@pytest.mark.feature("V18")
@pytest.mark.timeout(300)
def test_a_daemon_that_swaps_a_file_while_the_checks_run_completes_no_loop(tmp_path: Path, prefect_server: PrefectServer) -> None:
    make_repository(tmp_path / "repository", {"app.py": "answer = 0\n"})
    swap = "while sleep 0.01; do test -e $0/checking && echo 'answer = 42' > $0/app.py; done"
    daemon = f'setsid env -i /bin/sh -c "{swap.replace("$", chr(92) + "$")}" "$PWD" >/dev/null 2>&1 &'
    work = call(bash("echo 'answer = 41' > app.py; git commit -q -a -m 'Answer'"), bash(daemon))
    with scripted_command_line(tmp_path, prefect_server.url, by_call([[work, say("<promise>COMPLETE</promise>")]])) as helmsman:
        check = "touch checking; for i in $(seq 100); do grep -q 42 app.py && exit; sleep 0.02; done; false"
        run = helmsman.run_loop(
            "Give the answer", "--check", check, "--max-iterations", "1", "--set", "steering.hooks=false", "--json"
        )
    result = read_object(run.output)
    assert (run.exit_code, result["outcome"]) == (3, "stopped"), run
    assert [one["passed"] for one in result["checks"]] == [False]


# --- the network of a check


@pytest.mark.needs("user namespaces")
def test_a_check_with_its_own_network_reaches_nobody_outside_of_it(tag: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        results = [_check(code, network, tag, tmp_path) for network in ("host", "own")]
    assert [result.passed for result in results] == [True, False], results
    assert "refused" in results[1].head


@pytest.mark.needs("user namespaces")
def test_a_check_with_its_own_network_talks_to_its_own_server(tag: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = ("127.0.0.1", taken.getsockname()[1])
        code = f"import socket; server = socket.create_server({where}); socket.create_connection({where}, 5)"
        results = [_check(code, network, tag, tmp_path) for network in ("host", "own")]
    assert [result.passed for result in results] == [False, True], results


@pytest.mark.needs("user namespaces")
def test_a_check_that_cannot_have_its_own_network_does_not_run_in_anothers(tag: str) -> None:
    code = """
try:
    run(["sh", "-c", "echo ran"], cwd=here, env=env, tag=tag, deadline=60, network="own")
except Exception as error:
    print(type(error).__name__)
"""
    assert run_driver(code, tag, within=WITHOUT_NETWORKS) == "OperatorError\n"


def _check(code: str, network: Literal["host", "own"], tag: str, tmp_path: Path) -> CheckResult:
    check = CheckConfig(command=f'{sys.executable} -c "{code}"', network=network)
    return run_check(CheckContext(Worktree(tmp_path), tag, lambda: False), 0, check, deadline=60)
