"""The process that is killed: it drives a loop just as the command line does, and ends itself with SIGKILL exactly when told.

crash_driver.py REPOSITORY count FILE            killed never; writes how many functions each step of iteration 1 calls
crash_driver.py REPOSITORY kill STEP start       killed when the step begins
crash_driver.py REPOSITORY kill STEP end         killed when its work is done and its result not yet persisted
crash_driver.py REPOSITORY kill STEP middle N    killed at its n-th call of a function; in `execute` while the agent uses
                                                 a tool, in `checks` while the check runs
crash_driver.py REPOSITORY kill execute gate     killed while the check runs because the agent wants to stop, and has moved
                                                 the agent's work
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from deployments.run import resume, start
from helmsman.records.events import AgentStarted, CheckStarted, Event, StepFinished, StepStarted, ToolCalled
from tasks.repository.git import open_repository, read_ref
from tasks.repository.state_ref import state_ref
from tasks.system.journal import Listener, listening
from tests.fakes.two_sessions import CHECK, GOAL, HOLDING, LOOP


def kill_own_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class CountCalls:
    """Counts the calls of Python functions in each step of the first iteration."""

    def __init__(self, file: Path) -> None:
        """Write the numbers to this file."""
        self._file, self._calls = file, dict[str, int]()

    def __call__(self, event: Event) -> None:
        match event:
            case StepStarted(iteration=1, step=step):
                self._calls[step] = 0
                sys.setprofile(lambda _frame, what, _argument: self._count(step, what))
            case StepFinished(iteration=1):
                sys.setprofile(None)
                self._file.write_text(json.dumps(self._calls))
            case _:
                return

    def _count(self, step: str, what: str) -> None:
        self._calls[step] += what == "call"


def at_start(step: str) -> Listener:
    def listener(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step == step:
            kill_own_process()

    return listener


def at_end(step: str) -> Listener:
    def listener(event: Event) -> None:
        if isinstance(event, StepFinished) and event.step == step:
            kill_own_process()

    return listener


def at_call(step: str, number: int) -> Listener:
    """While the step runs, at that call of a Python function."""
    calls = 0

    def count(_frame: FrameType, what: str, _argument: Any) -> None:
        nonlocal calls
        calls += what == "call"
        if calls >= number:
            kill_own_process()

    def listener(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step == step:
            sys.setprofile(count)
        if isinstance(event, StepFinished) and event.step == step:
            sys.setprofile(None)

    return listener


def at_tool(event: Event) -> None:
    if isinstance(event, ToolCalled) and HOLDING in event.detail:
        kill_own_process()


def before_the_call_is_noted(event: Event) -> None:
    def watch(what: str, arguments: tuple[Any, ...]) -> None:
        if what == "os.rename" and str(arguments[1]).endswith("call.json"):
            kill_own_process()

    if isinstance(event, AgentStarted):
        sys.addaudithook(watch)


def at_check() -> Listener:
    """In the step of the checks: before the tree is looked at once, and before an agent ends they run as well."""
    steps: list[str] = []

    def listener(event: Event) -> None:
        if isinstance(event, StepStarted):
            steps.append(event.step)
        if isinstance(event, CheckStarted) and steps[-1:] == ["checks"]:
            threading.Thread(target=_kill_when_check_runs, args=(_do_nothing,), daemon=True).start()

    return listener


def at_gate(event: Event) -> None:
    if isinstance(event, AgentStarted):
        threading.Thread(target=_kill_when_check_runs, args=(_make_a_mess,), daemon=True).start()


def _do_nothing(_: Path) -> None:
    pass


def _make_a_mess(worktree: Path) -> None:
    """What a check may be in the middle of."""
    (worktree / "two.txt").rename(worktree / "moved-by-a-check.txt")


def _kill_when_check_runs(before: Callable[[Path], None]) -> None:
    while True:
        for child in psutil.Process().children():
            with suppress(psutil.Error):  # it has just ended
                if CHECK in child.cmdline():
                    before(Path(child.cwd()))
                    kill_own_process()
        time.sleep(0.01)


MOMENTS: dict[str, Callable[[str, int], Listener]] = {
    "start": lambda step, _: at_start(step),
    "end": lambda step, _: at_end(step),
    "middle": lambda step, calls: {"execute": at_tool, "checks": at_check()}.get(step) or at_call(step, calls),
    "gate": lambda _, __: at_gate,
    "unnoted": lambda _, __: before_the_call_is_noted,
}


def make_listener(what: str, *rest: str) -> Listener:
    if what == "count":
        return CountCalls(Path(rest[0]))
    step, moment, *calls = rest
    return MOMENTS[moment](step, int(calls[0]) if calls else 0)


def main() -> int:
    repository, *plan = sys.argv[1:]
    with listening(make_listener(*plan)):
        if read_ref(open_repository(Path(repository)).common, state_ref(LOOP)):
            return resume(Path(repository), LOOP, yes=True, as_json=True)
        return start(Path(repository), yes=True, as_json=True, goal=GOAL, check=[CHECK], name=LOOP)


if __name__ == "__main__":
    sys.exit(main())
