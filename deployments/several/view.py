"""Several loops on one screen: a row for each with what it is doing, above them what is settled. Read from their journals."""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deployments.show.display import plain_lines
from deployments.show.lines import style_of
from helmsman.plain import clean
from helmsman.records.events import (
    GateAnswered,
    GateOpened,
    IterationRecorded,
    LoopMerged,
    MergeFailed,
    WaitStarted,
)
from helmsman.render import Activity, after
from helmsman.texts import counted, dollars_told, duration
from tasks.places import loop_folder
from tasks.repository.git import Repository
from tasks.telling.following import Follower

LOOK_SECONDS = 0.5
TELLING = (IterationRecorded, GateOpened, GateAnswered, MergeFailed, LoopMerged, WaitStarted)
"""What is told of several loops at once. Each tool call of each of them would hide it."""


class Row:
    """One loop, folded from its journal."""

    def __init__(self, name: str, follower: Follower) -> None:
        """What its journal holds so far is the past, and is not told again."""
        self.name = name
        self.activity = Activity()
        self._follower = follower
        self._follower.news()

    def look(self) -> list[str]:
        """Lines to be told of what has happened since the last look."""
        news = self._follower.news()
        self.activity = reduce(after, news, self.activity)
        return [line for logged in news if isinstance(logged.event, TELLING) for line in plain_lines(logged.event)]

    def cells(self, now: datetime) -> tuple[str, str, str, str]:
        activity = self.activity
        since = f" {duration((now - activity.since).total_seconds())}" if activity.since and activity.step else ""
        step = "waits for your answer" if activity.asked else f"{clean(activity.step)}{since}" if activity.step else "…"
        calls = counted(activity.tool_calls, "tool call") if activity.tool_calls else ""
        return (
            f"#{activity.iteration}" if activity.iteration else "",
            step,
            calls,
            dollars_told(activity.cost_usd + activity.used.cost_usd, activity.untold),
        )

    def close(self) -> None:
        self._follower.close()


class GroupView:
    """All loops of a group."""

    def __init__(self, repository: Repository, names: Sequence[str], console: Console) -> None:
        """Nothing is shown before the first look."""
        self._console = console
        self._rows = [Row(name, Follower(loop_folder(repository, name).journal)) for name in names]

    def look(self) -> None:
        for row in self._rows:
            for line in row.look():
                self._console.print(Text(f"{row.name}  {line}", style=style_of(line)), soft_wrap=True)

    def render(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        now = datetime.now(UTC)
        for row in self._rows:
            table.add_row(Text(row.name, style="bold cyan"), *row.cells(now))
        return table

    def close(self) -> None:
        for row in self._rows:
            row.close()


@contextmanager
def watching_group(repository: Repository, names: Sequence[str], console: Console) -> Generator[None]:
    """Show the loops while the block runs. An observer: what it cannot read it does not show."""
    view, done = GroupView(repository, names, console), threading.Event()
    watch = threading.Thread(target=_look, args=(view, done), name="group-view", daemon=True)
    try:
        if console.is_terminal:
            with Live(get_renderable=view.render, console=console, refresh_per_second=2, transient=True):
                watch.start()
                yield
                _end(watch, done)
        else:
            watch.start()
            yield
    finally:
        _end(watch, done)
        view.close()


def _look(view: GroupView, done: threading.Event) -> None:
    while not done.wait(LOOK_SECONDS):
        view.look()
    view.look()


def _end(watch: threading.Thread, done: threading.Event) -> None:
    done.set()
    if watch.is_alive():
        watch.join(timeout=5)
