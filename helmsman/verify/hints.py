"""Hints for people and the judge at parts of a diff that may bypass the work. They block nothing.

The one exception is a change to what the operator protects, which blocks.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from itertools import islice
from posixpath import basename
from typing import NamedTuple

from helmsman.config import InvariantsConfig
from helmsman.parsers.expectations import may_be_expected
from helmsman.parsers.literals import text_of
from helmsman.parsers.paths import matches_any
from helmsman.parsers.source import Place, Source, is_generated, is_source, is_test_file, is_test_support, language_of
from helmsman.plain import shorten
from helmsman.records.checks import Finding, Weight
from helmsman.texts import plural
from helmsman.verify.commands import only_runs_tests, scripts_run_by
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.findings import Spot, finding, join_some
from helmsman.verify.overlap import values_in_data
from helmsman.verify.touched import ChangedPaths, file_roles

KEPT, OF_ONE_RULE = 30, 10
_DATA = re.compile(r".*\.(?:json|csv|tsv|ya?ml|toml|txt|xml|ini|dat)")
_WORD = re.compile(r"-?\d+(?:\.\d+)?|[^\W\d][\w .:/-]{3,60}")
_SHORTEST_STEM = 3
_DISTINCTIVE = re.compile(r"-?\d{3,}|-?\d+\.\d{2,}|(?=.*[\d ]).{6,200}", re.DOTALL)
"""Distinctive values: long numbers, and texts of several words or with a number."""
_SMALL = re.compile(r"-?\d(?:\.0+)?|.?", re.DOTALL)  # values that any source may have
_HIDES_FAILURE = re.compile(
    r"\|\|\s*(?:true\b|:|exit\s+0)|(?:continue-on-error|allow_failure):\s*true|\bif:\s*(?:\$\{\{\s*)?false\b"
    r"|--exit-zero|--passWithNoTests|passWithNoTests|\bset\s+\+e\b|\bexit\s+0\b|_exit\(|\bexitstatus\s*="
)
_SELECTS_TESTS = re.compile(
    r"--deselect|--ignore(?:-glob)?[= ]|addopts.*['\"=\s]-[km]\b|collect_ignore|\bnorecursedirs\b|\btestpaths\b.*\.\w+"
    r"|\bpython_(?:files|classes|functions)\b|testPathIgnorePatterns|\btest(?:Match|Regex)\b"
    r"|\bpytest_(?:ignore_collect|collection_modifyitems|pycollect|collect|runtest|report|pyfunc|sessionfinish)"
)
"""Settings that give a runner fewer tests or other results. A test folder is not a selection, a file is."""
_FEWEST, _MOST, _SHARE = 2, 500, 0.75
"""Fewest and most new values in a file, and the share that tests must name: three for each other value, as in `overlap`. A table
of units or numerals, or the routes of a service, has more others. Half was reached by none of 1,105 public commits.
"""
SHORTEST_NAME = 7  # minimum characters of a file's name: `test.py` is too common
SHOWN = 60  # characters of a line
_TEST_FUNCTION = re.compile(r"\bdef (test_\w+)")


@dataclass(frozen=True)
class Change:
    """A diff and the context needed to interpret it."""

    diff: TreeDiff
    kinds: ChangedPaths  # its paths by their role in the checks
    tests: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts of unchanged test files by path, as far as read."""
    protected: tuple[str, ...] = ()  # glob patterns of what the operator protects
    commands: tuple[str, ...] = ()  # of the checks

    @cached_property
    def sides(self) -> tuple[tuple[FileDiff, Source, Source], ...]:
        """Hand-written files, before and after."""
        return tuple(
            (file, _parse_source(file.old_path or file.path, file.before or ""), _parse_source(file.path, file.after or ""))
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
    """One kind of hint: its rule, what to do instead, and the function that finds it."""

    rule: str
    honest: str
    find: Callable[[Change], Found]


def hints(change: Change) -> tuple[Finding, ...]:
    """Return protected changes first, then at most ten findings of each rule."""
    places = [(_first_change(file), file.old_path or file.path, _STATUS.get(file.status, "changed")) for file in change.diff]
    places += [(Spot(path), path, "changed") for path in change.diff.left_out]
    found = [
        finding("protected", _RESTORE, Weight.BLOCK, spot, f"{spot.path} is protected and was {done}")
        for spot, earlier, done in places
        if any(matches_any(path, change.protected) for path in (spot.path, earlier))
    ]
    for rule, honest, find in HINTS:
        found += [finding(rule, honest, Weight.HINT, spot, message) for spot, message in islice(find(change), OF_ONE_RULE)]
    return tuple(found[:KEPT])


def weigh(findings: Iterable[Finding], config: InvariantsConfig) -> tuple[Finding, ...]:
    """Sort blocking findings first; findings in files that the operator allows to change become hints."""
    weighed = (hit.model_copy(update={"weight": Weight.HINT}) if matches_any(hit.path, config.allow) else hit for hit in findings)
    return tuple(sorted(weighed, key=lambda hit: hit.weight is not Weight.BLOCK)[:KEPT])


# --- tests ------------------------------------------------------------------------------------------------------------


def _find_skipped(change: Change) -> Found:
    for file, before, after in change.of_tests:
        skipped_before = {test.name for test in before.tests if test.skipped}
        new = [test for test in after.tests if test.skipped and test.name not in skipped_before]
        yield from (_hint(file, test.line, f"{test.name} is skipped") for test in new)
        inside = [range(test.line - 1, test.last + 1) for test in after.tests]
        outside = (place for place in _new_places(before.skips, after.skips) if not any(place.line in lines for lines in inside))
        yield from (_hint(file, place.line, "tests are skipped", place.text) for place in outside)


def _find_gone(change: Change) -> Found:
    """Yield at most as many as the number of tests dropped by: others were renamed or moved to another class."""
    were, are = ([(file, test) for file, *sides in change.of_tests for test in sides[at].tests] for at in (0, 1))
    now = {test.bare_name for _, test in are}
    gone = ((file, test) for file, test in were if test.bare_name not in now)
    for file, test in islice(gone, max(len(were) - len(are), 0)):
        yield Spot(file.path, test.line), f"{test.name} was removed"


def _find_fewer_assertions(change: Change) -> Found:
    for file, before, after in change.of_tests:
        earlier = {test.name: test.assertions for test in before.tests}
        for test in after.tests:
            if test.assertions < earlier.get(test.name, 0):
                yield _hint(
                    file, test.line, f"{test.name} has {plural(test.assertions, 'assertion')}; it had {earlier[test.name]}"
                )
        yield from (
            _hint(file, place.line, "this assertion passes whatever the code does", place.text)
            for place in _new_places(before.places("idle"), after.places("idle"))
        )


def _find_doubles(change: Change) -> Found:
    """Yield doubles of a source that this work changes, by its name."""
    stems = {basename(file.path).partition(".")[0] for file, _, _ in change.sides if is_source(file.path)}
    patterns = {stem: re.compile(rf"(?<![^\W_]){re.escape(stem)}(?![^\W_])") for stem in stems if len(stem) >= _SHORTEST_STEM}
    for file, before, after in change.of_tests:
        for place in _new_places(before.doubles, after.doubles):
            for stem, pattern in patterns.items():
                if pattern.search(place.text):
                    message = f"{stem} is replaced by a test double, although the work changes it"
                    yield _hint(file, place.line, message, place.text)


# --- source and settings ----------------------------------------------------------------------------------------------


def _find_suppressions(change: Change) -> Found:
    """Yield new suppressions, if a command runs more than tests: such comments mean nothing to a test runner."""
    if all(only_runs_tests(command) for command in change.commands):
        return
    for file, before, after in change.sides:
        for place in _new_places(before.suppressions, after.suppressions):
            yield _hint(file, place.line, "a checker's warning is suppressed", place.text)


def _find_settings(change: Change) -> Found:
    """Yield changes to the loop's configuration and files that checks run; of other settings, those that select tests or hide
    failures.
    """
    table = file_roles()
    remaining = {file.path for file in change.diff if file.after is not None}
    for file in change.diff:
        done = _STATUS.get(file.status, "changed")
        added = ((line.number, line.text) for line in file.added)
        if matches_any(file.path, table["own"]):
            yield _first_change(file), f"{file.path} configures the loop and was {done}"
        elif matches_any(file.path, table["ci"]):
            if file.after is None and not any(matches_any(path, table["ci"]) for path in remaining):
                yield _first_change(file), f"{file.path} configured continuous integration and was removed"
            yield from (_hint(file, at, f"{file.path} hides failures", text) for at, text in added if _HIDES_FAILURE.search(text))
        elif file.path in change.kinds.settings:
            # a script or recipe of a check, not what a runner reads by itself
            if not matches_any(file.path, (*table["governors"], *table["checkers"], *table["shared"])):
                yield _first_change(file), f"{file.path} is run by a check and was {done}"
            else:
                matching = ((at, text) for at, text in added if _HIDES_FAILURE.search(text) or _SELECTS_TESTS.search(text))
                yield from (_hint(file, at, f"{file.path} selects tests or hides failures", text) for at, text in matching)


def values_of_tests(change: Change) -> Iterator[str]:
    """Yield a clause on each source or data file whose new values are mostly those of tests: it looks its answers up."""
    new: dict[str, set[str]] = {}
    for file, was, now in change.sides:
        if not (is_test_file(file.path) or is_test_support(file.path) or file.path in change.kinds.judging):
            added = frozenset(line.number for line in file.added) - _inline_lines(now)
            values = _values_in(file, now, added) - _values_in(file, was, None)
            new |= {file.path: values} if _FEWEST <= len(values) <= _MOST else {}
    new_values = {value for values in new.values() for value in values}
    changed_tests = ((source.path, source.text) for _, source, _ in change.of_tests)
    relevant = (
        file for file in (*changed_tests, *change.tests.items()) if new_values and any(value in file[1] for value in new_values)
    )
    named: set[str] = set()
    for source in (_parse_source(*file) for file in relevant):
        named |= _expected_in(source)
    for _, _, source in change.sides:
        inline = _inline_lines(source)
        named |= {place.text for place in source.places("literal") if place.line in inline}
    for path, values in new.items():
        both = sorted(values & named)
        if len(both) >= max(_FEWEST, _SHARE * len(values)) and any(map(_DISTINCTIVE.fullmatch, both)):
            yield f"{path} contains {plural(len(both), 'value')} of tests and few others: {join_some(both)}"


def _expected_in(source: Source) -> set[str]:
    """Return the values in assertions and in the tables of tests, or in a program without both."""
    lines = {line for place in source.places("assertion") for line in range(place.line, place.last + 1)}
    lines |= {line for test in source.tests for line in range(test.line - 30, test.line)}
    if lines or is_test_support(source.path):
        return {place.text for place in source.places("literal") if place.line in lines}
    return {text_of(node) for node in source.nodes("literal") if may_be_expected(node, source.text)}


def _values_in(file: FileDiff, source: Source, lines: frozenset[int] | None) -> set[str]:
    if source.language:
        inline = _inline_lines(source)
        values = ((one.text, one.line) for one in source.places("literal") if one.line not in inline)
    elif file.path.endswith(".json"):
        return {text for text in map(str, values_in_data(file.path, source.text)) if not _SMALL.fullmatch(text)}
    elif _DATA.fullmatch(file.path):
        values = ((word, at) for at, line in enumerate(source.text.split("\n"), 1) for word in _WORD.findall(line))
    else:
        return set()
    return {text for text, line in values if (lines is None or line in lines) and not _SMALL.fullmatch(text)}


def _inline_lines(source: Source) -> frozenset[int]:
    """Return the lines of modules for tests only."""
    data = source.text.encode(errors="replace") if source.inline_tests else b""
    spans = ((data.count(b"\n", 0, start) + 1, data.count(b"\n", 0, end) + 1) for start, end in source.inline_tests)
    return frozenset(line for first, last in spans for line in range(first, last + 1))


# --- helpers ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _parse_source(path: str, text: str) -> Source:
    return Source(path, text)


def _new_places(before: Iterable[Place], after: Iterable[Place]) -> Iterator[Place]:
    """Yield places whose text occurred less often before."""
    counts = Counter(place.text for place in before)
    for place in after:
        counts[place.text] -= 1
        if counts[place.text] < 0:
            yield place


def _hint(file: FileDiff, line: int, message: str, text: str = "") -> tuple[Spot, str]:
    return Spot(file.path, line, text), message


def _first_change(file: FileDiff) -> Spot:
    added, removed = next(iter(file.added), None), next(iter(file.removed), None)
    line = added.number if added and file.before is not None else None
    return Spot(file.path, line, added.text if added else "", removed.text if removed else "")


_STATUS = {"A": "added", "D": "deleted", "R": "renamed"}
_RESTORE = "Restore the file and make the work pass without changing it."
HINTS = (
    Hint("tests.skipped", "Make the test pass, or explain in a commit message why it cannot run.", _find_skipped),
    Hint("tests.gone", "Keep the test, or explain in a commit message why it no longer applies.", _find_gone),
    Hint("assertions", "Restore the test's assertions.", _find_fewer_assertions),
    Hint("doubles", "Test the real code.", _find_doubles),
    Hint("suppressions", "Fix the code so that the checker passes.", _find_suppressions),
    Hint("settings", "Leave tests, checks and their settings unchanged, unless the goal asks for the change.", _find_settings),
)


def lines_on_tests(change: Change) -> Iterator[str]:
    """Yield a clause on the first line of each changed source that looks at tests: that finds out about, reads or imports them.

    None of 1,105 commits of eight public Python projects has such a line.
    """
    rules = {what: re.compile(pattern) for what, pattern in file_roles()["looks_at_tests"].items()}
    texts = (*change.tests.values(), *(file.before or "" for file in change.diff if is_test_file(file.path)))
    if functions := {name for text in texts for name in _TEST_FUNCTION.findall(text)}:
        rules["names a test"] = re.compile(f"['\"](?:{'|'.join(sorted(functions))})['\"]")
    programs = {basename(path) for command in change.commands for path in scripts_run_by(command)}
    tests = {basename(path) for path in (*change.tests, *(file.path for file in change.diff)) if is_test_file(path)}
    for file in change.diff:
        if is_source(file.path) and file.path not in change.kinds.judging:
            names = programs if language_of(file.path) == "shell" else programs | tests  # a script may list tests to run
            reads = "|".join(re.escape(name) for name in names if len(name) >= SHORTEST_NAME and name != basename(file.path))
            found = {**rules, "names a file of the tests": re.compile(rf"(?<![\w.-])(?:{reads})\b")} if reads else rules
            yield from _first_match(file, found)


def _first_match(file: FileDiff, rules: dict[str, re.Pattern[str]]) -> Iterator[str]:
    removed = {line.text.strip() for line in file.removed}
    for line in file.added:
        text = line.text.strip()
        plain = text.replace("\\.", ".")  # in a pattern
        if language_of(file.path) == "shell":  # to run the tests is not to read them
            plain = reduce(lambda line, path: line.replace(path, ""), scripts_run_by(plain), plain)
        what = next((what for what, rule in rules.items() if rule.search(plain)), "") if text not in removed else ""
        if what:
            yield f"{file.path} {what}: {shorten(text, SHOWN)}"
            return
