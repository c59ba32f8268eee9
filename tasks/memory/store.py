"""A store over an open database."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from sqlalchemy import ColumnElement, Connection, Table, func, select, union

from helmsman.records.lessons import Tier
from tasks.memory import exchange, tables
from tasks.memory.changing import Changing
from tasks.memory.merging import merge
from tasks.memory.port import Imported, Stats
from tasks.memory.reading import Reader
from tasks.memory.schema import VERSION


class Database(Protocol):
    """What differs from one database to the other. Its blocks raise WorldError where the database fails."""

    @property
    def place(self) -> str:
        """For people."""
        ...

    def reading(self) -> AbstractContextManager[Connection]: ...

    def snapshot(self) -> AbstractContextManager[Connection]:
        """A connection that sees one moment only."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """A write transaction, alone among all writers; undone when the block raises."""
        ...

    def size(self) -> int: ...

    def backups(self) -> tuple[str, ...]: ...

    def damaged(self) -> tuple[str, ...]: ...


class OpenStore(Reader):
    def __init__(self, database: Database, warnings: tuple[str, ...] = ()) -> None:
        """Ask this database; these things were repaired when it was opened."""
        self._database, self.warnings = database, warnings

    def reading(self) -> AbstractContextManager[Connection]:
        return self._database.reading()

    @contextmanager
    def change(self) -> Generator[Changing]:
        with self._database.writing() as connection:
            change = Changing(connection)
            yield change
            change.count_words()

    def stats(self) -> Stats:
        found = tables.lessons.c
        with self.reading() as connection:
            projects = union(select(found.project), select(tables.episodes.c.project)).subquery()
            return Stats(
                place=self._database.place,
                version=VERSION,
                lessons=_count(connection, tables.lessons),
                semantic=_count(connection, tables.lessons, found.tier == Tier.SEMANTIC, found.retired.is_(False)),
                retired=_count(connection, tables.lessons, found.retired.is_(True)),
                guardrails=_count(connection, tables.guardrails),
                episodes=_count(connection, tables.episodes),
                summaries=_count(connection, tables.summaries),
                projects=connection.scalar(select(func.count()).select_from(projects)) or 0,
                size=self._database.size(),
                backups=self._database.backups(),
                damaged=self._database.damaged(),
            )

    def export(self) -> Iterator[str]:
        """One JSON document in pieces: everything of one moment, with its version and its SHA-256."""
        with self._database.snapshot() as connection:
            yield from exchange.written(connection)

    def import_(self, file: Path) -> Imported:
        """Merge an exported document in. Raises OperatorError that names the place, and changes nothing, where it is not one."""
        return merge(self.change, exchange.read(file))


def _count(connection: Connection, table: Table, *wanted: ColumnElement[bool]) -> int:
    return connection.scalar(select(func.count()).select_from(table).where(*wanted)) or 0
