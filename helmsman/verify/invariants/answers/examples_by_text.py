"""What tests expect, in languages that are read by their text."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from helmsman.verify.invariants.answers.examples import ROWS, Example
from helmsman.verify.invariants.answers.literals import LITERAL, RESULT, spelt, spelt_each

_CALL = rf"\b(\w{{1,80}})\(\s?({LITERAL}(?:,\s?{LITERAL}){{0,9}})\s?\)"
_THEN = (
    r"(?:\s?[;,]\s?(?:got\s?)?(?:!=|==)?\s?|;\s?\w{1,40}\s?[!=]=\s?|\s?[!=]={1,2}\s?"
    r"|\)\s?\.\s?(?:toBe|toEqual|toStrictEqual|isEqualTo|to\.equal|to\.eql|to\.be)\(\s?|\)\.to\s?\(?(?:eq|eql|be)[ (]\s?)"
)
_CALL_THEN = re.compile(rf"{_CALL}(?:{_THEN})({RESULT})")
_THEN_CALL = re.compile(rf"({RESULT})\s?,\s?(?:&?\w{{1,40}}(?:\.|::|->))?{_CALL}")
_ROW = re.compile(rf"[\[{{(]\s?((?:\w{{1,40}}\s?:\s?)?{LITERAL}(?:,\s?(?:\w{{1,40}}\s?:\s?)?{LITERAL}){{1,9}})\s?,?\s?[\]}})]")
_ENTRY = re.compile(rf"({LITERAL})\s?(?:=>|:)\s?({RESULT})\s?(?=[,}}\]\n])")
"""A row of a map whose keys are inputs."""
_CALLED = re.compile(r"\b(\w{1,80})\(\s?(?:\w{1,40}\.)?\w{1,40}\s?[,)]")


@lru_cache(maxsize=128)
def other_examples(text: str) -> tuple[Example, ...]:
    """Examples of a test file of another language: `expect(f(2, 3)).toBe(5)`, `assert_eq!(f(2), 5)`, tables of rows."""
    found = [Example(call[1], spelt_each(call[2]), spelt(call[3])) for call in _CALL_THEN.finditer(text)]
    found += [Example(call[2], spelt_each(call[3]), spelt(call[1])) for call in _THEN_CALL.finditer(text)]
    rows = [spelt_each(row[1]) for row in islice(_ROW.finditer(text), ROWS)]
    rows += [((spelt(row[1])), spelt(row[2])) for row in islice(_ENTRY.finditer(text), ROWS)]
    rows += list(islice(_csv_rows(text), ROWS))
    called = list(dict.fromkeys(_CALLED.findall(text)))[:50] if rows else []
    found += [Example(name, row[first:-1], row[-1]) for name in called for row in rows for first in (0, 1) if row[first:-1]]
    return tuple(dict.fromkeys(found))


_CSV = re.compile(
    r"CsvSource\b\s?\(([^@]{1,5000}?)\)\s{0,80}"
    r"(?:@|public\b|void\b|fun\b|internal\b|protected\b)"
)
_CSV_ROW = re.compile(r"\"([^\"\n]{1,300}[,;|][^\"\n]{0,300})\"|^[ \t]{0,40}([^\"\n]{1,200}[,;|][^\"\n]{1,200})$", re.MULTILINE)


def _csv_rows(text: str) -> Iterator[tuple[str, ...]]:
    """Rows of `@CsvSource({"word,divided"})`."""
    for table in _CSV.finditer(text):
        for row in _CSV_ROW.finditer(table[1]):
            yield tuple(_cell(cell.strip()) for cell in re.split(r"[,;|]", row[1] or row[2]))


def _cell(text: str) -> str:
    return spelt(text if re.fullmatch(LITERAL, text) else f'"{text}"')
