"""What a person sees of the loops that this command drives: a live line in a terminal, plain lines elsewhere.

`display` shows one loop, fed with its events; `watching_group` shows several, read from their journals.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deployments.lines import in_local_time, show_on, style_of
from helmsman.plain import clean, short_line
from helmsman.records import events
from helmsman.records.events import Event
from helmsman.render import Activity, LoggedEvent, after, gate_lines, iteration_lines
from helmsman.render.gate import answer_line
from helmsman.render.lines import begun_lines
from helmsman.texts import (
    check_text,
    counted,
    dollars_told,
    duration,
    guard_text,
    merged_text,
    money_text,
    rounded,
    stop_text,
)
from tasks.observers.follow import Follower
from tasks.observers.journal import Listener
from tasks.places import loop_folder
from tasks.repository.git import Repository

BASELINE = "the tree before any work"
LOOK_SECONDS = 0.5
TELLING = (
    events.IterationRecorded,
    events.GateOpened,
    events.GateAnswered,
    events.MergeFailed,
    events.LoopMerged,
    events.WaitStarted,
)
"""What is told of several loops at once. Each tool call of each of them would hide it."""


# --- events as lines ----------------------------------------------------------------------------------------------


def _step_lines(event: events.StepStarted) -> Iterable[str]:
    if event.step == "baseline":
        yield f"checking   {BASELINE}"
    elif event.step == "execute":
        yield f"#{event.iteration}  the agent starts"


OF_THE_LOOP: dict[type, Callable[[Any], Iterable[str]]] = {
    events.LinkStarted: lambda event: [f"loop {event.number} of {event.loops}  {event.loop}: {short_line(event.goal)}"],
    events.LoopBegun: lambda event: begun_lines(event.report, event.warnings),
    events.AgentIntroduced: lambda event: [
        f"{'    ' if number else 'agent      '}{clean(line)}" for number, line in enumerate(event.lines)
    ],
    events.MemoryNoted: lambda event: [f"    memory     {clean(line)}" for line in event.lines],
    events.AttemptInterrupted: lambda event: [clean(event.what)],
    events.TelemetryFailed: lambda event: [f"    warn       {clean(event.why)}"],
    events.MergeFailed: lambda event: [f"merge      into {clean(event.into)}: {clean(event.why)}"],
    events.LoopMerged: lambda event: [
        f"merged     {merged_text(event.merged)}", *(f"    note       {clean(note)}" for note in event.notes)
    ],
    events.GateOpened: lambda event: gate_lines(event.gate, event.loop),
    events.GateAnswered: lambda event: [answer_line(event.answer)],
    events.IterationRecorded: lambda event: iteration_lines(event.record),
}  # fmt: skip
"""What concerns the loop as a whole: a terminal keeps it above the live line."""
LINES: dict[type, Callable[[Any], Iterable[str]]] = {
    **OF_THE_LOOP,
    events.PreparationStarted: lambda event: [f"preparing  {clean(event.what)}"],
    events.StepStarted: _step_lines,
    events.ToolCalled: lambda event: [f"    {clean(event.tool)}: {clean(event.detail)}"],
    events.ToolGuarded: lambda event: [f"    {guard_text(event.guarded)}"],
    events.StopAnswered: lambda event: [f"    stop {stop_text(event.attempt)}"],
    events.WaitStarted: lambda event: [f"waiting until {event.until:%Y-%m-%d %H:%M:%S} UTC: {event.reason}"],
}

BEGINS: dict[type, Callable[[Any], str]] = {
    events.LinkStarted: lambda event: f"beginning {event.loop}",
    events.GateOpened: lambda _: "waiting for an answer",
    events.PreparationStarted: lambda event: f"preparing {clean(event.what)}",
    events.StepStarted: lambda event: f"checking {BASELINE}" if event.step == "baseline" else event.step,
    events.WaitStarted: lambda event: in_local_time(f"waiting until {event.until:%Y-%m-%d %H:%M:%S} UTC,"),
}
"""What is under way from then on."""
DETAILS: dict[type, Callable[[Any], str]] = {
    events.PreparationStarted: lambda event: clean(event.what),
    events.ToolCalled: lambda event: f"{clean(event.tool)}: {clean(event.detail)}",
    events.CheckStarted: lambda event: clean(event.name),
    events.CheckFinished: lambda event: check_text(event.result),
    events.SignalRaised: lambda event: clean(event.signal.message),
}
"""What is seen below it."""


def plain_lines(event: Event) -> Iterable[str]:
    """What a log should hold of an event."""
    return LINES.get(type(event), lambda _: ())(event)


class PlainLines:
    """One line for each thing that a log should hold."""

    def __init__(self, console: Console) -> None:
        """Write to this console."""
        self._console = console

    def __call__(self, event: Event) -> None:
        show_on(self._console, plain_lines(event))


# --- while it is driven here --------------------------------------------------------------------------------------


@contextmanager
def display(console: Console, first: str) -> Generator[Listener]:
    """A listener that shows events on the console. `first`: what is prepared now, in words."""
    view = LiveView(console) if console.is_terminal else PlainLines(console)
    view(events.PreparationStarted(what=first))
    if isinstance(view, PlainLines):
        yield view
        return
    with Live(get_renderable=view.render, console=console, refresh_per_second=4, transient=True):
        yield view


class LiveView:
    """The current step with a clock, above it everything that is settled."""

    def __init__(self, console: Console) -> None:
        """Print settled lines to this console, above the live one."""
        self._console = console
        self._activity = Activity()
        self._title, self._detail = "", ""
        self._since = self._begun = datetime.now(UTC)

    def __call__(self, event: Event) -> None:
        logged = LoggedEvent(datetime.now(UTC), event)
        is_within = isinstance(event, events.PreparationStarted) and self._activity.steps
        self._activity = after(self._activity, logged)
        if type(event) in BEGINS and not is_within:
            self._title, self._since = BEGINS[type(event)](event), logged.at
            self._detail = clean(event.reason) if isinstance(event, events.WaitStarted) else ""
        elif type(event) in DETAILS:
            self._detail = DETAILS[type(event)](event)
        if type(event) in OF_THE_LOOP:
            show_on(self._console, plain_lines(event))

    def render(self) -> Text:
        now, activity = datetime.now(UTC), self._activity
        head = f" #{activity.iteration} " if activity.iteration and activity.step != "baseline" else " "
        tools = f" · {counted(activity.tool_calls, 'tool call')}" if activity.tool_calls and activity.step == "execute" else ""
        line = Text(f"●{head}", style="bold cyan", overflow="ellipsis", no_wrap=True)
        line.append(f"{self._title} {duration((now - self._since).total_seconds())}{tools}", style="bold")
        line.append(f" · {self._used()}", style="dim")
        in_all = f" · {duration((now - self._begun).total_seconds())} in all"
        line.append(in_all if len(line) + len(in_all) <= self._console.width else "", style="dim")
        line.append(f"\n  {self._detail[: max(self._console.width - 4, 20)]}", style="dim")
        return line

    def _used(self) -> str:
        """By the whole loop, the call of the agent that runs included."""
        activity = self._activity
        tokens = activity.tokens + activity.used.tokens
        dollars = money_text(activity.cost_usd + activity.used.cost_usd, activity.cost_limit, activity.untold)
        return f"{dollars} · {rounded(tokens)} tokens" if tokens else dollars


# --- several loops on one screen: a row for each with what it is doing, above them what is settled --------------------


class GroupRow:
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
        self._rows = [GroupRow(name, Follower(loop_folder(repository, name).journal)) for name in names]

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
