"""What is written, inside one transaction."""

import json
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update

from helmsman.memory.recall import Found
from helmsman.records.lessons import Episode, Guardrail, Lesson, Summary
from tasks.memory import tables
from tasks.memory.keys import facets, key, marks, moment, said_words
from tasks.memory.reading import Reader, read_all
from tasks.memory.word_index import count, counted, marked, put, tidy
from tasks.system.secrets import without_secrets

MOST_EPISODES = 5_000
"""Of one project; the oldest go when there are more."""
MOST_SUMMARIES = 5_000
AT_A_TIME = 100
"""So many too many are let be, so that they are removed together."""

_MOMENT = TypeAdapter(datetime)
_LESSON = select(tables.lessons.c.number, tables.lessons.c.words).where(tables.lessons.c.id == bindparam("known"))
_ADD_LESSON = insert(tables.lessons).returning(tables.lessons.c.number)
_REPLACE_LESSON = update(tables.lessons).where(tables.lessons.c.number == bindparam("known"))


class Changing(Reader):
    """Reads and writes over one connection, alone among all writers: everything in it is written, or nothing."""

    def __init__(self, connection: Connection) -> None:
        """Write with this connection, on which a transaction has begun."""
        self._connection = connection
        self._counts: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def reading(self) -> Generator[Connection]:
        yield self._connection

    def put_lesson(self, lesson: Lesson) -> None:
        """Add it, or replace the one of this id."""
        lesson = without_secrets(lesson)
        before = self._connection.execute(_LESSON, {"known": key(lesson.id)}).first()
        row = _lesson_row(lesson)
        if before is None:
            number = int(self._connection.scalar(_ADD_LESSON, row) or 0)
        else:
            number = int(before.number)
            self._connection.execute(_REPLACE_LESSON, {**row, "known": number})
        held = str(before.words) if before else ""
        if held != row["words"]:  # mostly only numbers change
            self._index(number, held, row["words"])

    def forget(self, id: str) -> bool:  # noqa: A002 - the record's own word
        """Remove a lesson or a guardrail for good; False where there was none."""
        return self._forget_lesson(key(id)) or self._removed(tables.guardrails, key(id))

    def put_guardrail(self, guardrail: Guardrail) -> None:
        """Add it, or replace the one of this id."""
        guardrail = without_secrets(guardrail)
        self._removed(tables.guardrails, key(guardrail.id))
        row = {
            "id": key(guardrail.id),
            "project": key(guardrail.project),
            "retired": bool(guardrail.retired),
            "created_at": moment(guardrail.created_at),
            "body": body(guardrail),
        }
        self._connection.execute(insert(tables.guardrails).values(row))

    def put_episode(self, episode: Episode) -> bool:
        """Keep an iteration; False, and nothing written, where this attempt at it is kept already."""
        episode = without_secrets(episode)
        project = key(episode.subject.project)
        place = {"uid": key(episode.uid), "iteration": episode.iteration, "attempt": episode.attempt}
        if self._there(tables.episodes, place):
            return False
        row = {**place, "project": project, "checked": episode.checked, "body": body(episode)}
        number = self._connection.scalar(insert(tables.episodes).values(row).returning(tables.episodes.c.number))
        failed = sorted({error.kind for error in episode.errors}) if episode.checked else []
        if failed:
            seen = [{"project": project, "kind": kind, "episode": number} for kind in failed]
            self._connection.execute(insert(tables.failures), seen)
        self._prune(tables.episodes, project, MOST_EPISODES)
        return True

    def put_summary(self, summary: Summary) -> bool:
        """Keep a loop's end; False, and nothing written, where this end of it, or a later one, is kept already."""
        summary = without_secrets(summary)
        table, uid, ended_at = tables.summaries, key(summary.uid), moment(summary.ended_at)
        known = self._connection.scalar(select(table.c.ended_at).where(table.c.uid == uid))
        if known is not None and known >= ended_at:
            return False
        self._connection.execute(delete(table).where(table.c.uid == uid))  # the loop was resumed after that end
        project = key(summary.subject.project)
        row = {
            "uid": uid,
            "project": project,
            "task_type": summary.subject.task_type,
            "ended_at": ended_at,
            "body": body(summary),
        }
        self._connection.execute(insert(table).values(row))
        self._prune(table, project, MOST_SUMMARIES)
        return True

    def count_words(self) -> None:
        """Words are counted together, when they are asked for and at the end: many lessons in one change share them."""
        count(self._connection, self._counts)
        self._counts.clear()

    def _found(self, text: str, tiers: Sequence[str], limit: int, *groups: Sequence[Sequence[str]]) -> list[Found]:
        self.count_words()
        return super()._found(text, tiers, limit, *groups)

    def _index(self, number: int, before: str, after: str) -> None:
        put(self._connection, number, before, after)
        self._counts.subtract(counted(before))
        self._counts.update(counted(after))

    def _forget_lesson(self, id: str) -> bool:  # noqa: A002 - the record's own word
        row = self._connection.execute(_LESSON, {"known": id}).first()
        if row is None:
            return False
        self._index(row.number, row.words, "")
        tidy(self._connection)
        self._connection.execute(delete(tables.lessons).where(tables.lessons.c.number == row.number))
        return True

    def _removed(self, table: Table, id: str) -> bool:  # noqa: A002 - the record's own word
        return self._connection.execute(delete(table).where(table.c.id == id)).rowcount > 0

    def _there(self, table: Table, place: dict[str, Any]) -> bool:
        question = select(table.c.number).where(*(table.c[name] == value for name, value in place.items()))
        return self._connection.scalar(question) is not None

    def _prune(self, table: Table, project: str, most: int) -> None:
        """Remove a project's oldest records, once there are some more than it may have: only then all of them are read. An import
        brings old ones last, so that their numbers say nothing.
        """
        numbers = select(table.c.number).where(table.c.project == project).order_by(table.c.number.desc())
        if self._connection.scalar(numbers.limit(1).offset(most + AT_A_TIME - 1)) is None:
            return
        rows = select(table.c.body, table.c.number).where(table.c.project == project).execution_options(yield_per=AT_A_TIME)
        ages = sorted((_ended(body), number) for body, number in self._connection.execute(rows))
        gone = [number for _, number in ages[:-most]]
        self._connection.execute(delete(table).where(table.c.number.in_(gone)))
        if table is tables.episodes:
            failures = tables.failures.c
            self._connection.execute(delete(tables.failures).where(failures.project == project, failures.episode.in_(gone)))


def reindex(connection: Connection) -> None:
    """Put every lesson into the index by the words that this version finds it by."""
    change = Changing(connection)
    for lesson in read_all(Lesson, connection.scalars(select(tables.lessons.c.body)).all()):
        change.put_lesson(lesson)
    change.count_words()


def body(record: BaseModel) -> str:
    """A record as JSON. What cannot be written as UTF-8 (a file's name may hold anything) is replaced."""
    try:
        return record.model_dump_json()
    except PydanticSerializationError:
        return type(record).model_validate(_writable(record.model_dump())).model_dump_json()


def _ended(body: str) -> int:
    """When the iteration or the loop ended that this tells of."""
    held = json.loads(body)
    return moment(_MOMENT.validate_python(held.get("at") or held["ended_at"]))


def _lesson_row(lesson: Lesson) -> dict[str, Any]:
    (mark,) = marks([lesson.tier])
    return {
        "id": key(lesson.id),
        "kind": lesson.kind,
        "tier": lesson.tier,
        "project": key(lesson.project),
        "task_type": lesson.task_type,
        "retired": bool(lesson.retired),
        "updated_at": moment(lesson.updated_at),
        "words": marked(said_words(lesson), mark, facets(lesson)),
        "body": body(lesson),
    }


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _writable(held) for name, held in cast("dict[str, Any]", value).items()}
    return [_writable(held) for held in cast("list[Any]", value)] if isinstance(value, list | tuple) else value
