"""`helmsman watch`: a loop that another process drives, seen from any terminal. It only reads, and leaves the loop alone."""

import signal
import sys
import time
from collections.abc import Iterator
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
from helmsman.render.activity import Activity, LoggedEvent, after
from helmsman.render.gate import answer_line, gate_lines
from tasks.observers.follow import Follower
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import loop_names, show_state

LOOK_SECONDS, AGAIN_SECONDS = 0.25, 1.0
"""Between two looks at the journal; and at the state and who drives the loop, where the journal has nothing new."""
GOAL_SHOWN = 300  # characters


class Watched:
    """A loop as it is known by its state, its journal and its lock."""

    def __init__(self, repository: Repository, loop: str) -> None:
        """Read what is there."""
        self._repository, self._loop = repository, loop
        self._follower = Follower(loop_folder(repository, loop).journal)
        self._read()

    def _read(self) -> None:
        self._read_at, self._shown = time.monotonic(), show_state(self._repository, self._loop)
        self.state, self._driver = self._shown.state, driver_of(self._repository, self._loop)

    def look(self) -> list[LoggedEvent]:
        """Read what has changed. Returns what was told meanwhile."""
        news = self._follower.news()
        if news or self.state.ending is not None or time.monotonic() - self._read_at > AGAIN_SECONDS:
            self._read()
        return news

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
            yield f"unverified {clean(self._shown.unverified)}: do not trust it"
        yield f"goal       {short_line(self.state.config.goal.strip(), GOAL_SHOWN)}"
        yield from map(answer_line, self.state.answers[-1:])
        if self.over:
            return
        again = f"none (the engine takes a moment to start); continue with: helmsman resume {clean(self._loop)}"
        yield f"driven by  {clean(self._driver) if self._driver else again}"
        yield from gate_lines(self.state.gate, self._loop) if self.state.gate else ()

    def close(self) -> None:
        self._follower.close()


def watch(repo: Path, loop: str | None, *, once: bool, as_json: bool) -> int:
    """Show a loop until it ends, then its status. Returns the status of a look that succeeded, whatever the loop came to."""
    repository, in_terminal = open_repository(repo), sys.stdout.isatty()
    console = Console(highlight=False, force_terminal=None if in_terminal else False)  # colours that are forced make no terminal
    try:
        if in_terminal and not (once or as_json):
            _wait_for_begin(repository, loop, console)
        name = chosen_loop(repository, loop)
        if not once:
            with closing(Watched(repository, name)) as watched:
                while as_json and not watched.over:
                    time.sleep(LOOK_SECONDS)
                    watched.look()
                if not watched.over:
                    _follow(watched, name, console)
        show_status(repo, name, as_json=as_json)
    except KeyboardInterrupt:
        if not as_json:
            console.print("stopped watching; the loop continues")
        return 130
    return 0


def _follow(watched: Watched, name: str, console: Console) -> None:
    """From the iteration that ended last on. The state tells of questions and answers, also of those from before this view."""
    news = watched.look()
    begin = max((number for number, told in enumerate(news) if isinstance(told.event, IterationRecorded)), default=0)
    known = set(map(answer_line, watched.state.answers[-1:]))
    with ending_tidily(signal.SIGTERM, signal.SIGHUP), display(console, [name], reduce(after, news[:begin], Activity())) as view:
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


def _wait_for_begin(repository: Repository, loop: str | None, console: Console) -> None:
    """A person in front of a screen may have named a loop that is about to begin."""
    names, told = loop_names(repository), False
    while is_loop_id(loop) and loop not in names if loop else not names:
        if not told:
            others = f", where there are {', '.join(names[:10])}" if names else ""
            words = f"waiting for {f'loop {loop}' if loop else 'a loop'} to begin in {clean(str(repository.top))}{others}"
            console.print(Text(words), soft_wrap=True)
        told = True
        time.sleep(AGAIN_SECONDS)
        names = loop_names(repository)
