"""A store in numbers, and what became of an import."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """A store in numbers."""

    place: str
    """File, or URL without its password."""
    version: int
    """Of the tables."""
    lessons: int
    """Retired ones too."""
    semantic: int
    """Of those told to other loops, retired ones left out."""
    retired: int
    guardrails: int
    """Retired ones too."""
    episodes: int
    summaries: int
    projects: int
    """Of which there are lessons or episodes."""
    size: int
    """Bytes on the disk."""
    backups: tuple[str, ...] = ()
    """Names of the daily copies, newest first; a server has none of ours."""
    damaged: tuple[str, ...] = ()
    """Names of files that were put aside when they were found damaged, newest first."""


@dataclass(frozen=True)
class Merged:
    """What became of one sort of records in an imported file."""

    added: int = 0
    replaced: int = 0
    """The file's was newer."""
    kept: int = 0
    """The store's was as new or newer."""


@dataclass(frozen=True)
class Imported:
    lessons: Merged
    guardrails: Merged
    episodes: Merged
    summaries: Merged
