"""What a person does for a loop: approve when asked, and resume an ended loop as its own message says."""

import json
import re
import subprocess
import time
from contextlib import suppress

from bench.fault_injection.faults import is_running
from bench.fault_injection.loops import Loop
from helmsman.records.decision import Outcome
from helmsman.records.result import OPERATOR_EXIT_CODE
from helmsman.records.state import LoopState
from tests.fakes.warm_process import COMMAND_LINE, WarmProcess

PATIENCE = 240
"""Seconds from one fault to the end of its loop, on a busy machine."""
DECIDED_CODES = {0, 3, 5}
"""Exit statuses of loops that ended by their own decision: completed, stopped, ejected."""
MAX_STARTS = 20
RESUME_COMMAND = re.compile(r"helmsman resume (\S+?)[.,;`]?(?:\s|$)")
PUSH_HINT = "push it again with: helmsman resume"
POLL_SECONDS = 0.5


def has_decided(state: LoopState | None) -> bool:
    """Whether the loop ended by its own decision, not because of a fault."""
    if state is None or state.ending is None:
        return False
    return not state.ending.rule.startswith(("error.", "cancelled"))


def wait_for_end(loop: Loop) -> bool:
    """Wait for the end of the driver, approving when asked. Returns False on a timeout."""
    until = time.monotonic() + PATIENCE
    while is_running(loop) and time.monotonic() < until:
        approve_if_asked(loop)
        if loop.process is not None:
            with suppress(subprocess.TimeoutExpired):
                loop.process.wait(POLL_SECONDS if loop.kind.asks_for_approval else PATIENCE)
    return not is_running(loop)


def approve_if_asked(loop: Loop) -> None:
    """Approve, if the loop asks."""
    state = loop.state if loop.kind.asks_for_approval else None
    if state is None or state.gate is None:
        return
    arguments = ["approve", loop.name, "--repo", str(loop.repository)]
    process = WarmProcess(COMMAND_LINE, arguments, loop.folder, loop.variables)
    process.communicate(timeout=PATIENCE)


def restart_if_needed(loop: Loop) -> bool:
    """Read the result of an ended driver, and start the next if needed. Returns whether one was started."""
    process, state = loop.process, loop.state
    if process is None:
        return False
    output, errors = process.communicate()
    _log_exit(loop, process.returncode, output + errors)
    if has_decided(state) and process.returncode in DECIDED_CODES:
        has_unpushed = PUSH_HINT in output + errors
        if has_unpushed:
            loop.start("resume", loop.name)
        return has_unpushed
    if state is None:
        loop.start_run()
        return True
    name = _loop_to_resume(loop, process.returncode, output + errors)
    loop.start("resume", name)
    return True


def run_to_end(loop: Loop) -> None:
    """Restart the loop as often as needed until it has ended."""
    for _ in range(MAX_STARTS):
        if not wait_for_end(loop):
            loop.notes.append(f"its driver did not finish within {PATIENCE} s")
            if loop.process is not None:
                loop.process.kill()
        elif not restart_if_needed(loop):
            return
    loop.notes.append(f"it has not ended after {MAX_STARTS} more starts")


def _loop_to_resume(loop: Loop, code: int, output: str) -> str:
    """Name of the loop to resume, from its own message. A killed driver leaves no message; then it is this loop."""
    match = RESUME_COMMAND.search(output)
    if code >= 0 and match is None:
        loop.notes.append(f"exit {code} without a command to resume: {output[-600:]}")
    if code == OPERATOR_EXIT_CODE:
        loop.notes.append(f"it blames the operator: {output[-600:]}")
    if "not foreseen" in output:
        loop.notes.append(f"unforeseen: {output[-1500:]}")
    return match[1] if match and code >= 0 else loop.name


def _log_exit(loop: Loop, code: int, output: str) -> None:
    with (loop.folder / "exits").open("a") as file:
        file.write(json.dumps({"code": code, "output": output[-6000:], "outcome": _outcome(loop)}) + "\n")


def _outcome(loop: Loop) -> Outcome | None:
    state = loop.state
    return state.outcome if state else None
