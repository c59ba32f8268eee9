"""Words of an agent or a repository in texts of ours: cleaned, bounded and quoted, so that nobody takes them for ours."""

import re
from collections.abc import Iterable, Sequence

from helmsman.memory.words import WORDS, terms
from helmsman.plain import clean, short_line

TELLING = 2
"""Words that are not vague, from which a text says what was done."""
_MARKS = str.maketrans({"“": "'", "”": "'", "`": "'"})
VAGUE = frozenset(terms(WORDS["vague"]))
_ORDER = re.compile("".join(WORDS["orders"]), re.IGNORECASE)


def block_quote(lines: list[str]) -> str:
    """As a quotation: whoever looks for orders passes it over, and no line of it is a heading."""
    return "\n".join(f"> {line}".rstrip() for line in lines)


def quoted(text: str, most: int) -> str:
    """A quotation that nothing in it can end."""
    return f"“{short_line(text.translate(_MARKS), most)}”"


def listed(names: Sequence[str], shown: int, most: int = 80) -> str:
    """Names as quotations, the rest counted."""
    rest = [f"{len(names) - shown} more"] if len(names) > shown else []
    return ", ".join([*(quoted(name, most) for name in names[:shown]), *rest])


def joined(parts: Iterable[str], most: int, between: str = " ") -> str:
    """The parts in order, as many whole ones as fit."""
    text = ""
    for part in filter(None, parts):
        longer = f"{text}{between}{part}" if text else part
        text = longer if len(longer) <= most else text
    return text


def tells(text: str) -> bool:
    """Whether it says what was done: neither empty nor vague, as `fixed it`, and no order to whoever reads it."""
    return sum(word not in VAGUE for word in terms(text)) >= TELLING and not orders(text)


def orders(text: str) -> bool:
    """Whether it speaks to its reader, or recommends what no lesson may: such words are not even quoted."""
    return bool(_ORDER.search(" ".join(clean(text).split())))
