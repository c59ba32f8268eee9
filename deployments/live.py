"""Display of running loops: log lines, and in a terminal the current activity below them.

One view for all commands: `run` passes it its own events, `watch` and groups those read from journals.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from deployments.output import show_on
from helmsman.plain import clean
from helmsman.records import events
from helmsman.records.events import Event
from helmsman.render.activity import Activity, LoggedEvent, apply_event
from helmsman.render.facts import shares_text
from helmsman.render.gate import answer_line, gate_lines
from helmsman.render.lines import iteration_lines, start_lines
from helmsman.texts import format_cost, format_duration, guard_text, merged_text, plural, short_number, stop_text
from tasks.observers.follow import Follower
from tasks.repository.git import Repository
from tasks.repository.loop_context import loop_folder

BASELINE = "the tree before any work"
LOOK_SECONDS = 0.5
LINES_SHOWN = 3  # latest tool calls and checks shown below the live line
GROUP_EVENTS = (events.GateOpened, events.GateAnswered, events.MergeFailed, events.LoopMerged, events.WaitStarted)


LOOP_LINES: dict[type, Callable[[Any], Iterable[str]]] = {
    events.LoopBegun: lambda event: start_lines(event.report, event.warnings),
    events.AgentIntroduced: lambda event: [
        f"{'    ' if number else 'agent      '}{clean(line)}" for number, line in enumerate(event.lines)
    ],
    events.MemoryNoted: lambda event: [f"    memory     {clean(line)}" for line in event.lines],
    events.AttemptInterrupted: lambda event: [clean(event.what)],
    events.ObserverFailed: lambda event: [f"    warn       {clean(event.why)}"],
    events.MergeFailed: lambda event: [f"merge      into {clean(event.into)}: {clean(event.why)}"],
    events.LoopMerged: lambda event: [
        f"merged     {merged_text(event.merged)}", *(f"    note       {clean(note)}" for note in event.notes)
    ],
    events.GateOpened: lambda event: gate_lines(event.gate, event.loop),
    events.GateAnswered: lambda event: [answer_line(event.answer)],
    events.IterationRecorded: lambda event: iteration_lines(event.record, before_result=True),
    events.WaitStarted: lambda event: [f"waiting until {event.until:%Y-%m-%d %H:%M:%S} UTC: {event.reason}"],
}  # fmt: skip
"""Events of the loop as a whole: a terminal keeps them above the live line."""
LINES: dict[type, Callable[[Any], Iterable[str]]] = {
    **LOOP_LINES,
    events.PreparationStarted: lambda event: [f"preparing  {clean(event.what)}"],
    events.StepStarted: lambda event: (
        [f"checking   {BASELINE}"]
        if event.step == "baseline"
        else [f"#{event.iteration}  the agent starts"] * (event.step == "execute")
    ),
    events.ToolCalled: lambda event: [f"    {clean(event.tool)}: {clean(event.detail)}"],
    events.ToolGuarded: lambda event: [f"    {guard_text(event.guarded)}"],
    # the lines of the iteration say why the last attempt was allowed
    events.StopAnswered: lambda event: [f"    stop {stop_text(event.attempt)}"] if event.attempt.blocked else [],
}
GROUP_LINES: dict[type, Callable[[Any], Iterable[str]]] = {
    **{kind: LOOP_LINES[kind] for kind in GROUP_EVENTS},
    events.IterationRecorded: lambda event: iteration_lines(event.record),
}
"""Events shown for a group: tool calls of all its loops would hide them."""


class LiveView:
    """Past events as lines; in a terminal the current activity of each loop below them, with a clock."""

    def __init__(self, console: Console, names: Sequence[str] = ("",), activity: Activity | None = None) -> None:
        """`activity`: activity of the loops so far."""
        self._console = console
        self._activities = dict.fromkeys(names, activity or Activity())
        self.is_live = console.is_terminal and not console.is_dumb_terminal
        """If False, nothing is redrawn, and each step and tool call is printed as a line."""
        self.idle_reason = ""
        """Why a loop is idle, if its state says so."""
        self._lines = GROUP_LINES if len(names) > 1 else LOOP_LINES if self.is_live else LINES

    def __call__(self, event: Event) -> None:
        """Handle an event of this process."""
        self.show_event(LoggedEvent(datetime.now(UTC), event), next(iter(self._activities)))

    def show_event(self, logged: LoggedEvent, name: str) -> None:
        self._activities[name] = apply_event(self._activities[name], logged)
        if lines_of := self._lines.get(type(logged.event)):
            show_on(self._console, lines_of(logged.event), f"{name}  " if len(self._activities) > 1 else "")

    def render(self) -> Text:
        now = datetime.now(UTC)
        lines = [self._line(name, activity, now) for name, activity in self._activities.items()]
        if len(lines) > 1:
            return Text("\n", overflow="ellipsis", no_wrap=True).join(lines)
        (activity,), more = self._activities.values(), list[str]()
        if activity.oversight:  # progress and control of the last finished iteration
            control, rung = activity.oversight.control, activity.oversight.ladder.rung.title
            share = shares_text(activity.oversight.progress)
            more.append(f"progress {share} · urgency {control.output:.2f} ({control.band}) · {rung}")
        more += activity.lines[-LINES_SHOWN:]
        lines += (Text(f"  {clean(line)}", style="dim") for line in more)
        return Text("\n", overflow="ellipsis", no_wrap=True).join(lines)

    def _line(self, name: str, activity: Activity, now: datetime) -> Text:
        number = f"#{activity.iteration}" if activity.iteration and activity.step != "baseline" else ""
        line = Text(f"{' '.join(filter(None, ('●', name, number)))} ", style="bold cyan")
        since = (
            f" {format_duration(max((now - activity.since).total_seconds(), 0.0))}" if activity.since and activity.step else ""
        )
        step = f"checking {BASELINE}" if activity.step == "baseline" else activity.step
        status = (
            "waits for your answer" if activity.is_waiting else self.idle_reason or (f"{clean(step)}{since}" if step else "…")
        )
        calls = f" · {plural(activity.tool_calls, 'tool call')}" if activity.tool_calls else ""
        line.append(f"{status}{calls}", style="bold")
        tokens = activity.tokens + activity.used.tokens  # of the whole loop, including the running agent call
        dollars = format_cost(activity.cost_usd + activity.used.cost_usd, activity.cost_limit, activity.untold)
        line.append(f" · {dollars}{f' · {short_number(tokens)} tokens' if tokens else ''}", style="dim")
        return line


@contextmanager
def display(console: Console, names: Sequence[str] = ("",), activity: Activity | None = None) -> Generator[LiveView]:
    view = LiveView(console, names, activity)
    with ExitStack() as stack:
        if view.is_live:
            stack.enter_context(Live(get_renderable=view.render, console=console, refresh_per_second=4, transient=True))
        yield view


@contextmanager
def watching_group(repository: Repository, names: Sequence[str], console: Console) -> Generator[None]:
    """Show the loops of a group from their journals while the block runs. Unreadable journals are ignored."""
    followers, done = {name: Follower(loop_folder(repository, name).journal) for name in names}, threading.Event()
    for follower in followers.values():
        follower.read_new()  # skip past events
    with ExitStack() as stack:
        for follower in followers.values():
            stack.callback(follower.close)
        view = stack.enter_context(display(console, names))

        def look() -> None:
            for name, follower in followers.items():
                for logged in follower.read_new():
                    view.show_event(logged, name)

        def follow() -> None:
            while not done.wait(LOOK_SECONDS):
                look()
            look()

        watch = threading.Thread(target=follow, name="group-view", daemon=True)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join(timeout=5)
