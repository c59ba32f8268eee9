"""Measure the cost of memory, and whether it finds the right lesson.

    python -m bench.memory [--lessons 1000 10000 100000] [--queries 300] [--seed 7] [--url postgresql://…]

Fills a store with each number of generated lessons, opens it once, and queries it as before each iteration: search, scoring,
guardrails and estimate. Prints milliseconds (wall time, and our own CPU time: on a busy machine the former includes other
processes), the share of labelled queries with the right lesson among the 5 recalled, resident memory before and after, and bytes
on disk of the store and of each 1,000 stored iterations.

Without --url each store is a temporary SQLite file. A PostgreSQL database has to be empty, and is filled: give one number of
lessons then.
"""

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import psutil

from bench.memory_cases import NOW, Asked, Cases
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.records.lessons import LessonKind, Recalled
from tasks.memory import Store, open_store, recall

WARMING = 20
"""Queries that are not counted: the first ones read the file."""
ITERATIONS = 1_000
LOOPS_EACH = 30
"""Guardrails of each project."""
AT_A_TIME = 1_000
"""Lessons written in one change."""
MEBIBYTE = 2**20


@dataclass
class Measured:
    wall: list[float] = field(default_factory=list[float])
    own: list[float] = field(default_factory=list[float])
    right: list[bool] = field(default_factory=list[bool])
    first: list[bool] = field(default_factory=list[bool])
    told: list[int] = field(default_factory=list[int])
    before: int = 0
    after: int = 0
    """Resident bytes."""
    size: int = 0
    """Bytes on disk."""
    grown: int = 0
    """Bytes on disk added by a number of iterations."""
    filled: float = 0.0
    """Seconds to fill the store."""


def main() -> None:
    """Fill, query and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--url", default="")
    wanted = parser.parse_args()
    print("           recall, ms (wall)       ms (own)   right lesson       told   resident MiB       MiB on the disk   seconds")
    print(" lessons   median    95 %  longest   median   in 5   first  in median  before  after   store  1,000 iter.  to fill")
    for lessons in wanted.lessons:
        with tempfile.TemporaryDirectory(prefix="helmsman-bench-") as folder:
            url = wanted.url or f"sqlite:///{Path(folder).resolve() / 'memory.db'}"
            try:
                print(_row(lessons, measured(url, lessons, wanted.queries, wanted.seed)))
            except HelmsmanError as error:
                parser.error(str(error))


def measured(url: str, lessons: int, queries: int, seed: int) -> Measured:
    cases, found = Cases(lessons, seed), Measured()
    begun = time.perf_counter()
    with open_store(url, NOW) as store:
        _refuse_filled(store)
        fill(store, cases)
    found.filled = time.perf_counter() - begun
    asked = list(cases.asked(queries + WARMING))
    episodes = list(cases.episodes(ITERATIONS))
    del cases
    gc.collect()
    found.before = psutil.Process().memory_info().rss
    with open_store(url, NOW) as store:
        found.size = store.stats().size
        _ask(store, asked, found)
        found.after = psutil.Process().memory_info().rss
        for episode in episodes:
            with store.change() as change:
                change.put_episode(episode)
    with open_store(url, NOW) as store:  # opened again, so that a write-ahead log is merged
        found.grown = store.stats().size - found.size
    return found


def fill(store: Store, cases: Cases) -> None:
    """Write many lessons in one change, so that filling takes little time."""
    lessons = iter(cases.lessons)
    while batch := list(islice(lessons, AT_A_TIME)):
        with store.change() as change:
            for lesson in batch:
                change.put_lesson(lesson)
    with store.change() as change:
        for guardrail in cases.guardrails():
            change.put_guardrail(guardrail)
        for summary in cases.summaries(LOOPS_EACH):
            change.put_summary(summary)


def _refuse_filled(store: Store) -> None:
    """Refuse a store with content: a hundred thousand invented lessons would be mixed with it."""
    found = store.stats()
    if found.lessons or found.guardrails or found.episodes or found.summaries:
        held = f"{found.lessons} lessons and {found.episodes} iterations"
        raise OperatorError("the store is not empty", found=f"{held} at {found.place}", remedy="name an empty one")


def _ask(store: Store, asked: Sequence[Asked], found: Measured) -> None:
    for number, one in enumerate(asked):
        wall, own = time.perf_counter(), time.process_time()
        recalled = recall(store, one.subject, NOW)
        wall, own = time.perf_counter() - wall, time.process_time() - own
        if number >= WARMING:
            found.wall.append(1000 * wall)
            found.own.append(1000 * own)
            _note(found, recalled, one)


def _note(found: Measured, recalled: Recalled, asked: Asked) -> None:
    """Antipatterns have their own places, so they do not count among the five."""
    told = [one for one in recalled.reminders if one.kind is not LessonKind.ANTIPATTERN]
    best = max(told, key=lambda one: one.score, default=None)
    found.told.append(len(recalled.reminders))
    found.right.append(any(one.lesson in asked.right for one in told))
    found.first.append(best is not None and best.lesson in asked.right)


def _row(lessons: int, of: Measured) -> str:
    wall, own = sorted(of.wall), statistics.median(of.own)
    times = f"{statistics.median(wall):8.1f}{wall[int(0.95 * (len(wall) - 1))]:8.1f}{wall[-1]:9.1f}{own:9.1f}"
    right = f"{statistics.mean(of.right):7.1%}{statistics.mean(of.first):8.1%}{statistics.median(of.told):11.0f}"
    memory = f"{of.before / MEBIBYTE:8.0f}{of.after / MEBIBYTE:7.0f}"
    disk = f"{of.size / MEBIBYTE:8.1f}{of.grown / MEBIBYTE:13.2f}{of.filled:9.1f}"
    return f"{lessons:8,} {times}{right}{memory}{disk}"


if __name__ == "__main__":
    main()
