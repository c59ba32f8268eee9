"""Words of an agent or a repository in texts of ours: cleaned, bounded and quoted, so that nobody takes them for ours."""

import re
from collections.abc import Iterable, Sequence

from helmsman.memory.words import terms
from helmsman.plain import clean, short_line

TELLING = 2
"""Words that are not vague, from which a text says what was done."""
_MARKS = str.maketrans({"“": "'", "”": "'", "`": "'"})
_VAGUE = (
    "fix fixed fixes update change work wip test stuff code more progress cleanup misc final done commit address comment review "
    "feedback try attempt minor small tweak improve improvement bug issue problem error various several some it thing finish "
    "complete continue initial first next step iteration iterate task goal pass green everything all implement make adjust edit"
)
VAGUE = frozenset(terms(_VAGUE))
_ORDER = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rules?|prompts?|above|previous|earlier)\b|"
    r"\bsystem prompt\b|\b(?:system|assistant|human|user) ?:|</?(?:system|instructions?|prompt)\b|\byou (?:must|are now|shall)\b|"
    r"\b(?:curl|wget)\b.{0,200}\|\s*\w*sh\b|\brm -[rf]{1,2}\b|\bsudo\b|--no-verify\b|\bforce[- ]push|push --force|"
    r"\b(?:delete|remove|skip|disable|weaken|comment out|xfail|deactivate|loosen|bypass|mute)\b.{0,30}"
    r"\b(?:tests?|checks?|asserts?|assertions?|specs?|guard ?rails?|invariants?|judge|hooks?)\b"
)


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
