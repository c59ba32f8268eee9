"""Supervisor process between a driver and a command: starts the command, and ends everything that the command started.

Runs isolated, with the standard library alone. On Linux it is a subreaper: a process whose parent has died becomes
its child, whatever that process did to its session, its environment or its descriptors. So all have ended exactly when it
has no child left. A cgroup, if the driver could create one, ends processes that fork faster than they can be listed.

Arguments: tag, control, report, grace, network, cgroup, unset, command. `unset` is the variable that Python itself adds to the
environment in a C locale, or empty. Nothing is written to the control pipe: when the driver closes it, or dies, the
command is ended. The report pipe gets one line for each event:

    failed STEP ERRNO    the command could not be started; nothing else follows
    started PID
    exited CODE          negative for a signal
    left PID NAME        still alive after SIGKILL
"""

import ctypes
import os
import select
import signal
import sys
import time

PYTHON = ("-I", "-S", "-c", "import sys; sys.path.append(sys.argv[1]); import supervisor; supervisor.main(sys.argv[2:])")
"""Arguments of Python, before this file's folder and the supervisor's arguments. Nothing is imported from PYTHONPATH, the
working directory or site-packages. An import, not a script: Python compiles a script at each start, which takes 4 ms."""
NAME = b"helmsman"  # for `ps` and `pkill`, so that `pkill python` does not match
TAG = "HELMSMAN_TAG"
KILL_SECONDS = 5.0  # a killed process that remains longer hangs in the kernel, or belongs to another user
PAUSE = 0.01
LOOK = 0.1  # poll interval while processes may end by themselves; the end of a child wakes up sooner
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # only the control pipe ends it
RESET = (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores the last two; commands expect the defaults

PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36  # linux/prctl.h
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
SUBREAPER = sys.platform == "linux"
"""Other systems have no subreapers: the supervisor ends the process group, and the driver what carries the tag."""
WALL = 0x40000000 if SUBREAPER else 0  # linux/wait.h: include children without SIGCHLD


class Family:
    """The command and all of its descendants."""

    def __init__(self, child: int, report: int) -> None:
        self.child = child
        self.exited = False
        self._report = report
        self._wakeup, writer = os.pipe()  # readable when a child has ended
        for descriptor in (self._wakeup, writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # only handled signals write to that descriptor

    def send_report(self, line: str) -> None:
        write(self._report, f"{line}\n")  # the driver may be dead

    def reap(self) -> bool:
        """Reap children that ended. Returns whether any are left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | WALL)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.exited = True
                self.send_report(f"exited {os.waitstatus_to_exitcode(status)}")

    def remaining(self) -> list[tuple[int, str]]:
        """Pids and names of processes that survived SIGKILL. A zombie child that cannot be reaped has running threads."""
        found = descendants(os.getpid()) if self.reap() else []
        return [(pid, name) for pid, name, state, parent in found if state not in "ZX" or parent == os.getpid()]

    def wait(self, seconds: float | None, *others: int) -> list[int]:
        """Wait until a child ends, a descriptor is readable, or for `seconds`. Returns the readable descriptors."""
        ready, _, _ = select.select([self._wakeup, *others], [], [], seconds)
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
        return [descriptor for descriptor in ready if descriptor != self._wakeup]


def main(arguments: list[str]) -> None:
    tag, control, report, grace, network, cgroup, unset, *command = arguments
    os.environ.pop(unset, None)
    for descriptor in (int(control), int(report)):
        os.set_inheritable(descriptor, False)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    if SUBREAPER and not (prctl(PR_SET_NAME, NAME) and prctl(PR_SET_CHILD_SUBREAPER, 1)):
        os._exit(1)  # nothing may start that could get away
    child, failure = start(command, tag, cgroup, own_network=network == "own")
    family = Family(child, int(report))
    if failure:
        os.waitpid(child, 0)
        family.send_report(f"failed {failure}")
    else:
        leave_pipes()
        family.send_report(f"started {child}")
        while family.reap() and not family.exited:
            if family.wait(None, int(control)):
                break
        end(family, float(grace), cgroup)
        for pid, name in family.remaining() if SUBREAPER else []:
            family.send_report(f"left {pid} {name}")
    remove(cgroup)
    os._exit(0)  # the interpreter's shutdown takes 3 ms


def prctl(option: int, value: object) -> bool:
    """Call prctl; returns whether it succeeded."""
    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0


def leave_pipes() -> None:
    """Close the command's pipes in this process: they must close with the last of the command's processes."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    os.chdir("/")  # noqa: TID251 - a separate process, which must not keep a worktree busy


# --- starting the command -----------------------------------------------------------------------------------------------


def start(command: list[str], tag: str, cgroup: str, *, own_network: bool) -> tuple[int, str]:
    """Start the command. Returns its pid, and the failed step with its errno, or an empty string."""
    reader, writer = os.pipe()  # closed by a successful exec
    child = os.fork()
    if child == 0:
        become(command, {**os.environ, TAG: tag}, cgroup, writer, own_network=own_network)
    os.close(writer)
    with open(reader, "rb") as failure:  # noqa: PTH123 - a descriptor, not a path
        return child, failure.read().decode()


def become(command: list[str], environment: dict[str, str], cgroup: str, failure: int, *, own_network: bool) -> None:
    """Replace this process by the command; never returns. On failure writes step and errno to `failure` and exits."""
    step = "exec"
    try:
        os.setsid()
        if cgroup:  # failure to enter it is ignored: the subreaper finds all processes as well
            write(f"{cgroup}/cgroup.procs", "0")
        if own_network:
            step = "network"
            leave_network()
            step = "exec"
        for number in RESET:
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(command[0], command, environment)  # noqa: S606 - the purpose of this function
    except OSError as error:
        os.write(failure, f"{step} {error.errno}".encode())
    finally:
        os._exit(127)


def leave_network() -> None:
    """Enter a network namespace with only its own loopback. Raises OSError if the kernel forbids it.

    Users other than root need a user namespace for that. It maps only this user, to itself: `sudo` does not work
    inside, and files of other users belong to `nobody`.
    """
    user, group = os.geteuid(), os.getegid()
    flags = CLONE_NEWNET if user == 0 else CLONE_NEWNET | CLONE_NEWUSER
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if user != 0:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{user} {user} 1")
        write("/proc/self/gid_map", f"{group} {group} 1")
    import fcntl  # here, as few commands need it: all others start 3 ms sooner
    import socket
    import struct

    set_flags, up = 0x8914, 1  # SIOCSIFFLAGS and IFF_UP of linux/sockios.h and net/if.h
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh22x", b"lo", up))


# --- ending everything --------------------------------------------------------------------------------------------------


def end(family: Family, grace: float, cgroup: str) -> None:
    """TERM, `grace` seconds, KILL. The command's own group gets TERM first, so that it can end its children in order."""
    until = time.monotonic() + grace
    if not family.exited:
        signal_one(-family.child, signal.SIGTERM)
        while family.reap() and not family.exited and time.monotonic() < until:
            family.wait(PAUSE)
    signalled: set[int] = set()  # once each: on a second TERM some programs abort their clean-up
    while family.reap() and time.monotonic() < until:
        signalled |= signal_all(family.child, signal.SIGTERM, signalled)  # repeatedly: the last pass may have missed new forks
        family.wait(LOOK)
    kill_until = time.monotonic() + KILL_SECONDS
    while family.reap() and time.monotonic() < kill_until:
        kill_cgroup(cgroup)
        signal_all(family.child, signal.SIGKILL)
        family.wait(PAUSE)


def signal_all(group: int, number: int, spared: "set[int] | tuple[()]" = ()) -> set[int]:
    """Signal every descendant but `spared`. Returns the pids found."""
    pids = {pid for pid, *_ in descendants(os.getpid())} if SUBREAPER else {-group}
    for process in pids.difference(spared):
        signal_one(process, number)
    return pids


def signal_one(process: int, number: int) -> None:
    """Signal a process, or a group by its negative number."""
    try:
        os.kill(process, number)
    except OSError:  # it is gone, or belongs to another user
        return


def descendants(ancestor: int) -> list[tuple[int, str, str, int]]:
    """Pid, name, state and parent of each descendant. Reads /proc once: processes forked meanwhile are found next time."""
    children: dict[int, list[tuple[int, str, str, int]]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib costs 8 ms at the start
        if name.isdigit() and (stat := read(f"/proc/{name}/stat")):
            front, _, rest = stat.decode(errors="replace").rpartition(") ")  # a name may contain brackets and spaces
            state, parent, *_ = rest.split()
            children.setdefault(int(parent), []).append((int(name), front.partition(" (")[2], state, int(parent)))
    found: list[tuple[int, str, str, int]] = []
    pending = [ancestor]
    while pending:
        direct = children.get(pending.pop(), [])
        found += direct
        pending += [pid for pid, *_ in direct]
    return found


def kill_cgroup(cgroup: str) -> None:
    """Kill all processes in it and below, including new forks. Kernels before 5.14 cannot."""
    if cgroup:
        write(f"{cgroup}/cgroup.kill", "1")


def remove(cgroup: str) -> None:
    """Remove the cgroup with its children. If it still has processes, it stays, so that the next driver finds them."""
    for folder, _, _ in os.walk(cgroup, topdown=False) if cgroup else ():
        try:
            os.rmdir(folder)  # noqa: PTH106 - pathlib costs 8 ms at the start
        except OSError:
            return


def read(path: str) -> bytes:
    """Content of the file; empty for a process that is gone."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 8 ms at the start
            return file.read()
    except OSError:
        return b""


def write(file: str | int, text: str) -> bool:
    """Write to a path or descriptor. Returns whether it succeeded."""
    try:
        with open(file, "wb", 0, closefd=isinstance(file, str)) as opened:
            opened.write(text.encode())
    except OSError:
        return False
    return True
