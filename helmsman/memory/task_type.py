"""What kind of work a loop does: by its preset, else by the verb and the object that its goal begins with."""

import re

from helmsman.memory.words import WORDS
from helmsman.records.lessons import TaskType

LONGEST_READ = 2_000
SENTENCES = 8

_PLACEHOLDERS = re.compile("|".join(WORDS["placeholders"]))
_RULES = tuple(
    (TaskType(row["kind"]), re.compile(_PLACEHOLDERS.sub(lambda found: WORDS["placeholders"][found[0]], row["pattern"])))
    for row in WORDS["kinds"]
)
_FILLER = re.compile(r"^(?:(?:please|now|can|could|we|you|i|the|your|our|task|goal|is|want|need|must|should|have|to)\b\W*)+")
_SENTENCE_END = re.compile(r"\n|(?<=[.!?;:])\s")


def task_type(goal: str, failing: tuple[str, ...] = (), preset: str = "") -> TaskType:
    """The kind of a goal; `other` where nothing tells. `failing`: tests that fail before any work."""
    named = WORDS["presets"].get(preset, preset)
    if named in set(TaskType):
        return TaskType(named)
    sentences = [line.strip("#>*+-` \t") for line in _SENTENCE_END.split(goal[:LONGEST_READ].casefold())]
    for sentence in [line for line in sentences if line][:SENTENCES]:
        order = _FILLER.sub("", sentence)
        found = next((kind for kind, pattern in _RULES if pattern.search(order)), None)
        if found:
            return found
    return TaskType.TEST_FIX if failing else TaskType.OTHER
