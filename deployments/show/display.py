"""What a person sees while a loop runs: a live line in a terminal, plain lines elsewhere. Fed from events, asked by nobody."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.live import Live
from rich.text import Text

from deployments.show.lines import in_local_time, show_on
from helmsman.plain import clean, short_line
from helmsman.records.events import (
    AgentIntroduced,
    AttemptInterrupted,
    CheckFinished,
    CheckStarted,
    Event,
    GateAnswered,
    GateOpened,
    IterationRecorded,
    LinkStarted,
    LoopBegun,
    LoopMerged,
    MemoryNoted,
    MergeFailed,
    PreparationStarted,
    SignalRaised,
    StepStarted,
    StopAnswered,
    TelemetryFailed,
    ToolCalled,
    ToolGuarded,
    WaitStarted,
)
from helmsman.render import Activity, LoggedEvent, after, gate_lines, iteration_lines
from helmsman.render.gate import answer_line
from helmsman.render.lines import begun_lines
from helmsman.texts import check_text, counted, duration, guard_text, merged_text, money_text, rounded, stop_text
from tasks.telling.journal import Listener

News = (
    LoopBegun
    | AgentIntroduced
    | MemoryNoted
    | AttemptInterrupted
    | TelemetryFailed
    | MergeFailed
    | LoopMerged
    | GateOpened
    | GateAnswered
)
"""What concerns the loop as a whole."""
BASELINE = "the tree before any work"


@contextmanager
def display(console: Console, first: str) -> Generator[Listener]:
    """A listener that shows events on the console. `first`: what is prepared now, in words."""
    preparation = PreparationStarted(what=first)
    if not console.is_terminal:
        lines = PlainLines(console)
        lines(preparation)
        yield lines
        return
    view = LiveView(console)
    view(preparation)
    with Live(get_renderable=view.render, console=console, refresh_per_second=4, transient=True):
        yield view


class PlainLines:
    """One line for each thing that a log should hold."""

    def __init__(self, console: Console) -> None:
        """Write to this console."""
        self._console = console

    def __call__(self, event: Event) -> None:
        show_on(self._console, plain_lines(event))


def plain_lines(event: Event) -> Iterator[str]:
    """What a log should hold of an event."""
    if isinstance(event, News):
        yield from _news(event)
        return
    match event:
        case LinkStarted():
            yield _link(event)
        case PreparationStarted():
            yield f"preparing  {clean(event.what)}"
        case StepStarted(step="baseline"):
            yield f"checking   {BASELINE}"
        case StepStarted(step="execute"):
            yield f"#{event.iteration}  the agent starts"
        case ToolCalled() | ToolGuarded() | StopAnswered():
            yield f"    {_in_session(event)}"
        case IterationRecorded():
            yield from iteration_lines(event.record)
        case WaitStarted():
            yield f"waiting until {event.until:%Y-%m-%d %H:%M:%S} UTC: {event.reason}"
        case _:
            return


def _in_session(event: ToolCalled | ToolGuarded | StopAnswered) -> str:
    match event:
        case ToolCalled():
            return f"{clean(event.tool)}: {clean(event.detail)}"
        case ToolGuarded():
            return guard_text(event.guarded)
        case StopAnswered():
            return f"stop {stop_text(event.attempt)}"


def _news(event: News) -> Iterator[str]:
    match event:
        case LoopBegun():
            yield from begun_lines(event.report, event.warnings)
        case AgentIntroduced():
            yield from (f"{'agent      ' if not number else '    '}{clean(line)}" for number, line in enumerate(event.lines))
        case MemoryNoted():
            yield from (f"    memory     {clean(line)}" for line in event.lines)
        case AttemptInterrupted():
            yield clean(event.what)
        case TelemetryFailed():
            yield f"    warn       {clean(event.why)}"
        case MergeFailed():
            yield f"merge      into {clean(event.into)}: {clean(event.why)}"
        case LoopMerged():
            yield f"merged     {merged_text(event.merged)}"
            yield from (f"    note       {clean(note)}" for note in event.notes)
        case GateOpened():
            yield from gate_lines(event.gate, event.loop)
        case GateAnswered():
            yield answer_line(event.answer)


def _link(event: LinkStarted) -> str:
    return f"loop {event.number} of {event.loops}  {event.loop}: {short_line(event.goal)}"


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
        within = isinstance(event, PreparationStarted) and self._activity.steps
        self._activity = after(self._activity, logged)
        if (title := _title(event)) and not within:
            self._title, self._since, self._detail = title, logged.at, ""
        self._detail = _detail(event) or self._detail
        if isinstance(event, News):
            self._settle(_news(event))
        elif isinstance(event, LinkStarted):
            self._settle([_link(event)])
        elif isinstance(event, IterationRecorded):
            self._settle(iteration_lines(event.record))

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

    def _settle(self, lines: Iterable[str]) -> None:
        """Above the live line, to stay."""
        show_on(self._console, lines)


def _title(event: Event) -> str:
    """What begins with it; empty: nothing."""
    match event:
        case LinkStarted():
            return f"beginning {event.loop}"
        case PreparationStarted():
            return f"preparing {clean(event.what)}"
        case StepStarted():
            return f"checking {BASELINE}" if event.step == "baseline" else event.step
        case GateOpened():
            return "waiting for an answer"
        case WaitStarted():
            return in_local_time(f"waiting until {event.until:%Y-%m-%d %H:%M:%S} UTC,")
        case _:
            return ""


def _detail(event: Event) -> str:
    """What it says of the step under way."""
    match event:
        case ToolCalled():
            return _in_session(event)
        case CheckFinished():
            return check_text(event.result)
        case PreparationStarted(what=text) | CheckStarted(name=text) | WaitStarted(reason=text):
            return clean(text)
        case SignalRaised():
            return clean(event.signal.message)
        case _:
            return ""
