"""An instant agent for fault injection. It logs its actions where no fault reaches, which shows repeated and lost calls.

    python -I -S agent.py BEHAVIOUR STEPS LOG [prompt of the loop's command line]

Each call leaves its own file in `work/`, and depending on its behaviour one more `step-N`. Its log has one line per action:
`began CALL PID`, `wrote CALL TOKEN` once the file exists, and `ended CALL` once its driver has read the end of its output.
A call is `ITERATION-ATTEMPT`, as in its tag. It imports nothing of ours. As a `tool` of the real agent it does the work and
leaves the output to that agent.
"""

import fcntl
import json
import os
import random
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

PROMISE = "<promise>COMPLETE</promise>"
FALSE_CLAIMS = 2
"""Number of a liar's calls that claim completion falsely."""
RECORD_SECONDS = 0.1
"""Seconds that the driver needs to record the output after reading it."""
PATIENCE_SECONDS = 30


def main() -> None:
    behaviour, steps, log = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    call, parent = os.environ["HELMSMAN_TAG"].partition("/")[2], os.getppid()
    _log(log, "began", call, str(os.getpid()))
    if behaviour != "tool":
        sys.stdin.buffer.read()
    time.sleep(random.uniform(0.05, 0.3))
    token = f"{call}-{os.getpid()}-{time.monotonic_ns()}"
    _write(Path("work") / token)
    _log(log, "wrote", call, token)
    output = _work(behaviour, steps)
    _leave_work(token)
    if behaviour == "tool":
        return
    _print_result(output)
    if _is_output_read(parent):
        _log(log, "ended", call)


def _work(behaviour: str, steps: int) -> str:
    """Do at most one step of the work. Returns the output."""
    done = len(list(Path().glob("step-*")))
    if behaviour == "hopeless":
        return "More remains."
    if behaviour == "liar" and len(list(Path("work").iterdir())) <= FALSE_CLAIMS:
        return f"All of it is done.\n{PROMISE}"
    if done < steps:
        _write(Path(f"step-{done + 1}"))
        done += 1
    return f"All of it is done.\n{PROMISE}" if done >= steps else "More remains."


def _write(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        file.write(f"{path.name}\n" * 20)
        file.flush()
        os.fsync(file.fileno())


def _leave_work(token: str) -> None:
    """Leave the work committed, staged or untracked, by chance."""
    how = random.choice(("committed", "staged", "loose"))
    if how != "loose":
        subprocess.run(["git", "add", "--all"], check=False, stderr=subprocess.DEVNULL)
    if how == "committed":
        author = ["-c", "user.name=storm", "-c", "user.email=storm@localhost"]
        command = ["git", *author, "commit", "--quiet", "--message", f"Work of {token}"]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _print_result(text: str) -> None:
    result = {
        "type": "result", "subtype": "success", "is_error": False, "result": text, "num_turns": 1, "total_cost_usd": 0.01,
        "session_id": "s", "usage": {"input_tokens": 1, "output_tokens": 1}, "terminal_reason": "completed",
    }  # fmt: skip
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


def _is_output_read(parent: int) -> bool:
    """Whether the driver has read everything and still runs a moment later."""
    until = time.monotonic() + PATIENCE_SECONDS
    while _unread_bytes() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(RECORD_SECONDS)
    return not _unread_bytes() and os.getppid() == parent


def _unread_bytes() -> int:
    """Unread bytes in the pipe."""
    return struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, b"\0" * 4))[0]


def _log(log: Path, *words: str) -> None:
    """Append a line by a single write, so that lines of overlapping calls would not mix."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (" ".join(words) + "\n").encode())
    os.close(handle)


if __name__ == "__main__":
    main()
