"""Machines on one network: namespaces of the kernel with processes, file systems and names of their own.

They touch nothing outside and leave nothing: they end with their first process, and that with the test.
"""

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil

NETWORK = "10.77.0"
PROGRAMS = "unshare", "nsenter", "setpriv", "ip", "bash"
CLONE_NEWNET = 0x40000000
START_SECONDS = 20
INIT = "hostname {name}; ip link set lo up; {more} touch {ready}; trap : TERM; while :; do sleep 1000 & wait; done"
"""The first process of a machine: it reaps orphans, and all processes end with it."""


@dataclass
class Machine:
    name: str
    address: str
    process: "subprocess.Popen[bytes]"
    init: int
    """Number of its first process, seen from outside."""
    started: list["subprocess.Popen[bytes]"] = field(default_factory=list["subprocess.Popen[bytes]"])

    def command(self, *words: str | Path) -> list[str]:
        """The command inside the machine; it ends with this process."""
        return [*_die_with_parent(), "nsenter", f"--target={self.init}", "--all", "--wdns=/", *map(str, words)]

    def start(self, *words: str | Path, log: Path, **variables: str) -> "subprocess.Popen[bytes]":
        with log.open("ab") as file:
            self.started.append(
                subprocess.Popen(
                    self.command(*words), env=_environment(variables), stdin=subprocess.DEVNULL, stdout=file, stderr=file
                )
            )
        return self.started[-1]

    def run(self, *words: str | Path, **variables: str) -> str:
        done = subprocess.run(
            self.command(*words), env=_environment(variables), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def disconnect(self) -> None:
        """Take its network link down; its processes get no notice."""
        self.run("ip", "link", "set", "dev", "eth0", "down")

    def reconnect(self) -> None:
        self.run("ip", "link", "set", "eth0", "up")

    @contextmanager
    def network(self) -> Generator[None]:
        """Open this thread's sockets on this machine within the block."""
        with Path("/proc/thread-self/ns/net").open("rb") as ours, Path(f"/proc/{self.init}/ns/net").open("rb") as theirs:
            _enter(theirs.fileno())
            try:
                yield
            finally:
                _enter(ours.fileno())


class Network:
    """A bridge in its own namespace, and the machines connected to it."""

    def __init__(self, folder: Path) -> None:
        """Nothing runs before `machine`."""
        self._folder = folder
        self._all: list[Machine] = []

    def __enter__(self) -> Self:
        self._hub = self._begin("hub")
        self._hub.run("ip", "link", "add", "bridge", "type", "bridge")
        self._hub.run("ip", "link", "set", "bridge", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for machine in reversed(self._all):
            with suppress(ProcessLookupError):
                os.kill(machine.init, signal.SIGKILL)  # and with it all its processes
            machine.process.wait(START_SECONDS)
            for process in machine.started:
                process.wait(START_SECONDS)

    def machine(self, name: str, own: Path | None = None, at: Path | None = None) -> Machine:
        """Add a machine. It sees its folder `own` at `at`, where other machines see theirs; the rest is shared."""
        more = ""
        if own is not None and at is not None:
            ours, there, others = (shlex.quote(str(path)) for path in (own, at, own.parent))
            more = f"mount --bind {ours} {there}; mount -t tmpfs none {others};"
        machine = self._begin(name, more)
        made = f"ip link add name {name} type veth peer name eth0 netns {machine.init}"
        subprocess.run(["nsenter", f"--net=/proc/{self._hub.init}/ns/net", *made.split()], check=True)
        self._hub.run("ip", "link", "set", "dev", name, "master", "bridge", "up")
        machine.run("ip", "address", "add", f"{machine.address}/24", "dev", "eth0")
        machine.run("ip", "link", "set", "eth0", "up")
        return machine

    def _begin(self, name: str, more: str = "") -> Machine:
        ready = self._folder / f"{name}.ready"
        init = INIT.format(name=name, ready=shlex.quote(str(ready)), more=more)
        apart = "unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child"
        with (self._folder / f"{name}.log").open("wb") as log:
            command = [*_die_with_parent(), *apart, "bash", "-ec", init]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until = time.monotonic() + START_SECONDS
        while not ready.exists():
            assert process.poll() is None, f"machine {name} does not start"
            assert time.monotonic() < until, f"machine {name} does not come up"
            time.sleep(0.02)
        (first,) = psutil.Process(process.pid).children()
        self._all.append(Machine(name, f"{NETWORK}.{len(self._all) + 1}", process, first.pid))
        return self._all[-1]


def why_impossible() -> str:
    """Why namespaces cannot be made here; empty if they can."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    if os.geteuid() != 0:
        return "only root may make namespaces"
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "ip", "link", "add", "bridge", "type", "bridge"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"the system allows no namespaces: {tried.stderr.strip()}" if tried.returncode else ""


def _die_with_parent() -> Sequence[str]:
    return "setpriv", "--pdeathsig=KILL"


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **variables}


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
