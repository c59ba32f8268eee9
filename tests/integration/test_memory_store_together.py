"""Concurrent processes with one store, and killed ones."""

import signal
from pathlib import Path

import pytest

from helmsman.records.agent import FailureClass
from tasks.memory import open_store
from tasks.memory.tables import VERSION
from tests.fakes.processes import eventually
from tests.integration.memory_processes import at_once, process, told
from tests.integration.memory_stores import NOW, episode

pytestmark = [pytest.mark.slow, pytest.mark.feature("L6")]

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
        told(one)
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


def test_a_killed_writer_leaves_a_consistent_store_and_blocks_nobody(store_url: str, tmp_path: Path) -> None:
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
