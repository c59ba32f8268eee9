"""`helmsman watch`: follow a loop that another process drives, from any terminal. It only reads."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import reduce
from pathlib import Path

from rich.console import Console

from deployments.choosing import chosen_loop, continue_text, driver_of
from deployments.dialogue import exiting_cleanly
from deployments.live import display
from deployments.output import show_on
from deployments.show import show_status
from helmsman.plain import clean, short_line
from helmsman.records.events import GateAnswered, GateOpened, IterationRecorded
from helmsman.render.activity import Activity, apply_event
from helmsman.render.gate import answer_line, gate_lines
from tasks.observers.follow import Follower
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import ShownState, show_state

LOOK_SECONDS = 0.5
GOAL_SHOWN = 300  # characters


def watch(repo: Path, loop: str | None, *, once: bool, as_json: bool) -> int:
    """Show a loop until it ends, then its status. Returns 0 whatever its outcome, or 130 after Ctrl-C."""
    repository = open_repository(repo)
    # forced colours do not make it a terminal; with --json only the status at the end is shown
    console = Console(highlight=False, force_terminal=None if sys.stdout.isatty() else False, quiet=as_json)
    name = chosen_loop(repository, loop)
    try:
        if not once:
            _follow(repository, name, console)
        show_status(repo, name, as_json=as_json)
    except KeyboardInterrupt:
        console.print("stopped watching; this does not stop the loop")
        return 130
    return 0


def _follow(repository: Repository, name: str, console: Console) -> None:
    """Follow from the last finished iteration on. Questions and answers are read from the state, including earlier ones."""
    with closing(Follower(loop_folder(repository, name).journal)) as follower:
        shown, driver, events = show_state(repository, name), driver_of(repository, name), follower.read_new()
        if shown.state.ending is not None and driver is None:
            return
        start = max((number for number, logged in enumerate(events) if isinstance(logged.event, IterationRecorded)), default=0)
        past, printed = reduce(apply_event, events[:start], Activity()), set(map(answer_line, shown.state.answers[-1:]))
        events = events[start:]
        with exiting_cleanly(signal.SIGTERM, signal.SIGHUP), display(console, [name], past) as view:
            while True:
                for logged in events:
                    if not isinstance(logged.event, GateOpened | GateAnswered):
                        view.show_event(logged, name)
                view.idle_reason = "waits for your answer" if shown.state.gate else "" if driver else "has no driver"
                lines = list(_state_lines(repository, shown, driver))
                show_on(console, [line for line in lines if line not in printed])
                printed = set(lines)
                if shown.state.ending is not None and driver is None and not events:
                    return
                time.sleep(LOOK_SECONDS)
                events = follower.read_new()  # before the state, so that the last events are not missed
                shown, driver = show_state(repository, name), driver_of(repository, name)


def _state_lines(repository: Repository, shown: ShownState, driver: str | None) -> Iterator[str]:
    """Lines to print when they change: goal, driver, open question, and the last accepted answer."""
    state = shown.state
    if shown.unverified:
        yield f"unverified {clean(shown.unverified)}: do not trust it"
    yield f"goal       {short_line(state.config.goal.strip(), GOAL_SHOWN)}"
    yield from map(answer_line, state.answers[-1:])
    if state.ending is not None and driver is None:
        return
    again = "answer first" if state.gate else f"continue with: {continue_text(repository, state.loop)}"
    yield f"driven by  {clean(driver) if driver else f'none (the engine takes a moment to start); {again}'}"
    yield from gate_lines(state.gate, state.loop) if state.gate else ()
