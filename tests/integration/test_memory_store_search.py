"""Search for lessons by words, on both databases."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from helmsman.records.lessons import Lesson, LessonKind, TaskType, Tier
from tasks.memory import Change, Store, open_store
from tasks.memory.search import COMMON, ROWS_A_WORD, TOTAL, search_words
from tasks.memory.tables import words
from tests.integration.memory_stores import DAY, NOW, lesson
from tests.integration.test_recall import put

pytestmark = [pytest.mark.slow, pytest.mark.feature("L4")]

HOSTILE = [
    '"',
    "NEAR( AND OR NOT * ^ + - : {x y} (",
    "a & b | !c <-> d :*",
    "'; DROP TABLE helmsman_lessons; --",
    "\\' \\\\ %s %(x)s :name ? $1",
    "\x00\ud800\U0010ffff\u202e",
    "",
    "日本語" * 30_000,
]
WORDS = ["invoice", "parser", "browser", "token", "cache", "socket", "größe", "naïve", "kiln_oven", "日本語"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
LESSONS = st.builds(
    lesson,
    id=st.sampled_from("abcdef"),
    text=TEXTS,
    detail=TEXTS,
    kind=st.sampled_from(LessonKind),
    tier=st.sampled_from(Tier),
    retired=st.sampled_from(["", "", "old"]),
    project=st.sampled_from(["shop", "bank"]),
)


def found(store: Store, text: str, kind: LessonKind | None = None, tier: Tier | None = None, limit: int = 50) -> list[str]:
    return [one.lesson.id for one in store.search(text, kind, tier, limit)]


def test_the_lesson_with_most_of_the_query_comes_first(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        put(
            store,
            lesson("login", "The login test is flaky: wait for the cookie"),
            lesson("cookie", "Clear the cookie jar"),
            lesson("cache", "Warm the cache"),
        )
        answer = store.search("Mend the flaky login: the cookie is missing")
    assert [one.lesson.id for one in answer] == ["login", "cookie"]
    assert answer[0].text > answer[1].text > 0


def test_a_lesson_with_all_known_words_of_a_query_matches_fully(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        put(store, lesson("a", "Warm the cache"), lesson("b", "Clear the jar"))
        assert [(one.lesson.id, one.text) for one in store.search("cache, unheard of elsewhere")] == [("a", 1.0)]


def test_detail_and_tests_are_searched_too(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        put(store, lesson("a", "Wait", detail="The browser was slow", tests=("tests/test_checkout.py::test_voucher",)))
        assert found(store, "browser") == found(store, "voucher") == ["a"]


def test_matches_of_the_named_project_are_not_displaced_by_others(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        put(store, *(lesson(f"n{number}", "Warm the cache and the kiln") for number in range(20)))
        put(store, lesson("ours", "Warm the socket", project="bank"), lesson("not", "Clear the jar", project="bank"))
        put(store, *(lesson(f"m{number}", "Warm the cache and the kiln") for number in range(20)))
        assert "ours" not in found(store, "warm cache, warm kiln", limit=5)
        named = store.search("warm cache, warm kiln", limit=5, project="bank")
        assert [(one.lesson.id, one.words) for one in named] == [
            *((f"m{number}", 3) for number in (19, 18, 17, 16, 15)),
            ("ours", 1),
        ]


def test_only_the_requested_kinds_are_found_and_never_retired_ones(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        put(
            store,
            lesson("a", "cache"),
            lesson("b", "cache", kind=LessonKind.ANTIPATTERN),
            lesson("c", "cache", tier=Tier.SEMANTIC),
            lesson("d", "cache", tier=Tier.SEMANTIC, retired="old"),
        )
        assert sorted(found(store, "cache")) == ["a", "b", "c"]
        assert found(store, "cache", kind=LessonKind.ANTIPATTERN) == ["b"]
        assert found(store, "cache", tier=Tier.SEMANTIC) == ["c"]
        assert found(store, "cache", kind=LessonKind.ANTIPATTERN, tier=Tier.SEMANTIC) == []
        assert found(store, "cache", limit=0) == []
        assert len(found(store, "cache", limit=2)) == 2


def test_candidates_for_merging_are_of_one_kind_project_and_type_of_task(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        put(
            store,
            lesson("same", "Warm the cache first"),
            lesson("told", "Warm the cache", tier=Tier.SEMANTIC),
            lesson("kind", "Warm the cache first", kind=LessonKind.CONVENTION),
            lesson("project", "Warm the cache first", project="bank"),
            lesson("type", "Warm the cache first", task_type=TaskType.DOCS),
            lesson("words", "Clear the jar"),
        )
        answer = store.similar("First, warm that cache", LessonKind.STRATEGY, "shop", TaskType.FEATURE)
        assert {one.id for one in answer} == {"same", "told"}


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
def test_no_text_breaks_a_search(store_url: str, text: str) -> None:
    with open_store(store_url, NOW) as store:
        put(store, lesson("a"), lesson("b", text[:600].replace("\ud800", "")))
        assert len(store.search(text)) <= 2
        assert len(store.similar(text, LessonKind.STRATEGY, text, TaskType.FEATURE)) <= 2
        assert found(store, "run the migrations") == ["a"]


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'memory.db'}", NOW) as store:
        yield store


@given(st.lists(LESSONS | st.sampled_from("abcdef"), max_size=12))
@settings(max_examples=40)
def test_after_any_changes_counts_and_results_equal_those_of_a_new_store(shared_store: Store, deeds: list[Lesson | str]) -> None:
    kept: dict[str, Lesson] = {}
    with shared_store.change() as change:
        for one in change.lessons(retired=True):
            change.forget(one.id)
        for deed in deeds:
            if isinstance(deed, str):
                assert change.forget(deed) == (kept.pop(deed, None) is not None)
            else:
                change.put_lesson(deed)
                kept[deed.id] = deed
        said = {one.id: {*search_words(one.text), *search_words(one.detail)} for one in kept.values() if not one.retired}
        for word in WORDS:
            holding = {id for id, held in said.items() if held & {*search_words(word)}}  # noqa: A001 - the record's own word
            assert {hit.lesson.id for hit in change.search(word)} == holding
        assert _counted(change) == Counter(word for held in said.values() for word in held)


def _counted(change: Change) -> dict[str, int]:
    """Number of lessons by word, from the table of words."""
    change.count_words()
    with change.reading() as connection:
        rows = connection.execute(
            select(words.c.word, func.sum(words.c.lessons)).where(words.c.word != TOTAL).group_by(words.c.word)
        )
        return {str(word): int(lessons) for word, lessons in rows}


@pytest.mark.feature("L6")
def test_both_databases_find_the_same_in_the_same_order(tmp_path: Path, postgres_url: str) -> None:
    drawn = random.Random(7)
    vocabulary = [
        f"{first}{last}" for first in ("kar", "mol", "tiv", "bex", "zan") for last in ("oda", "ipu", "eru", "awo", "uxi")
    ]
    lessons = [
        lesson(
            str(number),
            " ".join(drawn.choices(vocabulary, k=6)),
            kind=drawn.choice(list(LessonKind)),
            tier=drawn.choice(list(Tier)),
        )
        for number in range(150)
    ]
    questions = [" ".join(drawn.choices(vocabulary, k=5)) for _ in range(30)]
    answers: list[object] = []
    for url in (f"sqlite:///{tmp_path / 'memory.db'}", postgres_url):
        with open_store(url, NOW) as store:
            put(store, *lessons)
            answers.append([(found(store, asked), found(store, asked, tier=Tier.SEMANTIC)) for asked in questions])
    assert answers[0] == answers[1]


def test_a_rare_word_finds_its_lesson_among_many_with_common_ones(store_url: str) -> None:
    """Of a word in all lessons, only the newest are considered."""
    with open_store(store_url, NOW) as store:
        put(store, *(lesson(f"n{number}", "Warm the cache", created_at=NOW - DAY) for number in range(COMMON + ROWS_A_WORD)))
        put(
            store,
            lesson("rare", "Warm the cache of the kiln"),
            *(lesson(f"m{number}", "Clear the cache") for number in range(20)),
        )
        assert found(store, "warm the cache of the kiln", limit=1) == ["rare"]
        assert len(found(store, "cache", limit=100)) == 100


def test_words_are_those_of_existing_stores() -> None:
    """Who changes helmsman.memory.words raises WORDS_CHANGED and the version in tasks/memory/tables.py, so that every lesson is
    put into the index anew: what was stored in the old form is found no more.
    """
    said = "Parsing an invoice: parse_invoice, parseInvoices and tests/test_größe.py::test_naïve fail with 3 TypeErrors on C++"
    assert " ".join(search_words(said)) == "pars invoic parseinvoic test gros py naiv fail typ error typeerror"
