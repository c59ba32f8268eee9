"""Comparisons that look at less of the same thing: its size, its members without their order, values of any kind."""

import re
from collections.abc import Iterable
from enum import StrEnum

from helmsman.verify.cases.model import STRENGTH, Assertion, Case, Kind
from helmsman.verify.cases.words import words_of


class Narrowing(StrEnum):
    """What a comparison no longer looks at."""

    SIZE = "size"
    """Only how many there are is compared."""
    MEMBERS = "members"
    """Their order and how often each is there are not compared."""
    ANYTHING = "anything"
    """Every value was replaced by one that any value equals."""
    SOME = "some"
    """Some values were."""


_AROUND = {
    Narrowing.SIZE: ("len(", "count(", "sizeof("),
    Narrowing.MEMBERS: ("set(", "frozenset(", "newSet(", "sorted(", "Counter(", "collections.Counter("),
}
_BEHIND = {
    Narrowing.SIZE: (".length", ".size", ".size()", ".length()", ".len()", ".count", ".count()"),
    Narrowing.MEMBERS: (".sort()", ".toSorted()", ".sort", ".to_set", ".toSet()"),
}
_ANY = re.compile(
    r"\b(?:expect\.any(?:thing)?\(|(?:mock\.|matchers?\.)?ANY\b|mock\.Anything\b|anything\b|an?_kind_of\(|an_instance_of\("
    r"|(?:ArgumentMatchers\.)?any[A-Z]?\w{0,20}\()",
)
_KEY = re.compile(r'"[^"\n]{0,200}"(?=:|=>)|\b\w{1,60}:(?!:)')
_OF_ORDER = re.compile(
    r"order|sort|rank|sequence|schedul|priorit|queue|stack|topolog|first|last|before|after|ascend|descend|newest|oldest|top"
)
"""What is in the name of a test or a function that is about the order of things."""


def narrowing_of(old: Assertion, new: Assertion, changed: Iterable[Assertion]) -> Narrowing | None:
    """What two versions of an assertion differ in, where parts that are compared beside the new one do not make it up."""
    if old.kind is not Kind.EQUAL or new.kind not in {Kind.EQUAL, Kind.TRUTHY}:
        return None
    kind = next((kind for kind in _AROUND if _narrows(old, new, kind)), None)
    if kind is Narrowing.SIZE and any(_looks_inside(item, old, new) for item in changed):
        return None
    return kind or _loosened(old, new)


def is_narrower(old: Assertion, new: Assertion) -> bool:
    return any(_narrows(old, new, kind) for kind in _AROUND)


def _narrows(old: Assertion, new: Assertion, kind: Narrowing) -> bool:
    """Whether either side was narrowed and the other followed; whichever side the expected value stands on."""
    ours, theirs = (old.subject, old.expected), (new.subject, new.expected)
    places = ((0, 0), (0, 1), (1, 0), (1, 1))
    return any(_is_within(ours[a], theirs[b], kind) and ours[1 - a] != theirs[1 - b] for a, b in places)


def _is_within(old: str, new: str, kind: Narrowing) -> bool:
    around = any(new == f"{name}{old})" for name in _AROUND[kind])
    inside = any(new == f"[...{old}]{name}" for name in _BEHIND[kind])
    return bool(old) and (around or inside or any(new == old + name for name in _BEHIND[kind]))


def _looks_inside(item: Assertion, old: Assertion, new: Assertion) -> bool:
    """Whether another assertion is about a part of it."""
    return item is not new and STRENGTH[item.kind] >= STRENGTH[Kind.ORDER] and old.subject in f"{item.subject} {item.expected}"


def _loosened(old: Assertion, new: Assertion) -> Narrowing | None:
    """Whether values that were written out may be anything now."""
    if old.subject != new.subject or len(_ANY.findall(new.expected)) <= len(_ANY.findall(old.expected)):
        return None
    was, now = (words_of(_KEY.sub("", item.expected)).literals.keys() for item in (old, new))
    if was <= now:
        return None
    return Narrowing.SOME if was & now else Narrowing.ANYTHING


def is_about_order(case: Case, item: Assertion) -> bool:
    """Whether a test says by its name, or by what it calls, that the order of things is what it is about."""
    return bool(_OF_ORDER.search(f"{case.bare_name} {item.subject}".lower()))
