"""The person who attends to the loops: answers questions, and continues ended loops as their own messages say."""

import json
import re
import subprocess
import time
from contextlib import suppress

from bench.weather.faults import is_driven
from bench.weather.loops import Loop
from helmsman.records.decision import Outcome
from helmsman.records.result import OPERATOR_EXIT_CODE
from helmsman.records.state import LoopState
from tests.fakes.warm_process import COMMAND_LINE, WarmProcess

PATIENCE = 240
"""Seconds from one fault to the end of its loop, on a busy machine."""
DECIDED = {0, 3, 5}
"""Exit statuses of loops that ended by their own decision: completed, stopped, ejected."""
MOST_STARTS = 20
WAY_ON = re.compile(r"helmsman resume (\S+?)[.,;`]?(?:\s|$)")
PUSH_AGAIN = "push it again with: helmsman resume"
LOOKS_SECONDS = 0.5


def is_through(state: LoopState | None) -> bool:
    """Whether it ended by its own decision, and not because of a fault."""
    if state is None or state.ending is None:
        return False
    return not state.ending.rule.startswith(("error.", "cancelled"))


def attend(loop: Loop) -> bool:
    """Wait for the end of its process, and answer meanwhile. Returns False on a timeout."""
    until = time.monotonic() + PATIENCE
    while is_driven(loop) and time.monotonic() < until:
        answer(loop)
        if loop.process is not None:
            with suppress(subprocess.TimeoutExpired):
                loop.process.wait(LOOKS_SECONDS if loop.kind.asks else PATIENCE)
    return not is_driven(loop)


def answer(loop: Loop) -> None:
    """Approve, if it asks."""
    state = loop.state if loop.kind.asks else None
    if state is None or state.gate is None:
        return
    words = ["approve", loop.name, "--repo", str(loop.repository)]
    said = WarmProcess(COMMAND_LINE, words, loop.folder, loop.variables)
    said.communicate(timeout=PATIENCE)


def go_on(loop: Loop) -> bool:
    """Read the result of an ended process, and start the next if needed. Returns whether it did."""
    process, state = loop.process, loop.state
    if process is None:
        return False
    output, errors = process.communicate()
    _write_down(loop, process.returncode, output + errors)
    if is_through(state) and process.returncode in DECIDED:
        unpushed = PUSH_AGAIN in output + errors
        if unpushed:
            loop.start("resume", loop.name)
        return unpushed
    if state is None:
        loop.begin()
        return True
    told = _way_on(loop, process.returncode, output + errors)
    loop.start("resume", told)
    return True


def see_through(loop: Loop) -> None:
    """Restart it as often as needed until it has ended."""
    for _ in range(MOST_STARTS):
        if not attend(loop):
            loop.notes.append(f"its driver did not finish within {PATIENCE} s")
            if loop.process is not None:
                loop.process.kill()
        elif not go_on(loop):
            return
    loop.notes.append(f"it is not through after {MOST_STARTS} more starts")


def _way_on(loop: Loop, code: int, said: str) -> str:
    """Name of the loop to resume, from its own message. A killed one has no message: its name is known."""
    found = WAY_ON.search(said)
    if code >= 0 and found is None:
        loop.notes.append(f"exit {code} told no way on: {said[-600:]}")
    if code == OPERATOR_EXIT_CODE:
        loop.notes.append(f"it blames its operator: {said[-600:]}")
    if "not foreseen" in said:
        loop.notes.append(f"unforeseen: {said[-1500:]}")
    return found[1] if found and code >= 0 else loop.name


def _write_down(loop: Loop, code: int, said: str) -> None:
    with (loop.folder / "said").open("a") as file:
        file.write(json.dumps({"code": code, "said": said[-6000:], "outcome": _outcome(loop)}) + "\n")


def _outcome(loop: Loop) -> Outcome | None:
    state = loop.state
    return state.outcome if state else None
