"""Text as the words that tell it apart from other text: identifiers taken apart, endings dropped, numbers and hashes left out.

Lessons are stored and looked for by these, so that `parseInvoice`, `parse_invoice` and "parsing an invoice" meet.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MOST_TERMS = 64
LONGEST_READ = 16_000
"""Characters that are read: what a text is about stands at its beginning, and nobody may make us read for a second."""
LONGEST_WORD = 40
"""What is longer is data or nonsense."""
_FOLDS = 8
"""Times that a word may lose an ending; each makes it shorter, so that few words need more than three."""


def terms(text: str) -> tuple[str, ...]:
    """Its telling words in their normal form, in order, each once, 64 at most."""
    found: dict[str, None] = {}
    for word in dict.fromkeys(words(text)):
        folded = normal(word)
        if is_telling(folded):
            found[folded] = None
            if len(found) == MOST_TERMS:
                break
    return tuple(found)


def words(text: str) -> Iterator[str]:
    """All its words in small letters as they stand there, common ones and repetitions included, without numbers and hashes."""
    plain = plain_letters(text[:LONGEST_READ])
    if "#" in plain or "++" in plain:
        plain = _C_LANGUAGES.sub(lambda found: _NAMED_C[found[0].casefold()], plain)
    pattern = _ASCII_WORD if plain.isascii() else _WORD
    for word in pattern.findall(_NOISE.sub(" ", plain)):
        yield from _parts(word) if len(word) <= LONGEST_WORD else ()


def plain_letters(text: str) -> str:
    """Without accents and in one form, whichever way it was typed. Capital letters stay."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart[:LONGEST_READ]))


def is_number(word: str) -> bool:
    """Whether it counts, measures or identifies: a number with or without unit, a hash."""
    return len(word) > LONGEST_WORD or bool(_NUMBER.fullmatch(word)) or bool(_HASH.fullmatch(word))


def is_telling(word: str) -> bool:
    """Whether a word in normal form says what a text is about."""
    return len(word) > 1 and word not in _SILENT and not is_number(word)


@lru_cache(maxsize=4096)
def normal(word: str) -> str:
    """A word in small letters without its ending, British or American: `normalised` and `normalizing` are one."""
    if not word.isascii():
        return word
    for _ in range(_FOLDS):
        shorter = _without_ending(word)
        if shorter == word or word in _SILENT:
            break
        word = shorter
    return word


@lru_cache(maxsize=4096)
def _parts(word: str) -> tuple[str, ...]:
    """The humps of camelCase; pairs of letters where a script has no spaces; nothing of a number."""
    return () if is_number(word) else tuple(_humps(word))


def _humps(word: str) -> Iterator[str]:
    if _UNSPACED.search(word):
        for run in _RUNS.findall(word):
            yield from _pairs(run) if _UNSPACED.match(run) else (run.casefold(),)
        return
    if word.casefold() in _ONE_WORD or word.islower() or not word.isascii():
        yield word.casefold()
        return
    yield from (hump.lower() for hump in _HUMP.findall(_BRANDS.sub(lambda found: found[0].capitalize(), word)))


def _pairs(run: str) -> Iterator[str]:
    yield from (run[start : start + 2] for start in range(max(len(run) - 1, 1)))


def _without_ending(word: str) -> str:
    """One ending less. What is left is long enough to be told apart, and has a vowel."""
    if word in _KEPT:
        return word
    for ending, instead in _ENDINGS:
        stem = word[: -len(ending)]
        if word.endswith(ending) and len(stem) >= _SHORTEST[ending] and _VOWEL.search(stem) and not _fixed(word, ending):
            return _mended(stem, ending) + instead
    return _spelt(word)


def _fixed(word: str, ending: str) -> bool:
    """Whether it only looks like an ending: `class`, `status`, `analysis`, `need`."""
    return (ending == "s" and word[-2] in "sui") or word.endswith(("eed", "eeing", "se"))


def _mended(stem: str, ending: str) -> str:
    """A stem as it was before the ending: `runn` is `run`, `mak` is `make`."""
    if ending not in _OF_VERBS:
        return stem
    if len(stem) > _SHORT_STEM and stem[-1] == stem[-2] and stem[-1] not in "aeioulsz":
        return stem[:-1]
    return f"{stem}e" if f"{stem}e" in _KEPT or _WITH_E.fullmatch(stem) else stem


def _spelt(word: str) -> str:
    """American or British, with one `l` or two."""
    for american, pattern in _SPELLINGS:
        word = pattern.sub(american, word)
    return word


_C_LANGUAGES = re.compile(r"(?<![^\W_])[cCfF](?:\+\+|#)")
_NAMED_C = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", "f++": "f"}
_ACCENTS = re.compile("[\u0300-\u036f\u064b-\u065f]")
_NOISE = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}|\x1b\[[0-9;]{0,20}[A-Za-z]"
)
"""UUIDs, moments, and what colours a terminal."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile("(?:[^\\W_]|[\u0900-\u0e7f])+")
"""Letters and digits; in the scripts of India and Thailand vowels are marks of their own."""
_NUMBER = re.compile(r"[0-9]+(?:[a-z]{1,2}|st|nd|rd|th|min|sec|[kKmMgG]i?[bB])?|0[xX][0-9a-fA-F]+|[vV][0-9]+|[^\Wa-zA-Z]*[0-9]")
_HASH = re.compile(r"(?=[a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{7,}")
_HUMP = re.compile(r"[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z]+[0-9]*|[0-9]+[a-z]*")
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUNS = re.compile(
    "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|[^\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_VOWEL = re.compile("[aeiouy]")
_WITH_E = re.compile("[bcdfghjklmnpqrstvwz]?[bcdfghjklmnpqrstvwz][aiouy][bcdfghjklmnpqrstvz]|[a-z]+(?:[^isu]|ai)s")
_SHORT_STEM = 3
_OF_VERBS = frozenset({"ing", "ings", "ed"})
_ENDINGS = (
    ("ifications", "ify"), ("ification", "ify"), ("ations", ""), ("ation", ""), ("ating", ""), ("ated", ""), ("ates", ""),
    ("ate", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("tuses", "tus"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"),
    ("ically", "ic"), ("ments", "ment"),
    ("ment", ""), ("ions", ""), ("ion", ""), ("ings", ""), ("ing", ""), ("ed", ""), ("ly", ""), ("s", ""),
    ("e", ""),
)  # fmt: skip
_SHORTEST = (
    dict.fromkeys([ending for ending, _ in _ENDINGS], 4)
    | dict.fromkeys(["s", "ing", "ings", "ed", "ification", "ifications"], 3)
    | dict.fromkeys(["ies", "ied", "xes", "sses", "tuses"], 2)
)
"""Letters that have to be left of a word."""
_SPELLINGS = (
    ("iz", re.compile("(?<=[a-z]{3})is(?:e|at)?$")),
    ("or", re.compile("(?<=[a-z]{3})our$")),
    ("l", re.compile("(?<=[a-z]{4})ll$")),
)

_KEPT_TEXT = (
    "string thing bring spring king ring during nothing something anything everything morning ceiling alias bias canvas atlas "
    "always less axis basis redis postgres kubernetes this news lens address access process success progress class pass "
    "union onion million region religion version session station nation based need speed feed seed embed red bed hundred "
    "element comment moment argument document implement segment statement apply reply supply family assembly only early readonly "
    "rename name page file code type time case base mode node role rule site size state table module package image message "
    "species series movies cookies url yes bus gas https http css js us os dns cors sass aws eks tls"
)
_KEPT = frozenset(_KEPT_TEXT.split())
"""Words that only look as if they had an ending, or are told apart by it."""
_ONE_WORD_TEXT = (
    "github gitlab javascript typescript postgresql mysql sqlite graphql openapi macos ios numpy pytorch fastapi mongodb "
    "dynamodb rabbitmq nodejs nextjs vuejs youtube linkedin webassembly websocket websockets oauth oauth2 csv json yaml toml "
    "utf8 sha256 md5 base64 ipv4 ipv6 http2 http3 e2e i18n l10n a11y k8s s3 ec2 x86 x64 arm64 p95 p99 mp3 mp4 h264"
)
_ONE_WORD = frozenset(_ONE_WORD_TEXT.split())
"""Names with humps or digits that are one word."""
_BRANDS = re.compile(
    "GitHub|GitLab|JavaScript|TypeScript|PostgreSQL|MySQL|SQLite|GraphQL|OpenAPI|FastAPI|MongoDB|DynamoDB|RabbitMQ|NumPy|PyTorch|"
    "WebSocket|WebAssembly|OAuth"
)
_STOP = (
    "a about above according actually after again against all allow already also although always am an and another "
    "any anything are aren around as at away back be became because become been before being below beside besides between both "
    "but by came can cannot come could couldn currently did didn do does doesn doing done don down during each either else "
    "enough etc even ever every everything few first for from further get gets getting give given go goes going gone got had "
    "hadn has hasn have haven having he her here his how however if in indeed instead into is isn it its itself just keep kept "
    "kind last later least less let lets like ll made make makes making many may maybe me means might mine more most much must "
    "my near need needed needs neither never next no nobody none nor not nothing now of off often on once one ones only onto or "
    "other others otherwise our ours out over own per perhaps please put quite rather re really s same see seem seems seen "
    "several shall she should shouldn since so some something soon still such t take taken than that the their theirs them "
    "themselves then there therefore these they thing things this those though through thus to together too toward towards "
    "two under unless until up upon us use used uses using ve very via want wants was wasn way we well went were weren what "
    "whatever when where whether which while who whose why will with within without won would wouldn yes yet you your yours"
)
_SILENT = frozenset(_STOP.split())
"""Words that tell nothing of what a text is about."""
