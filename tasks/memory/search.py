"""The words that lessons are found by: how a lesson and a question are made of them, and which lessons hold a word.

Both databases answer the last from an index of their own; what a word weighs is ours, so that the same lessons are found in the
same order on either. bm25 and ts_rank are left alone on purpose: they rank every row that holds any word, which takes a tenth of
a second where a word is common, they do not agree with each other, and bm25 gives next to nothing in a store of a few lessons.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from sqlalchemy import Connection, TextClause, bindparam, delete, func, select, text

from helmsman.memory.words import terms
from helmsman.records.lessons import Lesson, Tier
from tasks.memory.tables import words

LONGEST_KEY = 200
LONGEST_WORD = 64
FACET = "#"  # begins the words that stand for a lesson's sort: no word of a text begins so
TOTAL = ""  # stands in the table of words for all lessons that can be found
MOST_ASKED = 16  # words of a question that count, the rarest: more of them say no more
MOST_RARE, MOST_TOGETHER = 8, 6  # words that bring lessons in by themselves, and those of which any two together do
ROWS_A_WORD = 150  # of those for one word: of a common one, the lessons that were made last
COMMON_SHARE = 0.25  # a word that so many lessons hold brings no lesson in by itself, where a rarer one does
MARK = 1  # characters of a word's mark
FACETS = 3  # at the end of a row's words
COMMON = 1_000  # in a small store, no word is too common

_STRANGE = re.compile(r"[^\w\-./:+@]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_SQLITE_HOLDERS = """SELECT * FROM (SELECT rowid AS number, CAST(:weight{position} AS DOUBLE PRECISION) AS weight
    FROM helmsman_lesson_words WHERE helmsman_lesson_words MATCH :asked{position} ORDER BY rowid DESC LIMIT {rows})"""
_POSTGRES_HOLDERS = """SELECT * FROM (SELECT number, CAST(:weight{position} AS DOUBLE PRECISION) AS weight
    FROM helmsman_lessons WHERE lexemes @@ CAST(:asked{position} AS tsquery) ORDER BY number DESC LIMIT {rows}) AS of{position}"""
_BEST = """SELECT number FROM ({union}) AS held GROUP BY number ORDER BY SUM(weight) DESC, number DESC LIMIT :most"""
_SQLITE_TAKE_OUT = "INSERT INTO helmsman_lesson_words (helmsman_lesson_words, rowid, words) VALUES ('delete', ?, ?)"
_SQLITE_PUT_IN = "INSERT INTO helmsman_lesson_words (rowid, words) VALUES (?, ?)"
_SQLITE_TIDY = "INSERT INTO helmsman_lesson_words (helmsman_lesson_words) VALUES ('optimize')"
_POSTGRES_PUT = text("UPDATE helmsman_lessons SET lexemes = array_to_tsvector(CAST(:words AS text[])) WHERE number = :number")
_HOW_MANY = (
    select(words.c.word, func.sum(words.c.lessons))
    .where(words.c.word.in_(bindparam("words", expanding=True)), words.c.tier.in_(bindparam("tiers", expanding=True)))
    .group_by(words.c.word)
)
_COUNT = text(
    "INSERT INTO helmsman_words (word, tier, lessons) VALUES (:word, :tier, :more) "
    "ON CONFLICT (word, tier) DO UPDATE SET lessons = helmsman_words.lessons + excluded.lessons"
)


def key(name: str) -> str:
    """A name as a column holds it. PostgreSQL takes no zero byte and indexes no long text."""
    plain = name.replace("\x00", " ").encode("utf-8", "replace").decode()
    return plain if len(plain) <= LONGEST_KEY else "sha256:" + hashlib.sha256(plain.encode()).hexdigest()


def moment(at: datetime) -> int:
    """Microseconds, which sort as the moments do; a time without a zone is UTC."""
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def asked_words(text: str) -> tuple[str, ...]:
    """The telling words of a text, each as one token for either index, whatever it is made of."""
    plain = (_STRANGE.sub("_", term.encode("utf-8", "replace").decode())[:LONGEST_WORD] for term in terms(text))
    return tuple(dict.fromkeys(plain))


def said_words(lesson: Lesson) -> tuple[str, ...]:
    """What a lesson is found by: the telling words of all that it says. None where it is told no more."""
    texts = () if lesson.retired else (lesson.text, lesson.detail, " ".join(lesson.tests))
    return tuple(dict.fromkeys(word for text in texts for word in asked_words(text)))


def marks(tiers: Iterable[Tier] = tuple(Tier)) -> list[str]:
    """A word is indexed under the mark of its lesson's tier, so that a question looks at no lesson that nobody is told of."""
    return list(dict.fromkeys(tier.value[:1] for tier in tiers))


def facets(lesson: Lesson) -> tuple[str, ...]:
    """Words that stand for a lesson's kind, for its project, and for what lessons that may be merged have in common."""
    merging = lesson.kind, lesson.task_type, lesson.project
    return facet("kind", lesson.kind), facet("project", lesson.project), facet("merging", *merging)


def facet(*names: str) -> str:
    """A project's name may hold anything."""
    return FACET + hashlib.sha256("\x00".join(map(key, names)).encode()).hexdigest()[:16]


class QuestionWord(NamedTuple):
    """A word of a question."""

    word: str
    lessons: int  # of the wanted tiers, that hold it
    weight: float
    common: bool  # too many hold it


def weigh(connection: Connection, question: Sequence[str], tiers: Sequence[str]) -> list[QuestionWord]:
    """The words of a question that lessons of these tiers hold, the rarest first."""
    rows = connection.execute(_HOW_MANY, {"words": [*question, TOTAL], "tiers": list(tiers)}).all()
    held = {str(word): int(lessons) for word, lessons in rows if lessons > 0}
    total = max(held.pop(TOTAL, 0), 1)
    rarest = sorted((lessons, word) for word, lessons in held.items())[:MOST_ASKED]
    many = max(COMMON, total * COMMON_SHARE)
    weights = (math.log1p((max(total - lessons, 0) + 0.5) / (lessons + 0.5)) for lessons, _ in rarest)
    return [QuestionWord(word, lessons, weight, lessons > many) for (lessons, word), weight in zip(rarest, weights, strict=True)]


def holders(
    connection: Connection, asked: Sequence[QuestionWord], tiers: Sequence[str], facets: Sequence[str], most: int
) -> list[int]:
    """The lessons of these tiers, with all of these facets, whose rare words, of those that were asked, weigh most."""
    # rare words bring lessons in one by one, and of those that many lessons hold any two together
    kept = [one for one in asked if not one.common] or asked[:1]
    rare = [one for one in kept if one.lessons <= ROWS_A_WORD][:MOST_RARE]
    many = [one for one in kept if one.lessons > ROWS_A_WORD]
    telling = [*((one,) for one in (*rare, *many[: 0 if rare else 1])), *combinations(many[:MOST_TOGETHER], 2)]
    if not telling:
        return []
    sqlite = connection.dialect.name == "sqlite"
    both, either, quote = (" AND ", " OR ", '"') if sqlite else (" & ", " | ", "'")  # words hold neither kind of quotes
    values: dict[str, float | str] = {"most": most}
    for position, together in enumerate(telling):
        sets = [*([tier + one.word for tier in tiers] for one in together), *([one] for one in facets)]  # one word of every set
        values[f"asked{position}"] = both.join(f"({either.join(f'{quote}{word}{quote}' for word in held)})" for held in sets)
        values[f"weight{position}"] = sum(one.weight for one in together)
    return list(connection.scalars(_best(len(telling), sqlite=sqlite), values).all())


def put(connection: Connection, number: int, before: str, after: str) -> None:
    """Make the index hold these marked words of a lesson instead of those."""
    if connection.dialect.name != "sqlite":
        connection.execute(_POSTGRES_PUT, {"words": after.split(), "number": number})
        return
    if before:
        connection.exec_driver_sql(_SQLITE_TAKE_OUT, (number, before))
    if after:
        connection.exec_driver_sql(_SQLITE_PUT_IN, (number, after))


def tidy(connection: Connection) -> None:
    """Words that were taken out of the index stay in its file until its parts are merged: merge them."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_SQLITE_TIDY)


def marked(said: Iterable[str], mark: str, facets: Iterable[str]) -> str:
    """A lesson's words as its row and the index hold them."""
    return " ".join([*(mark + word for word in said), *facets]) if said else ""


def fit(held: str, asked: Sequence[QuestionWord]) -> tuple[float, int]:
    """What the asked words weigh that a row holds, of all that were asked, and how many they are."""
    words_held, mark = frozenset(held.split()), held[:MARK]
    weights = [one.weight for one in asked if mark + one.word in words_held]
    return min(sum(weights) / sum(one.weight for one in asked), 1.0), len(weights)


def counted(held: str) -> Iterator[tuple[str, str]]:
    """What a row counts for in the table of words: each of its words, and the lesson itself, under its mark."""
    for word in held.split()[:-FACETS]:
        yield word[MARK:], word[:MARK]
    if held:
        yield TOTAL, held[:MARK]


def count(connection: Connection, changes: Mapping[tuple[str, str], int]) -> None:
    """Add to the number of lessons that hold a word under a mark."""
    rows = [{"word": word, "tier": tier, "more": more} for (word, tier), more in sorted(changes.items()) if more]
    if rows:
        connection.execute(_COUNT, rows)
    if any(more < 0 for more in changes.values()):
        connection.execute(delete(words).where(words.c.lessons <= 0))


@lru_cache(maxsize=128)
def _best(asked: int, *, sqlite: bool) -> TextClause:
    """The question with so many words. Kept, because to build it takes longer than to answer it."""
    each = _SQLITE_HOLDERS if sqlite else _POSTGRES_HOLDERS
    return text(_BEST.format(union=" UNION ALL ".join(each.format(position=n, rows=ROWS_A_WORD) for n in range(asked))))
