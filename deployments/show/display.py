"""What a person sees while a loop runs: a live line in a terminal, plain lines elsewhere. Fed from events, asked by nobody."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from rich.console import Console
from rich.live import Live
from rich.text import Text

from deployments.show.lines import in_local_time, show_on
from helmsman.plain import clean, short_line
from helmsman.records.events import (
    AgentIntroduced,
    AgentStarted,
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
    UsageCounted,
    WaitStarted,
)
from helmsman.records.usage import Usage
from helmsman.render.gate import answer_line, gate_lines
from helmsman.render.lines import begun_lines, iteration_lines
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
        self._iteration = 0
        self._step, self._in_step = "", False
        self._detail = ""
        self._tools = 0
        self._cost, self._tokens, self._call = 0.0, 0, Usage()
        self._cost_limit: float | None = None
        self._untold: tuple[str, ...] = ()
        self._since = self._begun = time.monotonic()
        self._until: datetime | None = None

    def __call__(self, event: Event) -> None:
        handler = self._handlers().get(type(event))
        if handler is not None:
            handler(event)

    def render(self) -> Text:
        now = time.monotonic()
        head = f" #{self._iteration} " if self._iteration else " "
        tools = f" · {counted(self._tools, 'tool call')}" if self._tools else ""
        line = Text(f"●{head}", style="bold cyan", overflow="ellipsis", no_wrap=True)
        line.append(f"{self._step} {duration(now - self._since)}{tools}", style="bold")
        line.append(f" · {self._used()}", style="dim")
        in_all = f" · {duration(now - self._begun)} in all"
        line.append(in_all if len(line) + len(in_all) <= self._console.width else "", style="dim")
        line.append(f"\n  {self._detail[: max(self._console.width - 4, 20)]}", style="dim")
        return line

    def _used(self) -> str:
        """By the whole loop, the call of the agent that runs included."""
        tokens = self._tokens + self._call.tokens
        dollars = money_text(self._cost + self._call.cost_usd, self._cost_limit, self._untold)
        return f"{dollars} · {rounded(tokens)} tokens" if tokens else dollars

    def _handlers(self) -> dict[type, Callable[..., None]]:
        return {
            LinkStarted: self._on_link,
            LoopBegun: self._on_news,
            AgentIntroduced: self._on_agent,
            MemoryNoted: self._on_news,
            AttemptInterrupted: self._on_news,
            TelemetryFailed: self._on_news,
            MergeFailed: self._on_news,
            LoopMerged: self._on_news,
            GateOpened: self._on_gate,
            GateAnswered: self._on_news,
            PreparationStarted: self._on_preparation,
            StepStarted: self._on_step,
            AgentStarted: self._on_started,
            UsageCounted: self._on_usage,
            ToolCalled: self._on_tool,
            CheckStarted: self._on_check,
            CheckFinished: self._on_checked,
            SignalRaised: self._on_signal,
            IterationRecorded: self._on_recorded,
            WaitStarted: self._on_wait,
        }

    def _enter(self, step: str) -> None:
        self._step, self._detail, self._since, self._tools = step, "", time.monotonic(), 0

    def _on_news(self, event: News) -> None:
        self._settle(_news(event))

    def _on_link(self, event: LinkStarted) -> None:
        self._iteration = 0
        self._enter(f"beginning {event.loop}")
        self._settle([_link(event)])

    def _on_agent(self, event: AgentIntroduced) -> None:
        self._untold = event.untold
        self._on_news(event)

    def _on_gate(self, event: GateOpened) -> None:
        self._on_news(event)
        self._enter("waiting for an answer")

    def _on_preparation(self, event: PreparationStarted) -> None:
        if self._in_step:
            self._detail = clean(event.what)
        else:
            self._enter(f"preparing {clean(event.what)}")

    def _on_step(self, event: StepStarted) -> None:
        self._in_step = True
        if event.step == "baseline":
            self._enter(f"checking {BASELINE}")
            return
        self._iteration = event.iteration
        self._enter(event.step)

    def _on_started(self, event: AgentStarted) -> None:
        self._cost, self._tokens, self._call = event.cost_usd, event.tokens, Usage()
        self._cost_limit = event.cost_limit

    def _on_usage(self, event: UsageCounted) -> None:
        self._call = event.usage

    def _on_tool(self, event: ToolCalled) -> None:
        self._tools += 1
        self._detail = f"{clean(event.tool)}: {clean(event.detail)}"

    def _on_check(self, event: CheckStarted) -> None:
        self._detail = clean(event.name)

    def _on_checked(self, event: CheckFinished) -> None:
        self._detail = check_text(event.result)

    def _on_signal(self, event: SignalRaised) -> None:
        self._detail = clean(event.signal.message)

    def _on_recorded(self, event: IterationRecorded) -> None:
        used = event.record.usage
        self._cost, self._tokens, self._call = self._cost + used.cost_usd, self._tokens + used.tokens, Usage()
        self._settle(iteration_lines(event.record))

    def _settle(self, lines: Iterable[str]) -> None:
        """Above the live line, to stay."""
        show_on(self._console, lines)

    def _on_wait(self, event: WaitStarted) -> None:
        self._enter(in_local_time(f"waiting until {event.until:%Y-%m-%d %H:%M:%S} UTC,"))
        self._detail = clean(event.reason)
