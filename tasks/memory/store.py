"""Store of lessons: reads at any time, changes in one transaction, export and import."""

import json
import sqlite3
from abc import abstractmethod
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError
from sqlalchemy import ColumnElement, Connection, Engine, TableClause, bindparam, delete, func, insert, select, union, update
from sqlalchemy.exc import SQLAlchemyError

from helmsman.errors import TransientError
from helmsman.memory.recall import SearchHit
from helmsman.plain import clean
from helmsman.records.lessons import Episode, Guardrail, Lesson, Summary, Tier
from tasks.memory import exchange, tables
from tasks.memory.reads import Reads, read_all
from tasks.memory.search import (
    add_counts,
    count_entries,
    facets,
    index_words,
    key,
    lesson_words,
    mark_words,
    marks,
    microseconds,
    optimize_index,
)
from tasks.memory.tables import VERSION, checked_version, take_steps
from tasks.system.secrets import without_secrets

MOST_EPISODES = 5_000  # for each project; the oldest are removed
MOST_SUMMARIES = 5_000
AT_A_TIME = 100  # excess to allow, so that they are removed in batches

_LESSON = select(tables.lessons.c.number, tables.lessons.c.words).where(tables.lessons.c.id == bindparam("known"))
_ADD_LESSON = insert(tables.lessons).returning(tables.lessons.c.number)
_REPLACE_LESSON = update(tables.lessons).where(tables.lessons.c.number == bindparam("known"))
DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
LONGEST = 300
REMEDIES = {
    sqlite3.SQLITE_FULL: "free some space on that disk",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable for this user",
    sqlite3.SQLITE_CANTOPEN: "make the file and its folder writable for this user",
    sqlite3.SQLITE_BUSY: "end the process that locks the store",
    sqlite3.SQLITE_IOERR: "check the disk: space, quota and health",
    sqlite3.SQLITE_CORRUPT: "reopen the store: the last good copy is restored",
    sqlite3.SQLITE_NOTADB: "reopen the store: the last good copy is restored",
}
FAULTS = SQLAlchemyError, sqlite3.Error
DISK_FAULTS = *FAULTS, OSError


class Change(Reads):
    """Reads and writes in one transaction, exclusive among writers."""

    def __init__(self, connection: Connection) -> None:
        """Use this connection, in which a transaction has begun."""
        self._connection = connection
        self._counts: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def reading(self) -> Generator[Connection]:
        yield self._connection

    def put_lesson(self, lesson: Lesson) -> None:
        """Add it, or replace the one of this id."""
        lesson = without_secrets(lesson)
        (mark,) = marks([lesson.tier])
        row: dict[str, Any] = {
            "id": key(lesson.id),
            "kind": lesson.kind,
            "tier": lesson.tier,
            "project": key(lesson.project),
            "task_type": lesson.task_type,
            "retired": bool(lesson.retired),
            "updated_at": microseconds(lesson.updated_at),
            "words": mark_words(lesson_words(lesson), mark, facets(lesson)),
            "body": _to_json(lesson),
        }
        before = self._connection.execute(_LESSON, {"known": row["id"]}).first()
        if before is None:
            number = int(self._connection.scalar(_ADD_LESSON, row) or 0)
        else:
            number = int(before.number)
            self._connection.execute(_REPLACE_LESSON, {**row, "known": number})
        words_before = str(before.words) if before else ""
        if words_before != row["words"]:  # usually only numbers change
            self._index(number, words_before, row["words"])

    def put_guardrail(self, guardrail: Guardrail) -> None:
        """Add it, or replace the one of this id."""
        guardrail = without_secrets(guardrail)
        self._delete(tables.guardrails, guardrail.id)
        row = {"id": key(guardrail.id), "project": key(guardrail.project), "retired": bool(guardrail.retired)}
        row |= {"created_at": microseconds(guardrail.created_at), "body": _to_json(guardrail)}
        self._connection.execute(insert(tables.guardrails).values(row))

    def forget(self, id: str) -> bool:  # noqa: A002 - name of the record's field
        """Delete a lesson or a guardrail for good; False if there was none."""
        row = self._connection.execute(_LESSON, {"known": key(id)}).first()
        if row is None:
            return self._delete(tables.guardrails, id)
        self._index(row.number, row.words, "")
        optimize_index(self._connection)
        return self._delete(tables.lessons, id)

    def put_episode(self, episode: Episode) -> bool:
        """Store an iteration; False without writing if this attempt is already stored."""
        episode, table = without_secrets(episode), tables.episodes
        project = key(episode.subject.project)
        place = {"uid": key(episode.uid), "iteration": episode.iteration, "attempt": episode.attempt}
        if self._connection.scalar(select(table.c.number).where(*(table.c[name] == value for name, value in place.items()))):
            return False
        row = {**place, "project": project, "checked": episode.checked, "body": _to_json(episode)}
        number = self._connection.scalar(insert(table).values(row).returning(table.c.number))
        failed = sorted({error.kind for error in episode.errors}) if episode.checked else []
        if failed:
            rows = [{"project": project, "kind": kind, "episode": number} for kind in failed]
            self._connection.execute(insert(tables.failures), rows)
        self._prune(table, project, MOST_EPISODES)
        return True

    def put_summary(self, summary: Summary) -> bool:
        """Store a loop's ending; False without writing if this ending or a later one is already stored."""
        summary, table = without_secrets(summary), tables.summaries
        uid, project, ended_at = key(summary.uid), key(summary.subject.project), microseconds(summary.ended_at)
        known = self._connection.scalar(select(table.c.ended_at).where(table.c.uid == uid))
        if known is not None and known >= ended_at:
            return False
        self._connection.execute(delete(table).where(table.c.uid == uid))  # the loop was resumed after that end
        row = {"uid": uid, "project": project, "task_type": summary.subject.task_type, "ended_at": ended_at}
        self._connection.execute(insert(table).values({**row, "body": _to_json(summary)}))
        self._prune(table, project, MOST_SUMMARIES)
        return True

    def reindex(self) -> None:
        """Index every lesson again by the words of this version."""
        for lesson in read_all(Lesson, self._connection.scalars(select(tables.lessons.c.body)).all()):
            self.put_lesson(lesson)
        self.count_words()

    def count_words(self) -> None:
        """Write the pending word counts, before a search and at the end: many lessons in one change share words."""
        add_counts(self._connection, self._counts)
        self._counts.clear()

    def _search(self, text: str, tiers: Sequence[str], limit: int, *groups: Sequence[str]) -> list[SearchHit]:
        self.count_words()
        return super()._search(text, tiers, limit, *groups)

    def _index(self, number: int, before: str, after: str) -> None:
        index_words(self._connection, number, before, after)
        self._counts.subtract(count_entries(before))
        self._counts.update(count_entries(after))

    def _delete(self, table: TableClause, id: str) -> bool:  # noqa: A002 - name of the record's field
        return self._connection.execute(delete(table).where(table.c.id == key(id))).rowcount > 0

    def _prune(self, table: TableClause, project: str, most: int) -> None:
        """Delete the oldest rows of a project beyond the limit, in batches."""
        numbers = select(table.c.number).where(table.c.project == project).order_by(table.c.number.desc()).limit(1)
        if self._connection.scalar(numbers.offset(most + AT_A_TIME - 1)) is None:
            return
        last = self._connection.scalar(numbers.offset(most))
        self._connection.execute(delete(table).where(table.c.project == project, table.c.number <= last))
        if table is tables.episodes:
            failures = tables.failures.c
            self._connection.execute(delete(tables.failures).where(failures.project == project, failures.episode <= last))


@dataclass(frozen=True)
class Stats:
    """Statistics of a store."""

    place: str  # file, or URL without password
    version: int  # of the tables
    lessons: int  # including retired ones
    semantic: int  # lessons for other loops, without retired ones
    retired: int
    guardrails: int  # including retired ones
    episodes: int
    summaries: int
    projects: int  # with lessons or episodes
    size: int  # bytes on the disk
    backups: tuple[str, ...] = ()  # names of the daily copies, newest first; none for a server
    damaged: tuple[str, ...] = ()  # names of damaged files that were moved aside, newest first


class Store(Reads):
    """An open database. Subclasses implement the abstract methods, whose blocks raise TransientError if the database fails."""

    _engine: Engine
    place: str  # for people
    warnings: Sequence[str] = ()  # repairs on opening

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Connection]:
        """A connection with a consistent snapshot."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """A write transaction, exclusive among writers; rolled back if the block raises."""

    @abstractmethod
    def files(self) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        """Bytes on disk, names of the daily copies, and names of files that were moved aside, both newest first."""

    def close(self) -> None:
        self._engine.dispose()

    def is_of_this_version(self) -> bool:
        """Whether the tables have this version. Raises TransientError for a newer one."""
        with self.reading() as connection:
            return checked_version(connection) == VERSION

    def migrate(self) -> None:
        """Migrate the tables to this version; the first of several processes does it. Raises TransientError for a newer one."""
        if self.is_of_this_version():
            return
        with self.writing() as connection:
            if take_steps(connection):
                Change(connection).reindex()

    @contextmanager
    def change(self) -> Generator[Change]:
        with self.writing() as connection:
            change = Change(connection)
            yield change
            change.count_words()

    def stats(self) -> Stats:
        columns, (size, backups, damaged) = tables.lessons.c, self.files()

        def number_of(table: TableClause, *conditions: ColumnElement[bool]) -> int:
            return connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0

        with self.reading() as connection:
            projects = union(select(columns.project), select(tables.episodes.c.project)).subquery()
            return Stats(
                place=self.place,
                version=VERSION,
                lessons=number_of(tables.lessons),
                semantic=number_of(tables.lessons, columns.tier == Tier.SEMANTIC, columns.retired.is_(False)),
                retired=number_of(tables.lessons, columns.retired.is_(True)),
                guardrails=number_of(tables.guardrails),
                episodes=number_of(tables.episodes),
                summaries=number_of(tables.summaries),
                projects=connection.scalar(select(func.count()).select_from(projects)) or 0,
                size=size,
                backups=backups,
                damaged=damaged,
            )

    def export(self) -> str:
        """One JSON document with a snapshot of everything, its version and its SHA-256."""
        with self.snapshot() as connection:
            return exchange.export_text(connection)

    def import_(self, file: Path) -> dict[str, exchange.Merged]:
        """Merge an exported document. Raises OperatorError with the location, without changes, if it is invalid."""
        content = exchange.read(file)
        with self.change() as change:
            return exchange.merge(change, content)


def _to_json(record: BaseModel) -> str:
    """A record as JSON. Replaces what is not valid UTF-8 (file names may contain anything)."""
    try:
        return record.model_dump_json()
    except PydanticSerializationError:
        text = json.dumps(record.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode()


class Damaged(TransientError):  # noqa: N818 - a state, as in Fenced
    """The SQLite file is damaged."""


@contextmanager
def reporting_faults(place: str, secret: str = "", faults: tuple[type[Exception], ...] = FAULTS) -> Generator[None]:
    """Raise TransientError, with a remedy and without the password, for such a fault in the block."""
    try:
        yield
    except faults as error:
        cause = getattr(error, "orig", None) or error
        code, found = primary_code(cause), f"{type(cause).__name__}: {clean(str(cause))[:LONGEST]}"
        raise (Damaged if code in DAMAGE else TransientError)(
            "the memory store fails",
            expected=f"a working store at {place}",
            found=found.replace(secret, "***") if secret else found,
            remedy=REMEDIES.get(code) or "make sure that the store can be reached, or set memory.url or memory.use",
        ) from None  # the chain would contain statements and their parameters


def primary_code(cause: BaseException) -> int:
    """SQLite's primary error code; -1 for other errors."""
    return (getattr(cause, "sqlite_errorcode", None) or -1) & 0xFF if isinstance(cause, sqlite3.Error) else -1
