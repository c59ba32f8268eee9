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

from bench.common import SCRATCH, percentile
from bench.memory_cases import NOW, Cases, Query
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.records.lessons import LessonKind, Recalled
from tasks.memory import Store, open_store, recall

WARM_UP = 20
"""Queries that are not counted: the first ones read the file."""
ITERATIONS = 1_000
LOOPS_PER_PROJECT = 30
"""Guardrails of each project."""
BATCH = 1_000
"""Lessons written in one change."""
MEBIBYTE = 2**20


@dataclass
class Measurement:
    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    in_top_five: list[bool] = field(default_factory=list[bool])
    is_first: list[bool] = field(default_factory=list[bool])
    recalled: list[int] = field(default_factory=list[int])
    resident_before: int = 0
    resident_after: int = 0
    """Resident bytes."""
    size: int = 0
    """Bytes on disk."""
    added_size: int = 0
    """Bytes on disk added by a number of iterations."""
    fill_seconds: float = 0.0
    """Seconds to fill the store."""


def main() -> None:
    """Fill, query and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--url", default="")
    options = parser.parse_args()
    print("           recall, ms (wall)       ms (CPU)   right lesson   recalled   resident MiB           MiB on disk   seconds")
    print(" lessons   median    95 %  longest   median   in 5   first  in median  before  after   store  1,000 iter.  to fill")
    for lessons in options.lessons:
        with tempfile.TemporaryDirectory(prefix=SCRATCH) as folder:
            url = options.url or f"sqlite:///{Path(folder).resolve() / 'memory.db'}"
            try:
                print(_format_row(lessons, measure(url, lessons, options.queries, options.seed)))
            except HelmsmanError as error:
                parser.error(str(error))


def measure(url: str, lessons: int, count: int, seed: int) -> Measurement:
    cases, measurement = Cases(lessons, seed), Measurement()
    start = time.perf_counter()
    with open_store(url, NOW) as store:
        _require_empty(store)
        fill(store, cases)
    measurement.fill_seconds = time.perf_counter() - start
    queries = list(cases.queries(count + WARM_UP))
    episodes = list(cases.episodes(ITERATIONS))
    del cases
    gc.collect()
    measurement.resident_before = psutil.Process().memory_info().rss
    with open_store(url, NOW) as store:
        measurement.size = store.stats().size
        _run_queries(store, queries, measurement)
        measurement.resident_after = psutil.Process().memory_info().rss
        for episode in episodes:
            with store.change() as change:
                change.put_episode(episode)
    with open_store(url, NOW) as store:  # opened again, so that a write-ahead log is merged
        measurement.added_size = store.stats().size - measurement.size
    return measurement


def fill(store: Store, cases: Cases) -> None:
    """Write many lessons in one change, so that filling takes little time."""
    lessons = iter(cases.lessons)
    while batch := list(islice(lessons, BATCH)):
        with store.change() as change:
            for lesson in batch:
                change.put_lesson(lesson)
    with store.change() as change:
        for guardrail in cases.guardrails():
            change.put_guardrail(guardrail)
        for summary in cases.summaries(LOOPS_PER_PROJECT):
            change.put_summary(summary)


def _require_empty(store: Store) -> None:
    """Refuse a store with content: a hundred thousand invented lessons would be mixed with it."""
    stats = store.stats()
    if stats.lessons or stats.guardrails or stats.episodes or stats.summaries:
        content = f"{stats.lessons} lessons and {stats.episodes} iterations"
        raise OperatorError("the store is not empty", found=f"{content} at {stats.place}", remedy="name an empty one")


def _run_queries(store: Store, queries: Sequence[Query], measurement: Measurement) -> None:
    for number, query in enumerate(queries):
        wall, cpu = time.perf_counter(), time.process_time()
        recalled = recall(store, query.subject, NOW)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if number >= WARM_UP:
            measurement.wall.append(1000 * wall)
            measurement.cpu.append(1000 * cpu)
            _record(measurement, recalled, query)


def _record(measurement: Measurement, recalled: Recalled, query: Query) -> None:
    """Antipatterns have their own places, so they do not count among the five."""
    reminders = [reminder for reminder in recalled.reminders if reminder.kind is not LessonKind.ANTIPATTERN]
    best = max(reminders, key=lambda reminder: reminder.score, default=None)
    measurement.recalled.append(len(recalled.reminders))
    measurement.in_top_five.append(any(reminder.lesson in query.expected for reminder in reminders))
    measurement.is_first.append(best is not None and best.lesson in query.expected)


def _format_row(lessons: int, measurement: Measurement) -> str:
    wall, cpu = sorted(measurement.wall), statistics.median(measurement.cpu)
    times = f"{statistics.median(wall):8.1f}{percentile(wall, 0.95):8.1f}{wall[-1]:9.1f}{cpu:9.1f}"
    accuracy = f"{statistics.mean(measurement.in_top_five):7.1%}{statistics.mean(measurement.is_first):8.1%}"
    recalled = f"{statistics.median(measurement.recalled):11.0f}"
    memory = f"{measurement.resident_before / MEBIBYTE:8.0f}{measurement.resident_after / MEBIBYTE:7.0f}"
    disk = f"{measurement.size / MEBIBYTE:8.1f}{measurement.added_size / MEBIBYTE:13.2f}{measurement.fill_seconds:9.1f}"
    return f"{lessons:8,} {times}{accuracy}{recalled}{memory}{disk}"


if __name__ == "__main__":
    main()
