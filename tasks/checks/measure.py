"""Counting the variety of a commit: its sources are read by git, and what was read once is kept by the id of its text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from helmsman.records.base import Record
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


class _Kept(Record):
    """Counts of one path, and the text that they are of."""

    blob: str
    counts: Variety


class _Cache(Record):
    reading: int
    files: dict[str, _Kept]


_CACHE = TypeAdapter(_Cache)


@dataclass(frozen=True)
class Measured:
    """What was counted, and how much of the tree that is."""

    variety: Variety
    read: int
    """Files whose text was read; the others were known."""
    left_out: int
    """Sources that are too large, or beyond the number or size that is looked at. Named nowhere: the counts lack them."""


def measure(cwd: Path, commit: str, cache: Path) -> Variety:
    """Count over the tracked sources of a commit. Raises GitError where git fails; the cache may be missing, or broken."""
    return measured(cwd, commit, cache).variety


def measured(cwd: Path, commit: str, cache: Path) -> Measured:
    """Like `measure`, with how much was read and left out."""
    sources = [blob for blob in tree_of(cwd, commit) if worth_reading(blob.path)]
    chosen = _chosen(sources)
    known = _known(cache, chosen)
    fresh = _read(cwd, [blob for blob in chosen if blob.path not in known])
    files = known | fresh
    if fresh or len(files) != len(known):
        _keep(cache, files)
    variety = variety_of(kept.counts for kept in files.values())
    return Measured(variety, len(fresh), len(sources) - len(chosen))


def _chosen(sources: Iterable[Blob]) -> list[Blob]:
    """The first ones by path that fit, so that one iteration after the other counts the same files."""
    chosen: list[Blob] = []
    room = LARGEST_TREE
    for blob in sources:
        if len(chosen) < MOST_FILES and blob.size <= min(LARGEST_FILE, room):
            chosen.append(blob)
            room -= blob.size
    return chosen


def _known(cache: Path, chosen: Sequence[Blob]) -> dict[str, _Kept]:
    """What is kept of exactly these texts under these paths; nothing where the cache cannot be read."""
    try:
        found = _CACHE.validate_json(cache.read_bytes())
    except (OSError, ValidationError):
        return {}
    kept = found.files if found.reading == READING else {}
    return {blob.path: kept[blob.path] for blob in chosen if blob.path in kept and kept[blob.path].blob == blob.id}


def _read(cwd: Path, blobs: Sequence[Blob]) -> dict[str, _Kept]:
    found: dict[str, _Kept] = {}
    for start in range(0, len(blobs), AT_ONCE):
        part = blobs[start : start + AT_ONCE]
        objects = read_objects(cwd, [blob.id for blob in part])
        for blob, read in zip(part, objects, strict=True):
            content = read[1] if read else b""
            counts = Variety() if BINARY in content[:8000] else counts_of(blob.path, content.decode(errors="replace"))
            found[blob.path] = _Kept(blob=blob.id, counts=counts)
    return found


def _keep(cache: Path, files: Mapping[str, _Kept]) -> None:
    """Replace the cache in one step. It saves time only: a disk that is full costs the next reading, not the iteration."""
    beside = cache.with_name(f"{cache.name}.new")
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(_CACHE.dump_json(_Cache(reading=READING, files=dict(files)), exclude_defaults=True))
        beside.replace(cache)
    except OSError:
        return
