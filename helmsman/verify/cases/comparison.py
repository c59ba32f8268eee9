"""Old tests and what became of them: the same, renamed, moved, merged, split, parametrised, put aside, gone."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from helmsman.verify.cases.model import STRENGTH, Assertion, Case, Kind, Reading
from helmsman.verify.cases.paths import is_source, is_test_file, is_test_support, language_of
from helmsman.verify.cases.reading import code_of, reading_of
from helmsman.verify.cases.search import Index
from helmsman.verify.cases.trim import trimmed
from helmsman.verify.cases.words import Words, alike
from helmsman.verify.diff import FileDiff, TreeDiff

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
_MOST_DEFINING = 5
"""Files that are read to find a function; a name that more files define tells little."""


@dataclass(frozen=True)
class Sides:
    """A changed file that has to do with tests."""

    file: FileDiff
    old: Reading
    new: Reading
    whole: bool
    """Whether all of it was read, not only the parts that differ."""


@dataclass(frozen=True)
class Pair:
    """A test as it was and as it is."""

    old: Case
    new: Case


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
        """Assertions that are in changed files now and were not, by key."""
        return _keys(side.new for side in self.sides) - _keys(side.old for side in self.sides)

    @cached_property
    def growth(self) -> "Growth":
        return Growth.of(self.pairs, self.fresh)

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


def _keys(readings: Iterable[Reading]) -> Counter[tuple[object, ...]]:
    """Assertions of tests, and of the functions that they name."""
    found = list(readings)
    tests = [case for reading in found for case in reading.cases]
    used = frozenset(name for case in tests for name in case.words.names)
    helpers = [case for reading in found for case in reading.others if case.name in used]
    return Counter(item.key for case in (*tests, *helpers) for item in case.assertions)


def compared(diff: TreeDiff, others: Mapping[str, str], commands: tuple[str, ...] = ()) -> Comparison:
    return _compared(diff, tuple(others.items()), commands)


@lru_cache(maxsize=1)  # five rules ask the same of one scene
def _compared(diff: TreeDiff, others: tuple[tuple[str, str], ...], commands: tuple[str, ...]) -> Comparison:
    sides = tuple(_sides(diff, " ".join(commands)))
    stayed, old, new = _by_name(sides)
    renamed, old, new = _by_likeness(old, new)
    pairs = [pair for pair in (*stayed, *renamed) if pair.old.fingerprint != pair.new.fingerprint]
    start = Comparison(sides, tuple(pairs), _helpers(sides), tuple(new), (), (), (), _texts(sides, others))
    lost = [case for case in old if not _is_held(case, start)]
    aside = tuple(_aside(lost, sides))
    put_aside = {id(item.old) for item in aside}
    rest = [case for case in lost if id(case) not in put_aside]
    commented = _commented_out(rest, sides)
    kept_out = {id(case) for case in commented}
    return replace(start, aside=aside, commented=commented, gone=tuple(case for case in rest if id(case) not in kept_out))


def _texts(sides: Iterable[Sides], others: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(others) | {side.file.path: side.file.after for side in sides if side.file.after is not None}


# reading --------------------------------------------------------------------------------------------------------------


def _sides(diff: TreeDiff, commands: str) -> Iterator[Sides]:
    for file in diff:
        old_path = file.old_path or file.path
        if not any(_concerns_tests(path, text) for path, text in ((old_path, file.before), (file.path, file.after))):
            continue
        if file.after is None and file.status != "D":
            continue  # it was not read, so nothing is known about it
        language = file.path if language_of(file.path) else old_path
        before, after = _changed_parts(file, language)
        old = _collected(old_path, old_path, before, commands)
        yield Sides(file, old, _collected(file.path, language, after, commands), whole=after == file.after)


def _changed_parts(file: FileDiff, path: str) -> tuple[str | None, str | None]:
    if file.before is None or file.after is None or language_of(path) != "python":
        return file.before, file.after
    return trimmed(file.before, file.after)


def _concerns_tests(path: str, text: str | None) -> bool:
    return bool(language_of(path)) and (is_test_file(path, text or "") or is_test_support(path))


def _collected(path: str, as_if: str, text: str | None, commands: str) -> Reading:
    """A file that runners pass over holds no tests, unless a check names it."""
    if text is None:
        return Reading()
    reading = reading_of(as_if, text)
    cases = tuple(replace(case, path=path) for case in reading.cases) if as_if != path else reading.cases
    if is_test_file(path, text) or path in commands:
        return replace(reading, cases=cases)
    why = f"{path} is no file in which tests are looked for"
    return replace(reading, cases=(), others=(*reading.others, *(replace(case, dormant=why) for case in cases)))


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


def _likeness(old: Case, new: Case) -> float:
    """A name that is kept, in another file or class, says as much as a third of the body."""
    kept = 0.2 if old.bare_name == new.bare_name else 0.0
    return alike(old.words, new.words) + kept


def _helpers(sides: Iterable[Sides]) -> tuple[Pair, ...]:
    def named(reading: Reading) -> dict[str, Case]:
        return {case.name: case for case in reading.others if case.assertions}

    found = ((named(side.old), {case.name: case for case in side.new.others}) for side in sides)
    both = (Pair(case, new[name]) for old, new in found for name, case in old.items() if name in new)
    return tuple(pair for pair in both if pair.old.fingerprint != pair.new.fingerprint)


# what went elsewhere --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Growth:
    """The words that tests have now and had not."""

    cases: tuple[Case, ...]
    words: tuple[Words, ...]
    """Of each case what is new in it."""
    index: Index
    literals: frozenset[str]

    @classmethod
    def of(cls, pairs: Iterable[Pair], fresh: Iterable[Case]) -> "Growth":
        grown = [(pair.new, _more(pair)) for pair in pairs] + [(case, case.words) for case in fresh]
        words = tuple(words for _, words in grown)
        literals = frozenset(literal for item in words for literal in item.literals)
        return cls(tuple(case for case, _ in grown), words, Index(words), literals)

    def holds(self, assertion: Assertion) -> bool:
        """Whether some test has its literals anew, and most of its names."""
        wanted = assertion.words
        return bool(wanted.telling) and any(self._holds(n, wanted) for n in self.index.candidates(wanted))

    def _holds(self, position: int, wanted: Words) -> bool:
        gain, names = self.words[position], self.cases[position].words.names
        if not wanted.literals:
            return wanted.names <= gain.names
        return wanted.literals.keys() <= gain.literals.keys() and 2 * len(wanted.names & names) >= len(wanted.names)


def _more(pair: Pair) -> Words:
    old, new = pair.old.words, pair.new.words
    return Words(new.names - old.names, new.literals - old.literals)


def _is_held(case: Case, comparison: Comparison) -> bool:
    """Whether all that a test proved is proved by others now, or by a copy that stayed."""
    if case.assertions:
        lost = [item for item in case.assertions if not is_elsewhere(item, case, comparison)]
        kept = [item for item in case.assertions if item not in lost]
        if kept and all(STRENGTH[item.kind] <= WEAK for item in lost):
            return True
    return any(alike(case.words, other.words) >= COPIED for other in _copies(case, comparison))


def is_elsewhere(assertion: Assertion, case: Case, comparison: Comparison) -> bool:
    """Whether another test has an assertion now that it had not, which says what this one said."""
    if assertion.kind is not Kind.ROW and assertion.words.telling and comparison.gained[assertion.key] > 0:
        return True
    literals = case.words.literals.keys()
    retold = not literals or len(literals & comparison.growth.literals) >= RETOLD * len(literals)
    return retold and comparison.growth.holds(assertion)


def _copies(case: Case, comparison: Comparison) -> Iterator[Case]:
    """Tests of the same name anywhere that may be copies."""
    for path, reading in comparison.defining(case.bare_name):
        if is_test_file(path, comparison.texts[path]):
            yield from (other for other in reading.cases if other.bare_name == case.bare_name)


def _aside(lost: list[Case], sides: tuple[Sides, ...]) -> Iterator[Aside]:
    if not lost:
        return
    used = frozenset(name for side in sides for case in side.new.cases for name in case.words.names)
    before = {(case.path, case.name, case.fingerprint) for side in sides for case in side.old.others}
    there = [case for side in sides for case in side.new.others if (case.path, case.name, case.fingerprint) not in before]
    idle = [case for case in there if case.bare_name not in used]
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


# the rest of the diff -------------------------------------------------------------------------------------------------


def source_changed(diff: TreeDiff) -> bool:
    """Whether program text that is no test changed in more than comments and white space."""
    return any(
        code_of(file.path, file.before or "") != code_of(file.path, file.after or "")
        for file in diff
        if is_source(file.path) or is_source(file.old_path)
    )
