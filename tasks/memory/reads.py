"""What is asked of the tables, the same for either database."""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Select, TableClause, bindparam, func, select

from helmsman.memory.recall import Found
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import Episode, Guardrail, Lesson, LessonKind, Summary, TaskType, Tier
from tasks.memory import tables
from tasks.memory.search import asked_words, facet, fit, holders, key, marks, weigh

SPARE = 10  # lessons more than are wanted that are looked at: common words may turn the order
MOST_FOUND = 500  # lessons in one answer
SIMILAR = 10  # lessons that a new one is compared with

_ROWS = select(tables.lessons.c.number, tables.lessons.c.words, tables.lessons.c.body).where(
    tables.lessons.c.number.in_(bindparam("numbers", expanding=True))
)

R = TypeVar("R", bound=BaseModel)


class Reads(ABC):
    """The reads, over whatever connection there is. Raise TransientError where the store cannot tell."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """A connection for a few questions in a row."""

    def lesson(self, id: str) -> Lesson | None:  # noqa: A002 - the record's own word
        return next(iter(self._all(Lesson, _bodies(tables.lessons, id=id))), None)

    def summary(self, uid: str) -> Summary | None:
        """How a loop ended last, as far as it is known: it may have been resumed since."""
        return next(iter(self._all(Summary, _bodies(tables.summaries, uid=uid))), None)

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
        """The one that was seen last first; with `retired`, those that are told no more as well."""
        question = _newest(tables.lessons, "updated_at", limit, project=project, kind=kind, task_type=task_type, tier=tier)
        return self._all(Lesson, question if retired else question.where(tables.lessons.c.retired.is_(False)))

    def search(
        self, text: str, kind: LessonKind | None = None, tier: Tier | None = None, limit: int = 50, *, project: str | None = None
    ) -> list[Found]:
        """Lessons by their words, the most fitting first, retired ones left out: so many of all projects, and where a project
        is named, as many of it. Never raises for what the text is.

        How well one fits is what the telling words of the question weigh that it holds, of those that any lesson holds.
        """
        everywhere = [] if kind is None else [facet("kind", kind)]
        groups = [everywhere] if project is None else [everywhere, [*everywhere, facet("project", project)]]
        return self._found(text, marks(Tier if tier is None else [tier]), limit, *groups)

    def similar(self, text: str, kind: LessonKind, project: str, task_type: TaskType) -> list[Lesson]:
        """Lessons of the same sort, project and type of task that share telling words, the most fitting first."""
        return [one.lesson for one in self._found(text, marks(), SIMILAR, [facet("merging", kind, task_type, project)])]

    def guardrail(self, id: str) -> Guardrail | None:  # noqa: A002 - the record's own word
        return next(iter(self._all(Guardrail, _bodies(tables.guardrails, id=id))), None)

    def guardrails(self, project: str, *, retired: bool = False) -> list[Guardrail]:
        """The oldest first; with `retired`, those that stand no more as well."""
        found = tables.guardrails.c
        question = _bodies(tables.guardrails, project=project).order_by(found.created_at, found.id)
        return self._all(Guardrail, question if retired else question.where(found.retired.is_(False)))

    def guarded_projects(self) -> list[str]:
        """Projects that have guardrails, be they retired."""
        with self.reading() as connection:
            return list(connection.scalars(select(tables.guardrails.c.project).distinct().order_by(tables.guardrails.c.project)))

    def episodes(self, uid: str, last: int | None = None) -> list[Episode]:
        """Of one loop, in order; the last so many where a number is given."""
        found = tables.episodes.c
        newest = _bodies(tables.episodes, uid=uid).order_by(found.iteration.desc(), found.attempt.desc()).limit(last)
        return self._all(Episode, newest)[::-1]

    def summaries(self, task_type: TaskType | None = None, project: str | None = None, limit: int = 200) -> list[Summary]:
        """The newest first."""
        return self._all(Summary, _newest(tables.summaries, "ended_at", limit, task_type=task_type, project=project))

    def failures(self, project: str, kind: FailureClass) -> tuple[int, int]:
        """In how many of the project's checked iterations a check failed so, and how many there are. Only kept ones count."""
        failed, kept = tables.failures.c, tables.episodes.c
        seen = select(func.count()).select_from(tables.failures).where(failed.project == key(project), failed.kind == kind)
        checked = select(func.count()).select_from(tables.episodes).where(kept.project == key(project), kept.checked.is_(True))
        with self.reading() as connection:
            return connection.scalar(seen) or 0, connection.scalar(checked) or 0

    def _all(self, record: type[R], question: Select[Any]) -> list[R]:
        with self.reading() as connection:
            return read_all(record, connection.scalars(question).all())

    def _found(self, text: str, tiers: Sequence[str], limit: int, *groups: Sequence[str]) -> list[Found]:
        """So many of each group: of the lessons that have all of its facets."""
        most = min(max(limit, 0), MOST_FOUND)
        with self.reading() as connection:
            asked = weigh(connection, asked_words(text), tiers)
            best: dict[int, tuple[float, int, int, str]] = {}
            for group in groups:  # the most fitting of each, by all words that were asked
                numbers = holders(connection, asked, tiers, group, most + SPARE)
                rows = connection.execute(_ROWS, {"numbers": numbers}).all()
                fits = ((fit(held, asked), number, body) for number, held, body in rows)
                # of two that fit as well, the one that was made last comes first
                fitting = ((weight, number, words, body) for (weight, words), number, body in fits)
                best |= {one[1]: one for one in heapq.nlargest(most, fitting)}
        ranked = sorted(best.values(), reverse=True)
        return [Found(lesson, fits, words) for fits, _, words, body in ranked for lesson in read_all(Lesson, [body])]


def _newest(table: TableClause, age: str, most: int, **wanted: str | None) -> Select[Any]:
    """The newest first, of those that have what is asked for in these columns."""
    given = {name: value for name, value in wanted.items() if value is not None}
    return _bodies(table, **given).order_by(table.c[age].desc(), table.c.number.desc()).limit(max(most, 0))


def _bodies(table: TableClause, **names: str) -> Select[Any]:
    return select(table.c.body).where(*(table.c[column] == key(name) for column, name in names.items()))


def read_all(record: type[R], bodies: Iterable[str]) -> list[R]:
    """What a newer program wrote and this one does not understand is not there for this one."""
    found: list[R] = []
    for body in bodies:
        try:
            found.append(record.model_validate_json(body))
        except ValidationError:
            continue
    return found
