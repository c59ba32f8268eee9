"""Attempts to escape from the sandbox."""

import os
import signal
import socket
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import psutil
import pytest

from helmsman.config import SandboxConfig
from tasks.repository.git import git
from tests.fakes.sandbox_scene import PYTHON, SandboxScene, scene

__all__ = ["scene"]
pytestmark = [pytest.mark.slow, pytest.mark.needs("bubblewrap"), pytest.mark.feature("D5")]


READ = {
    "a key in the home": "cat ~/.ssh/key",
    "another user's home": "cat ~/../eve/key",
    "the repository's configuration": "cat {root}/repository/.git/config",
    "the state of the loop": "cat {root}/repository/.git/refs/helmsman/loop/state",
    "whatever lies in it": "grep -rsh the-secret {root}",
    "by a link in the worktree": "ln -s {root}/homes/eve leads; cat leads/key",
}


@pytest.mark.parametrize("script", READ.values(), ids=READ)
def test_private_files_cannot_be_read(scene: SandboxScene, script: str) -> None:
    command = script.format(root=scene.root)
    assert scene.outside(command).head != ""
    (scene.worktree / "leads").unlink(missing_ok=True)
    ended = scene.inside(command)
    assert (ended.head, ended.exit_code != 0) == ("", True)


WRITE = {
    "beside the worktree": "echo x > {root}/written",
    "into the home, for later": "mkdir -p {root}/homes/ada && echo x > {root}/homes/ada/.profile",
    "into temporary files of all": "echo x > {root}/../written-by-{name}",
    "by a link": "ln -s {root} out; echo x > out/written",
    "by a folder that is swapped for a link": "mkdir d; (while :; do rm -rf d; ln -s {root} d; rm -f d; mkdir d; done) & "
    "i=0; while [ $i -lt 300 ]; do echo x > d/written; i=$((i+1)); done 2>/dev/null; kill $!",
    "into a hook": "echo x > {root}/repository/.git/hooks/post-checkout",
    "into the configuration": "git config --file {root}/repository/.git/config core.fsmonitor evil",
    "in the place of the link to the repository": "rm -f .git || mv .git x; mkdir .git",
    "in the place of the program that made the box": "echo x > /run/helmsman/inside.py",
    "into the settings of the system": "echo x > /etc/written-by-{name}",
    "with its own namespaces": "unshare -Urm sh -c 'mount --bind / /mnt' && echo x > {root}/written",
    "by mounting again": "mount -o remount,rw /usr && echo x > /usr/bin/written-by-{name}",
}


@pytest.mark.parametrize("script", WRITE.values(), ids=WRITE)
def test_nothing_outside_of_the_worktree_can_be_written(scene: SandboxScene, script: str) -> None:
    before = {path: path.read_bytes() for path in things(scene)}
    scene.inside(script.format(root=scene.root, name=scene.root.name))
    assert {path: path.read_bytes() for path in things(scene)} == before
    for place in ("/usr/bin", "/etc", str(scene.root.parent)):
        assert not (Path(place) / f"written-by-{scene.root.name}").exists()


def things(scene: SandboxScene) -> Iterator[Path]:
    """All files but those that the box itself works with."""
    for path in scene.root.rglob("*"):
        own = path.is_relative_to(scene.worktree) and path != scene.worktree / ".git"
        if not own and not path.is_relative_to(scene.folder.root) and path.is_file():
            yield path


def test_references_hooks_and_settings_of_git_are_a_copy_that_is_thrown_away(scene: SandboxScene) -> None:
    hooks, main = scene.repository / ".git" / "hooks", git(scene.repository, "rev-parse", "main")
    before = (scene.repository / ".git" / "config").read_text(), sorted(path.name for path in hooks.iterdir())
    ended = scene.inside(
        "git update-ref -d refs/helmsman/loop/state; git config core.fsmonitor 'touch ../evil'; git branch -f main 4b825dc;"
        "git commit -q --allow-empty -m mine; git update-ref refs/heads/main HEAD; git update-ref refs/helmsman/x/state HEAD;"
        "echo 'touch ../evil' > $(git rev-parse --git-dir)/hooks/post-checkout; rm -rf $(git rev-parse --git-dir)/objects/*;"
        "git rev-parse HEAD; git log --oneline main"
    )
    assert ended.exit_code is not None
    scene.import_commits()
    assert git(scene.repository, "rev-parse", "main") == main
    assert ((scene.repository / ".git" / "config").read_text(), sorted(path.name for path in hooks.iterdir())) == before
    assert git(scene.repository, "for-each-ref", "--format=%(refname)", "refs/helmsman").split() == ["refs/helmsman/loop/state"]
    git(scene.repository, "fsck", "--full")
    assert not (scene.root / "evil").exists()


ALIEN = {
    "killed": "kill -9 {pid}; kill -0 {pid}",
    "traced": f"{PYTHON} -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, {{pid}}, 0, 0) != 0)'",
    "looked into": "cat /proc/{pid}/environ",
    "found by its children": "cat /proc/{pid}/task/{pid}/children",
}


@pytest.mark.parametrize("script", ALIEN.values(), ids=ALIEN)
def test_the_driver_is_not_to_be(scene: SandboxScene, script: str) -> None:
    ended = scene.inside(script.format(pid=os.getpid()))
    assert ended.exit_code != 0
    assert ended.head == ""


def test_processes_of_others_are_not_there(scene: SandboxScene) -> None:
    look = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done"
    alien = subprocess.Popen(["sleep", "98.7654321"])
    try:
        outside, inside = scene.outside(look), scene.inside(look)
    finally:
        alien.kill()
        alien.wait()
    assert "sleep 98.7654321" in outside.head + outside.tail
    assert "cmdline" in inside.head
    assert "sleep 98.7654321" not in inside.head + inside.tail


@pytest.fixture
def listening() -> Generator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


CONNECT = "import socket; socket.create_connection(('{host}', {port}), 3).close(); print('through')"


@pytest.mark.parametrize("network", ["off", "model"])
def test_a_port_of_this_machine_is_not_reached(scene: SandboxScene, listening: int, network: str) -> None:
    config = SandboxConfig.model_validate({"kind": "bubblewrap", "network": network, "hosts": ["model.example"]})
    script = CONNECT.format(host="127.0.0.1", port=listening)
    assert scene.outside(f'{PYTHON} -c "{script}"').head == "through\n"
    assert "refused" in scene.python(script, config=config).stderr


@pytest.mark.parametrize(("host", "port"), [("10.0.0.1", 22), ("169.254.169.254", 80), ("8.8.8.8", 53)])
def test_no_address_of_any_network_is_reached(scene: SandboxScene, host: str, port: int) -> None:
    assert "unreachable" in scene.python(CONNECT.format(host=host, port=port)).stderr


def test_no_name_is_looked_up(scene: SandboxScene) -> None:
    ended = scene.python("import socket; print(socket.getaddrinfo('example.com', 80))")
    assert (ended.head, "gaierror" in ended.stderr) == ("", True)


def test_an_abstract_socket_of_the_machine_is_not_reached(scene: SandboxScene) -> None:
    name = f"helmsman-{scene.root.name}"
    script = f"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + '{name}'); print('through')"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        assert scene.outside(f'{PYTHON} -c "{script}"').head == "through\n"
        assert "refused" in scene.python(script).stderr


def test_a_socket_in_the_file_system_is_not_there(scene: SandboxScene) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        path = scene.root / "s"
        server.bind(str(path))
        server.listen()
        assert "FileNotFoundError" in scene.python(f"import socket; socket.socket(socket.AF_UNIX).connect('{path}')").stderr


def test_no_process_gains_privileges(scene: SandboxScene) -> None:
    ended = scene.inside("grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; unshare -U true || echo no")
    told = dict(line.split(":\t") for line in ended.head.splitlines() if ":\t" in line)
    assert told == {"CapEff": "0" * 16, "CapBnd": "0" * 16, "NoNewPrivs": "1"}
    assert "no\n" in ended.head


def test_nothing_can_be_typed_into_the_operator_s_terminal(scene: SandboxScene) -> None:
    push = (
        "import fcntl, os, termios; fd = os.open('/dev/tty', os.O_RDWR); fcntl.ioctl(fd, termios.TIOCSTI, b'x'); print('typed')"
    )
    ended = scene.python(push)
    assert ended.head == ""
    assert "/dev/tty" in ended.stderr


def test_no_process_runs_after_the_end(scene: SandboxScene) -> None:
    script = "for i in 1 2 3; do setsid env -i sh -c 'exec sleep 4320.5' & done; (sleep 4320.5 &); sleep 0.1; echo ended"
    assert scene.inside(script).head == "ended\n"
    assert sleepers("4320.5") == []


def test_a_command_that_is_stopped_gets_its_time_to_end_and_then_nothing_is_left(scene: SandboxScene) -> None:
    ended = scene.inside(
        "trap 'echo last words; exit 7' TERM; setsid env -i sleep 4321.5 & while :; do sleep 0.05; done", deadline=1
    )
    assert (ended.by, ended.exit_code, ended.head) == ("deadline", 7, "last words\n")
    assert sleepers("4321.5") == []


def test_one_that_ignores_it_is_killed_by_its_tag_and_its_group(scene: SandboxScene) -> None:
    deaf = "trap '' TERM; sleep 4322.5; sleep 4322.5"
    ended = scene.inside(f'setsid sh -c "{deaf}" & {deaf}', deadline=1)
    assert (ended.by, ended.exit_code) == ("deadline", -signal.SIGKILL)
    assert sleepers("4322.5") == []


def sleepers(seconds: str) -> list[psutil.Process]:
    """Those of one test: another may have its own at the same time."""
    return [process for process in psutil.process_iter(["cmdline"]) if seconds in (process.info["cmdline"] or [])]


def test_the_temporary_files_of_others_are_not_there_and_its_own_do_not_last(scene: SandboxScene) -> None:
    assert scene.inside("ls -A /tmp /var/tmp; echo mine > /tmp/mine; cat /tmp/mine").head.endswith("mine\n")
    assert "mine" not in scene.inside("ls /tmp").head


def test_what_not_everybody_may_read_of_the_system_is_hidden(scene: SandboxScene) -> None:
    assert Path("/etc/shadow").exists()
    assert scene.inside("cat /etc/shadow; ls /etc/ssl/private").head == ""
