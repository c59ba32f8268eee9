"""How `helmsman init` shows what it tries, and what came of it."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from deployments.init.pages import outcome
from helmsman.orient.projects.kinds import Candidate
from helmsman.plain import clean
from tasks.checking.detecting import Fate, Tried

STYLES = {Fate.WORKS: "green", Fate.FAILS: "red", Fate.CANNOT_START: "red", Fate.TOO_SLOW: "yellow", Fate.UNTRIED: "dim"}
TAIL_LINES = 3


@contextmanager
def trying(console: Console) -> Generator[Callable[[Candidate], object]]:
    """Say which command is being tried: on a line of its own that goes again, where there is a terminal."""
    if not console.is_terminal:
        yield lambda candidate: console.print(f"trying {clean(candidate.command)}", markup=False, soft_wrap=True)
        return
    with Live(console=console, transient=True, refresh_per_second=10) as live:
        yield lambda candidate: live.update(Spinner("dots", Text(f"trying {clean(candidate.command)}")))


def show_tried(console: Console, tried: Sequence[Tried], kept: Sequence[Tried]) -> None:
    """One line for each command, and the last words of those that came to nothing."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("#", "kind", "command", "found in", "tried", "check"):
        table.add_column(title, overflow="fold")
    for number, one in enumerate(tried, 1):
        words = (one.candidate.kind, clean(one.candidate.command), clean(one.candidate.where))
        said = Text(outcome(one), style=STYLES[one.fate])
        table.add_row(str(number), *map(Text, words), said, "yes" if one in kept else "")
    console.print(table)
    for number, one in enumerate(tried, 1):
        for line in last_words(one):
            console.print(Text(f"{number}: {line}", style="dim"), soft_wrap=True)


def last_words(tried: Tried) -> Iterator[str]:
    if tried.fate in {Fate.FAILS, Fate.CANNOT_START, Fate.TOO_SLOW}:
        said = [line for line in tried.tail.splitlines() if line.strip()]
        yield from (clean(line.expandtabs())[:160] for line in said[-TAIL_LINES:])
