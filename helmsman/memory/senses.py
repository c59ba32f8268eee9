"""What a sentence says, taken apart so that two can be compared: words with weights, what is denied, what comes first, names."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from helmsman.memory.words import is_telling, normal, words

LONGEST_READ = 4000
_MOST_WORDS = 200
_LIGHT = 0.4
"""Weight of a word that most lessons have; others weigh 1."""
_NO_LONGER_NEGATED = 8
"""Words behind a negation that it reaches at most."""


class Sense(NamedTuple):
    weights: Mapping[str, float]
    """Words in normal form, one for all synonyms."""
    denied: frozenset[str]
    """What is not to be done, or not to be used."""
    stages: Mapping[str, int]
    """-1: comes first. 1: comes afterwards. Only where the sentence says so."""
    goals: frozenset[str]
    """What stands behind `to`."""
    names: frozenset[tuple[str, ...]]
    """Tests, files, functions and commands, by their parts."""
    numbers: frozenset[str]
    raw: frozenset[str]
    """All words in normal form, common ones included: opposites may be among them."""


@lru_cache(maxsize=2048)
def sense(text: str) -> Sense:
    """What a sentence says."""
    short = _joined(text[:LONGEST_READ])
    weights: dict[str, float] = {}
    denied: set[str] = set()
    stages: dict[str, int] = {}
    goals: set[str] = set()
    raw: set[str] = set()
    for word, marks in _marked(short):
        raw.add(normal(word))
        folded = SYNONYMS.get(normal(word), normal(word))
        if not is_telling(folded):
            continue
        weights[folded] = _LIGHT if folded in LIGHT else 1.0
        denied |= {folded} if marks.denied else set()
        goals |= {folded} if marks.goal else set()
        if marks.stage:
            stages[folded] = marks.stage
    return Sense(weights, frozenset(denied), stages, frozenset(goals), _names(short), _numbers(short), frozenset(raw))


def opposed(one: Sense, other: Sense) -> bool:
    """Whether one says a word and the other one its opposite."""
    mine, theirs = one.raw - other.raw, other.raw - one.raw
    return any(_opposites(word, against) for word in mine for against in theirs)


class _Marks(NamedTuple):
    denied: bool
    stage: int
    goal: bool


def _marked(text: str) -> Iterator[tuple[str, _Marks]]:
    """Words with what the clause around them makes of them."""
    left = _MOST_WORDS
    for sentence in _SENTENCE_END.split(text):
        ordered = _order(sentence)
        prefers = bool(_PREFERS.search(sentence.casefold()))
        for clause in _CLAUSE_END.split(sentence):
            scope, goal, denied = 0, False, 0
            for word in words(clause):
                scope = _SCOPES.get(word, scope) if ordered else 0
                denied = _NO_LONGER_NEGATED if _negates(word, prefers=prefers) else max(denied - 1, 0)
                goal = word in {"to", "into", "onto"} or (goal and word != "from")
                yield word, _Marks(denied > 0, scope or -ordered, goal)
                left -= 1
                if left == 0:
                    return


def _order(sentence: str) -> int:
    """Which stage the sentence's own `before` or `after` speaks of: 1 or -1; 0 where nothing tells how far that reaches."""
    said = list(words(sentence))
    found = {_SCOPES[word] for word in said if word in _SCOPES}
    endless = bool(said) and said[0] in _SCOPES and not _CLAUSE_END.search(sentence)
    return found.pop() if len(found) == 1 and not endless else 0


def _negates(word: str, *, prefers: bool) -> bool:
    return word in _NEGATIONS or (prefers and word == "over")


def _joined(text: str) -> str:
    """Spellings of two words as one, and negations as a word of their own."""
    for pattern, whole in _SPELLINGS:
        text = pattern.sub(whole, text)
    return text


def _numbers(text: str) -> frozenset[str]:
    """Those that are no part of a name: versions, limits, codes."""
    return frozenset(_NUMBER.findall(_TOKEN.sub(lambda found: " " if _is_name(found[0]) else found[0], text)))


def _names(text: str) -> frozenset[tuple[str, ...]]:
    found = (tuple(words(match[0])) for match in _TOKEN.finditer(text) if _is_name(match[0]))
    return frozenset(parts for parts in found if parts)


def _is_name(token: str) -> bool:
    return token.startswith("`") or (bool(_NAME.search(token)) and not _NUMBER.fullmatch(token.strip(".:()")))


@lru_cache(maxsize=4096)
def _opposites(one: str, other: str) -> bool:
    return frozenset((one, other)) in _PAIRS or any(_by_beginning(one, other, first, second) for first, second in _BEGINNINGS)


def _by_beginning(one: str, other: str, first: str, second: str) -> bool:
    """As `enable` and `disable`, `lock` and `unlock`."""
    return any(
        word.startswith(first)
        and against.startswith(second)
        and len(word) - len(first) >= _SHORTEST_STEM
        and word[len(first) :] == against[len(second) :]
        for word, against in ((one, other), (other, one))
    )


_SHORTEST_STEM = 3
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s")
_CLAUSE_END = re.compile(r"[,;:()]\s")
_PREFERS = re.compile(r"\b(?:prefer|favou?r|choose|chose|chosen|preferred)")
_SCOPES = {"before": 1, "after": -1, "once": -1}
_NEGATIONS = frozenset(
    ["not", "never", "no", "without", "avoid", "avoids", "avoided", "avoiding", "instead", "rather", "neither"]
)
_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)*")
_TOKEN = re.compile(r"`[^`\n]{1,200}`|[\w\[\]:./()-]+")
_NAME = re.compile(r"\w[_./]\w|::|[a-z][A-Z]|\w\(\)")
"""What makes a name of a word: parts, a path, humps, brackets."""
_SPELLINGS = (
    (re.compile(r"(?i)n['\u2019]t\b"), " not"),
    (re.compile(r"(?i)\btime[ -]zone"), "timezone"),
    (re.compile(r"(?i)\be-mail"), "email"),
    (re.compile(r"(?i)\block[ -]file"), "lockfile"),
    (re.compile(r"(?i)\blog(?:s|ged|ging)?[ -]in\b"), "login"),
    (re.compile(r"(?i)\blog(?:s|ged|ging)?[ -]out\b"), "logout"),
    (re.compile(r"(?i)\bset[ -]up\b"), "setup"),
    (re.compile(r"(?i)\bget(?:s|ting)? rid of\b"), "remove"),
    (re.compile(r"(?i)\b(?:one after the other|one by one)\b"), "sequentially"),
)
_SYNONYM_LINES = """\
add create introduce insert append new
remove delete drop eliminate erase
fix repair mend resolve solve correct
check validate verify valid assert
update upgrade bump
temporary temp tmp
directory folder dir
documentation docs doc document
configuration config settings
dependency dependencies deps
argument parameter param args
function method
extract pull
build compile
run execute invoke call launch
error exception
email mail
show display print
begin start
end stop finish
choose prefer
fetch retrieve load
change modify alter edit
single one
database db
identifier id
regenerate recreate"""
_LIGHT_WORDS = """\
add run call execute fix use set make take keep put write read handle go change update test file code module class function
fail pass error work project line value data always"""
_OPPOSITE_LINES = """\
add remove|add drop|add delete|create delete|create remove|insert delete
allow forbid|allow deny|allow reject|show hide|open close|start stop
begin end|read write|push pull|public private|require optional|requir optional
required optional|mandatory optional|true false|first last|client server|split merge
upper lower|minimum maximum|min max|run stop|running stopped|always never
local remote|local global|parallel sequential|upgrade downgrade|login logout|raise lower
pass fail|skip run|skip read|keep remove|keep replace|keep delete
accept reject|parallel serial|concurrently sequentially|up down|left right|before behind
encode decode|send receive|grow shrink|increase reduce|eager lazy|static dynamic
mutable frozen|strict loose|early late|more fewer|more less|long short
mock start|mock real|cold warm|on off"""
_BEGINNINGS = (
    ("un", ""), ("de", ""), ("dis", ""), ("non", ""), ("a", ""), ("im", ""), ("ir", ""), ("en", "de"), ("en", "dis"),
    ("in", "ex"),
    ("at", "de"), ("in", "de"), ("as", "de"), ("im", "ex"), ("pre", "post"), ("sub", "super"), ("up", "down"), ("over", "under"),
)  # fmt: skip


def _synonyms() -> Iterator[tuple[str, str]]:
    for line in _SYNONYM_LINES.splitlines():
        first, *others = line.split()
        yield from ((normal(word), normal(first)) for word in others if normal(word) != normal(first))


def _pairs() -> Iterator[frozenset[str]]:
    for pair in _OPPOSITE_LINES.replace("\n", "|").split("|"):
        yield frozenset(normal(word) for word in pair.split())


SYNONYMS = dict(_synonyms())
"""By a word in normal form: the one that stands for all that mean the same."""
LIGHT = frozenset(normal(word) for word in _LIGHT_WORDS.split())
_PAIRS = frozenset(_pairs())
