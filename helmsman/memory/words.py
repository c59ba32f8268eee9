"""Text as the words that lessons are found by: identifiers taken apart, endings cut, numbers and common words left out.

So `parseInvoice`, `parse_invoice` and "parsing an invoice" meet.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MOST_TERMS = 64
LONGEST_READ = 16_000
"""Characters that are read: what a text is about stands at its beginning."""
LONGEST_WORD = 40
"""What is longer is data."""


def terms(text: str) -> tuple[str, ...]:
    """Its telling words in order, each once, 64 at most."""
    found: dict[str, None] = {}
    for word in _words(text):
        if len(word) > 1 and word not in _COMMON and not _NUMBER.fullmatch(word):
            found[_stem(word)] = None
            if len(found) == MOST_TERMS:
                break
    return tuple(found)


def _words(text: str) -> Iterator[str]:
    apart = unicodedata.normalize("NFKD", text[:LONGEST_READ])[:LONGEST_READ]
    for word in _WORD.findall(unicodedata.normalize("NFC", _ACCENTS.sub("", apart))):
        yield from _parts(word) if len(word) <= LONGEST_WORD else ()


@lru_cache(maxsize=4096)
def _parts(word: str) -> tuple[str, ...]:
    """A word of camelCase as its parts and as a whole (`GitHub` is written `github` too); pairs of letters where a script has no
    spaces.
    """
    if _UNSPACED.search(word):
        return tuple(word[start : start + 2] for start in range(max(len(word) - 1, 1)))
    parts = _PART.findall(word) if word.isascii() else []
    return (*(part.lower() for part in parts), word.lower()) if len(parts) > 1 else (word.casefold(),)


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    return _DOUBLED.sub(r"\1", _ENDING.sub("", word))


_ACCENTS = re.compile("[\u0300-\u036f\u064b-\u065f]")
_WORD = re.compile("(?:[^\\W_]|[\u0900-\u0e7f])+")
"""Letters and digits; in the scripts of India and Thailand vowels are marks of their own."""
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_PART = re.compile(r"[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z]+[0-9]*|[0-9]+[a-z]*")
_NUMBER = re.compile(r"\d.*|v\d+|(?=[a-f]*\d)[0-9a-f]{7,}")
"""Counts, versions, times and hashes."""
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ies|ied|ings?|ions?|ed|es|e|s|y)$")
_DOUBLED = re.compile(r"([bdgklmnprst])\1$")
_COMMON_WORDS = (
    "a about above according actually after again against all already also although always am an and another any anything "
    "are aren around as at away back be became because become been before being below beside besides between both but by came "
    "can cannot come could couldn currently did didn do does doesn doing done don down during each either else enough etc even "
    "ever every everything few first for from further get gets getting give given go goes going gone got had hadn has hasn have "
    "haven having he her here his how however if in indeed instead into is isn it its itself just keep kept kind last later "
    "least less let lets like ll made make makes making many may maybe me means might mine more most much must my near need "
    "needed needs neither never next no nobody none nor not nothing now of off often on once one ones only onto or other others "
    "otherwise our ours out over own per perhaps please put quite rather re really same see seem seems seen several shall she "
    "should shouldn since so some something soon still such take taken than that the their theirs them themselves then there "
    "therefore these they thing things this those though through thus to together too toward towards two under unless until up "
    "upon us use used uses using ve very via want wants was wasn way we well went were weren what whatever when where whether "
    "which while who whose why will with within without won would wouldn yes yet you your yours"
)
_COMMON = frozenset(_COMMON_WORDS.split())
