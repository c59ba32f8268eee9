"""The tests that turned green run once more with other values: those that stay green prove nothing.

Whatever the cause: a module that shadows the test framework, a runner's setting, a patched assertion, an object that equals
everything, or a source that reads its answers from the tests.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from helmsman.parsers.expectations import QUOTES, Change, Edit, Expectations, alter_literal, apply_edits, may_be_expected, step_at
from helmsman.parsers.source import Source, Test, language_of
from helmsman.plain import clean
from helmsman.records.checks import CheckResult
from helmsman.records.verification import Case
from helmsman.verify.findings import join_some
from helmsman.verify.new_tests import is_name_of_file, names_in_file
from helmsman.verify.outcomes import run_cases

MOST_ALTERED = 20  # maximum number of test files to alter; one is enough to make a check fail
_MODULE = re.compile(rb"[./@]|node:|__main__$")  # prefix of a module path in JavaScript, or the name of a program in Python
_CONDITION = re.compile(r"\bskip_?(?:if|unless)\b|\bimportorskip\b", re.IGNORECASE)
_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_PLACEHOLDER = re.compile(r"%[a-zA-Z#]|\$\{[^}]*\}|\$[\w.]+")  # in titles of JavaScript tests, one for each value of a row


class AlteredFile(NamedTuple):
    """A test file with other expected values."""

    text: str
    rows: Mapping[str, int | None]
    """By the own name of each altered test, and the file's path: number of rows that must fail, None for all."""


class Seen(NamedTuple):
    """What the run with other values shows."""

    cannot_fail: tuple[str, ...] = ()  # tests, or checks that name none, that still pass
    unseen: tuple[str, ...] = ()  # tests in which nothing could be altered, or that did not run

    def plus(self, other: "Seen") -> "Seen":
        return Seen((*self.cannot_fail, *other.cannot_fail), (*self.unseen, *other.unseen))


# --- what to alter ------------------------------------------------------------------------------------------------------


def alter_expectations(source: Source, cases: Collection[str] | None) -> AlteredFile | None:
    """Return the file with other expected values in the tests of these cases (`None`: in all); None if there are none."""
    expectations, edits, rows = Expectations(source), list[Edit](), dict[str, int | None]()
    for test in _tests_of(source, cases):
        change = expectations.change_of(test)
        name = test.bare_name
        if change is None:
            rows[name] = 0  # of two tests with one name, the report does not say which one is meant
        else:
            edits += change.edits
            rows[name] = change.rows if name not in rows else _fewer(rows[name], change)
    if not edits:
        return None
    known = {name: number for name, number in rows.items() if number != 0}
    # if a condition may skip each test, the file stays green without any of them
    whole = 0 if len(_CONDITION.findall(source.text)) >= len(source.tests) else None
    return AlteredFile(apply_edits(source.text, edits), {source.path: whole, **known})


def _fewer(rows: int | None, change: Change) -> int | None:
    return change.rows if rows is None else rows if change.rows is None else min(rows, change.rows)


def alter_values(source: Source) -> str | None:
    """Return the text with other numbers and strings in all tests; None if there are fewer than two.

    For checks that name no test, and tests without a known expectation. A single value, such as a time limit, may not matter.
    Of a program without tests, only values that may be expected change: without its paths it would find no cases, and pass.
    """
    inside = frozenset(_lines_of_tests(source))
    data, edits = source.text.encode(errors="replace"), list[Edit]()
    for node in source.nodes("literal"):
        old, quoted = data[node.start_byte : node.end_byte], data[node.start_byte - 1 : node.start_byte] in QUOTES
        new = b"" if _MODULE.match(old) else alter_literal(old, step_at(len(edits)), quoted=quoted)
        decides = node.start_point.row + 1 in inside and (source.tests or may_be_expected(node, source.text))
        if decides and new:
            edits.append(Edit(node.start_byte, node.end_byte, new))
    return apply_edits(source.text, edits) if len(edits) > 1 else None


def _tests_of(source: Source, cases: Collection[str] | None) -> Iterator[Test]:
    for test in _tests_in(source):
        name = test.bare_name
        if cases is None or any(_is_case_of(name, case) or is_name_of_file(case, source.path) for case in cases):
            yield test


def _tests_in(source: Source) -> tuple[Test, ...]:
    """Return the tests that runners collect from a file, or else all of it: a program that a check runs."""
    return source.tests or (Test(source.path, 1, source.text.count("\n") + 1),)


def _is_case_of(name: str, case: str) -> bool:
    """Whether a case is one of a test's, which its own name tells."""
    if not _PLACEHOLDER.search(name):
        return name in names_in_file([case]) or case.endswith((f"::{name}", f" > {name}"))
    pattern = ".*".join(map(re.escape, _PLACEHOLDER.split(name)))
    return re.search(rf"(?:^|::| > |\s){pattern}$", case, re.DOTALL) is not None


def _lines_of_tests(source: Source) -> Iterator[int]:
    """Yield the lines of each test and of the code before it, such as its table of cases."""
    end = 0
    for test in _tests_in(source):
        yield from range(end + 1, test.last + 1)
        end = max(end, test.last)


# --- what the run shows -------------------------------------------------------------------------------------------------


def find_moved(cases: Iterable[str], sources: Sequence[Source], removed: Collection[str]) -> frozenset[str]:
    """Return the cases whose file was removed, or whose test is no longer in it, as far as their names tell the file."""

    def has_moved(case: str) -> bool:
        files = [source for source in sources if _is_in(case, source.path)]
        has_test = any(_is_in(case, source.path, test) for source in files for test in source.tests)
        return any(_is_in(case, path) for path in removed) or (bool(files) and not has_test)

    return frozenset(filter(has_moved, cases))


def _is_in(case: str, path: str, test: Test | None = None) -> bool:
    """Whether a case is named by the path of its file, or by its module: one of a test's, if one is given.

    Names in Python tell the class of a test, too.
    """
    module = path.rpartition(".")[0].replace("/", ".")
    match = re.search(rf"(?<![\w./-])(?:{re.escape(path)}|{re.escape(module)})(?![\w-])", case)
    if match is None and path.endswith(".py"):  # as unittest names it: the module as found from the folder where it started
        match = re.search(rf"(?<=\(){re.escape(module.rpartition('.')[2])}(?=\.)", case)
    if match is None or test is None or not path.endswith(".py"):
        return match is not None and (test is None or _is_case_of(test.bare_name, case))
    own = re.split(r"[\[)]", case[match.end() :])[0].replace("::", ".").strip(". ")
    return own == test.name or (own == test.name.rpartition(".")[0] and case.startswith(f"{test.bare_name} ("))


def what_stays_green(
    cases: Sequence[Case],
    head: CheckResult,
    altered: CheckResult,
    rows: Mapping[str, int | None],
    *,
    moved: frozenset[str] = frozenset(),
    runs_tests: bool = True,
) -> Seen:
    """Return which cases of a check, which turned green, stay green in its altered run. `rows`: see `AlteredFile`.

    `moved`: cases that may have another name now, such as an inherited test, so that they are accused only if they pass by name.
    `runs_tests`: whether a check that names no test runs one of the altered files; a linter passes whatever the tests expect.
    """
    if any(case.name == case.check for case in cases):  # its runner names no test
        green = (head.name,) if altered.passed else ()
        return Seen(green) if runs_tests or head.counts else Seen(unseen=green)
    seen = Seen()
    named = {_PARAMETERS.sub("", name) for name in (*altered.passing, *run_cases(altered, altered.name).failing)}
    for key, group in _grouped(case.name for case in cases).items():
        known = [number for name, number in rows.items() if any(_is_case_of(name, case) for case in group)]
        files = [rows[path] for path in rows if language_of(path) and is_name_of_file(key, path)]
        if files:  # none of its tests has a name here
            green = tuple(group) if altered.passed else ()
            seen = seen.plus(Seen(unseen=green) if 0 in files else Seen(green))
        elif not known or (key not in named and not moved.isdisjoint(group)):
            seen = seen.plus(Seen(unseen=tuple(group)))
        else:
            fewest = None if None in known else max(number for number in known if number is not None)
            seen = seen.plus(_state_of_group(key, group, head, altered, fewest))
    return seen


def _grouped(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Group the cases of a parametrised test, whose names change with their values."""
    groups = dict[str, list[str]]()
    for name in names:
        groups.setdefault(_PARAMETERS.sub("", name), []).append(name)
    return groups


def _state_of_group(key: str, group: list[str], head: CheckResult, altered: CheckResult, rows: int | None) -> Seen:
    run = run_cases(altered, altered.name)
    is_complete = altered.passed or (run.ended and _executed(altered) >= _executed(head) > 0)
    if group == [key]:
        subtests = (f"{key} (", f"{key} [") if key.endswith(")") else ()  # as unittest names them
        if key in run.failing or any(name.startswith(subtests) for name in run.failing):
            return Seen()
        ran = key in run.passing or (run.ended and key in altered.ran)
        return Seen((key,)) if ran or is_complete else Seen(unseen=(key,))
    red = sum(_PARAMETERS.sub("", name) == key for name in run.failing)
    green = [name for name in run.passing if _PARAMETERS.sub("", name) == key]
    if rows is None and green:
        return Seen(tuple(green))
    if not is_complete:
        return Seen() if red >= len(group) else Seen(unseen=tuple(group))
    return Seen() if red >= (len(group) if rows is None else rows) else Seen((key,))


def _executed(result: CheckResult) -> int:
    return result.counts.executed if result.counts else 0


def describe_cannot_fail(names: Sequence[str] | None) -> str:
    """Describe tests and checks that still pass with other values; empty if there are none."""
    message = "with other values in the tests that turned green these still pass, so they prove nothing"
    return f"{message}: {join_some([clean(name) for name in names])}" if names else ""


def describe_unseen(cannot_fail: Sequence[str] | None, unseen: Sequence[str]) -> str:
    """Describe the tests of which the run with other values shows nothing; empty if there are none."""
    if cannot_fail is None or unseen:
        which = (
            join_some([clean(name) for name in unseen])
            or "no value in them could be changed, or they did not run with other values"
        )
        return f"whether the tests that turned green can fail: {which}"
    return ""
