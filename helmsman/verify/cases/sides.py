"""The changed files that have to do with tests, read as they were and as they are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from helmsman.verify.cases.lines import read_both
from helmsman.verify.cases.model import Case, Reading
from helmsman.verify.cases.paths import is_source, is_test_file, is_test_support, language_of
from helmsman.verify.cases.reading import code_of, reading_of
from helmsman.verify.cases.trim import trimmed
from helmsman.verify.diff import FileDiff, TreeDiff


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


def sides_of(diff: TreeDiff, commands: str) -> Iterator[Sides]:
    for file in diff:
        old_path = file.old_path or file.path
        if not any(_concerns_tests(path, text) for path, text in ((old_path, file.before), (file.path, file.after))):
            continue
        if file.after is None and file.status != "D":
            continue  # it was not read, so nothing is known about it
        language = file.path if language_of(file.path) else old_path
        old, new, whole = _read(file, old_path, language)
        yield Sides(
            file, _collected(old_path, file.before, old, commands), _collected(file.path, file.after, new, commands), whole
        )


def _read(file: FileDiff, old_path: str, path: str) -> tuple[Reading, Reading, bool]:
    """Both versions; of two, only what differs is needed. And whether all of the new one was read."""
    before, after = file.before, file.after
    if before is None or after is None:
        return reading_of(old_path, before or ""), reading_of(path, after or ""), True
    if language_of(path) == language_of(old_path) != "python":
        return *read_both((old_path, path), (before, after), language_of(path)), False
    parts = trimmed(before, after)
    return reading_of(old_path, parts[0]), reading_of(path, parts[1]), parts[1] == after


def _concerns_tests(path: str, text: str | None) -> bool:
    return bool(language_of(path)) and (is_test_file(path, text or "") or is_test_support(path))


def _collected(path: str, text: str | None, reading: Reading, commands: str) -> Reading:
    """A file that runners pass over holds no tests, unless a check names it."""
    cases = tuple(case if case.path == path else replace(case, path=path) for case in reading.cases)
    if text is None or is_test_file(path, text) or path in commands:
        return replace(reading, cases=cases)
    why = f"{path} is no file in which tests are looked for"
    return replace(reading, cases=(), others=(*reading.others, *(replace(case, dormant=why) for case in cases)))


def source_changed(diff: TreeDiff) -> bool:
    """Whether program text that is no test changed in more than comments and white space."""
    return any(
        code_of(file.path, file.before or "") != code_of(file.path, file.after or "")
        for file in diff
        if is_source(file.path) or is_source(file.old_path)
    )
