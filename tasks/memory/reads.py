"""Queries of the store, the same for both databases."""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Select, TableClause, bindparam, func, select

from helmsman.memory.recall import SearchHit
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import Episode, Guardrail, Lesson, LessonKind, Summary, TaskType, Tier
from tasks.memory import tables
from tasks.memory.search import facet, find_lessons, key, marks, match_weight, search_words, weigh

SPARE = 10  # extra lessons to consider: common words may change the order
MOST_FOUND = 500  # maximum of lessons in one result
SIMILAR = 10  # lessons to compare with a new one

_ROWS = select(tables.lessons.c.number, tables.lessons.c.words, tables.lessons.c.body).where(
    tables.lessons.c.number.in_(bindparam("numbers", expanding=True))
)

R = TypeVar("R", bound=BaseModel)


class Reads(ABC):
    """Queries over any connection. Raise TransientError if the store fails."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """A connection for a few queries."""

    def lesson(self, id: str) -> Lesson | None:  # noqa: A002 - name of the record's field
        return next(iter(self._read(Lesson, _body_query(tables.lessons, id=id))), None)

    def summary(self, uid: str) -> Summary | None:
        """Last known ending of a loop, which may have been resumed since."""
        return next(iter(self._read(Summary, _body_query(tables.summaries, uid=uid))), None)

    def lessons(
        self,
        project: str | None = None,
        kind: LessonKind | None = None,
        task_type: TaskType | None = None,
        tier: Tier | None = None,
        *,
        retired: bool = False,
        limit: int = 1_000,
    ) -> list[Lesson]:
        """Lessons, most recently updated first; with `retired`, includes retired ones."""
        query = _newest_query(tables.lessons, "updated_at", limit, project=project, kind=kind, task_type=task_type, tier=tier)
        return self._read(Lesson, query if retired else query.where(tables.lessons.c.retired.is_(False)))

    def search(
        self, text: str, kind: LessonKind | None = None, tier: Tier | None = None, limit: int = 50, *, project: str | None = None
    ) -> list[SearchHit]:
        """Search lessons by words, best match first, without retired ones: `limit` of all projects, and as many of `project`.
        Never raises for any text.

        The score is the weight of the query's words that a lesson contains, among those that any lesson contains.
        """
        everywhere = [] if kind is None else [facet("kind", kind)]
        groups = [everywhere] if project is None else [everywhere, [*everywhere, facet("project", project)]]
        return self._search(text, marks(Tier if tier is None else [tier]), limit, *groups)

    def similar(self, text: str, kind: LessonKind, project: str, task_type: TaskType) -> list[Lesson]:
        """Lessons of the same kind, project and task type that share significant words, best match first."""
        return [found.lesson for found in self._search(text, marks(), SIMILAR, [facet("merging", kind, task_type, project)])]

    def guardrail(self, id: str) -> Guardrail | None:  # noqa: A002 - name of the record's field
        return next(iter(self._read(Guardrail, _body_query(tables.guardrails, id=id))), None)

    def guardrails(self, project: str, *, retired: bool = False) -> list[Guardrail]:
        """Guardrails, oldest first; with `retired`, includes retired ones."""
        columns = tables.guardrails.c
        query = _body_query(tables.guardrails, project=project).order_by(columns.created_at, columns.id)
        return self._read(Guardrail, query if retired else query.where(columns.retired.is_(False)))

    def guarded_projects(self) -> list[str]:
        """Projects with guardrails, including retired ones."""
        with self.reading() as connection:
            return list(connection.scalars(select(tables.guardrails.c.project).distinct().order_by(tables.guardrails.c.project)))

    def episodes(self, uid: str, last: int | None = None) -> list[Episode]:
        """Episodes of one loop, in order; only the newest `last` if given."""
        columns = tables.episodes.c
        newest = _body_query(tables.episodes, uid=uid).order_by(columns.iteration.desc(), columns.attempt.desc()).limit(last)
        return self._read(Episode, newest)[::-1]

    def summaries(self, task_type: TaskType | None = None, project: str | None = None, limit: int = 200) -> list[Summary]:
        """Summaries, newest first."""
        return self._read(Summary, _newest_query(tables.summaries, "ended_at", limit, task_type=task_type, project=project))

    def failures(self, project: str, kind: FailureClass) -> tuple[int, int]:
        """Number of the project's stored checked iterations with this failure, and of all."""
        failed, kept = tables.failures.c, tables.episodes.c
        failing = select(func.count()).select_from(tables.failures).where(failed.project == key(project), failed.kind == kind)
        checked = select(func.count()).select_from(tables.episodes).where(kept.project == key(project), kept.checked.is_(True))
        with self.reading() as connection:
            return connection.scalar(failing) or 0, connection.scalar(checked) or 0

    def _read(self, record: type[R], query: Select[Any]) -> list[R]:
        with self.reading() as connection:
            return read_all(record, connection.scalars(query).all())

    def _search(self, text: str, tiers: Sequence[str], limit: int, *groups: Sequence[str]) -> list[SearchHit]:
        """Up to `limit` lessons of each group, which have all of its facets."""
        most = min(max(limit, 0), MOST_FOUND)
        with self.reading() as connection:
            query_words = weigh(connection, search_words(text), tiers)
            best: dict[int, tuple[float, int, int, str]] = {}
            for group in groups:  # the best matches of each, by all words of the query
                numbers = find_lessons(connection, query_words, tiers, group, most + SPARE)
                rows = connection.execute(_ROWS, {"numbers": numbers}).all()
                scored = ((match_weight(held, query_words), number, body) for number, held, body in rows)
                # on equal scores, the newer lesson comes first
                ranked_rows = ((weight, number, words, body) for (weight, words), number, body in scored)
                best |= {row[1]: row for row in heapq.nlargest(most, ranked_rows)}
        ranked = sorted(best.values(), reverse=True)
        return [SearchHit(lesson, score, words) for score, _, words, body in ranked for lesson in read_all(Lesson, [body])]


def _newest_query(table: TableClause, age: str, most: int, **values: str | None) -> Select[Any]:
    """Query for rows with these column values, newest first."""
    conditions = {name: value for name, value in values.items() if value is not None}
    return _body_query(table, **conditions).order_by(table.c[age].desc(), table.c.number.desc()).limit(max(most, 0))


def _body_query(table: TableClause, **names: str) -> Select[Any]:
    return select(table.c.body).where(*(table.c[column] == key(name) for column, name in names.items()))


def read_all(record: type[R], bodies: Iterable[str]) -> list[R]:
    """Parse records; skips those of a newer program that this one does not understand."""
    records: list[R] = []
    for body in bodies:
        try:
            records.append(record.model_validate_json(body))
        except ValidationError:
            continue
    return records
