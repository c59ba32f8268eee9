"""The agent of the storm: an instant program that logs its actions where no fault reaches, to show repeats and losses.

    python -I -S agent.py MANNER STEPS LOG [prompt of the loop's command line]

Each call leaves its own file in `work/`, and depending on its manner one more `step-N`. Its log has one line per action:
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
LIES = 2
"""Calls after which a liar claims completion falsely."""
HEARD_SECONDS = 0.1
"""Seconds after the driver has emptied the pipe: enough to record it."""
PATIENCE_SECONDS = 30


def main() -> None:
    manner, steps, log = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    call, parent = os.environ["HELMSMAN_TAG"].partition("/")[2], os.getppid()
    _tell(log, "began", call, str(os.getpid()))
    if manner != "tool":
        sys.stdin.buffer.read()
    time.sleep(random.uniform(0.05, 0.3))
    token = f"{call}-{os.getpid()}-{time.monotonic_ns()}"
    _write(Path("work") / token)
    _tell(log, "wrote", call, token)
    said = _work(manner, steps)
    _leave(token)
    if manner == "tool":
        return
    _say(said)
    if _is_heard(parent):
        _tell(log, "ended", call)


def _work(manner: str, steps: int) -> str:
    """Do one step of the work, or none. Returns the output."""
    done = len(list(Path().glob("step-*")))
    if manner == "hopeless":
        return "More remains."
    if manner == "liar" and len(list(Path("work").iterdir())) <= LIES:
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


def _leave(token: str) -> None:
    """Leave the work committed, staged or untracked, by chance."""
    how = random.choice(("committed", "staged", "loose"))
    if how != "loose":
        subprocess.run(["git", "add", "--all"], check=False, stderr=subprocess.DEVNULL)
    if how == "committed":
        author = ["-c", "user.name=storm", "-c", "user.email=storm@localhost"]
        command = ["git", *author, "commit", "--quiet", "--message", f"Work of {token}"]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _say(text: str) -> None:
    result = {
        "type": "result", "subtype": "success", "is_error": False, "result": text, "num_turns": 1, "total_cost_usd": 0.01,
        "session_id": "s", "usage": {"input_tokens": 1, "output_tokens": 1}, "terminal_reason": "completed",
    }  # fmt: skip
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


def _is_heard(parent: int) -> bool:
    """Whether the driver has read everything and lived on for a moment."""
    until = time.monotonic() + PATIENCE_SECONDS
    while _unread() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(HEARD_SECONDS)
    return not _unread() and os.getppid() == parent


def _unread() -> int:
    """Unread bytes in the pipe."""
    return struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, b"\0" * 4))[0]


def _tell(log: Path, *words: str) -> None:
    """Append a line by a single write, so that lines of overlapping calls do not mix; calls should never overlap."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (" ".join(words) + "\n").encode())
    os.close(handle)


if __name__ == "__main__":
    main()
