"""Orders of rank: what comes before what, what is preferred to what, what is the most important."""

import re
from dataclasses import dataclass

from helmsman.oversee.double_bind.modality import EXCEPTION, TOP, hide
from helmsman.oversee.double_bind.words import BENT, DETERMINERS, FILLERS, PLACES, SYNONYM
from helmsman.oversee.drift.words import fold, word_set
from helmsman.records.oversight import Imperative

_WORD = re.compile(r"`[^`]{1,200}`|[\w./-]*\w")
_BEFORE = re.compile(r"^(?P<a>.{2,140}?),? (?:before|prior to) (?P<b>.{2,140})$", re.IGNORECASE)
_AFTER = re.compile(r"^(?P<b>.{2,140}?),? (?:only )?after (?P<a>.{2,140})$", re.IGNORECASE)
_FIRST_BEFORE = re.compile(r"^before (?P<b>[^,]{2,140}), (?P<a>.{2,140})$", re.IGNORECASE)
_FIRST_AFTER = re.compile(r"^after (?P<a>[^,]{2,140}), (?P<b>.{2,140})$", re.IGNORECASE)
_OVER = re.compile(
    r"^(?:\w+ ){0,3}?prefer (?P<a>.{2,140}?) (?:over|to|rather than|instead of) (?P<b>.{2,140})$"
    r"|^(?P<c>.{2,140}?) (?:rather than|instead of|(?:takes?|has) (?:precedence|priority) over"
    r"|is more important than) (?P<d>.{2,140})$",
    re.IGNORECASE,
)
_CHOOSE = word_set("use prefer favour favor choose always")
_AMONG = re.compile(r"\b(?:one of the|among)\b", re.IGNORECASE)
_HARMLESS = word_set("read see look check understand run ask consult review")
"""Deeds that may come first in any order, because they change nothing."""


@dataclass(frozen=True)
class Ranking:
    """The first comes before the second."""

    order: Imperative
    first: frozenset[str]
    second: frozenset[str]


def ranking(order: Imperative) -> Ranking | None:
    """What an order puts before what, in folded words; None where it does not, or where there is an exception."""
    text = order.text.strip(" .!*")
    if EXCEPTION.search(text) or TOP.search(text):
        return None
    over = _OVER.match(text)
    if over:
        return _ranking(order, over["a"] or over["c"], over["b"] or over["d"])
    found = next((match for pattern in _STEPS if (match := pattern.match(text))), None)
    return _ranking(order, found["a"], found["b"]) if found else None


_STEPS = (_FIRST_BEFORE, _FIRST_AFTER, _BEFORE, _AFTER)


def _ranking(order: Imperative, first: str, second: str) -> Ranking | None:
    """What must not come first comes second."""
    one, other = _key(first), _key(second)
    if not one or not other or one == other:
        return None
    return Ranking(order, other, one) if order.modality in {"must_not", "should_not"} else Ranking(order, one, other)


def top(order: Imperative) -> frozenset[str]:
    """What an order calls the most important of all, or what it wants done before anything else; empty where it does not."""
    text = hide(order.text)
    if order.modality != "must" or not TOP.search(text) or _AMONG.search(text) or EXCEPTION.search(text):
        return frozenset()
    words = TOP.sub(" ", order.text)
    said = {word.lower() for word in _WORD.findall(words)}
    return frozenset() if said & _HARMLESS else _key(words)


def _key(text: str) -> frozenset[str]:
    words = [word.lower() for word in _WORD.findall(text)]
    telling = [word for word in words if word not in DETERMINERS | FILLERS | PLACES | _CHOOSE | {"of", "for", "as", "which"}]
    return frozenset(_folded(word) for word in telling)


def _folded(word: str) -> str:
    verb = BENT.get(word, word)
    return word if word.startswith("`") else SYNONYM.get(verb) or fold(verb)
