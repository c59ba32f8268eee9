"""Whether a line that somebody wrote means an item of a plan: it begins with it. Elsewhere in a line it may mean anything."""

import re
from collections import Counter
from collections.abc import Iterable

from helmsman.plans.fields import slug
from helmsman.records.plan import PlanProgress

_BEFORE = r"(?:\[[xX]\]|[^\w])*"
"""A box that is ticked, quotes, stars."""
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")


def means(said: str, name: str, title: str) -> bool:
    """Whether it begins with the item's id or, where that was made of its title, with the title.

    An id that is but a number needs something behind it that sets it apart: `2: …` means it, `2 tests` does not.
    """
    end = r"[`*_\])]*\s*(?:[:.)\u2013\u2014-](?!\d)|$)" if name.isdigit() else r"(?![\w-]|[./]\w)"
    if re.match(rf"{_BEFORE}{re.escape(name)}{end}", said):
        return True
    wanted = _words(title)
    return bool(wanted) and slug(title) in name and _words(said)[: len(wanted)] == wanted


def noted(plan: PlanProgress, before: Iterable[str], after: Iterable[str]) -> str:
    """Id of the item in hand where an entry that was not there before means it; else empty."""
    item = next((one for one in plan.sketch if one.id == plan.now), None)
    new = Counter(after) - Counter(before)
    return plan.now if item and any(means(entry, item.id, item.title) for entry in new) else ""


def is_named_by(test: str, name: str, title: str) -> bool:
    """Whether a test's name holds the item's id (`test_us_001_login`, `testT12`), or its title where the id is but a number.

    A title of one word names nothing: too many tests have it in their names.
    """
    parts, wanted, words = _parts(test), _parts(name), _parts(title)
    by_id = any(part.isalpha() for part in wanted) and _holds(parts, wanted)
    return by_id or (len(words) > 1 and _holds(parts, words))


def _parts(text: str) -> list[str]:
    """`US-001`, `us_001` and `testUS001` have the same parts at their ends."""
    return [part.lower() for part in _PART.findall(text)]


def _holds(parts: list[str], wanted: list[str]) -> bool:
    return any(parts[at : at + len(wanted)] == wanted for at in range(len(parts) - len(wanted) + 1))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
