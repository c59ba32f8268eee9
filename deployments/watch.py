"""`helmsman watch`: follow a loop that another process drives, from any terminal. It only reads."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from deployments.choosing import chosen_loop, driver_of
from deployments.dialogue import exiting_cleanly
from deployments.lines import show_on
from deployments.live import display
from deployments.show import show_status
from helmsman.plain import clean, short_line
from helmsman.records.events import GateAnswered, GateOpened, IterationRecorded
from helmsman.render.activity import Activity, LoggedEvent, apply_event
from helmsman.render.gate import answer_line, gate_lines
from tasks.observers.follow import Follower
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import ShownState, show_state

LOOK_SECONDS = 0.5
GOAL_SHOWN = 300  # characters


class Snapshot(NamedTuple):
    """Snapshot of a loop: its journal, state and lock."""

    events: list[LoggedEvent]  # since the last snapshot
    shown: ShownState
    driver: str | None

    @property
    def is_over(self) -> bool:
        """Whether the loop has ended, its driver has exited, and no events are left."""
        return self.shown.state.ending is not None and self.driver is None and not self.events

    def lines(self) -> Iterator[str]:
        """Lines to print when they change: goal, driver, open question, and the last accepted answer."""
        state = self.shown.state
        if self.shown.unverified:
            yield f"unverified {clean(self.shown.unverified)}: do not trust it"
        yield f"goal       {short_line(state.config.goal.strip(), GOAL_SHOWN)}"
        yield from map(answer_line, state.answers[-1:])
        if state.ending is not None and self.driver is None:
            return
        again = f"none (the engine takes a moment to start); continue with: helmsman resume {clean(state.loop)}"
        yield f"driven by  {clean(self.driver) if self.driver else again}"
        yield from gate_lines(state.gate, state.loop) if state.gate else ()


def take_snapshots(repository: Repository, loop: str) -> Iterator[Snapshot]:
    """Yield a snapshot every LOOK_SECONDS until the loop is over."""
    with closing(Follower(loop_folder(repository, loop).journal)) as follower:
        while True:
            snapshot = Snapshot(follower.read_new(), show_state(repository, loop), driver_of(repository, loop))
            yield snapshot
            if snapshot.is_over:
                return
            time.sleep(LOOK_SECONDS)


def watch(repo: Path, loop: str | None, *, once: bool, as_json: bool) -> int:
    """Show a loop until it ends, then its status. Returns 0 whatever its outcome, or 130 after Ctrl-C."""
    repository = open_repository(repo)
    # forced colours do not make it a terminal
    console = Console(highlight=False, force_terminal=None if sys.stdout.isatty() else False)
    name = chosen_loop(repository, loop)
    try:
        if as_json and not once:
            for _ in take_snapshots(repository, name):
                pass
        elif not once:
            _follow(repository, name, console)
        show_status(repo, name, as_json=as_json)
    except KeyboardInterrupt:
        if not as_json:
            console.print("stopped watching; the loop continues")
        return 130
    return 0


def _follow(repository: Repository, name: str, console: Console) -> None:
    """Follow from the last finished iteration on. Questions and answers are read from the state, including earlier ones."""
    snapshots = take_snapshots(repository, name)
    first = next(snapshots)
    if first._replace(events=[]).is_over:
        return
    start = max((number for number, logged in enumerate(first.events) if isinstance(logged.event, IterationRecorded)), default=0)
    printed, past = set(map(answer_line, first.shown.state.answers[-1:])), reduce(apply_event, first.events[:start], Activity())
    with exiting_cleanly(signal.SIGTERM, signal.SIGHUP), display(console, [name], past) as view:
        for snapshot in chain([first._replace(events=first.news[start:])], snapshots):
            for logged in snapshot.events:
                if not isinstance(logged.event, GateOpened | GateAnswered):
                    view.show_event(logged, name)
            view.idle_reason = (
                "waits for your answer" if snapshot.shown.state.gate else "" if snapshot.driver else "has no driver"
            )
            lines = list(snapshot.lines())
            show_on(console, [line for line in lines if line not in printed])
            printed = set(lines)
