"""What this machine remembers of a loop's issues: it saves calls, and a second issue where a list lacks the first one yet.

Nothing in it is needed: what is forgotten is found again by its marks.
"""

from pydantic import Field, ValidationError

from helmsman.config import TrackerConfig
from helmsman.records.base import Record
from tasks.system.files import write_atomic
from tasks.system.paths import LoopFolder

NAME = "tracker.json"


class ThreadMemory(Record):
    """Of one loop, at one tracker."""

    where: str
    issues: dict[str, int] = Field(default_factory=dict[str, int])
    """Number of the issue for each detection."""
    told: dict[str, str] = Field(default_factory=dict[str, str])
    """The loop's concerns as the tracker was told of them last: stage by detection."""


def remembered(folder: LoopFolder, tracker: TrackerConfig) -> ThreadMemory:
    """Nothing of another tracker."""
    where = f"{tracker.kind} {tracker.url} {tracker.repository}"
    try:
        found = ThreadMemory.model_validate_json((folder.root / NAME).read_bytes())
    except (OSError, ValidationError):
        return ThreadMemory(where=where)
    return found if found.where == where else ThreadMemory(where=where)


def remember(folder: LoopFolder, what: ThreadMemory) -> None:
    """As a whole or not at all: a driver may die in the midst of it."""
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.root / NAME, what.model_dump_json())


def forget(folder: LoopFolder) -> None:
    """Whatever it was: another loop has the name now."""
    (folder.root / NAME).unlink(missing_ok=True)
