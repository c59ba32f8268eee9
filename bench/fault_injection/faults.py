"""Faults: each is injected once, lasts for a while, and ends."""

import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.fault_injection.loops import Loop

DISK_BYTES = 24 * 2**20
CLOCK_SOURCE = Path(__file__).with_name("clock.c")
HOUR = 3600
CLOCK_OFFSETS = (3 * HOUR, -3 * HOUR, 24 * 40 * HOUR, -24 * 2 * HOUR, 24 * 365 * HOUR, -90)
"""Offsets of the clock in seconds: a wrong time zone, an empty battery, a correction."""
MAX_JOURNAL_LINES = 45
"""Maximum number of journal lines to wait for: those of two iterations and the end."""
MAX_WAIT = 20.0
"""Seconds to wait for journal lines; then the fault is injected anyway."""
MAX_CALL = 90.0
"""Seconds to wait for an agent's action, on a busy machine."""


@dataclass(frozen=True)
class Fault:
    """A fault that is injected once."""

    name: str
    inject: Callable[[Loop], bool]
    """Inject the fault. Returns False if the driver or the agent has ended before."""
    may_lose_call: bool = False
    """Whether it may lose an agent call in progress: its iteration is repeated."""
    waits_for_journal: bool = True
    """Whether to wait for a random number of journal lines first; otherwise `inject` waits."""


def wait_for_random_line(loop: Loop, max_lines: int = MAX_JOURNAL_LINES) -> None:
    """Wait until the journal has grown by a random number of lines, and a bit longer; or until the driver ends."""
    lines, until = _journal_lines(loop) + loop.rng.randrange(max_lines), time.monotonic() + MAX_WAIT
    while _journal_lines(loop) < lines and time.monotonic() < until and is_running(loop):
        time.sleep(0.01)
    time.sleep(loop.rng.uniform(0, 0.08))


def _journal_lines(loop: Loop) -> int:
    with suppress(OSError):
        return loop.journal.read_bytes().count(b"\n")
    return 0


def is_running(loop: Loop) -> bool:
    return loop.process is not None and loop.process.poll() is None


def kill_driver(loop: Loop) -> bool:
    if not is_running(loop) or loop.process is None:
        return False
    loop.process.kill()
    loop.process.wait()  # otherwise it still seems to run at the next fault
    return True


def kill_during_work(loop: Loop) -> bool:
    """Kill the driver while an agent works and has written something."""
    return _wait_for_action(loop, "wrote") and kill_driver(loop)


def kill_after_work(loop: Loop) -> bool:
    """Kill the driver right after an agent has ended: its call is paid for."""
    return _wait_for_action(loop, "ended") and kill_driver(loop)


def _wait_for_action(loop: Loop, action: str) -> bool:
    """Wait for the next log line of this action. Returns False if the driver ends first or time is up."""
    before, until = _count_actions(loop, action), time.monotonic() + MAX_CALL
    while _count_actions(loop, action) == before and time.monotonic() < until and is_running(loop):
        time.sleep(0.005)
    return _count_actions(loop, action) > before


def _count_actions(loop: Loop, action: str) -> int:
    return loop.log.read_text().count(f"{action} ") if loop.log.exists() else 0


def kill_agent(loop: Loop) -> bool:
    """Kill the agent as soon as one runs."""
    time.sleep(loop.rng.uniform(0, 1))
    until = time.monotonic() + MAX_WAIT
    while time.monotonic() < until and is_running(loop):
        at_work = _agent_at_work(loop)
        if at_work:
            with suppress(ProcessLookupError):
                os.kill(at_work, signal.SIGKILL)
                return True
        time.sleep(0.01)
    return False


def _agent_at_work(loop: Loop) -> int:
    """Process id of the agent; 0 without one."""
    lines = loop.log.read_text().split("\n") if loop.log.exists() else []
    started = [line.split() for line in lines if line.startswith("began")]
    if not started or f"ended {started[-1][1]}" in lines:
        return 0
    pid = int(started[-1][2])
    with suppress(OSError):
        if str(loop.log).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    return 0


def fill_disk(loop: Loop) -> bool:
    """Fill the disk completely for some seconds, sometimes killing the driver meanwhile."""
    ballast = loop.disk / "ballast"
    _fill(ballast)
    time.sleep(loop.rng.uniform(0.3, 4))
    _fill(ballast)
    if loop.rng.random() < 0.3:
        kill_driver(loop)
    ballast.unlink()
    return True


def _fill(ballast: Path) -> None:
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        for size in (2**16, 2**12, 1):
            with suppress(OSError):
                while file.write(b"x" * size):
                    pass


def jump_clock(loop: Loop) -> bool:
    """Change the clock of the driver and its git. In half of the cases it jumps back within seconds."""
    _set_clock(loop, loop.rng.choice(CLOCK_OFFSETS))
    time.sleep(loop.rng.uniform(0.5, 3))
    if loop.rng.random() < 0.5:
        _set_clock(loop, 0)
    return True


def _set_clock(loop: Loop, offset: int) -> None:
    """Write in place: processes have the file mapped."""
    with (loop.folder / "clock").open("r+b" if (loop.folder / "clock").exists() else "wb") as file:
        file.write(struct.pack("q", offset))


def refuse_pushes(loop: Loop) -> bool:
    flag = loop.folder / "refuse"
    flag.touch()
    time.sleep(loop.rng.uniform(1, 6))
    flag.unlink()
    return True


KILL_DRIVER = Fault("loop killed", kill_driver, may_lose_call=True)
KILL_DURING_WORK = Fault("loop killed during work", kill_during_work, may_lose_call=True, waits_for_journal=False)
KILL_AFTER_WORK = Fault("loop killed after work", kill_after_work, waits_for_journal=False)
# a call that was killed before it did anything is repeated without counting as an iteration
KILL_AGENT = Fault("agent killed", kill_agent, may_lose_call=True, waits_for_journal=False)
FULL_DISK = Fault("disk full", fill_disk, may_lose_call=True)
CLOCK_JUMP = Fault("clock jumped", jump_clock)
REMOTE_REFUSES = Fault("remote refused", refuse_pushes)


def mount_disk(folder: Path) -> bool:
    """Mount a small disk at an empty folder, which needs root. Returns whether it is mounted."""
    if os.geteuid() != 0:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "storm", str(folder)], check=False, stderr=subprocess.DEVNULL
    )
    return process.returncode == 0


def unmount_disk(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=False, stderr=subprocess.DEVNULL)


def clock_library(folder: Path) -> Path | None:
    """Build the library that fakes the clock of processes; None without a compiler."""
    compiler, library = shutil.which("cc"), folder / "clock.so"
    if compiler is None:
        return None
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(CLOCK_SOURCE)], check=True)
    return library


def use_fake_clock(loop: Loop, library: Path) -> None:
    """Set variables for a fake clock. Monotonic clock and file times stay correct."""
    _set_clock(loop, 0)
    loop.starts_cold = True
    loop.variables |= {"LD_PRELOAD": str(library), "STORM_CLOCK": str(loop.folder / "clock")}


def can_mount(folder: Path) -> bool:
    """Whether disks can be mounted here."""
    probe = folder / "probe"
    is_mounted = mount_disk(probe)
    if is_mounted:
        unmount_disk(probe)
    shutil.rmtree(probe, ignore_errors=True)
    return is_mounted
