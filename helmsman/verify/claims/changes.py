"""Claims on changed files: `I updated src/app.py`, `Modified 3 files`. Only what is named beyond doubt is taken for a claim."""

import re
from collections.abc import Iterator, Sequence

from helmsman.records.claims import ClaimKind
from helmsman.verify.claims.paths import as_path
from helmsman.verify.claims.sentences import Sentence
from helmsman.verify.claims.words import ELSEWHEN, UNREAL, word_set

Told = tuple[ClaimKind, str]
"""What is claimed: kind and subject."""

_ADVERB = r"(?:also|then|now|only|just|finally|first|successfully|additionally|subsequently)"
_BEFORE = (
    r"(?:^|[,;:(]\s*|\s-\s|\s?[\u2013\u2014]\s?|\b(?:and|then)\s+)"
    rf"(?P<who>(?:I|we)(?:'ve|\s+have)?\s+)?(?:{_ADVERB},?\s+){{0,2}}"
)
_START = re.compile(
    rf"^(?:I|we)\b|^{_ADVERB}\b|^(?!need)[a-z-]+ed\b|^(?:wrote|rewrote|ran|made|built|set|put|cut)\b", re.IGNORECASE
)


def doing(verbs: str) -> re.Pattern[str]:
    """Find these verbs, `created|wrote`, where the agent is who did it: `I (also) created`, `Created`, `… and created`."""
    return re.compile(rf"{_BEFORE}(?P<verb>{verbs})(?!\w)", re.IGNORECASE)


def deeds(pattern: re.Pattern[str], sentence: str) -> Iterator[re.Match[str]]:
    """Where a verb says that the agent did it: by itself, and neither denied nor planned before it."""
    for match in pattern.finditer(sentence):
        first = not sentence[: match.start()].strip()
        if (first or match["who"] or _START.search(sentence)) and not UNREAL.search(sentence[: match.start("verb")]):
            yield match


def read_changes(sentence: Sentence) -> Iterator[Told]:
    """The files that one sentence says were changed, by name or by number."""
    text = sentence.text
    if ELSEWHEN.search(text) or text.endswith("?"):
        return
    for path in dict.fromkeys((*_active(text), *_about(text), *_listed(sentence))):
        yield ClaimKind.FILE_CHANGED, path
    for match in deeds(_COUNTED, text):
        if number := _NUMBER.match(text[match.end() :]):
            yield ClaimKind.FILES_MODIFIED, _NUMBERS.get(number[1].lower(), number[1])


_CHANGED = "created|wrote|rewrote|updated|modified|changed|edited|refactored|extended|adjusted|reworked|touched|implemented"
_TABLE: tuple[tuple[str, str], ...] = (
    ("direct", _CHANGED),
    ("to", "added|introduced|appended|renamed|moved|converted|copied"),
    ("from", "removed|deleted|dropped"),
)
_DEEDS = {kind: doing(verbs) for kind, verbs in _TABLE}
_COUNTED = doing("created|updated|modified|changed|edited|touched|added")
_PAST = word_set(" ".join(verbs for _, verbs in _TABLE).replace("|", " "))
_NUMBERS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9"}
_NUMBER = re.compile(
    rf"\s+(?:(?:exactly|these|the following)\s+)?([1-9][0-9]{{0,4}}|{'|'.join(_NUMBERS)})\s+(?:[a-z]{{1,20}}\s+){{0,2}}files?\b",
    re.IGNORECASE,
)
_FILES_UNDER = re.compile(
    r"(?:the )?(?:files? (?:I )?(?:changed|modified|created|updated|touched|added|edited)"
    r"|(?:changed|modified|new|created|updated|edited|touched) files?"
    r"|changes(?: made)?|what (?:I )?changed|created|modified|updated)",
    re.IGNORECASE,
)

_JOINS = frozenset({"and", "&", "plus", "both"})
_IN = frozenset({"in", "inside", "within"})
_STOPS = word_set(
    """
    to into from for by with via per as like so that which because since when while if after before until unless instead than
    without except but based on onto at of not no nothing none neither about above across against along among around behind
    below between beyond near off out over through throughout toward towards under upon where whose who
    it its this these those then accordingly i we they also only etc covering using containing exercising including
    """
)
_NOT_CHANGED_WHERE_IT_IS = word_set("bug bugs crash error issue problem failure race leak regression typo")
_POINTS_ELSEWHERE = word_set(
    "link links reference references pointer path call calls import imports redirect dependency alias symlink"
)
_NOUNS_IN_ING = word_set("handling logging caching parsing existing missing testing string typing")
_SPACE = 30
"""Words behind a verb that are looked at."""


def _words(text: str) -> list[str]:
    return text.split(maxsplit=_SPACE)[:_SPACE]


def _bare(word: str) -> str:
    return word.strip(",;:()\u2013\u2014-").removesuffix(".").lower()


def _named(word: str) -> str:
    return as_path(word.strip(",;:()").removesuffix("."))


def _ends(word: str) -> bool:
    """Whether a phrase is over behind this word."""
    return word[-1] in ".,;:)!" or not _bare(word)


def _active(text: str) -> Iterator[str]:
    for kind, pattern in _DEEDS.items():
        for match in deeds(pattern, text):
            yield from _OBJECTS[kind](_words(text[match.end() :]))


def _direct(words: Sequence[str]) -> list[str]:
    """The paths that a verb takes: `the parser in a.py`, `a.py and b.py`; none where a path only describes something else."""
    found: list[str] = []
    between: list[str] = []
    for place, word in enumerate(words):
        path, plain = _named(word), _bare(word)
        if path:
            if not _whole(words, place):
                break
            found.append(path)
            between = []
            if word[-1] in ".;:)":
                break
        elif plain in _IN:
            if found or not _NOT_CHANGED_WHERE_IT_IS.isdisjoint(between):
                break
        elif plain in _JOINS or (not plain and found):
            continue
        else:
            between.append(plain)
            if found or plain in _STOPS or len(between) > len("four") or _describes(plain) or _ends(word):
                break
    return found


def _whole(words: Sequence[str], place: int) -> bool:
    """Whether a path stands for itself: in `app.py support` it does not."""
    following = words[place + 1 : place + 2]
    return _ends(words[place]) or all(
        _bare(word) in _STOPS | _JOINS | _IN or not _bare(word) or word.startswith("(") for word in following
    )


def _describes(word: str) -> bool:
    return word.endswith(("ing", "ed")) and word not in _NOUNS_IN_ING and not word.startswith("`")


def _target(words: Sequence[str]) -> list[str]:
    """`Added X to a.py` changes a.py and says nothing of X; `Added a.py` changes a.py."""
    for place, word in enumerate(words):
        if _bare(word) in {"to", "into"} and not word.endswith(","):
            pointing = not _POINTS_ELSEWHERE.isdisjoint(map(_bare, words[:place]))
            return [] if pointing or place > _SHORT else _direct(_after_articles(words[place + 1 :]))[:1]
    return _direct(words)


def _source(words: Sequence[str]) -> list[str]:
    """`Removed X from a.py` changes a.py and says nothing of X; `Removed a.py` removes a.py."""
    for place, word in enumerate(words):
        if _bare(word) == "from":
            return [] if place > _SHORT else _direct(_after_articles(words[place + 1 :]))[:1]
    return _direct(words)


_SHORT = 5
"""Words of a thing that is added or removed: beyond, `to` and `from` may belong to something else."""
_ARTICLES = frozenset({"the", "a", "an", "new", "existing", "file", "module", "both"})


def _after_articles(words: Sequence[str]) -> Sequence[str]:
    """Behind `to` only a path may follow: in `to handle errors in a.py` it is another sentence."""
    first = next((place for place, word in enumerate(words) if _bare(word) not in _ARTICLES), len(words))
    return words[first:] if first < len(words) and _named(words[first]) else ()


_OBJECTS = {"direct": _direct, "to": _target, "from": _source}


def _about(text: str) -> Iterator[str]:
    """`a.py: added a retry`, `a.py and b.py were updated`."""
    words = _words(text)
    paths: list[str] = []
    for place, word in enumerate(words):
        path = _named(word)
        if path:
            paths.append(path)
        elif _bare(word) not in _JOINS and _bare(word):
            break
        if paths and _label(words, place):
            yield from paths
            return
    else:
        return
    if paths and _passive([_bare(word) for word in words[place : place + 4]]):
        yield from paths


def _label(words: Sequence[str], place: int) -> bool:
    """Whether the path is set off by a colon or a dash, and a verb follows: `a.py: added`, `a.py - added`."""
    set_off = words[place].endswith(":") or not _bare(words[place])
    return (
        set_off
        and any(_bare(word) in _PAST for word in words[place + 1 : place + 2])
        and words[place + 2 : place + 3] != ["from"]
    )


def _passive(words: Sequence[str]) -> bool:
    auxiliary, *rest = words
    verbs = [word for word in rest if word not in {"been", "now", "also", "both"}]
    done = auxiliary in {"was", "were", "has", "have"} and bool(verbs) and verbs[0] in _PAST
    return done and verbs[1:2] != ["by"] and verbs[1:2] != ["from"]


def _listed(sentence: Sentence) -> Iterator[str]:
    """A list entry that begins with a path, under `Files changed` or the like."""
    if not sentence.first or not _FILES_UNDER.fullmatch(sentence.under.strip("* :")):
        return
    words = _words(sentence.text)
    path = _named(words[0])
    rest = sentence.text[len(words[0]) :].strip()
    if path and (not rest or words[0].endswith(":") or rest[0] in "(:-\u2013\u2014") and not UNREAL.search(rest):
        yield path
