"""Several processes at one memory store, and exchange between stores by a file."""

import hashlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmsman.errors import OperatorError
from helmsman.memory.learned_guardrails import REMOVED
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import Guardrail, Lesson
from tasks.memory import Store, open_store
from tasks.memory.exchange import Merged
from tasks.memory.tables import VERSION
from tests.fakes.postgres import Postgres
from tests.fakes.processes import eventually
from tests.integration.memory_processes import at_once, output_of, process
from tests.integration.memory_stores import DAY, NOW, episode, guardrail, lesson, summary

pytestmark = [pytest.mark.slow, pytest.mark.feature("L6")]


def merged(added: int = 0, replaced: int = 0, kept: int = 0) -> Merged:
    return {"added": added, "replaced": replaced, "kept": kept}


def fill(store: Store) -> None:
    with store.change() as change:
        for number in range(5):
            change.put_lesson(lesson(f"n{number}", f"Größe {number}: “fire” the kiln\n<b>", sources=("u1",)))
            change.put_episode(episode(number, FailureClass.TEST))
            change.put_summary(summary(f"u{number}"))
        change.put_guardrail(guardrail())


def exported(store: Store, file: Path) -> Path:
    file.write_text(store.export(), encoding="utf-8")
    return file


def content(store: Store) -> dict[str, Any]:
    return {name: value for name, value in json.loads(store.export()).items() if name not in {"exported_at", "sha256"}}


def signed(document: dict[str, Any]) -> str:
    """Sign a document like another program, by the documented format."""
    plain = {name: value for name, value in document.items() if name != "sha256"}
    canonical = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return json.dumps({**plain, "sha256": hashlib.sha256(canonical.encode()).hexdigest()})


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    with open_store(f"sqlite:///{tmp_path / 'other.db'}", NOW) as store:
        fill(store)
        return dict(json.loads(store.export()))


def test_an_export_has_format_version_and_a_reproducible_checksum(store_url: str) -> None:
    with open_store(store_url, NOW) as store:
        fill(store)
        document = json.loads(store.export())
    assert (document["format"], document["version"]) == ("helmsman-memory", 1)
    assert [len(document[name]) for name in ("lessons", "guardrails", "episodes", "summaries")] == [5, 1, 5, 5]
    assert json.loads(signed(document))["sha256"] == document["sha256"]


def test_an_export_is_imported_completely_on_either_database(store_url: str, tmp_path: Path, postgres: Postgres) -> None:
    with open_store(store_url, NOW) as store:
        fill(store)
        file, before = exported(store, tmp_path / "memory.json"), content(store)
    for other in (postgres.database(), f"sqlite:///{tmp_path / 'other.db'}"):
        with open_store(other, NOW) as store:
            counts = store.import_(file)
            assert (counts["lessons"], counts["guardrails"]) == (merged(added=5), merged(added=1))
            assert (counts["episodes"], counts["summaries"]) == (merged(added=5), merged(added=5))
            assert content(store) == before
            assert store.failures("shop", FailureClass.TEST) == (5, 5)
            assert len(store.search("kiln")) == 5
            again = store.import_(file)
            assert (again["lessons"], again["guardrails"]) == (merged(kept=5), merged(kept=1))
            assert (again["episodes"], again["summaries"]) == (merged(kept=5), merged(kept=5))
            assert content(store) == before


def test_the_newer_of_two_lessons_stays_with_the_sources_of_both(store_url: str, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'other.db'}", NOW) as other, other.change() as change:
        change.put_lesson(lesson("new", "Theirs", updated_at=NOW + DAY, sources=("u2",)))
        change.put_lesson(lesson("old", "Theirs", updated_at=NOW - DAY, sources=("u2",)))
        change.put_lesson(lesson("only theirs"))
        change.put_guardrail(guardrail("g", instruction="Theirs", loaded_at=NOW + DAY))
        change.put_guardrail(guardrail("h", instruction="Theirs"))
    with open_store(f"sqlite:///{tmp_path / 'other.db'}", NOW) as other:
        file = exported(other, tmp_path / "memory.json")
    with open_store(store_url, NOW) as store:
        with store.change() as change:
            for one in ("new", "old", "only ours"):
                change.put_lesson(lesson(one, "Ours", sources=("u1",)))
            for one in ("g", "h"):
                change.put_guardrail(guardrail(one, instruction="Ours"))
        counts = store.import_(file)
        assert counts["lessons"] == merged(added=1, replaced=1, kept=1)
        assert counts["guardrails"] == merged(replaced=1, kept=1)
        assert {one.id: one.text for one in store.lessons()} == {
            "new": "Theirs",
            "old": "Ours",
            "only ours": "Ours",
            "only theirs": "Run the migrations before the tests",
        }
        newer = store.lesson("new")
        assert newer is not None
        assert newer.sources == ("u1", "u2")
        assert [one.instruction for one in store.guardrails("shop")] == ["Theirs", "Ours"]


@pytest.fixture
def other(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'other.db'}"


def import_from(other: str, store: Store, file: Path, *theirs: Guardrail | Lesson) -> dict[str, Merged]:
    """Import these records from another store. Returns the counts."""
    with open_store(other, NOW) as their_store:
        with their_store.change() as change:
            for one in theirs:
                change.put_guardrail(one) if isinstance(one, Guardrail) else change.put_lesson(one)
        exported(their_store, file)
    return store.import_(file)


OF_A_PERSON: list[dict[str, Any]] = [
    {"edited": True, "instruction": "My words"},
    {"retired": REMOVED, "retired_at": NOW},
    {"retired": f"{REMOVED} from guardrails.md", "retired_at": NOW},
]


@pytest.mark.parametrize("mine", OF_A_PERSON, ids=["edited", "removed", "removed long ago"])
def test_a_persons_edit_of_a_guardrail_wins_over_newer_records(tmp_path: Path, other: str, mine: dict[str, Any]) -> None:
    ours, newer = guardrail("g", **mine), {"loaded_at": NOW + DAY}
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}", NOW) as store:
        with store.change() as change:
            change.put_guardrail(ours)
        assert import_from(other, store, tmp_path / "memory.json", guardrail("g", **newer))["guardrails"] == merged(kept=1)
        assert store.guardrails("shop", retired=True) == [ours]
        again = guardrail("g", **{**mine, **newer})
        assert import_from(other, store, tmp_path / "memory.json", again)["guardrails"] == merged(replaced=1)
        with store.change() as change:
            change.put_guardrail(guardrail(loaded_at=NOW + 9 * DAY))
        assert import_from(other, store, tmp_path / "memory.json", again)["guardrails"] == merged(replaced=1)
        assert store.guardrails("shop", retired=True) == [again]


def test_a_lesson_that_was_used_since_and_retired_counts_as_newer(tmp_path: Path, other: str) -> None:
    seen: dict[str, Any] = {"text": "Seen once more", "updated_at": NOW + DAY}
    recalled: dict[str, Any] = {"text": "Told in vain", "used_at": NOW + 2 * DAY, "retired": "useless", "uses": 6}
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}", NOW) as store:
        with store.change() as change:
            change.put_lesson(lesson("ours", **recalled))
            change.put_lesson(lesson("theirs", **seen))
        theirs = lesson("ours", **seen), lesson("theirs", **recalled)
        assert import_from(other, store, tmp_path / "memory.json", *theirs)["lessons"] == merged(replaced=1, kept=1)
        assert {one.retired for one in store.lessons(retired=True)} == {"useless"}


def _less(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {key: value for key, value in document.items() if key != name}


def _with(**parts: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {**document, **parts}


def _lessons(**parts: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {**document, "lessons": [*document["lessons"], {**document["lessons"][0], **parts}]}


SIGNED: list[tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = [
    (_with(format="something else"), "format: Input should be"),
    (_with(version=2), "version: Input should be less than or equal to 1"),
    (_less("lessons"), "lessons: Field required"),
    (_lessons(confidence=2), r"lessons\[5\].confidence: "),
    (_with(guardrails=[{"id": "\x1b[2J"}]), r"guardrails\[0\]"),
]


@pytest.mark.parametrize(("change", "place"), SIGNED, ids=[place for _, place in SIGNED])
def test_an_invalid_document_changes_nothing_and_names_the_location(
    tmp_path: Path, document: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]], place: str
) -> None:
    file = tmp_path / "memory.json"
    file.write_text(signed(change(document)))
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}", NOW) as store:
        with pytest.raises(OperatorError, match=place):
            store.import_(file)
        assert store.stats().lessons == store.stats().episodes == 0


RAW: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda raw: raw.replace(b"kiln", b"oven", 1), "another sha256"),
    (lambda raw: raw[: len(raw) // 2], r"\(char \d+\)"),
    (lambda _: b"[" * 100_000, "recursion"),
    (lambda raw: raw.replace(b'"seconds": 60.0', b'"seconds": 1e999', 1), "another sha256"),
    (lambda _: b"[1, 2]", "the document: Input should be"),
    (lambda _: b'{"format": "helmsman-memory", "version": 1}', "exported_at: Field required"),
]


@pytest.mark.parametrize(("spoil", "place"), RAW, ids=range(len(RAW)))
def test_a_changed_or_truncated_file_changes_nothing(
    tmp_path: Path, document: dict[str, Any], spoil: Callable[[bytes], bytes], place: str
) -> None:
    file = tmp_path / "memory.json"
    file.write_bytes(spoil(signed(document).encode()))
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}", NOW) as store:
        with pytest.raises(OperatorError, match=place):
            store.import_(file)
        assert content(store) == {**content(store), "lessons": [], "episodes": [], "guardrails": [], "summaries": []}


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.touch()
    os.truncate(file, 2**40)
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}", NOW) as store, pytest.raises(OperatorError, match="more than 256 MiB"):
        store.import_(file)


@pytest.mark.parametrize("name", ["nowhere.json", ""])
def test_an_unreadable_file_is_named(tmp_path: Path, name: str) -> None:
    with (
        open_store(f"sqlite:///{tmp_path / 'memory.db'}", NOW) as store,
        pytest.raises(OperatorError, match=r"No such file|Is a directory"),
    ):
        store.import_(tmp_path / name)


WRITERS = 8
OPENERS = 4
ROUNDS = 12
WRITE = """
for iteration in range(int(sys.argv[3])):
    with open_store(url, NOW) as store, store.change() as change:
        before = change.lesson("shared")
        change.put_lesson(lesson("shared", observed=before.observed + 1 if before else 1))
        change.put_lesson(lesson(f"{mine}-{iteration}", f"Learnt by writer{mine}"))
        change.put_episode(episode(iteration, "test", uid=mine))
        change.put_episode(episode(iteration, "test", uid="all"))
"""
OPEN = """
with open_store(url, NOW) as store:
    print(store.stats().version, *store.warnings)
"""
DIE = """
import time
with open_store(url, NOW) as store:
    with store.change() as change:
        change.put_lesson(lesson("kept"))
    with store.change() as change:
        for number in range(2000):
            change.put_lesson(lesson(f"lost-{number}"))
        Path(mine).touch()
        time.sleep(600)
"""


def test_concurrent_writers_lose_and_duplicate_nothing(store_url: str) -> None:
    running = [process(WRITE, store_url, str(number), str(ROUNDS)) for number in range(WRITERS)]
    for one in running:
        output_of(one)
    with open_store(store_url, NOW) as store:
        shared = store.lesson("shared")
        assert shared is not None
        assert shared.observed == WRITERS * ROUNDS
        assert len(store.lessons()) == WRITERS * ROUNDS + 1
        assert [len(store.episodes(uid)) for uid in ("0", "7", "all")] == [ROUNDS] * 3
        assert store.failures("shop", FailureClass.TEST) == ((WRITERS + 1) * ROUNDS,) * 2
        assert len(store.search("writer3", limit=500)) == ROUNDS


def test_processes_that_create_a_store_at_the_same_time_share_it(store_url: str, tmp_path: Path) -> None:
    assert at_once(OPEN, store_url, OPENERS, tmp_path) == [str(VERSION)] * OPENERS


def test_a_killed_writer_leaves_a_consistent_unlocked_store(store_url: str, tmp_path: Path) -> None:
    signed = tmp_path / "in the middle"
    writer = process(DIE, store_url, str(signed))
    assert eventually(signed.exists, 100), writer.stderr
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    with open_store(store_url, NOW) as store:
        assert store.warnings == ()
        assert [one.id for one in store.lessons()] == ["kept"]
        with store.change() as change:
            change.put_episode(episode(1))
        assert len(store.episodes("u1")) == 1
