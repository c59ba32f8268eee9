"""A store of lessons as everybody else sees it, whatever database it is."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from helmsman.memory.recall import Found
from helmsman.records.lessons import Episode, Guardrail, Lesson, LessonKind, Summary, TaskType, Tier
from helmsman.records.session import FailureClass


@dataclass(frozen=True)
class Stats:
    """A store in numbers."""

    place: str
    """File, or URL without its password."""
    version: int
    """Of the tables."""
    lessons: int
    """Retired ones too."""
    semantic: int
    """Of those told to other loops, retired ones left out."""
    retired: int
    guardrails: int
    """Retired ones too."""
    episodes: int
    summaries: int
    projects: int
    """Of which there are lessons or episodes."""
    size: int
    """Bytes on the disk."""
    backups: tuple[str, ...] = ()
    """Names of the daily copies, newest first; a server has none of ours."""
    damaged: tuple[str, ...] = ()
    """Names of files that were put aside when they were found damaged, newest first."""


@dataclass(frozen=True)
class Merged:
    """What became of one sort of records in an imported file."""

    added: int = 0
    replaced: int = 0
    """The file's was newer."""
    kept: int = 0
    """The store's was as new or newer."""


@dataclass(frozen=True)
class Imported:
    lessons: Merged
    guardrails: Merged
    episodes: Merged
    summaries: Merged


class Reads(Protocol):
    """What a store tells. Raises WorldError where it cannot."""

    def lesson(self, id: str) -> Lesson | None: ...  # noqa: A002 - the record's own word

    def lessons(
        self,
        project: str | None = None,
        kind: LessonKind | None = None,
        task_type: TaskType | None = None,
        tier: Tier | None = None,
        *,
        retired: bool = False,
        limit: int = 1_000,
        offset: int = 0,
    ) -> list[Lesson]:
        """The one that was seen last first; with `retired`, those that are told no more as well."""
        ...

    def search(
        self,
        text: str,
        kinds: Sequence[LessonKind] | None = None,
        tiers: Sequence[Tier] | None = None,
        limit: int = 50,
        *,
        project: str | None = None,
    ) -> list[Found]:
        """Lessons by their words, the most fitting first, retired ones left out: so many of all projects, and where a project
        is named, as many of it. Never raises for what the text is.

        How well one fits is what the telling words of the question weigh that it holds, of those that any lesson holds.
        """
        ...

    def similar(self, text: str, kind: LessonKind, project: str, task_type: TaskType, limit: int = 10) -> list[Lesson]:
        """Lessons of the same sort, project and type of task that share telling words, the most fitting first."""
        ...

    def guardrails(self, project: str, *, retired: bool = False) -> list[Guardrail]:
        """The oldest first; with `retired`, those that stand no more as well."""
        ...

    def episodes(self, uid: str, last: int | None = None) -> list[Episode]:
        """Of one loop, in order; the last so many where a number is given."""
        ...

    def summaries(self, task_type: TaskType | None = None, project: str | None = None, limit: int = 200) -> list[Summary]:
        """The newest first."""
        ...

    def failures(self, project: str, kind: FailureClass) -> tuple[int, int]:
        """In how many of the project's checked iterations a check failed so, and how many there are. Only kept ones count."""
        ...


class Change(Reads, Protocol):
    """One write transaction, alone among all writers: everything in it is written, or nothing."""

    def put_lesson(self, lesson: Lesson) -> None:
        """Add it, or replace the one of this id."""
        ...

    def forget(self, id: str) -> bool:  # noqa: A002 - the record's own word
        """Remove a lesson or a guardrail for good; False where there was none."""
        ...

    def put_guardrail(self, guardrail: Guardrail) -> None:
        """Add it, or replace the one of this id."""
        ...

    def put_episode(self, episode: Episode) -> bool:
        """Keep an iteration; False, and nothing written, where this attempt at it is kept already."""
        ...

    def put_summary(self, summary: Summary) -> bool:
        """Keep a loop's end; False, and nothing written, where this end of it, or a later one, is kept already."""
        ...


class Store(Reads, Protocol):
    @property
    def warnings(self) -> tuple[str, ...]:
        """What was mended when it was opened, and what may be missing since."""
        ...

    def change(self) -> AbstractContextManager[Change]: ...

    def stats(self) -> Stats: ...

    def export(self) -> Iterator[str]:
        """One JSON document in pieces: everything of one moment, with its version and its SHA-256."""
        ...

    def import_(self, file: Path) -> Imported:
        """Merge an exported document in. Raises OperatorError that names the place, and changes nothing, where it is not one."""
        ...


@contextmanager
def opening(url: str, now: datetime, backups: int = 7) -> Generator[Store]:
    """A store while the block runs; an empty URL is this user's own file. Raises WorldError when there can be none."""
    from tasks.memory.opened import opened  # brings the database library in

    with opened(url, now, backups) as store:
        yield store


@contextmanager
def looking(url: str) -> Generator[Reads | None]:
    """The store of a URL for whoever only looks; None where there is none of this version. Raises WorldError."""
    from tasks.memory.opened import looked_into

    with looked_into(url) as store:
        yield store
