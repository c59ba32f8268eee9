"""Index terms for the search of lessons: identifiers split, words stemmed, numbers and stop words removed. And quotations of
untrusted words in lessons.

So `parseInvoice`, `parse_invoice` and "parsing an invoice" match.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from helmsman.plain import clean, short_line, word_set

MOST_TERMS = 64
LONGEST_READ = 16_000  # characters that are read: a text states its subject at the beginning
LONGEST_WORD = 40  # longer ones are data


def terms(text: str) -> tuple[str, ...]:
    """Distinct meaningful words of a text in order, at most 64."""
    found: dict[str, None] = {}
    normalised = _ACCENTS.sub("", unicodedata.normalize("NFKD", text[:LONGEST_READ])[:LONGEST_READ])
    words = (word for word in _WORD.findall(unicodedata.normalize("NFC", normalised)) if len(word) <= LONGEST_WORD)
    for word in (part for whole in words for part in _parts(whole)):
        if len(word) > 1 and word not in _COMMON and not _NUMBER.fullmatch(word):
            found[_DOUBLED.sub(r"\1", _ENDING.sub("", word))] = None
            if len(found) == MOST_TERMS:
                break
    return tuple(found)


@lru_cache(maxsize=4096)
def _parts(word: str) -> tuple[str, ...]:
    """Split camelCase into its parts and the whole word (`GitHub` is also `github`); bigrams for scripts without spaces."""
    if _UNSPACED.search(word):
        return tuple(word[start : start + 2] for start in range(max(len(word) - 1, 1)))
    parts = _PART.findall(word) if word.isascii() else []
    return (*(part.lower() for part in parts), word.lower()) if len(parts) > 1 else (word.casefold(),)


_ACCENTS = re.compile("[\u0300-\u036f\u064b-\u065f]")
_WORD = re.compile("(?:[^\\W_]|[\u0900-\u0e7f])+")
"""Letters and digits; in the scripts of India and Thailand vowels are combining marks."""
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_PART = re.compile(r"[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z]+[0-9]*|[0-9]+[a-z]*")
_NUMBER = re.compile(r"\d.*|v\d+|(?=[a-f]*\d)[0-9a-f]{7,}")  # counts, versions, times and hashes
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ies|ied|ings?|ions?|ed|es|e|s|y)$")
_DOUBLED = re.compile(r"([bdgklmnprst])\1$")
WORDS: Mapping[str, Any] = tomllib.loads(files("helmsman.memory").joinpath("words.toml").read_text("utf-8"))
_COMMON = word_set(WORDS["common"])

# Words of an agent or a repository in Helmsman's texts: cleaned, bounded and quoted, to mark them as untrusted.

TELLING = 2  # words that are not vague, for a text to describe work
_MARKS = str.maketrans({"“": "'", "”": "'", "`": "'"})
VAGUE = frozenset(terms(WORDS["vague"]))
_ORDER = re.compile("".join(WORDS["orders"]), re.IGNORECASE)


def quote(text: str, most: int) -> str:
    """Quote a text so that nothing in it ends the quotation."""
    return f"“{short_line(text.translate(_MARKS), most)}”"


def join_quoted(names: Sequence[str], shown: int, most: int = 80) -> str:
    """Join the first names as quotations, and the number of the others."""
    others = [f"{len(names) - shown} more"] if len(names) > shown else []
    return ", ".join([*(quote(name, most) for name in names[:shown]), *others])


def join_fitting(parts: Iterable[str], most: int, between: str = " ") -> str:
    """Join parts in order, skipping those that do not fit."""
    text = ""
    for part in filter(None, parts):
        longer = f"{text}{between}{part}" if text else part
        text = longer if len(longer) <= most else text
    return text


def describes_work(text: str) -> bool:
    """Whether a text describes work: neither empty nor vague, such as `fixed it`, and no instruction to its reader."""
    return sum(word not in VAGUE for word in terms(text)) >= TELLING and not gives_orders(text)


def gives_orders(text: str) -> bool:
    """Whether a text addresses its reader, or recommends what no lesson may: such text is not even quoted."""
    return bool(_ORDER.search(" ".join(clean(text).split())))
