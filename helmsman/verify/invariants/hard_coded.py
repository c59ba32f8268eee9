"""Expected values of the tests that stand in the source."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import FileDiff
from helmsman.verify.invariants.answers import REPORTER
from helmsman.verify.invariants.answers.examples import Example, python_examples
from helmsman.verify.invariants.answers.examples_by_text import other_examples
from helmsman.verify.invariants.answers.from_tests import from_tests
from helmsman.verify.invariants.answers.mappings import Kind, Mapped, Pair, python_mappings
from helmsman.verify.invariants.answers.mappings_by_text import names_in, other_mappings
from helmsman.verify.invariants.answers.recognised import Recognised, by_digest, is_computed, is_tested, recognised
from helmsman.verify.invariants.answers.words_mapped import are_encoded, are_inflected, are_measured, is_name, words_weight
from helmsman.verify.invariants.reading.additions import Addition, additions, hits, line_at, split
from helmsman.verify.invariants.reading.kinds import is_source, is_test, language
from helmsman.verify.invariants.reading.python_code import changed_parts, former_parts
from helmsman.verify.invariants.reading.reporter import Spot, most_important
from helmsman.verify.invariants.scene import Scene

_BLOCK, _WARN = Weight.BLOCK, Weight.HINT

_BEGINS = r"(?:[\[({\"'0-9]|-[0-9]|(?:[Tt]rue|[Ff]alse|null|nil)\b)"
_WHOLE = (
    r"(?:-?[0-9][0-9._]{0,40}|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[Tt]rue|[Ff]alse"
    r"|\[[^\n]{0,200}\]|\([^\n]{0,200}\)|\{[^\n]{0,200}\})"
)
_MAY_MAP = re.compile(
    rf"(?:={{2,3}}|\bis|\bin|\bcase|\bwhen|\b[eE]quals\(|\beql\?\(?)\s?{_BEGINS}|[\"']\.equals\("
    rf"|[\"'0-9)\]](?:\s?={{2,3}}|\s?(?:=>|->|:\s)\s?{_BEGINS}|:[0-9\"']|\]\[)"
    rf"|\blambda\b[^:\n]{{0,80}}:\s?{_BEGINS}|\bMap\(|\bMap\.of|\b(?:entry|put|Put|Add|insert|emplace)\(\s?{_BEGINS}|[\"'0-9]\s+to\s+{_BEGINS}|[({{\[]\s?[\"'0-9][^\n]{{0,200}},\s?{_BEGINS}"
)
"""A comparison with a literal, a case of one, an entry of a table."""
_MAY_MARK = re.compile(
    r"\blen\(|\.(?:length|size|len|count|Length|Count)\b|hash|digest|crc|adler|md5|sha[0-9]|\bord\b", re.IGNORECASE
)
_MAY_BE_CONSTANT = re.compile(rf"^[^\n]{{0,200}}\breturn\s{_WHOLE}|=>\s?{_WHOLE}|^\s{{0,80}}{_WHOLE}\s{{0,9}};?$", re.MULTILINE)
_RETURNS = re.compile(rf"\breturn[ \t]{_WHOLE}[ \t]*(?:#[^\n]{{0,500}})?$", re.MULTILINE)
"""The same in Python, where a body that is a value has to return it."""
_MAY_MATTER = re.compile(f"{_MAY_MAP.pattern}|{_RETURNS.pattern}", re.MULTILINE)
_ECHOES = re.compile(r"\.(?:get|fetch|getOrDefault|unwrap_or)\(\s?(\w{1,80})\s?,\s?\1\s?\)|\[(\w{1,80})\]\s?(?:\|\||\?\?)\s?\2\b")
"""What is not in a table comes back as it was given."""
_LARGEST = 300_000
"""Characters of a file that is read; a source above it is generated."""
_TESTS_READ = 4_000_000
"""Characters of tests that are read for one diff, those of the diff first: some seconds."""
_COVERED = 0.8
"""Share of a table that tests expect from which on it is a copy of them; real constants go beyond the examples."""
_MANY_EDGES = 3
_EDGES = frozenset(
    {"0", "1", "-1", '""', "''", "None", "null", "nil", "True", "False", "true", "false", "L()", "T()", "D()", "0.0", "1.0"}
)
_SMALL = frozenset({"2", "-2", "3"})


@dataclass(frozen=True)
class _Case:
    file: FileDiff
    mapped: Mapped
    names: tuple[str, ...]
    """Functions whose tests it may copy."""


def hard_coded(scene: Scene) -> Iterable[Finding]:
    """Rule `hard_coded`: source that maps inputs to outputs just as tests expect them."""
    return most_important(chain(_mapped(scene), *(from_tests(addition) for addition in additions(scene.diff))))


def _mapped(scene: Scene) -> Iterator[Finding]:
    cases = [case for addition in additions(scene.diff) for case in _cases(addition)]
    marked = [(addition, one) for addition in additions(scene.diff) for one in _marked(addition)]
    if cases or marked:
        of_marks = (name for addition, _ in marked for name in names_in(addition.file.after or "", language(addition.file.path)))
        names = frozenset((*(name for case in cases for name in case.names), *of_marks))
        expected = _by_function(_examples(scene, names), names)
        yield from (finding for case in cases for finding in _judged(case, expected))
        yield from (finding for addition, one in marked for finding in _told_by_marks(addition, one, expected))


def _marked(addition: Addition) -> Iterator[Recognised]:
    """Branches of source, among what was added, that look at marks of what they are given."""
    file = addition.file
    if is_source(file.path) and _MAY_MARK.search(addition.text):
        known = {one.text for one in recognised(file.before or "")}
        yield from (one for one in recognised(file.after or "") if one.text not in known)


def _told_by_marks(addition: Addition, one: Recognised, expected: dict[str, list[Example]]) -> Iterator[Finding]:
    path, after = addition.file.path, addition.file.after or ""
    for name in names_in(after, language(path)):
        if is_tested(one, expected.get(name, ())):
            spot = Spot(path, line_at(after, one.position), one.text)
            message = f"what the tests of {name} give it is told by its marks and answered with what they expect"
            yield REPORTER.tell(_BLOCK if is_computed(one.output) else _WARN, spot, message)
            return


def _cases(addition: Addition) -> Iterator[_Case]:
    file = addition.file
    kind, after = language(file.path), file.after or ""
    if not addition.lines or not is_source(file.path) or len(after) > _LARGEST:
        return
    if kind == "python" or _MAY_MAP.search(addition.text) or _MAY_BE_CONSTANT.search(addition.text):
        for mapped in _new_mappings(addition, kind):
            names = (mapped.function,) if mapped.kind is not Kind.TABLE else (mapped.function, *names_in(after, kind))
            yield _Case(file, mapped, tuple(dict.fromkeys(names)))


def _new_mappings(addition: Addition, kind: str) -> Iterator[Mapped]:
    file = addition.file
    if kind == "python":
        lines = hits(addition, _MAY_MATTER)
        now = [mapped for part in changed_parts(file, lines=lines) for mapped in python_mappings(part, lines)] if lines else []
        before = [mapped for part in former_parts(file) for mapped in python_mappings(part)] if now else []
    else:
        now = list(other_mappings(file.after or ""))
        before = list(other_mappings((file.before or "")[:_LARGEST])) if now else []
    known = {(mapped.kind, mapped.function, pair) for mapped in before for pair in mapped.pairs}
    for mapped in now:
        if any((mapped.kind, mapped.function, pair) not in known for pair in mapped.pairs):
            yield mapped


def _examples(scene: Scene, names: frozenset[str]) -> Iterator[Example]:
    texts = [(file.path, text) for file in scene.diff if is_test(file.path) for text in (file.after, file.before) if text]
    wanted = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names - {''})))})\b") if names - {""} else None
    left = _TESTS_READ
    for path, text in (*texts, *scene.tests.items()):
        if wanted and len(text) <= min(_LARGEST, left) and wanted.search(text):
            left -= len(text)
            yield from python_examples(text) if language(path) == "python" else other_examples(text)


def _by_function(examples: Iterable[Example], names: frozenset[str]) -> dict[str, list[Example]]:
    found = dict[str, list[Example]]()
    for example in examples:
        if example.function in names:
            found.setdefault(example.function, []).append(example)
    return found


def _judged(case: _Case, expected: dict[str, list[Example]]) -> Iterator[Finding]:
    weigh = {Kind.CONSTANT: _constant, Kind.BRANCH: _branches, Kind.TABLE: _table}[case.mapped.kind]
    for name in case.names:
        weight = weigh(case.mapped, expected.get(name, ()))
        if weight is _WARN and are_encoded(case.mapped.pairs, 1) and _ECHOES.search(case.file.after or ""):
            weight = _BLOCK  # a table of codes does not give a name as its own code
        if weight is not _BLOCK and (told := by_digest(case.mapped.pairs, case.file.after or "", expected.get(name, ()))):
            weight = _BLOCK if any(map(is_computed, told)) else _WARN
        if weight is not None:
            line = case.mapped.line
            lines = split(case.file.after)
            text = lines[line - 1] if line <= len(lines) else ""
            message = f"{case.mapped.function or 'a table'} maps what the tests of {name} give it to what they expect"
            yield REPORTER.tell(weight, Spot(case.file.path, line, text), message)
            return


def _constant(mapped: Mapped, examples: Sequence[Example]) -> Weight | None:
    result = mapped.pairs[0][1]
    if not examples or any(example.output != result for example in examples):
        return None
    told_apart = len({example.inputs for example in examples}) > 1
    plain = result in _EDGES and not told_apart
    return _WARN if plain or mapped.inherited else _BLOCK


def _branches(mapped: Mapped, examples: Sequence[Example]) -> Weight | None:
    found = _matched(mapped.pairs, examples)
    special = [pair for pair in found if not _is_edge(pair)]
    if mapped.general:
        edges = len(found) - len(special)
        weight = _BLOCK if mapped.measures and are_measured(special) else None if _is_command(special) else words_weight(special)
        return weight or (_WARN if edges > _MANY_EDGES else None)
    complete = len(found) > 1 or len(found) == len(examples)
    if are_inflected(special):
        return _BLOCK
    return (words_weight(special) if special else _BLOCK if complete else _WARN) if found else None


def _table(mapped: Mapped, examples: Sequence[Example]) -> Weight | None:
    found = _matched(mapped.pairs, examples)
    special = [pair for pair in found if not _is_edge(pair)]
    needed = 1 if mapped.function and examples and examples[0].function == mapped.function else 2
    if len(special) < needed or len(found) < _COVERED * len(mapped.pairs):
        return None
    return words_weight(found)


def _matched(pairs: Iterable[Pair], examples: Sequence[Example]) -> list[Pair]:
    """Pairs that a test expects; a branch may look at some of the inputs only."""
    exact = {(example.inputs, example.output) for example in examples}
    exact |= {((f"T({', '.join(example.inputs)})",), example.output) for example in examples}
    single = {((value,), example.output) for example in examples for value in example.inputs}
    return [
        (inputs, output)
        for inputs, output in pairs
        if (inputs, output) in exact or (inputs, output) in single or _as_one(inputs, output, exact)
    ]


def _as_one(inputs: tuple[str, ...], output: str, exact: set[Pair]) -> bool:
    """A tuple that was compared may be the one input."""
    joined = ", ".join(inputs)
    return ((f"T({joined})",), output) in exact or ((f"L({joined})",), output) in exact


def _is_command(pairs: Sequence[Pair]) -> bool:
    """One word for which there is nothing, among others for which something is computed."""
    return len(pairs) == 1 and is_name(pairs[0]) and pairs[0][1] in _EDGES


def _is_edge(pair: Pair) -> bool:
    """Cases that honest code sets apart: nothing, zero, one, and small numbers that are simply so or not."""
    inputs, output = pair
    return all(value in _EDGES for value in inputs) or (output in _EDGES and all(value in _EDGES | _SMALL for value in inputs))
