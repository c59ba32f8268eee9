"""Text as the words that lessons are found by: identifiers taken apart, endings cut, numbers and common words left out.

So `parseInvoice`, `parse_invoice` and "parsing an invoice" meet.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from helmsman.plain import word_set

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
WORDS: Mapping[str, Any] = tomllib.loads(files("helmsman.memory").joinpath("words.toml").read_text("utf-8"))
_COMMON = word_set(WORDS["common"])
