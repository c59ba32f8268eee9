"""`helmsman watch`: a loop that another process drives, seen from any terminal. It only reads, and leaves the loop alone."""

import signal
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from deployments.choosing import Driver, chosen_loop, driver_of
from deployments.dialogue import ending_tidily
from deployments.lines import in_local_time, show_on
from deployments.live import plain_lines
from helmsman.plain import clean
from helmsman.records.events import GateAnswered, GateOpened, IterationRecorded
from helmsman.records.request import is_loop_id
from helmsman.records.result import result_of
from helmsman.render.activity import Activity, LoggedEvent, after
from helmsman.render.gate import gate_lines
from helmsman.render.lines import next_lines
from helmsman.render.terminal import LABEL, Row, ScreenModel, changed_rows, frame
from helmsman.texts import result_lines
from tasks.approvals.answers import seen
from tasks.observers.follow import Follower, newest_record, state_mark
from tasks.repository.folders import loop_folder
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import loop_names, show_state, state_ref

LOOK_SECONDS = 0.25
"""Between two looks at the journal."""
DRAW_SECONDS = 1.0
"""Between two frames where nothing moves but the clock, and between two looks at who drives the loop."""
STATE_SECONDS = 5.0
"""Between two reads of a state that does not seem to have moved: git may keep a ref in another way than as a file."""
WIDEST = 1000
"""Characters of a row that are laid out; no screen shows more."""
FOOT = Row("Ctrl-C ends the view, not the loop", "dim", rank=60)


class Watched:
    """A loop as it is known by its state, its journal and its lock."""

    def __init__(self, repository: Repository, loop: str) -> None:
        """Read what is there."""
        self._repository, self._loop = repository, loop
        self._folder = loop_folder(repository, loop)
        self._follower = Follower(self._folder.journal)
        self._activity = Activity()
        self._looked = 0.0
        self._read_state()
        self._read_driver()

    def look(self) -> list[LoggedEvent]:
        """Read what has changed. Returns what was told meanwhile."""
        news = self._follower.news()
        self._activity = reduce(after, news, self._activity)
        moved = state_mark(self._repository, self._loop) != self._mark or time.monotonic() - self._read_at > STATE_SECONDS
        has_ended = self._state.ending is not None
        if moved and not (has_ended and not self._repository.common.exists()):  # a demo takes its repository away at the end
            self._read_state()
        if has_ended or time.monotonic() - self._looked > DRAW_SECONDS:
            self._read_driver()
        return news

    @property
    def screen(self) -> ScreenModel:
        gate, driver = self._state.gate, self._driver
        return ScreenModel(
            state=self._state,
            activity=self._activity,
            record=self._record,
            driver=driver.name if driver else "",
            driven_since=driver.since if driver else None,
            answered=seen(self._folder.answers, self._state.uid, gate.key) if gate else None,
            now=datetime.now(UTC),
            unverified=self._unverified,
        )

    def close(self) -> None:
        self._follower.close()

    def _read_state(self) -> None:
        """The mark is taken before, so that a move in between is seen at the next look."""
        self._mark, self._read_at = state_mark(self._repository, self._loop), time.monotonic()
        shown = show_state(self._repository, self._loop)
        self._state, self._unverified = shown.state, shown.unverified
        self._record = newest_record(self._repository, self._loop)

    def _read_driver(self) -> None:
        self._driver: Driver | None = driver_of(self._repository, self._loop)
        self._looked = time.monotonic()


def watch(repo: Path, loop: str | None, *, once: bool, as_json: bool) -> int:
    """Show a loop until it ends. Returns the status of a look that succeeded, whatever the loop came to."""
    repository, console = open_repository(repo), Console(highlight=False)
    on_screen = sys.stdout.isatty() and console.is_terminal and not console.is_dumb_terminal and not as_json
    try:
        name = _awaited(repository, loop, console) if on_screen and not once else chosen_loop(repository, loop)
        with closing(Watched(repository, name)) as watched:
            news = watched.look()
            while as_json and not once and not watched.screen.over:
                time.sleep(LOOK_SECONDS)
                watched.look()
            if not (once or as_json):
                (_on_screen if on_screen else _in_lines)(watched, console, news)
            if as_json:
                from deployments.show import show_status

                show_status(repo, name, as_json=True)
            elif (screen := watched.screen).over:  # in the words of `status`
                state, result = screen.state, result_of(screen.state, state_ref(name), screen.unverified)
                what_next = gate_lines(state.gate, name) if state.gate else next_lines(result)
                show_on(console, (*result_lines(result, driver=screen.driver), *what_next))
            elif on_screen:
                rows = _rows(watched.screen, *console.size)
                console.print(Group(*fit(rows, console, console.width, len(rows) * WIDEST)))
            else:
                _print(console, _rows(watched.screen, *console.size))
    except KeyboardInterrupt:
        if not as_json:
            console.print("no longer watched; the loop is left alone")
        return 130
    return 0


def fit(rows: Sequence[Row], console: Console, width: int, height: int) -> list[Text]:
    """Rows as lines of a screen: cut or carried on at its edge, the least important left out where it is too low."""
    laid = [_laid(row, console, width) for row in rows]
    kept: dict[int, list[Text]] = {}
    for index in sorted(range(len(rows)), key=lambda index: rows[index].rank):
        kept[index] = laid[index][:height]
        height -= len(kept[index])
    return [line for index in sorted(kept) for line in kept[index]]


def _laid(row: Row, console: Console, width: int) -> list[Text]:
    if not row.whole or width <= 2 * LABEL:
        line = Text(row.text[:WIDEST], row.style, overflow="ellipsis")
        line.truncate(width)
        return [line]
    label, words = row.text[:LABEL], Text(row.text[LABEL:WIDEST], row.style)
    pieces = words.wrap(console, width - LABEL, overflow="fold")
    lines = [Text.assemble((" " * LABEL if number else label, row.style), piece) for number, piece in enumerate(pieces)]
    for line in lines:
        line.truncate(width)  # where a row has no label, its begin may be of wide characters
    return lines


def _awaited(repository: Repository, loop: str | None, console: Console) -> str:
    """The loop that is meant; a person in front of a screen may have named one that is about to begin."""

    def is_missing(names: Sequence[str]) -> bool:
        return not names if loop is None else is_loop_id(loop) and loop not in names

    names = loop_names(repository)
    if is_missing(names):
        which = "a loop" if loop is None else f"loop {loop}"
        others = f", where there are {', '.join(names[:10])}" if names else ""
        console.print(Text(f"waiting for {which} to begin in {clean(str(repository.top))}{others}"), soft_wrap=True)
    while is_missing(loop_names(repository)):
        time.sleep(DRAW_SECONDS)
    return chosen_loop(repository, loop)


def _in_lines(watched: Watched, console: Console, news: Sequence[LoggedEvent]) -> None:
    """Where there is no screen: a line for each thing, as it comes, from the beginning of the iteration under way."""
    before = None
    recorded = [number for number, told in enumerate(news) if isinstance(told.event, IterationRecorded)]
    news = news[recorded[-1] + 1 :] if recorded else news
    while True:
        screen = watched.screen
        _tell(console, news)
        _print(console, changed_rows(before, screen))
        if screen.over:
            break
        before = screen
        time.sleep(LOOK_SECONDS)
        news = watched.look()
    _tell(console, watched.look())  # its last words, where they came between the look at the journal and the one at its driver


def _tell(console: Console, news: Sequence[LoggedEvent]) -> None:
    """Questions and answers are left to the state, which tells of those from before this view as well."""
    for told in news:
        if not isinstance(told.event, GateOpened | GateAnswered):
            show_on(console, plain_lines(told.event))


def _on_screen(watched: Watched, console: Console, news: Sequence[LoggedEvent]) -> None:
    """Draws where something has happened, the size has changed or a second has gone by; does next to nothing otherwise."""
    if watched.screen.over:
        return
    drawn, size = -DRAW_SECONDS, console.size
    # a request to end must not leave a terminal without its cursor
    with ending_tidily(signal.SIGTERM, signal.SIGHUP), Live(console=console, screen=True, auto_refresh=False) as live:
        while not (screen := watched.screen).over:
            if news or size != console.size or time.monotonic() - drawn >= DRAW_SECONDS:
                drawn, size = time.monotonic(), console.size
                rows = [*_rows(screen, size.width, size.height), FOOT]
                live.update(Group(*fit(rows, console, size.width, size.height)), refresh=True)
            time.sleep(LOOK_SECONDS)
            news = watched.look()


def _rows(screen: ScreenModel, width: int, height: int) -> list[Row]:
    """What the screen holds, with moments as the clock on the wall shows them."""
    return [row._replace(text=in_local_time(row.text)) for row in frame(screen, width, height)]


def _print(console: Console, rows: Sequence[Row]) -> None:
    for row in rows:
        console.print(Text(in_local_time(row.text), row.style), soft_wrap=True)
