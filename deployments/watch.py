"""`helmsman watch`: a loop that another process drives, seen from any terminal. It only reads, and leaves the loop alone."""

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import reduce
from pathlib import Path

from rich.console import Console
from rich.text import Text

from deployments.choosing import chosen_loop, driver_of
from deployments.dialogue import ending_tidily
from deployments.lines import show_on
from deployments.live import display
from deployments.show import show_status
from helmsman.plain import clean, short_line
from helmsman.records.events import GateAnswered, GateOpened, IterationRecorded
from helmsman.records.request import is_loop_id
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity, LoggedEvent, after
from helmsman.render.gate import answer_line, gate_lines
from tasks.observers.follow import Follower, state_mark
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import Shown, loop_names, show_state

LOOK_SECONDS = 0.25
"""Between two looks at the journal."""
DRIVER_SECONDS = 1.0
"""Between two looks at who drives the loop."""
STATE_SECONDS = 5.0
"""Between two reads of a state that does not seem to have moved: git may keep a ref in another way than as a file."""
GOAL_SHOWN = 300
"""Characters."""


class Watched:
    """A loop as it is known by its state, its journal and its lock."""

    def __init__(self, repository: Repository, loop: str) -> None:
        """Read what is there."""
        self._repository, self._loop = repository, loop
        self._follower = Follower(loop_folder(repository, loop).journal)
        self._shown = self._read_state()
        self._read_driver()

    def look(self) -> list[LoggedEvent]:
        """Read what has changed. Returns what was told meanwhile."""
        news, now = self._follower.news(), time.monotonic()
        if state_mark(self._repository, self._loop) != self._mark or now - self._read_at > STATE_SECONDS:
            self._shown = self._read_state()
        if self.state.ending is not None or now - self._looked > DRIVER_SECONDS:
            self._read_driver()
        return news

    @property
    def state(self) -> LoopState:
        return self._shown.state

    @property
    def over(self) -> bool:
        """Whether the loop has ended, and whoever drove it has gone."""
        return self.state.ending is not None and self._driver is None

    @property
    def standing(self) -> str:
        """Why nothing is done now, where the state knows."""
        return "waits for your answer" if self.state.gate else "" if self._driver else "nobody drives it"

    def lines(self) -> Iterator[str]:
        """What a person has to be told once: what it is for, who drives it, what it asks, and the last answer that it took."""
        if self._shown.unverified:
            yield f"unverified {clean(self._shown.unverified)}: believe nothing of this"
        yield f"goal       {short_line(self.state.config.goal.strip(), GOAL_SHOWN)}"
        yield from map(answer_line, self.state.answers[-1:])
        if self.over:
            return
        again = f"nobody (an engine takes a moment to come up); go on with: helmsman resume {clean(self._loop)}"
        yield f"driven by  {clean(self._driver) if self._driver else again}"
        yield from gate_lines(self.state.gate, self._loop) if self.state.gate else ()

    def close(self) -> None:
        self._follower.close()

    def _read_state(self) -> Shown:
        """The mark is taken before, so that a move in between is seen at the next look."""
        self._mark, self._read_at = state_mark(self._repository, self._loop), time.monotonic()
        return show_state(self._repository, self._loop)

    def _read_driver(self) -> None:
        self._driver, self._looked = driver_of(self._repository, self._loop), time.monotonic()


def watch(repo: Path, loop: str | None, *, once: bool, as_json: bool) -> int:
    """Show a loop until it ends, then its status. Returns the status of a look that succeeded, whatever the loop came to."""
    repository, in_terminal = open_repository(repo), sys.stdout.isatty()
    console = Console(highlight=False, force_terminal=None if in_terminal else False)  # colours that are forced make no terminal
    try:
        name = _awaited(repository, loop, console) if in_terminal and not (once or as_json) else chosen_loop(repository, loop)
        if not once:
            with closing(Watched(repository, name)) as watched:
                if as_json:
                    _wait(watched)
                elif not watched.over:
                    _follow(watched, name, console)
        show_status(repo, name, as_json=as_json)
    except KeyboardInterrupt:
        if not as_json:
            console.print("no longer watched; the loop is left alone")
        return 130
    return 0


def _wait(watched: Watched) -> None:
    while not watched.over:
        time.sleep(LOOK_SECONDS)
        watched.look()


def _follow(watched: Watched, name: str, console: Console) -> None:
    """From the iteration that ended last on. The state tells of questions and answers, also of those from before this view."""
    news = watched.look()
    begin = max((number for number, told in enumerate(news) if isinstance(told.event, IterationRecorded)), default=0)
    known = set(map(answer_line, watched.state.answers[-1:]))
    # a request to end must not leave a terminal without its cursor
    with (
        ending_tidily(signal.SIGTERM, signal.SIGHUP),
        display(console, [name], reduce(after, news[:begin], Activity())) as view,
    ):
        news = news[begin:]
        while True:
            for told in news:
                if not isinstance(told.event, GateOpened | GateAnswered):
                    view.hear(told, name)
            view.standing, lines = watched.standing, [*watched.lines()]
            show_on(console, [line for line in lines if line not in known])
            known = set(lines)
            if watched.over and not news:  # its last words have come
                return
            time.sleep(LOOK_SECONDS)
            news = watched.look()


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
        time.sleep(DRIVER_SECONDS)
    return chosen_loop(repository, loop)
