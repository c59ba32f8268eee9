"""What a person sees of the loops that this command drives: a live line in a terminal, plain lines elsewhere.

`display` shows one loop, fed with its events; `watching_group` shows several, read from their journals.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deployments.lines import show_on, style_of
from helmsman.plain import clean
from helmsman.records import events
from helmsman.records.events import Event
from helmsman.render.activity import Activity, LoggedEvent, after
from helmsman.render.gate import answer_line, gate_lines
from helmsman.render.lines import begun_lines, iteration_lines
from helmsman.texts import duration, format_dollars, guard_text, merged_text, money_text, plural, rounded, stop_text
from tasks.observers.follow import Follower
from tasks.repository.folders import loop_folder
from tasks.repository.git import Repository
from tasks.system.journal import Listener

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
    events.WaitStarted: lambda event: [f"waiting until {event.until:%Y-%m-%d %H:%M:%S} UTC: {event.reason}"],
}  # fmt: skip
"""What concerns the loop as a whole: a terminal keeps it above the live line."""
LINES: dict[type, Callable[[Any], Iterable[str]]] = {
    **OF_THE_LOOP,
    events.PreparationStarted: lambda event: [f"preparing  {clean(event.what)}"],
    events.StepStarted: _step_lines,
    events.ToolCalled: lambda event: [f"    {clean(event.tool)}: {clean(event.detail)}"],
    events.ToolGuarded: lambda event: [f"    {guard_text(event.guarded)}"],
    events.StopAnswered: lambda event: [f"    stop {stop_text(event.attempt)}"],
}


def plain_lines(event: Event) -> Iterable[str]:
    """What a log should hold of an event."""
    return LINES.get(type(event), lambda _: ())(event)


def lines_on(console: Console) -> Listener:
    """One line for each thing that a log should hold."""
    return lambda event: show_on(console, plain_lines(event))


# --- while it is driven here --------------------------------------------------------------------------------------


@contextmanager
def display(console: Console, first: str) -> Generator[Listener]:
    """A listener that shows events on the console. `first`: what is prepared now, in words."""
    with ExitStack() as stack:
        view = LiveView(console) if console.is_terminal else lines_on(console)
        view(events.PreparationStarted(what=first))
        if isinstance(view, LiveView):
            stack.enter_context(Live(get_renderable=view.render, console=console, refresh_per_second=4, transient=True))
        yield view


class LiveView:
    """What is done now with a clock, above it everything that is settled."""

    def __init__(self, console: Console) -> None:
        """Print settled lines to this console, above the live one."""
        self._console = console
        self._activity = Activity()
        self._begun = datetime.now(UTC)

    def __call__(self, event: Event) -> None:
        self._activity = after(self._activity, LoggedEvent(datetime.now(UTC), event))
        if type(event) in OF_THE_LOOP:
            show_on(self._console, plain_lines(event))

    def render(self) -> Text:
        now, activity, width = datetime.now(UTC), self._activity, self._console.width
        head = f" #{activity.iteration} " if activity.iteration and activity.step != "baseline" else " "
        line = Text(f"●{head}", style="bold cyan", overflow="ellipsis", no_wrap=True)
        line.append(" · ".join(filter(None, _doing(activity, now))), style="bold")
        tokens = activity.tokens + activity.used.tokens  # by the whole loop, the call of the agent that runs included
        dollars = money_text(activity.cost_usd + activity.used.cost_usd, activity.cost_limit, activity.untold)
        line.append(f" · {dollars}{f' · {rounded(tokens)} tokens' if tokens else ''}", style="dim")
        in_all = f" · {duration((now - self._begun).total_seconds())} in all"
        line.append(in_all if len(line) + len(in_all) <= width else "", style="dim")
        said = max((*activity.calls[-1:], *activity.checks.values()), default=None)
        line.append(f"\n  {said.text[: max(width - 4, 20)] if said else ''}", style="dim")
        return line


def _doing(activity: Activity, now: datetime) -> tuple[str, str]:
    """The step under way with its age, and the calls of tools in it."""
    since = f" {duration((now - activity.since).total_seconds())}" if activity.since and activity.step else ""
    name = f"checking {BASELINE}" if activity.step == "baseline" else activity.step
    step = "waits for your answer" if activity.asked else f"{clean(name)}{since}" if name else "…"
    return step, plural(activity.tool_calls, "tool call") if activity.tool_calls else ""


# --- several loops on one screen: a row for each with what it is doing, above them what is settled --------------------


class GroupView:
    """All loops of a group, each folded from its journal."""

    def __init__(self, repository: Repository, names: Sequence[str], console: Console) -> None:
        """What the journals hold so far is the past, and is not told again."""
        self._console = console
        self._followers = {name: Follower(loop_folder(repository, name).journal) for name in names}
        self._activities = dict.fromkeys(names, Activity())
        for follower in self._followers.values():
            follower.news()

    def look(self) -> None:
        for name, follower in self._followers.items():
            news = follower.news()
            self._activities[name] = reduce(after, news, self._activities[name])
            for line in (line for logged in news if isinstance(logged.event, TELLING) for line in plain_lines(logged.event)):
                self._console.print(Text(f"{name}  {line}", style=style_of(line)), soft_wrap=True)

    def render(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for name, activity in self._activities.items():
            number = f"#{activity.iteration}" if activity.iteration else ""
            cost = format_dollars(activity.cost_usd + activity.used.cost_usd, activity.untold)
            table.add_row(Text(name, style="bold cyan"), number, *_doing(activity, datetime.now(UTC)), cost)
        return table

    def close(self) -> None:
        for follower in self._followers.values():
            follower.close()


@contextmanager
def watching_group(repository: Repository, names: Sequence[str], console: Console) -> Generator[None]:
    """Show the loops while the block runs. An observer: what it cannot read it does not show."""
    view, done = GroupView(repository, names, console), threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            view.look()
        view.look()

    watch = threading.Thread(target=look, name="group-view", daemon=True)
    with ExitStack() as stack:
        stack.callback(view.close)
        if console.is_terminal:
            stack.enter_context(Live(get_renderable=view.render, console=console, refresh_per_second=2, transient=True))
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join(timeout=5)
