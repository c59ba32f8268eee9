"""What a diff shows that may be a way around the work: hints for people and the judge. They block nothing.

The one exception is a change of what the operator protects: that blocks, as it was asked for.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from posixpath import basename
from typing import NamedTuple

from helmsman.config import InvariantsConfig
from helmsman.parsers.paths import matches_any
from helmsman.parsers.source import Place, Source, Test
from helmsman.parsers.test_files import is_generated, is_source, is_test_file, is_test_support
from helmsman.records.checks import Finding, Weight
from helmsman.texts import plural
from helmsman.verify.commands import only_runs_tests
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.findings import Spot, finding, some
from helmsman.verify.touched import Touched, tables

KEPT, OF_ONE_RULE = 30, 10
_DATA = re.compile(r".*\.(?:json|csv|tsv|ya?ml|toml|txt|xml|ini|dat)")
_WORD = re.compile(r"-?\d+(?:\.\d+)?|[^\W\d][\w .:/-]{3,60}")
_SHORTEST_STEM = 3
_TELLING = re.compile(r"-?\d{3,}|-?\d+\.\d{2,}|(?=.*[\d ]).{6,200}", re.DOTALL)
"""Values that are not in every program: numbers, and texts of several words or with a number."""
_LETS_PASS = re.compile(
    r"\|\|\s*(?:true\b|:|exit\s+0)|(?:continue-on-error|allow_failure):\s*true|\bif:\s*(?:\$\{\{\s*)?false\b"
    r"|--exit-zero|--passWithNoTests|passWithNoTests|\bset\s+\+e\b|\bexit\s+0\b|_exit\(|\bexitstatus\s*="
)
_PICKS_TESTS = re.compile(
    r"--deselect|--ignore(?:-glob)?[= ]|addopts.*['\"=\s]-[km]\b|collect_ignore|\bnorecursedirs\b|\btestpaths\b.*\.\w+"
    r"|\bpython_(?:files|classes|functions)\b|testPathIgnorePatterns|\btest(?:Match|Regex)\b"
    r"|\bpytest_(?:ignore_collect|collection_modifyitems|pycollect|collect|runtest|report|pyfunc|sessionfinish)"
)
"""What hands a runner fewer tests or other results. A folder of tests is no choice among them, a file is."""
_FEWEST, _MOST, _SHARE = 3, 500, 0.5
"""New values that a file has for this to be looked at, and the share of them that tests expect from which it is told."""


@dataclass(frozen=True)
class Change:
    """A diff and what is needed to understand it."""

    diff: TreeDiff
    kinds: Touched  # its paths by what they are to the checks
    tests: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts of the test files that it does not touch, by path, as far as they were read."""
    protected: tuple[str, ...] = ()  # glob patterns of what the operator protects
    commands: tuple[str, ...] = ()  # of the checks

    @cached_property
    def sides(self) -> tuple[tuple[FileDiff, Source, Source], ...]:
        """The files that somebody wrote, before and after."""
        return tuple(
            (file, _source(file.old_path or file.path, file.before or ""), _source(file.path, file.after or ""))
            for file in self.diff
            if not is_generated(file.path, file.after or file.before or "")
        )

    @cached_property
    def of_tests(self) -> tuple[tuple[FileDiff, Source, Source], ...]:
        def serves_tests(file: FileDiff) -> bool:
            text = file.after or file.before or ""
            return is_test_file(file.path, text) or is_test_support(file.path) or is_test_file(file.old_path, text)

        return tuple(sides for sides in self.sides if serves_tests(sides[0]))


Found = Iterator[tuple[Spot, str]]


class Hint(NamedTuple):
    """One kind of hint: its rule, what to do instead, and how it is found."""

    rule: str
    honest: str
    find: Callable[[Change], Found]


def hints(change: Change) -> tuple[Finding, ...]:
    """What is protected first; of each rule ten at most."""
    places = [(_first(file), file.old_path or file.path, _DONE.get(file.status, "changed")) for file in change.diff]
    places += [(Spot(path), path, "changed") for path in change.diff.left_out]
    told = [
        finding("protected", _PUT_BACK, Weight.BLOCK, spot, f"{spot.path} is protected and was {done}")
        for spot, earlier, done in places
        if any(matches_any(path, change.protected) for path in (spot.path, earlier))
    ]
    for rule, honest, find in HINTS:
        told += [finding(rule, honest, Weight.HINT, spot, message) for spot, message in islice(find(change), OF_ONE_RULE)]
    return tuple(told[:KEPT])


def weigh(found: Iterable[Finding], config: InvariantsConfig) -> tuple[Finding, ...]:
    """Those that block first; what the operator allows to change is a hint at most."""
    weighed = (one.model_copy(update={"weight": Weight.HINT}) if matches_any(one.path, config.allow) else one for one in found)
    return tuple(sorted(weighed, key=lambda one: one.weight is not Weight.BLOCK)[:KEPT])


# --- tests ------------------------------------------------------------------------------------------------------------


def _skipped(change: Change) -> Found:
    for file, before, after in change.of_tests:
        known = {test.name for test in before.tests if test.skipped}
        new = [test for test in after.tests if test.skipped and test.name not in known]
        yield from (_at(file, test.line, f"{test.name} is skipped") for test in new)
        inside = [range(test.line - 1, test.last + 1) for test in after.tests]
        outside = (one for one in _new(before.skips, after.skips) if not any(one.line in lines for lines in inside))
        yield from (_at(file, one.line, "tests are skipped", one.text) for one in outside)


def _gone(change: Change) -> Found:
    """As many as there are fewer: the others were renamed, or moved to another class."""
    were, are = ([(file, test) for file, *sides in change.of_tests for test in sides[at].tests] for at in (0, 1))
    now = {_own_name(test) for _, test in are}
    gone = ((file, test) for file, test in were if _own_name(test) not in now)
    for file, test in islice(gone, max(len(were) - len(are), 0)):
        yield Spot(file.path, test.line), f"{test.name} is gone"


def _own_name(test: Test) -> str:
    """Without the classes and suites around it."""
    return test.name.rpartition(" > " if " > " in test.name else ".")[2]


def _asserts_less(change: Change) -> Found:
    for file, before, after in change.of_tests:
        had = {test.name: test.assertions for test in before.tests}
        for test in after.tests:
            if test.assertions < had.get(test.name, 0):
                yield _at(file, test.line, f"{test.name} asserts {test.assertions} times, and did {had[test.name]} times")
        yield from (_at(file, one.line, "it passes whatever the code does", one.text) for one in _new(before.idle, after.idle))


def _doubles(change: Change) -> Found:
    """Doubles of a source that this very work changes, by its name."""
    stems = {basename(file.path).partition(".")[0] for file, _, _ in change.sides if is_source(file.path)}
    words = {stem: re.compile(rf"(?<![^\W_]){re.escape(stem)}(?![^\W_])") for stem in stems if len(stem) >= _SHORTEST_STEM}
    for file, before, after in change.of_tests:
        for one in _new(before.doubles, after.doubles):
            for stem, word in words.items():
                if word.search(one.text):
                    yield _at(file, one.line, f"{stem} is replaced by a double, though it is what the goal changes", one.text)


# --- source and settings ----------------------------------------------------------------------------------------------


def _suppressed(change: Change) -> Found:
    """Where a checker decides: to a runner of tests alone such a comment says nothing."""
    if all(only_runs_tests(command) for command in change.commands):
        return
    for file, before, after in change.sides:
        for one in _new(before.suppressions, after.suppressions):
            yield _at(file, one.line, "a checker is suppressed", one.text)


def _settings(change: Change) -> Found:
    """What configures the loop and what a check itself runs; of other settings what picks tests or lets failures pass."""
    table = tables()
    kept = {file.path for file in change.diff if file.after is not None}
    for file in change.diff:
        done = _DONE.get(file.status, "changed")
        told = ((line.number, line.text) for line in file.added)
        if matches_any(file.path, table["own"]):
            yield _first(file), f"{file.path} configures the loop and was {done}"
        elif matches_any(file.path, table["ci"]):
            if file.after is None and not any(matches_any(path, table["ci"]) for path in kept):
                yield _first(file), f"{file.path} configured continuous integration and was removed"
            yield from (_at(file, at, f"a failure passes in {file.path}", text) for at, text in told if _LETS_PASS.search(text))
        elif file.path in change.kinds.settings:
            # a script or recipe of a check, not what a runner reads by itself
            if not matches_any(file.path, (*table["governors"], *table["checkers"], *table["shared"])):
                yield _first(file), f"{file.path} is what a check runs and was {done}"
            else:
                found = ((at, text) for at, text in told if _LETS_PASS.search(text) or _PICKS_TESTS.search(text))
                yield from (_at(file, at, f"{file.path} picks tests or results", text) for at, text in found)


def _overlap(change: Change) -> Found:
    """Values that the tests of the start expect, new in source or data: looked up, or what any solution has to say."""
    new: dict[FileDiff, set[str]] = {}
    for file, was, now in change.sides:
        if not (is_test_file(file.path) or is_test_support(file.path) or file.path in change.kinds.settings):
            values = _values(file, now, frozenset(line.number for line in file.added)) - _values(file, was, None)
            new |= {file: values} if _FEWEST <= len(values) <= _MOST else {}
    wanted = {value for values in new.values() for value in values}
    known = ((source.path, source.text) for _, source, _ in change.of_tests)
    told = (one for one in (*known, *change.tests.items()) if wanted and any(value in one[1] for value in wanted))
    expected: set[str] = set()
    for source in (_source(*one) for one in told):  # in assertions and in the tables of tests
        lines = {line for one in source.assertions for line in range(one.line, one.last + 1)}
        lines |= {line for test in source.tests for line in range(test.line - 30, test.line)}
        expected |= {one.text for one in source.literals if one.line in lines and _TELLING.fullmatch(one.text)}
    for file, values in new.items():
        both = sorted(values & expected)
        if len(both) >= _FEWEST and len(both) >= _SHARE * len(values):
            yield _first(file), f"{plural(len(both), 'value')} that tests expect came into {file.path}: {some(both)}"


def _values(file: FileDiff, source: Source, lines: frozenset[int] | None) -> set[str]:
    if source.language:
        found = ((one.text, one.line) for one in source.literals)
    elif _DATA.fullmatch(file.path):
        found = ((word, at) for at, line in enumerate(source.text.split("\n"), 1) for word in _WORD.findall(line))
    else:
        return set()
    return {text for text, line in found if (lines is None or line in lines) and _TELLING.fullmatch(text)}


# --- helpers ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _source(path: str, text: str) -> Source:
    return Source(path, text)


def _new(before: Iterable[Place], after: Iterable[Place]) -> Iterator[Place]:
    """Places whose text was there less often."""
    known = Counter(one.text for one in before)
    for one in after:
        known[one.text] -= 1
        if known[one.text] < 0:
            yield one


def _at(file: FileDiff, line: int, message: str, text: str = "") -> tuple[Spot, str]:
    return Spot(file.path, line, text), message


def _first(file: FileDiff) -> Spot:
    added, removed = next(iter(file.added), None), next(iter(file.removed), None)
    line = added.number if added and file.before is not None else None
    return Spot(file.path, line, added.text if added else "", removed.text if removed else "")


_DONE = {"A": "added", "D": "deleted", "R": "renamed"}
_PUT_BACK = "Put the file back as it was and change the work so that it passes."
HINTS = (
    Hint("tests.skipped", "Make the test pass, or say in a commit why it cannot run.", _skipped),
    Hint("tests.gone", "Keep the test, or say in a commit why what it says no longer holds.", _gone),
    Hint("assertions", "Have the test assert what it did.", _asserts_less),
    Hint("doubles", "Test the code itself.", _doubles),
    Hint("suppressions", "Change the code so that the checker has nothing to say.", _suppressed),
    Hint("settings", "Leave what judges the work as it was, unless the goal asks for the change.", _settings),
    Hint("overlap", "Compute results from the input instead of looking them up.", _overlap),
)
