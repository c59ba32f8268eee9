"""Tests whose form followed the code: where one that is read by its lines cannot be understood, a reader has to look."""

import re

from helmsman.verify.cases.model import STRENGTH, Assertion, Guard, Kind
from helmsman.verify.cases.paths import language_of
from helmsman.verify.cases.sides import Pair
from helmsman.verify.cases.words import names_in, words_of

_WEAK = 2
"""Strength up to which an assertion says so little that no change of form explains it."""
_ERROR = re.compile(r"(?:err|error|exception|failure|reason)s?")
_DROPPED = re.compile(r"(?<!\w)_\s*(?::=|=|,)|,\s*_\s*(?::=|=|,)")
"""A value that is thrown away by name, as in `value, _ := load()`."""
_ASKS_FOR_NOTHING = re.compile(r"\b(?:is_?[eE]mpty|isNull|is_none|be_empty|toBeEmpty)\b|\.(?:empty|nil)\?")
_ASKS_FOR_ERROR = re.compile(r"\bis_err\(\)|\bErr\(")
_NOTHING = frozenset({"None", "null", "nil"})


def is_reshaped(old: Assertion, new: Assertion | None, pair: Pair) -> bool:
    """Whether an assertion may say in another form what it said: for languages that are read by lines, where code changed too."""
    if language_of(pair.new.path) in {"", "python"}:
        return False
    return _is_retold(old, pair) if new is None else _is_asked_otherwise(old, new)


def _is_retold(old: Assertion, pair: Pair) -> bool:
    """Whether the test was rebuilt around as many assertions, as strong ones, with every value that it had."""
    wanted, now = words_of(old.expected), pair.new.words
    kept = wanted.literals.keys() <= now.literals.keys() and wanted.names <= now.names
    strong = any(STRENGTH[item.kind] >= STRENGTH[old.kind] for item in _live(pair.new.assertions))
    as_many = len({item.line for item in _live(pair.new.assertions)}) >= len({item.line for item in _live(pair.old.assertions)})
    return kept and strong and as_many and pair.old.arrangement != pair.new.arrangement


def _live(assertions: tuple[Assertion, ...]) -> list[Assertion]:
    return [
        item for item in assertions if item.kind not in {Kind.ROW, Kind.TRIVIAL, Kind.RUNS} and item.guard <= Guard.CONDITIONAL
    ]


def _is_asked_otherwise(old: Assertion, new: Assertion) -> bool:
    """Whether the code is called in another way and all values are still named, or an error came in place of nothing."""
    if old.expected in _NOTHING and _ASKS_FOR_ERROR.search(new.text):
        return True
    kept = old.words.literals.keys() <= new.words.literals.keys()
    return kept and STRENGTH[new.kind] > _WEAK and bool(old.subject) and old.subject not in new.subject


def is_as_empty(old: Assertion, new: Assertion) -> bool:
    """`isEmpty()` of a result that may be there says what `null` said of it."""
    nothing = old.kind is Kind.IDENTITY and old.expected in _NOTHING
    return nothing and new.kind is Kind.FALSY and bool(_ASKS_FOR_NOTHING.search(new.text))


def needs_no_check(item: Assertion, pair: Pair) -> bool:
    """Whether it said that no error was handed over, and errors are no longer handed over but raised."""
    expects_none = item.kind in {Kind.IDENTITY, Kind.FALSY} and bool(_ERROR.fullmatch(item.subject.lower()))
    if not expects_none or item.subject in names_in(pair.new.body) or _drops_more(pair):
        return False
    return any(STRENGTH[other.kind] >= STRENGTH[Kind.APPROX] for other in _live(pair.new.assertions))


def _drops_more(pair: Pair) -> bool:
    return len(_DROPPED.findall(pair.new.body)) > len(_DROPPED.findall(pair.old.body))
