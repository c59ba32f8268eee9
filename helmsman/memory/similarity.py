"""Do two sentences say the same? By their telling words in normal form, synonyms for one another, and by what turns a sense.

Two lessons that are kept apart although they say the same cost a line in a prompt. Two that are merged although they differ teach
something wrong. So whatever speaks against sameness weighs: opposites, negations, an order turned round, other names or numbers.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from helmsman.memory.senses import LONGEST_READ, Sense, opposed, sense

SAME = 0.7
"""Likeness from which two sentences count as one lesson."""
_OPPOSED, _SWAPPED, _OTHER_NUMBERS, _OTHER_NAMES, _CONTRASTED = 0.3, 0.4, 0.5, 0.4, 0.8
"""What is left of a likeness where they are opposites, turned round, of other numbers or names, or each has a word of its own."""
_ALIKE_BEGINNING = 0.7
_SHORTEST_BEGINNING = 5


class _Shared(NamedTuple):
    """Words of one sentence that the other one has too, in its own form."""

    pairs: Mapping[str, str]
    score: float


def alike(one: str, other: str) -> float:
    """How much two sentences say the same, 0 to 1."""
    first, second = sorted((one[:LONGEST_READ], other[:LONGEST_READ]))
    if _bare(first) == _bare(second):
        return 1.0
    return _compared(sense(first), sense(second))


def same(one: str, other: str) -> bool:
    return alike(one, other) >= SAME


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


def _compared(one: Sense, other: Sense) -> float:
    shared = _shared(one, other)
    score = shared.score
    if opposed(one, other) or _negated(one, other, shared.pairs):
        score *= _OPPOSED
    if _turned(one, other, shared.pairs):
        score *= _SWAPPED
    if one.numbers and other.numbers and one.numbers != other.numbers:
        score *= _OTHER_NUMBERS
    return min(score * _by_names(one, other) * _by_contrast(one, other, shared.pairs), 1.0)


def _shared(one: Sense, other: Sense) -> _Shared:
    """Twice the weight of what they share, by the weight of all they say."""
    pairs: dict[str, str] = {}
    for word in one.weights:
        found = _partner(word, other, pairs)
        if found:
            pairs[word] = found
    common = sum(one.weights[word] + other.weights[partner] for word, partner in pairs.items())
    every = sum(one.weights.values()) + sum(other.weights.values())
    return _Shared(pairs, common / every if every else 0.0)


def _partner(word: str, other: Sense, taken: Mapping[str, str]) -> str:
    if word in other.weights:
        return word
    free = (candidate for candidate in other.weights if candidate not in taken.values())
    return next((candidate for candidate in free if _one_beginning(word, candidate)), "")


@lru_cache(maxsize=4096)
def _one_beginning(one: str, other: str) -> bool:
    """Whether they are forms of one word that no ending explains: `small` and `smaller`, `config` and `configuration`."""
    short, long = sorted((one, other), key=len)
    common = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    return common >= _SHORTEST_BEGINNING and common >= _ALIKE_BEGINNING * len(short) and common >= len(long) / 2


def _negated(one: Sense, other: Sense, pairs: Mapping[str, str]) -> bool:
    """Whether what one of them orders, the other one forbids."""
    return any((word in one.denied) != (partner in other.denied) for word, partner in pairs.items())


def _turned(one: Sense, other: Sense, pairs: Mapping[str, str]) -> bool:
    """Whether the same things come in the opposite order, or go from here to there instead of from there to here."""
    stages = [one.stages.get(word, 0) * other.stages.get(partner, 0) for word, partner in pairs.items()]
    here = {word for word, partner in pairs.items() if word in one.goals and partner not in other.goals}
    there = {word for word, partner in pairs.items() if word not in one.goals and partner in other.goals}
    return sum(stages) < 0 or (bool(here) and bool(there))


def _by_names(one: Sense, other: Sense) -> float:
    """What names of tests, files and functions leave of the likeness: those of a lesson are what it is about."""
    if not one.names or not other.names:
        return 1.0
    few, many = sorted((one.names, other.names), key=lambda names: (len(names), sorted(names)))
    found = sum(any(_same_name(name, candidate) for candidate in many) for name in few)
    return _OTHER_NAMES + (1 - _OTHER_NAMES) * found / len(few)


def _same_name(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one is the end of the other: `test_add` and `tests/test_math.py::test_add`."""
    short, long = sorted((one, other), key=len)
    return long[len(long) - len(short) :] == short


def _by_contrast(one: Sense, other: Sense, pairs: Mapping[str, str]) -> float:
    """Each has a word of its own, and one of these has weight: most likely they speak of two things."""
    own = [weight for word, weight in one.weights.items() if word not in pairs]
    theirs = [weight for word, weight in other.weights.items() if word not in pairs.values()]
    return _CONTRASTED if own and theirs and max(*own, *theirs) >= 1 else 1.0
