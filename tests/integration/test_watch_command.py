"""`helmsman watch` in a real terminal or a pipe, on a loop that the test drives."""

import os
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.decision import Decision, Outcome
from helmsman.records.events import CheckFinished, Event, GateAnswered, GateOpened, IterationRecorded, StepStarted, ToolCalled
from helmsman.records.gates import Answer, Choice, Gate, GateKind
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_state, write_state
from tasks.system.journal import Listener, journal_to
from tasks.system.lock import exclusive_driver
from tests.fakes.command_line import HELMSMAN, RESULT_KEYS, CommandLine, read_object
from tests.fakes.processes import eventually
from tests.fakes.terminal import CURSOR, Terminal
from tests.unit import builders

pytestmark = [pytest.mark.slow, pytest.mark.feature("H4")]

NOW = datetime.now(UTC)
EVIL = "good\x1b]0;owned\x07\x1b[2Jwiped\r\x08\x9b31m\u202e\nnews"
DONE = Decision(kind="stop", rule="completion.verified", reason="all is proven", at=NOW, outcome=Outcome.COMPLETED)
GATE = Gate(key="merge-1", kind=GateKind.MERGE, question="May it be merged?", asked_at=NOW, deadline=NOW + timedelta(hours=1))


@dataclass
class DrivenLoop:
    """A loop whose driver is this process: it holds the lock, writes the journal and moves the state as a driver does."""

    root: Path
    name: str = "mend-it"
    held: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.repository = open_repository(self.root)
        self.folder = loop_folder(self.repository, self.name)

    def create(self, **fields: Any) -> None:
        state = builders.state(fields.pop("of", None), loop=self.name, **fields)
        write_state(self.repository, state, over=None, record=None, subject="start")

    def drive(self) -> Listener:
        self.held.enter_context(exclusive_driver(self.folder.lock, self.name))
        return journal_to(self.folder.journal)

    def release(self) -> None:
        self.held.close()

    def move(self, **fields: Any) -> None:
        state, commit = read_state(self.repository, self.name)
        moved = LoopState.model_validate({**dict(state), **fields})
        write_state(self.repository, moved, over=commit, record=fields.pop("record", None), subject="move")

    def log(self, *events: Event) -> None:
        write = journal_to(self.folder.journal)
        for event in events:
            write(event)


def step(name: str = "execute", iteration: int = 1) -> StepStarted:
    return StepStarted(iteration=iteration, attempt=1, step=name)


def tool(detail: str) -> ToolCalled:
    return ToolCalled(tool="Bash", detail=detail)


@pytest.fixture
def loop(helmsman: CommandLine) -> Generator[DrivenLoop]:
    made = DrivenLoop(helmsman.repository)
    yield made
    made.release()


@contextmanager
def terminal(helmsman: CommandLine, *arguments: str | Path, size: tuple[int, int] = (100, 24)) -> Generator[Terminal]:
    command = [HELMSMAN, "watch", *arguments, "--repo", helmsman.repository]
    with Terminal.running(command, helmsman.folder, helmsman.variables, size) as shown:
        yield shown


@contextmanager
def piped(helmsman: CommandLine, *arguments: str | Path) -> Generator[tuple["subprocess.Popen[str]", Path]]:
    """Its output goes to a file, so that it can be read while more comes."""
    output = helmsman.folder / "output"
    with output.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [HELMSMAN, "watch", *arguments, "--repo", helmsman.repository],
            cwd=helmsman.folder,
            env=dict(helmsman.variables),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield process, output
    finally:
        process.kill()
        process.wait()


def says(output: Path, words: str) -> bool:
    return eventually(lambda: words in output.read_text("utf-8"), 60)


# --- in a terminal ------------------------------------------------------------------------------------------------


def test_a_terminal_follows_a_loop_from_another_one_and_ends_with_it(helmsman: CommandLine, loop: DrivenLoop) -> None:
    loop.create()
    loop.drive()
    loop.log(step(), tool("pytest -q"))
    with terminal(helmsman) as shown:
        assert shown.has_written("Bash: pytest -q")
        assert shown.has_written("driven by  process ")
        loop.log(CheckFinished(result=builders.check(passed=True, name="unit")))
        assert shown.has_written("✔ unit")
        record = builders.record(iteration=1)
        loop.move(iteration=1, record=record)
        loop.log(IterationRecorded(record=record), step(iteration=2))
        assert shown.shows("● mend-it #2 execute")
        loop.move(ending=DONE)
        loop.release()
        assert shown.end() == 0
    left = "\n".join(shown.screen)
    assert "    → continue: the check fails" in left
    assert "outcome    ✔ completed" in left
    assert "why        completion.verified: all is proven" in left
    assert "Bash" not in left  # which only stood there while it was done


def test_a_terminal_of_any_size_gets_text_alone(helmsman: CommandLine, loop: DrivenLoop) -> None:
    loop.create(of=builders.config(f"世界 {EVIL}" * 500), gate=GATE.model_copy(update={"evidence": f"{EVIL}\n" * 99}))
    loop.drive()
    loop.log(step(), *(tool(f"{number} 世界 {EVIL}" * 9) for number in range(20)))
    with terminal(helmsman, size=(20, 4)) as shown:
        for columns, rows in ((80, 24), (7, 2)):
            shown.resize(columns, rows)
        assert shown.has_written("helmsman approve mend-it")
        loop.move(gate=None, ending=DONE)
        loop.release()
        assert shown.end() == 0
        assert "\x1b]0;" not in shown.written
        assert "\x1b[2J" not in shown.written


@pytest.mark.parametrize(("request_to_end", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ending_the_view_leaves_loop_and_terminal_unchanged(
    request_to_end: signal.Signals, status: int, helmsman: CommandLine, loop: DrivenLoop
) -> None:
    loop.create()
    loop.drive()
    loop.log(step())
    with terminal(helmsman) as shown:
        assert shown.has_written("execute")
        shown.process.send_signal(request_to_end)
        assert shown.end() == status
        assert CURSOR in shown.written.rpartition("execute")[2]
    assert "Traceback" not in shown.written
    assert not loop.folder.cancel.exists()
    assert read_state(loop.repository, loop.name)[0].outcome is None


# --- in a pipe ----------------------------------------------------------------------------------------------------


def test_a_pipe_gets_a_line_for_each_thing_as_it_comes_and_no_cursor_movement(helmsman: CommandLine, loop: DrivenLoop) -> None:
    loop.create()
    loop.drive()
    record = builders.record(iteration=1)
    loop.log(step(), tool("long ago"), IterationRecorded(record=record), step(iteration=2), tool(f"ls {EVIL}"))
    with piped(helmsman) as (process, output):
        assert says(output, "Bash: ls good")
        assert "long ago" not in output.read_text("utf-8")
        loop.log(tool("git commit"))
        assert says(output, "Bash: git commit")
        loop.log(GateOpened(gate=GATE, loop=loop.name))
        loop.move(gate=GATE)
        assert says(output, "helmsman approve mend-it")
        answer = Answer(gate=GATE.key, kind=GATE.kind, choice=Choice.REVISE, by="ada", via="tracker", at=NOW)
        loop.log(GateAnswered(answer=answer))
        loop.move(gate=None, answers=(answer,))
        assert says(output, "answered   revise by ada (tracker)")
        loop.log(IterationRecorded(record=builders.record(iteration=2)))
        loop.move(ending=DONE)
        loop.release()
        assert process.wait(60) == 0
        told = output.read_text("utf-8")
    assert told.startswith("#1  agent finished")
    assert told.index("#2  the agent starts\n    Bash: ls good") < told.index("#2  agent finished")
    assert told.rstrip().splitlines()[-1].startswith("next       git merge")
    assert [told.count(words) for words in ("helmsman approve mend-it", "answered   revise")] == [1, 1]
    assert not {character for character in told if not character.isprintable()} - {"\n"}


DAMAGES: dict[str, Callable[[Path], object]] = {
    "none": lambda path: path.unlink(),
    "cut off": lambda path: os.truncate(path, path.stat().st_size - 9),
    "rubbish": lambda path: path.write_bytes(path.read_bytes() + b"\xff\x00" * 9000),
}


@pytest.mark.parametrize("journal", DAMAGES)
def test_once_prints_the_status_whatever_the_journal_contains(journal: str, helmsman: CommandLine, loop: DrivenLoop) -> None:
    loop.create(of=builders.config(f"goal {EVIL}"), iteration=1)
    loop.drive()
    loop.log(step(iteration=2), tool(EVIL))
    DAMAGES[journal](loop.folder.journal)
    told = helmsman.run("watch", "mend-it", "--once", "--repo", helmsman.repository)
    assert (told.exit_code, told.errors) == (0, "")
    assert told.output == helmsman.run("status", "mend-it", "--repo", helmsman.repository).output
    assert ("now        #2 execute" in told.output) == (journal != "none")
    assert not {character for character in told.output if not character.isprintable()} - {"\n"}


def test_json_output_comes_at_the_end_in_the_format_of_status(helmsman: CommandLine, loop: DrivenLoop) -> None:
    loop.create()
    loop.drive()
    once = helmsman.run("watch", "--once", "--json", "--repo", helmsman.repository)
    assert read_object(once.output)["driver"].startswith("process ")
    with piped(helmsman, "--json") as (process, output):
        loop.move(ending=DONE)
        loop.release()
        assert process.wait(60) == 0
        result = read_object(output.read_text("utf-8"))
    assert set(result) >= RESULT_KEYS
    assert (result["outcome"], result["driver"]) == ("completed", None)
    assert helmsman.run("status", "--json", "--repo", helmsman.repository).output == output.read_text("utf-8")


# --- reading ------------------------------------------------------------------------------------------------------
