"""Detection of hard-coded answers by the values in the source: they name the inputs or the answers of nearly all test cases of a
function, and little else. A full table has entries that no test names.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

from helmsman.verify.call_cases import ANY, LONGEST_LITERAL, Case, Function, Language, Literal, Truth, literals_by_line
from helmsman.verify.diff import FileDiff, Line

FEWEST_CASES, FEWEST_NUMBERS, SHARE = 4, 5, 0.8
"""Minimum number of cases with different values, of those with numbers only, and their share of all cases that count."""
FEWEST_PHRASES, SHORTEST_PHRASE = 3, 3
"""Minimum number of cases with texts that are more than a word, of which one may be missing, and their length."""
FEW_OTHERS = 3  # named cases for each other value in the source
SMALL_NUMBERS = range(-9, 10)
SHORTEST = 2  # minimum characters of a text that counts
FULL_TABLE = 6  # minimum number of values in a table that no test names
DATA = (".json", ".txt", ".csv", ".tsv", ".yaml", ".yml", ".toml", ".ini", ".dat")
_VALUE_IN_DATA = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s,;:=|\"'\[\]{}]+(?: [^,;:=|\"'\[\]{}]+)*)")


def find_overlap(cases: Sequence[Case], files: Sequence[Sequence[Any]]) -> str:
    """Return what one of the files names of nearly all cases: `inputs`, `answers`, or nothing. `files`: new values of each."""
    for truth in (Truth.TRUE, Truth.FALSE):
        asserted = [case for case in cases if case.expected is truth or case.expected is truth.value]
        if any(_names(asserted, "inputs", values, cases) or _has_all_keys(asserted, values) for values in files):
            return "inputs"
    compared = [case for case in cases if case.expected is not ANY and not isinstance(case.expected, Truth | bool)]
    if any(_has_all_keys(compared, values) for values in files):
        return "inputs"
    for kind in ("inputs", "answers"):
        if any(_names(compared, kind, values, cases) for values in files):
            return kind
    return ""


def in_full_table(case: Case, cases: Sequence[Case], literals: Sequence[Literal]) -> bool:
    """Whether the values of a case are entries of a table that mostly has other entries."""
    tested, own = values_of(cases), values_of([case])
    tables = {literal.table for literal in literals if literal.table is not None and literal.value in own}
    for table in tables:
        values = {literal.value for literal in literals if literal.table == table and _counts(literal.value)}
        if own <= values and len(values - tested) >= max(FULL_TABLE, len(values & tested)):
            return True
    return False


def values_in_data(path: str, text: str) -> list[Any]:
    """Return numbers and short texts in a text file with data."""
    if path.endswith(".json"):
        try:
            return [value for value in leaves(json.loads(text)) if len(str(value)) < LONGEST_LITERAL]
        except (ValueError, RecursionError):
            return []
    found = (next(filter(None, match.groups()), "") for match in _VALUE_IN_DATA.finditer(text))
    return [_number_or_text(one.strip()) for one in found if len(one) < LONGEST_LITERAL]


def leaves(value: Any) -> Iterator[Any]:
    """Yield the values in nested collections."""
    if isinstance(value, dict):
        yield from (leaf for one in cast("dict[Any, Any]", value).items() for leaf in leaves(one))
    elif isinstance(value, list | tuple):
        yield from (leaf for one in cast("Sequence[Any]", value) for leaf in leaves(one))
    else:
        yield value


def is_key(case: Case, values: Collection[Any]) -> bool:
    """Whether the values contain all arguments of a case in one text: `"('a', 3)"`, `'["a",3]'`."""
    arguments = [*case.args, *case.kwargs.values()]
    written = {repr(tuple(arguments)), repr(arguments)}
    with suppress(TypeError, ValueError):
        written |= {json.dumps(arguments, ensure_ascii=False, separators=(mark, ":")) for mark in (",", ", ")}
    return not written.isdisjoint(values)


def _has_all_keys(cases: Sequence[Case], values: Sequence[Any]) -> bool:
    return len(cases) > 1 and all(is_key(case, values) for case in cases)


def values_of(cases: Sequence[Case]) -> frozenset[Any]:
    """Return the values of inputs and answers that count."""
    return frozenset(leaf for case in cases for leaf in (*_parts(case, "inputs"), *_parts(case, "answers")) if _counts(leaf))


def _names(cases: Sequence[Case], kind: str, values: Sequence[Any], all_cases: Sequence[Case]) -> bool:
    """Whether the values name this part of nearly all cases, and few other values."""
    written = {value for value in values if _counts(value)}
    parts = {tuple(leaf for leaf in _parts(case, kind) if _counts(leaf)) for case in cases if _identifies(case)} - {()}
    named = [part for part in parts if written.issuperset(part)]
    others, flat = len(written - values_of(all_cases)), [leaf for part in named for leaf in part]
    if sum(value in flat for value in values) < len(flat):  # a vocabulary: a table writes a word once for each case
        return False
    phrases = [part for part in named if any(map(_is_phrase, part))]
    has_texts = any(isinstance(leaf, str) for leaf in flat)
    if len(phrases) >= FEWEST_PHRASES and len(named) >= len(parts) - 1:
        return others <= len(named) + 1
    most = len(named) + 1 if has_texts and kind == "inputs" else len(named) / FEW_OTHERS
    is_telling = has_texts or any(leaf not in SMALL_NUMBERS for leaf in flat)
    enough = len(named) >= max(FEWEST_CASES if has_texts else FEWEST_NUMBERS, SHARE * len(parts))
    return is_telling and enough and others <= most


def _identifies(case: Case) -> bool:
    """Whether both input and answer count: not `escape("<") == "&lt;"`."""
    return any(map(_counts, _parts(case, "inputs"))) and (
        isinstance(case.expected, Truth | bool) or any(map(_counts, _parts(case, "answers")))
    )


def _parts(case: Case, kind: str) -> list[Any]:
    return list(leaves((case.args, tuple(case.kwargs.values())) if kind == "inputs" else case.expected))


def _counts(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= SHORTEST
    return type(value) in {int, float} and value not in {0, 1, -1}


def _is_phrase(value: Any) -> bool:
    return isinstance(value, str) and len(value) >= SHORTEST_PHRASE and not re.fullmatch(r"\w+", value)


def _number_or_text(text: str) -> Any:
    return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else text


def new_values(language: Language, files: Sequence[FileDiff]) -> list[list[Any]]:
    """Return the values in the changed lines of each source and data file, except those that the work removed elsewhere: a table
    that moved is not new. `files`: those that are no tests.
    """
    sources = [file for file in files if language.is_source(file.path)]
    data = [file for file in files if file.path.endswith(DATA) and not language.is_source(file.path)]
    before = {
        repr(value)
        for file in sources
        for value in _values_in_lines(language, file.old_path or file.path, file.before, file.removed)
    } | {repr(value) for file in data for value in values_in_data(file.path, file.before or "")}
    now = [_values_in_lines(language, file.path, file.after, file.added) for file in sources]
    now += [values_in_data(file.path, file.after or "") for file in data]
    return [[value for value in values if repr(value) not in before] for values in now]


def _values_in_lines(language: Language, path: str, text: str | None, lines: Sequence[Line]) -> list[Any]:
    numbers = {line.number for line in lines}
    return [literal.value for literal in literals_by_line(language, path, text or "") if literal.line in numbers]


def describe_inputs(function: Function, cases: Sequence[Case], files: Sequence[Sequence[Any]]) -> str:
    """Return the suspicion about a function whose inputs the source names, as a clause; empty if there is none."""
    named = find_overlap(cases, files) == "inputs"
    return f"the source names the inputs of nearly all tests of {function.title}, and few other values" if named else ""
