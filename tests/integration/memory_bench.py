"""A filled store, and the real command line on it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.agent import FailureClass
from helmsman.records.lessons import Episode, Guardrail, Lesson, Summary
from tasks.memory import Change, open_store, project_id
from tasks.repository.git import open_repository
from tests.fakes.command_line import CommandLine, offline_command_line, read_object
from tests.fakes.processes import Ended
from tests.fakes.repositories import make_repository
from tests.integration.memory_stores import NOW, guardrail, lesson

EVIL = "good\x1b]0;owned\x07\x1b[2Jwiped\r\x08\x9b31m\u202e\nnews"
FIRST, SECOND = (lesson("s1", "Run the migrations before the tests"), lesson("a1", "Wait on a condition, never on a clock"))
TESTED = guardrail(
    "g1", trigger="Before editing", failure=FailureClass.TEST, before_seen=3, before_of=7, after_seen=1, after_of=20
)
Record = Lesson | Guardrail | Episode | Summary


@dataclass(frozen=True)
class MemoryBench:
    """A command line whose store lies in a folder of its own."""

    helmsman: CommandLine

    @property
    def file(self) -> Path:
        return self.helmsman.folder / "state" / "memory" / "memory.db"

    @property
    def url(self) -> str:
        return f"sqlite:///{self.file}"

    def tell(self, *arguments: str | Path, code: int = 0, **variables: str) -> Ended:
        told = self.helmsman.run("memory", *arguments, **variables)
        assert told.exit_code == code, (told.output, told.errors)
        assert "Traceback" not in told.errors
        return told

    def plain(self, *arguments: str | Path, code: int = 0, **variables: str) -> dict[str, Any]:
        return read_object(self.tell(*arguments, "--json", code=code, **variables).output)


@pytest.fixture
def bench(tmp_path: Path) -> MemoryBench:
    return MemoryBench(offline_command_line(tmp_path, HELMSMAN_HOME=str(tmp_path / "state")))


@pytest.fixture
def project(bench: MemoryBench) -> str:
    """A repository, and its name in the store."""
    make_repository(bench.helmsman.repository, {})
    return project_id(open_repository(bench.helmsman.repository))


def _put(change: Change, record: Record) -> None:
    match record:
        case Lesson():
            change.put_lesson(record)
        case Guardrail():
            change.put_guardrail(record)
        case Episode():
            change.put_episode(record)
        case Summary():
            change.put_summary(record)


def fill(url: str, *records: Record) -> None:
    with open_store(url, NOW) as store, store.change() as change:
        for record in records:
            _put(change, record)


def ids(rows: Iterable[str]) -> list[str]:
    """Of a list for people, without its head."""
    return [row.split()[0] for row in rows][1:]
