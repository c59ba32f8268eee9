"""The live view of several loops: each event of their journals is shown once."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from deployments.live import LiveView, watching_group
from helmsman.records.base import Usage
from helmsman.records.events import Event, GateOpened, StepStarted, ToolCalled, UsageCounted, WaitStarted
from helmsman.records.gates import Gate, GateKind
from helmsman.render.activity import LoggedEvent
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.system.journal import journal_to
from tests.fakes.repositories import make_repository
from tests.unit.builders import NOW

pytestmark = [pytest.mark.feature("M5"), pytest.mark.feature("H4")]

NAMES = ("num-1", "num-2")
WAIT = WaitStarted(reason="usage limit", until=NOW)
GATE = GateOpened(loop="num-1", gate=Gate(key="plan-1", kind=GateKind.PLAN, question="Go on?", asked_at=NOW))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return open_repository(make_repository(tmp_path / "repository", {"a.py": "1\n"}))


def tell(repository: Repository, name: str, *events: Event) -> None:
    folder = loop_folder(repository, name)
    folder.journal.parent.mkdir(parents=True, exist_ok=True)
    append = journal_to(folder.journal)
    for event in events:
        append(event)


def console(*, terminal: bool = False) -> Console:
    return Console(file=StringIO(), width=120, force_terminal=terminal, color_system=None)


def written(to: Console) -> str:
    assert isinstance(to.file, StringIO)
    return to.file.getvalue()


def test_each_loop_has_a_row_with_its_current_activity() -> None:
    view = LiveView(console(), NAMES)
    used = UsageCounted(usage=Usage(cost_usd=0.25))
    for event in (StepStarted(iteration=3, attempt=1, step="execute"), ToolCalled(tool="Bash", detail="ls"), used, GATE):
        view.show_event(LoggedEvent(NOW, event), "num-1")
    first, second = view.render().plain.splitlines()
    assert first.startswith("● num-1 #3 waits for your answer · 1 tool call · $0.25")
    assert second.startswith("● num-2 …")


def test_important_events_are_shown_once_with_the_loops_name_and_tool_calls_are_not(repository: Repository) -> None:
    to = console()
    with watching_group(repository, NAMES, to):
        tell(repository, "num-2", ToolCalled(tool="Bash", detail="rm -rf build"), WAIT)
    lines = written(to).splitlines()
    assert [line for line in lines if "usage limit" in line] == [line for line in lines if line.startswith("num-2 ")]
    assert "rm -rf" not in written(to)


@pytest.mark.parametrize("terminal", [False, True])
def test_last_events_are_shown_although_the_work_fails(repository: Repository, terminal: bool) -> None:
    to = console(terminal=terminal)
    with pytest.raises(RuntimeError, match="the work"), watching_group(repository, NAMES, to):  # noqa: PT012 - the order matters
        tell(repository, "num-1", WAIT)
        raise RuntimeError("the work")
    assert written(to).count("usage limit") == 1


def test_an_unreadable_journal_hides_no_other_loop(repository: Repository) -> None:
    to = console()
    tell(repository, "num-2", WAIT)
    loop_folder(repository, "num-1").journal.mkdir(parents=True)
    with watching_group(repository, NAMES, to):
        tell(repository, "num-2", GATE)
    assert "num-2" in written(to)
