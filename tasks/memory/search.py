"""Word search for lessons: extract words of lessons and queries, and find the lessons that contain them.

Both databases use their own index; the weights of words are ours, so that both find the same lessons in the same order. bm25 and
ts_rank are not used on purpose: they rank every row with any of the words, which takes a tenth of a second for common words, they
differ from each other, and bm25 is close to zero in a store of a few lessons.
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
FACET = "#"  # prefix of words that encode a lesson's facets: no word of a text begins with it
TOTAL = ""  # the entry in the table of words that counts all searchable lessons
MOST_ASKED = 16  # rarest words of a query to use: further ones do not improve the result
MOST_RARE, MOST_TOGETHER = 8, 6  # words that select lessons alone, and common ones that do so in pairs
ROWS_A_WORD = 150  # for one word: of a common one, the newest lessons
COMMON_SHARE = 0.25  # a word in more lessons does not select lessons alone if there is a rarer one
MARK = 1  # characters of a word's mark
FACETS = 3  # at the end of the words of a row
COMMON = 1_000  # in a small store, no word is too common

_INVALID = re.compile(r"[^\w\-./:+@]")
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
_WORD_COUNTS = (
    select(words.c.word, func.sum(words.c.lessons))
    .where(words.c.word.in_(bindparam("words", expanding=True)), words.c.tier.in_(bindparam("tiers", expanding=True)))
    .group_by(words.c.word)
)
_COUNT = text(
    "INSERT INTO helmsman_words (word, tier, lessons) VALUES (:word, :tier, :more) "
    "ON CONFLICT (word, tier) DO UPDATE SET lessons = helmsman_words.lessons + excluded.lessons"
)


def key(name: str) -> str:
    """A name as stored in a column. PostgreSQL accepts no NUL and does not index long texts."""
    encodable = name.replace("\x00", " ").encode("utf-8", "replace").decode()
    return encodable if len(encodable) <= LONGEST_KEY else "sha256:" + hashlib.sha256(encodable.encode()).hexdigest()


def microseconds(at: datetime) -> int:
    """Sortable time in microseconds since the epoch; a time without zone is UTC."""
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def search_words(text: str) -> tuple[str, ...]:
    """Significant words of a text, each a single token for both indexes."""
    words_of_text = (_INVALID.sub("_", term.encode("utf-8", "replace").decode())[:LONGEST_WORD] for term in terms(text))
    return tuple(dict.fromkeys(words_of_text))


def lesson_words(lesson: Lesson) -> tuple[str, ...]:
    """Significant words of all texts of a lesson; empty if it is retired."""
    texts = () if lesson.retired else (lesson.text, lesson.detail, " ".join(lesson.tests))
    return tuple(dict.fromkeys(word for text in texts for word in search_words(text)))


def marks(tiers: Iterable[Tier] = tuple(Tier)) -> list[str]:
    """Prefixes of the tiers: words are indexed under their lesson's tier, so that queries skip other tiers."""
    return list(dict.fromkeys(tier.value[:1] for tier in tiers))


def facets(lesson: Lesson) -> tuple[str, ...]:
    """Facet words of a lesson for its kind, its project, and the properties that mergeable lessons share."""
    merging = lesson.kind, lesson.task_type, lesson.project
    return facet("kind", lesson.kind), facet("project", lesson.project), facet("merging", *merging)


def facet(*names: str) -> str:
    """Word for a facet. Hashed, as a project's name may contain anything."""
    return FACET + hashlib.sha256("\x00".join(map(key, names)).encode()).hexdigest()[:16]


class QueryWord(NamedTuple):
    """A word of a query."""

    word: str
    lessons: int  # number of lessons of the wanted tiers with the word
    weight: float
    common: bool  # contained in too many lessons


def weigh(connection: Connection, question: Sequence[str], tiers: Sequence[str]) -> list[QueryWord]:
    """Weights of the query's words that lessons of these tiers contain, rarest first."""
    rows = connection.execute(_WORD_COUNTS, {"words": [*question, TOTAL], "tiers": list(tiers)}).all()
    lessons_by_word = {str(word): int(lessons) for word, lessons in rows if lessons > 0}
    total = max(lessons_by_word.pop(TOTAL, 0), 1)
    rarest = sorted((lessons, word) for word, lessons in lessons_by_word.items())[:MOST_ASKED]
    limit = max(COMMON, total * COMMON_SHARE)
    weights = (math.log1p((max(total - lessons, 0) + 0.5) / (lessons + 0.5)) for lessons, _ in rarest)
    return [QueryWord(word, lessons, weight, lessons > limit) for (lessons, word), weight in zip(rarest, weights, strict=True)]


def find_lessons(
    connection: Connection, query: Sequence[QueryWord], tiers: Sequence[str], facets: Sequence[str], most: int
) -> list[int]:
    """Numbers of lessons of these tiers, with all facets, whose rare words of the query weigh most."""
    # rare words select lessons alone, common ones in pairs
    useful = [word for word in query if not word.common] or query[:1]
    rare = [word for word in useful if word.lessons <= ROWS_A_WORD][:MOST_RARE]
    frequent = [word for word in useful if word.lessons > ROWS_A_WORD]
    groups = [*((word,) for word in (*rare, *frequent[: 0 if rare else 1])), *combinations(frequent[:MOST_TOGETHER], 2)]
    if not groups:
        return []
    sqlite = connection.dialect.name == "sqlite"
    all_of, any_of, quote = (" AND ", " OR ", '"') if sqlite else (" & ", " | ", "'")  # words contain no quotes
    values: dict[str, float | str] = {"most": most}
    for position, group in enumerate(groups):
        sets = [*([tier + word.word for tier in tiers] for word in group), *([word] for word in facets)]  # one word of each set
        values[f"asked{position}"] = all_of.join(f"({any_of.join(f'{quote}{word}{quote}' for word in each)})" for each in sets)
        values[f"weight{position}"] = sum(word.weight for word in group)
    return list(connection.scalars(_best_query(len(groups), sqlite=sqlite), values).all())


def index_words(connection: Connection, number: int, before: str, after: str) -> None:
    """Replace a lesson's marked words in the index."""
    if connection.dialect.name != "sqlite":
        connection.execute(_POSTGRES_PUT, {"words": after.split(), "number": number})
        return
    if before:
        connection.exec_driver_sql(_SQLITE_TAKE_OUT, (number, before))
    if after:
        connection.exec_driver_sql(_SQLITE_PUT_IN, (number, after))


def optimize_index(connection: Connection) -> None:
    """Merge the index's segments, which erases deleted words from the file."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_SQLITE_TIDY)


def mark_words(tokens: Iterable[str], mark: str, facets: Iterable[str]) -> str:
    """A lesson's words as stored in its row and the index."""
    return " ".join([*(mark + word for word in tokens), *facets]) if tokens else ""


def match_weight(row_words: str, query: Sequence[QueryWord]) -> tuple[float, int]:
    """Share of the query's weight in the words of a row, and their number."""
    words_held, mark = frozenset(row_words.split()), row_words[:MARK]
    weights = [word.weight for word in query if mark + word.word in words_held]
    return min(sum(weights) / sum(word.weight for word in query), 1.0), len(weights)


def count_entries(row_words: str) -> Iterator[tuple[str, str]]:
    """Entries of a row for the table of words: each word, and one for the lesson itself, with its mark."""
    for word in row_words.split()[:-FACETS]:
        yield word[MARK:], word[:MARK]
    if row_words:
        yield TOTAL, row_words[:MARK]


def add_counts(connection: Connection, changes: Mapping[tuple[str, str], int]) -> None:
    """Add to the number of lessons that contain a word under a mark."""
    rows = [{"word": word, "tier": tier, "more": more} for (word, tier), more in sorted(changes.items()) if more]
    if rows:
        connection.execute(_COUNT, rows)
    if any(more < 0 for more in changes.values()):
        connection.execute(delete(words).where(words.c.lessons <= 0))


@lru_cache(maxsize=128)
def _best_query(number: int, *, sqlite: bool) -> TextClause:
    """SQL for a query with this number of words. Cached, because building it takes longer than executing it."""
    part = _SQLITE_HOLDERS if sqlite else _POSTGRES_HOLDERS
    return text(_BEST.format(union=" UNION ALL ".join(part.format(position=n, rows=ROWS_A_WORD) for n in range(number))))
