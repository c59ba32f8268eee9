"""Old tests and what became of them: the same, renamed, moved, merged, split, parametrised, put aside, gone."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from helmsman.verify.cases.growth import Growth
from helmsman.verify.cases.masks import masked
from helmsman.verify.cases.model import STRENGTH, Assertion, Case, Kind, Reading
from helmsman.verify.cases.paths import is_test_file, language_of
from helmsman.verify.cases.python import SHADOWED
from helmsman.verify.cases.reading import reading_of
from helmsman.verify.cases.search import Index
from helmsman.verify.cases.shared import shared_in, taken_in
from helmsman.verify.cases.sides import Pair, Sides, sides_of
from helmsman.verify.cases.variables import inlined
from helmsman.verify.cases.words import alike, words_of
from helmsman.verify.diff import TreeDiff

RENAMED = 0.5
"""Share of words from which on two tests of different names are one: half of a short test is its data."""
COPIED = 0.8
"""Share of words from which on a test is a copy of another."""
RETOLD = 0.6
"""Share of a test's literals that must be new elsewhere for it to have gone there."""
WEAK = 2
"""Strength up to which an assertion may be dropped where stronger ones of the same test are kept."""


_DEFINED = re.compile(r"(?<!\w)(?:def|function|func|fn|fun|void)\s+(\w+)")
_WORD = re.compile(r"\w+")
_NAME_WORD = re.compile(r"[A-Z]?[a-z0-9]+")
_SENTENCE = 4
"""Words from which on a name is told from others by most of them."""
_MOST_DEFINING = 5
"""Files that are read to find a function; a name that more files define tells little."""


@dataclass(frozen=True)
class Aside:
    """A test that is still there and that no runner collects."""

    old: Case
    now: Case


@dataclass(frozen=True)
class Comparison:
    """What became of every test in the changed files."""

    sides: tuple[Sides, ...]
    pairs: tuple[Pair, ...]
    """Tests that stayed and changed, under their name or another."""
    helpers: tuple[Pair, ...]
    """Functions with assertions that are no tests, and changed."""
    fresh: tuple[Case, ...]
    aside: tuple[Aside, ...]
    commented: tuple[Case, ...]
    """Tests whose names now stand in comments."""
    gone: tuple[Case, ...]
    texts: Mapping[str, str]
    """All that has to do with tests as it is now, by path."""

    @cached_property
    def gained(self) -> Counter[tuple[object, ...]]:
        """Assertions that a test, or a function that tests name, has now and had not, by key."""
        found = _keys(self.fresh) + self._helper_keys()
        for pair in self.pairs:
            found.update(_keys([pair.new]) - _keys([pair.old]))
        return found

    def _helper_keys(self) -> Counter[tuple[object, ...]]:
        now = (case for side in self.sides for case in side.new.others if self._serves(case))
        return _keys(now) - _keys(case for side in self.sides for case in side.old.others)

    def _serves(self, case: Case) -> bool:
        return case.name in self.used and case.dormant != SHADOWED

    @cached_property
    def used(self) -> frozenset[str]:
        """Names that stand in the tests of changed files."""
        return frozenset(name for side in self.sides for case in side.new.cases for name in case.words.names)

    @cached_property
    def growth(self) -> Growth:
        helpers = (pair for pair in self.helpers if pair.new.name in self.used)
        return Growth.of((*self.pairs, *helpers), (*self.fresh, *self._new_helpers()))

    def _new_helpers(self) -> Iterator[Case]:
        """Fixtures, tables and functions that tests name and that were not there."""
        for side in self.sides:
            before = {case.name for case in side.old.others}
            yield from (case for case in side.new.others if self._serves(case) and case.name not in before)

    @cached_property
    def _retold(self) -> dict[int, bool]:
        return {}

    def is_retold(self, case: Case) -> bool:
        """Whether most of the values of a test are new in others."""
        if id(case) not in self._retold:
            values = case.values
            self._retold[id(case)] = len(values & (self.growth.literals | self._set_up)) >= RETOLD * len(values)
        return self._retold[id(case)]

    @cached_property
    def _set_up(self) -> frozenset[str]:
        """Literals of all new lines of files with tests: what tests share may stand in a set-up that has no name."""
        return frozenset(literal for side in self.sides if side.new.cases for literal in _new_literals(side))

    @cached_property
    def _places(self) -> dict[str, list[str]]:
        """Paths of the test files that define a function or class, by its name."""
        found: dict[str, list[str]] = {}
        for path, text in self.texts.items():
            for name in _DEFINED.findall(text):
                found.setdefault(name, []).append(path)
        return found

    @cached_property
    def _readings(self) -> dict[str, Reading]:
        return {side.file.path: side.new for side in self.sides if side.whole}

    def defining(self, name: str) -> Iterator[tuple[str, Reading]]:
        """Whole files that define a name, by path, read once each and at most five of them."""
        for path in self._places.get(name, ())[:_MOST_DEFINING]:
            if path not in self._readings:
                self._readings[path] = reading_of(path, self.texts[path])
            yield path, self._readings[path]

    def helper(self, name: str) -> Case | None:
        """A function that tests may call, where its source is at hand."""
        return next((case for _, reading in self.defining(name) for case in reading.others if case.bare_name == name), None)


def _new_literals(side: Sides) -> Iterator[str]:
    language = language_of(side.file.path)
    text = side.file.after or ""
    lines = (text if language == "python" else masked(text, language).code).split("\n") if language else []
    added = (lines[line.number - 1] for line in side.file.added if line.number <= len(lines))
    return iter(words_of("\n".join(added)).literals)


def _keys(cases: Iterable[Case]) -> Counter[tuple[object, ...]]:
    """Said as it stands there, and with its variables replaced."""
    both = (item for case in cases for item in {*case.assertions, *inlined(case)})
    return Counter(item.key for item in both)


def compared(diff: TreeDiff, others: Mapping[str, str], commands: tuple[str, ...] = ()) -> Comparison:
    return _compared(diff, tuple(others.items()), commands)


@lru_cache(maxsize=1)  # five rules ask the same of one scene
def _compared(diff: TreeDiff, others: tuple[tuple[str, str], ...], commands: tuple[str, ...]) -> Comparison:
    sides = tuple(sides_of(diff, " ".join(commands)))
    stayed, old, new = _by_name(sides)
    stayed, covered = _without_hidden(stayed, sides)
    renamed, old, new = _by_likeness(old, new)
    pairs = [pair for pair in (*stayed, *renamed) if pair.old.fingerprint != pair.new.fingerprint]
    start = Comparison(
        sides, tuple(pairs), _helpers(sides), (*new, *(pair.new for pair in covered)), (), (), (), _texts(sides, others)
    )
    lost = [case for case in (*old, *(pair.old for pair in covered)) if not _is_held(case, start)]
    taken = tuple(taken_in(lost, sides, shared_in(sides, start.texts) if lost else ()))
    start = replace(start, pairs=(*start.pairs, *(pair for pair in taken if pair.old.fingerprint != pair.new.fingerprint)))
    run = {id(pair.old) for pair in taken}
    lost = [case for case in lost if id(case) not in run]
    aside = tuple(_aside(lost, start))
    put_aside = {id(item.old) for item in aside}
    rest = [case for case in lost if id(case) not in put_aside]
    commented = _commented_out(rest, sides)
    kept_out = {id(case) for case in commented}
    return replace(start, aside=aside, commented=commented, gone=tuple(case for case in rest if id(case) not in kept_out))


def _texts(sides: Iterable[Sides], others: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(others) | {side.file.path: side.file.after for side in sides if side.file.after is not None}


# matching -------------------------------------------------------------------------------------------------------------

Matched = tuple[list[Pair], list[Case], list[Case]]
"""Pairs, old cases without a counterpart, new cases without one."""


def _by_name(sides: Iterable[Sides]) -> Matched:
    pairs: list[Pair] = []
    old: list[Case] = []
    new: list[Case] = []
    for side in sides:
        waiting: dict[str, list[Case]] = {}
        for case in reversed(side.new.cases):
            waiting.setdefault(case.name, []).append(case)
        for case in side.old.cases:
            same = waiting.get(case.name)
            if same:
                pairs.append(Pair(case, same.pop()))
            else:
                old.append(case)
        new.extend(case for cases in waiting.values() for case in cases)
    return pairs, old, new


def _without_hidden(pairs: list[Pair], sides: Iterable[Sides]) -> tuple[list[Pair], list[Pair]]:
    """A test that stands there as it was, below a name that a later one took, is not the later one: true pairs, and false."""
    hidden = {(case.path, case.name, case.fingerprint) for side in sides for case in side.new.others if case.dormant == SHADOWED}
    if not hidden:
        return pairs, []
    false = [(pair.new.path, pair.old.name, pair.old.fingerprint) in hidden for pair in pairs]
    false = [taken and pair.old.fingerprint != pair.new.fingerprint for taken, pair in zip(false, pairs, strict=True)]
    split = list(zip(pairs, false, strict=True))
    return [pair for pair, is_false in split if not is_false], [pair for pair, is_false in split if is_false]


def _by_likeness(old: list[Case], new: list[Case]) -> Matched:
    """Each old test finds the new one that is most like it, if it is like it at all."""
    if not old or not new:
        return [], old, new
    index = Index([case.words for case in new])
    pairs: list[Pair] = []
    taken: set[int] = set()
    left: list[Case] = []
    for case in old:
        found = [(_likeness(case, new[n]), -n) for n in index.candidates(case.words) if n not in taken]
        likeness, position = max(found, default=(0.0, 0))
        if likeness < RENAMED:
            left.append(case)
            continue
        taken.add(-position)
        pairs.append(Pair(case, new[-position]))
    return pairs, left, [case for n, case in enumerate(new) if n not in taken]


_KEPT = 0.2
"""What a name that is kept, in another file or class or with more words to it, adds to the likeness of two tests."""


def _likeness(old: Case, new: Case) -> float:
    return alike(old.words, new.words) + (_KEPT if _is_name_kept(old.bare_name, new.bare_name) else 0.0)


def _is_name_kept(old: str, new: str) -> bool:
    ours, theirs = set(_NAME_WORD.findall(old)), set(_NAME_WORD.findall(new))
    fewer = min(len(ours), len(theirs))
    return old == new or (fewer >= _SENTENCE and len(ours & theirs) >= COPIED * fewer)


def _helpers(sides: Iterable[Sides]) -> tuple[Pair, ...]:
    def named(reading: Reading) -> dict[str, Case]:
        return {case.name: case for case in reading.others}

    found = ((named(side.old), {case.name: case for case in side.new.others}) for side in sides)
    both = (Pair(case, new[name]) for old, new in found for name, case in old.items() if name in new)
    return tuple(pair for pair in both if pair.old.fingerprint != pair.new.fingerprint)


# what went elsewhere --------------------------------------------------------------------------------------------------


def _is_held(case: Case, comparison: Comparison) -> bool:
    """Whether all that a test proved is proved by others now, or by a copy that stayed."""
    if case.assertions:
        both = list(zip(case.assertions, inlined(case), strict=True))
        held = [any(is_elsewhere(item, case, comparison) for item in {*versions}) for versions in both]
        strong = [STRENGTH[item.kind] > WEAK for item, _ in both]
        if any(held) and all(there for there, needed in zip(held, strong, strict=True) if needed):
            return True
    return any(alike(case.words, other.words) >= COPIED for other in _copies(case, comparison))


def is_elsewhere(assertion: Assertion, case: Case, comparison: Comparison) -> bool:
    """Whether another test has an assertion now that it had not, which says what this one said."""
    if assertion.kind is not Kind.ROW and assertion.words.telling and comparison.gained[assertion.key] > 0:
        return True
    return comparison.is_retold(case) and comparison.growth.holds(assertion)


def is_taken_over(assertion: Assertion, case: Case, comparison: Comparison) -> bool:
    """The same for a test that stayed: what names no value may have gone to a fixture, whatever the test is made of."""
    anywhere = not assertion.words.literals and comparison.growth.holds(assertion)
    return anywhere or is_elsewhere(assertion, case, comparison)


def _copies(case: Case, comparison: Comparison) -> Iterator[Case]:
    """Tests of the same name anywhere that may be copies."""
    for path, reading in comparison.defining(case.bare_name):
        if is_test_file(path, comparison.texts[path]):
            yield from (other for other in reading.cases if other.bare_name == case.bare_name)


def _aside(lost: list[Case], comparison: Comparison) -> Iterator[Aside]:
    if not lost:
        return
    sides, used = comparison.sides, comparison.used
    before = {(case.path, case.name, case.fingerprint) for side in sides for case in side.old.others}
    there = [case for side in sides for case in side.new.others if (case.path, case.name, case.fingerprint) not in before]
    idle = [case for case in there if case.dormant and (case.bare_name not in used or case.dormant == SHADOWED)]
    index = Index([case.words for case in idle])
    for case in lost:
        near = sorted((idle[n] for n in index.candidates(case.words)), key=lambda other: other.bare_name != case.bare_name)
        now = next((other for other in near if _is_put_aside(case, other)), None)
        if now is not None:
            yield Aside(case, now)


def _is_put_aside(old: Case, now: Case) -> bool:
    likeness = alike(old.words, now.words)
    core = old.bare_name.removeprefix("test").strip("_").lower()
    return (
        likeness >= COPIED
        or (likeness >= RENAMED and bool(core) and core in now.bare_name.lower())
        or old.bare_name == now.bare_name
    )


def _commented_out(lost: list[Case], sides: tuple[Sides, ...]) -> tuple[Case, ...]:
    """Those whose names stand in comments now and did not."""
    before = frozenset(_WORD.findall("\n".join(side.old.commented for side in sides))) if lost else frozenset[str]()
    now = {word for side in sides if lost for word in _WORD.findall(side.new.commented)} - before
    text = "\n".join(side.new.commented for side in sides) if any(" " in case.bare_name for case in lost) else ""
    return tuple(case for case in lost if case.bare_name in now or (" " in case.bare_name and case.bare_name in text))
