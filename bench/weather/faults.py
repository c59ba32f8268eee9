"""Faults of the storm: each strikes once at its time, lasts for a while, and ends."""

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

from bench.weather.loops import Loop

DISK_BYTES = 24 * 2**20
CLOCK_SOURCE = Path(__file__).with_name("clock.c")
HOUR = 3600
CLOCK_JUMPS = (3 * HOUR, -3 * HOUR, 24 * 40 * HOUR, -24 * 2 * HOUR, 24 * 365 * HOUR, -90)
"""Jumps of the clock in seconds: a wrong time zone, an empty battery, a correction."""
LATEST_EVENT = 45
"""Journal lines to wait for: up to those of two iterations and the end."""
LONGEST_WAIT = 20.0
"""Seconds that a fault waits for its time; then it strikes anyway."""
LONGEST_CALL = 90.0
"""Seconds that it waits for an agent's action, on a busy machine."""


@dataclass(frozen=True)
class Fault:
    """A fault that strikes once."""

    name: str
    strike: Callable[[Loop], bool]
    """Strike. Returns False if the driver or the agent has ended meanwhile."""
    costs_a_call: bool = False
    """Whether it may lose an agent call in progress."""
    waits: bool = True
    """Whether it waits for a random number of journal lines; otherwise it waits by itself."""


def wait_for_moment(loop: Loop, latest: int = LATEST_EVENT) -> None:
    """Wait until the journal has grown by a random number of lines, and a bit longer; or until the driver ends."""
    lines, until = _lines(loop) + loop.chance.randrange(latest), time.monotonic() + LONGEST_WAIT
    while _lines(loop) < lines and time.monotonic() < until and is_driven(loop):
        time.sleep(0.01)
    time.sleep(loop.chance.uniform(0, 0.08))


def _lines(loop: Loop) -> int:
    with suppress(OSError):
        return loop.journal.read_bytes().count(b"\n")
    return 0


def is_driven(loop: Loop) -> bool:
    return loop.process is not None and loop.process.poll() is None


def kill_driver(loop: Loop) -> bool:
    if not is_driven(loop) or loop.process is None:
        return False
    loop.process.kill()
    loop.process.wait()  # otherwise it still seems alive when the next fault is due
    return True


def kill_at_work(loop: Loop) -> bool:
    """Strike while an agent works and has written something."""
    return _comes(loop, "wrote") and kill_driver(loop)


def kill_after_work(loop: Loop) -> bool:
    """Strike right after an agent has ended: its work is paid for."""
    return _comes(loop, "ended") and kill_driver(loop)


def _comes(loop: Loop, deed: str) -> bool:
    """Whether the next call reaches this line of its log while a driver runs."""
    before, until = _deeds(loop, deed), time.monotonic() + LONGEST_CALL
    while _deeds(loop, deed) == before and time.monotonic() < until and is_driven(loop):
        time.sleep(0.005)
    return _deeds(loop, deed) > before


def _deeds(loop: Loop, deed: str) -> int:
    return loop.log.read_text().count(f"{deed} ") if loop.log.exists() else 0


def kill_agent(loop: Loop) -> bool:
    """The running agent, once there is one."""
    time.sleep(loop.chance.uniform(0, 1))
    until = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < until and is_driven(loop):
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
    begun = [line.split() for line in lines if line.startswith("began")]
    if not begun or f"ended {begun[-1][1]}" in lines:
        return 0
    process = int(begun[-1][2])
    with suppress(OSError):
        if str(loop.log).encode() in Path(f"/proc/{process}/cmdline").read_bytes():
            return process
    return 0


def fill_disk(loop: Loop) -> bool:
    """Fill the disk completely for some seconds, sometimes killing the driver meanwhile."""
    ballast = loop.place / "ballast"
    _fill(ballast)
    time.sleep(loop.chance.uniform(0.3, 4))
    _fill(ballast)
    if loop.chance.random() < 0.3:
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
    """Change the clock of the driver and its git from now on. It jumps back within the loop."""
    _set_clock(loop, loop.chance.choice(CLOCK_JUMPS))
    time.sleep(loop.chance.uniform(0.5, 3))
    if loop.chance.random() < 0.5:
        _set_clock(loop, 0)
    return True


def _set_clock(loop: Loop, difference: int) -> None:
    """Write in place: processes have the file mapped."""
    with (loop.folder / "clock").open("r+b" if (loop.folder / "clock").exists() else "wb") as file:
        file.write(struct.pack("q", difference))


def close_remote(loop: Loop) -> bool:
    refuse = loop.folder / "refuse"
    refuse.touch()
    time.sleep(loop.chance.uniform(1, 6))
    refuse.unlink()
    return True


KILL_DRIVER = Fault("loop killed", kill_driver, costs_a_call=True)
KILL_AT_WORK = Fault("loop killed at work", kill_at_work, costs_a_call=True, waits=False)
KILL_AFTER_WORK = Fault("loop killed after work", kill_after_work, waits=False)
KILL_AGENT = Fault("agent killed", kill_agent, waits=False)
FULL_DISK = Fault("disk full", fill_disk, costs_a_call=True)
CLOCK = Fault("clock jumped", jump_clock)
REFUSED = Fault("remote refused", close_remote)


def own_disk(place: Path) -> bool:
    """Mount a small disk at an empty folder, which needs root. Returns whether it is mounted."""
    if os.geteuid() != 0:
        return False
    place.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "storm", str(place)], check=False, stderr=subprocess.DEVNULL
    )
    return mounted.returncode == 0


def give_back_disk(place: Path) -> None:
    subprocess.run(["umount", "--lazy", str(place)], check=False, stderr=subprocess.DEVNULL)


def clock_library(folder: Path) -> Path | None:
    """Build the library that gives processes a jumping clock; None without a compiler."""
    compiler, library = shutil.which("cc"), folder / "clock.so"
    if compiler is None:
        return None
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(CLOCK_SOURCE)], check=True)
    return library


def own_clock(loop: Loop, library: Path) -> None:
    """Variables for processes whose clock the storm sets. Their monotonic clock and file times stay correct."""
    _set_clock(loop, 0)
    loop.cold = True
    loop.variables |= {"LD_PRELOAD": str(library), "STORM_CLOCK": str(loop.folder / "clock")}


def can_mount(folder: Path) -> bool:
    """Whether disks can be mounted here."""
    probe = folder / "probe"
    made = own_disk(probe)
    if made:
        give_back_disk(probe)
    shutil.rmtree(probe, ignore_errors=True)
    return made
