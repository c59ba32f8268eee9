"""Counting the variety of a commit: its sources are read by git, and what was read once is kept by the id of its text."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from helmsman.records.control import Variety
from helmsman.verify.variety import counts_of, variety_of, worth_reading
from tasks.repository.diffs import BINARY, Blob, tree_of
from tasks.repository.objects import read_objects

MOST_FILES = 5000
LARGEST_FILE = 200 * 1024
"""Bytes; a larger one is generated, or data."""
LARGEST_TREE = 30 * 1024 * 1024
"""Bytes of all texts."""
AT_ONCE = 500
"""Files that are in memory at the same time."""
READING = 3
"""Of `counts_of`; a cache of another reading is read anew. Goes up whenever the same text gives other counts."""


_CACHE = TypeAdapter(tuple[int, dict[str, tuple[str, Variety]]])
"""The reading, and by path the id of a text with what was counted in it."""


@dataclass(frozen=True)
class Measured:
    """What was counted, and how much of the tree that is."""

    variety: Variety
    read: int
    """Files whose text was read; the others were known."""
    left_out: int
    """Sources that are too large, or beyond the number or size that is looked at. Named nowhere: the counts lack them."""


def measured(cwd: Path, commit: str, cache: Path) -> Measured:
    """Count over the tracked sources of a commit. Raises GitError where git fails; the cache may be missing, or broken."""
    sources = [blob for blob in tree_of(cwd, commit) if worth_reading(blob.path)]
    chosen, room = list[Blob](), LARGEST_TREE
    for blob in sources:  # the first ones by path that fit, so that one iteration after the other counts the same files
        if len(chosen) < MOST_FILES and blob.size <= min(LARGEST_FILE, room):
            chosen.append(blob)
            room -= blob.size
    reading, kept = 0, dict[str, tuple[str, Variety]]()
    with suppress(OSError, ValidationError):
        reading, kept = _CACHE.validate_json(cache.read_bytes())
    known = {blob.path: kept[blob.path] for blob in chosen if reading == READING and kept.get(blob.path, ("",))[0] == blob.id}
    fresh = _read(cwd, [blob for blob in chosen if blob.path not in known])
    files = known | fresh
    if fresh:
        beside = cache.with_name(f"{cache.name}.new")
        with suppress(OSError):  # it saves time only: a disk that is full costs the next reading, not the iteration
            cache.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(_CACHE.dump_json((READING, files), exclude_defaults=True))
            beside.replace(cache)
    return Measured(variety_of(counts for _, counts in files.values()), len(fresh), len(sources) - len(chosen))


def _read(cwd: Path, blobs: Sequence[Blob]) -> dict[str, tuple[str, Variety]]:
    found: dict[str, tuple[str, Variety]] = {}
    for start in range(0, len(blobs), AT_ONCE):
        part = blobs[start : start + AT_ONCE]
        objects = read_objects(cwd, [blob.id for blob in part])
        for blob, read in zip(part, objects, strict=True):
            content = read[1] if read else b""
            counts = Variety() if BINARY in content[:8000] else counts_of(blob.path, content.decode(errors="replace"))
            found[blob.path] = blob.id, counts
    return found
