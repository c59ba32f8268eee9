"""Whether a line that somebody wrote means an item of a plan."""

import re
from collections.abc import Iterable

from helmsman.records.plan import PlanProgress

_WORD = re.compile(r"\w+")


def means(said: str, name: str, title: str) -> bool:
    """Whether it names the item, or most of the words of its title."""
    if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\d)", said):
        return True
    wanted = _words(title)
    return 2 * len(wanted & _words(said)) > len(wanted)


def noted(plan: PlanProgress, entries: Iterable[str]) -> str:
    """Id of the item in hand where one of these entries means it; else empty."""
    item = next((one for one in plan.sketch if one.id == plan.now), None)
    return plan.now if item and any(means(entry, item.id, item.title) for entry in entries) else ""


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
