"""What a task speaks of: words, concepts and names of files."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from helmsman.oversee.drift.account import Task
from helmsman.oversee.drift.paths import parts, runs, words
from helmsman.oversee.drift.words import (
    FOREIGN,
    MAKERS,
    PROOF,
    QUANTIFIERS,
    SHORTEST_BEGINNING,
    VAGUE,
    WIDE,
    WordSet,
    concepts,
    fold,
    pieces,
    telling,
    word_set,
)

LEAST_TELLING = 3
"""Words and names of files that a task must have to be held against anybody: `Fix the build` says not where."""
_LONGEST_TEXT = 40_000
_FOREIGN_LEAST = 2
_FOREIGN_SHARE = 0.2
_NAME = re.compile(r"[^\s`'\"()\[\]{}<>,;]+")
_QUOTED = re.compile(r"`([^`\s]{1,200})`")
_EXTENSION = re.compile(r".*[\w\]]\.[a-z]{1,10}")
_SOURCELESS = re.compile(r".*\.(?:md|mdx|rst|txt|adoc|json|ya?ml|toml|sh)")
_SELECTORS = word_set("-k -p -t -run --run -g --grep --filter --tests --package --test --testNamePattern -Dtest")
_TEST_PLACES = word_set("test tests spec specs __tests__")
_BEHIND_QUANTIFIER = 4
_TEST_PARTS = 3
"""Of a dotted or nested name of a test the last ones: what is before them names the program."""


@dataclass(frozen=True)
class Subject:
    """What a task is about, ready to be compared with paths."""

    words: WordSet
    beginnings: WordSet
    concepts: frozenset[int]
    named: frozenset[str]
    """Files, folders and symbols that it names in full, in small letters."""
    placed: bool
    """The operator names a source file: where the work lies is known, not only what it is about."""
    broad: bool
    """It says too little of where its work lies, or says that it lies anywhere."""

    def covers(self, path: str) -> bool:
        """Whether a path shares a name, word or concept with the task."""
        of = words(path)
        return bool(runs(path) & self.named) or any(map(self.knows, of)) or bool(concepts(of - VAGUE) & self.concepts)

    def knows(self, word: str) -> bool:
        """Whether a folded word, its beginning or a continuation of it is a word of the task."""
        begins = (word[:length] for length in range(SHORTEST_BEGINNING, len(word)))
        return word in self.beginnings or any(beginning in self.words for beginning in begins)


def subject_of(task: Task) -> Subject:
    """Read a task."""
    texts = [text[:_LONGEST_TEXT] for text in (task.goal, *task.asked, *task.told)]
    places = [*(name for test in task.failing for name in _test_parts(test)), *_selected(task.checks)]
    said = frozenset[str]().union(*map(telling, (*texts, *places)))
    named = frozenset(name for text in (*texts, *task.failing) for name in _names(text))
    return Subject(
        words=said,
        beginnings=frozenset(word[:length] for word in said for length in _lengths(word)),
        concepts=concepts(said),
        named=named,
        placed=any(map(_names_source, (task.goal, *task.asked))),
        broad=len(said) + sum(map(_is_file, named)) < LEAST_TELLING
        or _is_new(task.goal)
        or any(map(_is_wide, (task.goal, *task.asked))),
    )


def _lengths(word: str) -> Iterator[int]:
    yield from range(min(SHORTEST_BEGINNING, len(word)), len(word) + 1)


# names ----------------------------------------------------------------------------------------------------------------


def _names(text: str) -> Iterator[str]:
    """Paths, and whatever stands alone between backticks."""
    for token in _NAME.findall(text[:_LONGEST_TEXT]):
        bare = token.partition("::")[0].strip(".,:!?*").lower().rstrip("/")
        if "://" not in token and ("/" in token or _is_file(bare)):
            yield from _ways(bare)
    for symbol in _QUOTED.findall(text[:_LONGEST_TEXT]):
        yield from _ways(symbol.lower())


def _ways(name: str) -> Iterator[str]:
    """As it stands; of an absolute path the end. A folder such as `src` names no place."""
    of = parts(name)
    if of and (telling(name) or "." in of[-1] or len(of) > 1):
        yield "/".join(of[-2:] if name.startswith("/") else of)


def _test_parts(test: str) -> Sequence[str]:
    """Of `tests/test_shop.py::TestCart::test_total` all, of `com.acme.shop.CartTest.total` the last three."""
    if "::" in test or "/" in test or " " in test:
        return re.split(r"::|/", test)[-_TEST_PARTS - 1 :]
    return test.split(".")[-_TEST_PARTS:]


def _selected(checks: Sequence[str]) -> Iterator[str]:
    """What check commands choose to run; that they look at a whole program tells nothing."""
    for check in checks:
        tokens = check[:2000].replace("=", " ").split()
        for before, token in zip(["", *tokens], tokens, strict=False):
            below = not _TEST_PLACES.isdisjoint(parts(token)) and "/" in token
            if before in _SELECTORS or below:
                yield token


def _is_file(name: str) -> bool:
    return bool(_EXTENSION.fullmatch(name[-300:]))


def _names_source(text: str) -> bool:
    return any(_is_file(name) and not _SOURCELESS.fullmatch(name[-300:]) for name in _names(text))


# reach ----------------------------------------------------------------------------------------------------------------


def _is_new(goal: str) -> bool:
    """Whether it asks for something new without naming the source that it goes into."""
    first, second = (*pieces(goal[:200]), "", "")[:2]
    makes = first in MAKERS or (first == "make" and second in MAKERS)
    return makes and not _names_source(goal)


def _is_wide(text: str) -> bool:
    """Whether it reaches over many files by its own words, or is in a language in which they are not named."""
    told = pieces(_NAME.sub(_without_name, text[:_LONGEST_TEXT]))
    return any(fold(word) in WIDE for word in told) or _quantifies(told) or _is_foreign(text[:_LONGEST_TEXT], told)


def _without_name(token: re.Match[str]) -> str:
    """What a file or symbol is called says nothing of how far the task reaches."""
    quoted = token.string[token.start() - 1 : token.start()] == "`"
    return "" if quoted or _is_file(token[0]) else token[0]


def _quantifies(told: Sequence[str]) -> bool:
    quantified = (position for position, word in enumerate(told) if word in QUANTIFIERS)
    return any(PROOF.isdisjoint(map(fold, told[at + 1 : at + 1 + _BEHIND_QUANTIFIER])) for at in quantified)


def _is_foreign(text: str, told: Sequence[str]) -> bool:
    strange = sum(letter.isalpha() and not letter.isascii() for letter in text)
    return strange > _FOREIGN_SHARE * len(text) or len(FOREIGN.intersection(told)) >= _FOREIGN_LEAST
