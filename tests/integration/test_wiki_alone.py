"""Loops share one wiki: who finds it in use waits for a moment, says so, and goes on."""

import fcntl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helmsman.records.events import Event, MemoryNoted
from tasks.loop import wiki as wiki_tasks
from tasks.loop.prepare import prepare
from tasks.loop.wiki import archive, keep_up, lay_out
from tasks.observers.journal import listening
from tests.fakes.repositories import NOW, Work, begin, make_repository
from tests.integration.test_wiki import FILES, completed, everything, wiki, with_wiki

pytestmark = pytest.mark.feature("L8")


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return begin(make_repository(tmp_path / "top", FILES), tmp_path / "tree")


@contextmanager
def held_by_another(work: Work) -> Generator[Callable[[], None]]:
    """As long as the block runs, or until it lets go. To the kernel, who opens the file once more is another one."""
    lock = wiki(work).with_name("wiki.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield lambda: fcntl.flock(handle, fcntl.LOCK_UN)


def test_nobody_waits_for_ever_for_whoever_holds_it(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiki_tasks, "PATIENCE_SECONDS", 0.05)
    state = completed(work)
    keep_up(work.place, state)
    before = everything(wiki(work))
    with held_by_another(work):
        for problems in (keep_up(work.place, state), archive(work.place, state), lay_out(work.place, state)):
            assert ["the wiki is left as it is: another process holds it" in problem for problem in problems] == [True]
    assert everything(wiki(work)) == before
    assert archive(work.place, state) == lay_out(work.place, state) == ()


def test_an_iteration_goes_on_without_the_wiki_and_says_so(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiki_tasks, "PATIENCE_SECONDS", 0.05)
    events = list[Event]()
    with held_by_another(work), listening(events.append):
        assert prepare(work.place, with_wiki(work.state), NOW).start_commit == work.start
    (told,) = [event for event in events if isinstance(event, MemoryNoted)]
    assert "another process holds it" in told.lines[0]
    with listening(events.append):
        prepare(work.place, with_wiki(work.state), NOW)
    assert [event for event in events if isinstance(event, MemoryNoted)] == [told]
