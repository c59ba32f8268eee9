"""Measure of how many ways the code leaves open for later work: lines of each file that match `variety.toml`.

The counts are only compared over time, so nothing is parsed: a pattern's false matches were false before, too.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

from helmsman.parsers.source import is_generated, is_test_file, is_test_support, language_of
from helmsman.plain import word_set
from helmsman.records.control import Variety
from helmsman.toml_text import load_bundled

LONGEST = 200_000  # maximum characters of a file; longer ones are generated, or data
_BY_HAND = word_set(
    "node_modules bower_components vendor third_party third-party site-packages dist .venv venv Pods Carthage .yarn migrations "
    "__snapshots__"
)
"""Folders of code that is not written by hand in this repository."""
_BUNDLED = re.compile(r"[.-]min\.[cm]?js|\.bundle\.js|\.d\.[cm]?ts")

_PRIVATE = re.compile(r"(?m)^(?:(?:async )?def |class )?(_[a-zA-Z0-9]\w*)")
_UNDERSCORED = re.compile(r"(?<!\w)_[a-zA-Z0-9]\w{0,80}")
_OF_TESTS = ("tests", "skips")


@cache
def _patterns() -> Mapping[str, Mapping[str, re.Pattern[str]]]:
    table = load_bundled("helmsman.verify", "variety.toml")
    return {kind: {name: re.compile(rf"(?m)(?:{pattern}).*") for name, pattern in rows.items()} for kind, rows in table.items()}


def worth_reading(path: str) -> bool:
    """Whether a path looks like hand-written code."""
    *folders, name = path.split("/")
    return bool(language_of(path)) and _BY_HAND.isdisjoint(folders) and not _BUNDLED.search(name)


def counts_of(path: str, text: str) -> Variety:
    """Return a file's counts: tests and skips for test files, all else for source. Rust has both in one file."""
    text = text[:LONGEST].replace("\r\n", "\n")
    if not worth_reading(path) or is_generated(path, text):
        return Variety()
    kind, tests = language_of(path), is_test_file(path) or is_test_support(path)
    numbers = {
        name: sum(1 for _ in pattern.finditer(text))
        for name, pattern in _patterns().get(kind, {}).items()
        if (name in _OF_TESTS) is tests or (kind == "rust" and not tests)
    }
    if tests:
        return Variety.model_validate(numbers)
    lines = sum(1 for line in text.split("\n") if line.strip())
    # private top-level names that the module does not mention again
    mentioned = Counter(_UNDERSCORED.findall(text) if kind == "python" else ())
    dead = sum(mentioned[name] == 1 for name in set(_PRIVATE.findall(text)))
    return Variety.model_validate({"files": 1, "lines": lines, "dead": dead, **numbers})


def variety_of(files: Iterable[Variety]) -> Variety:
    """Add up the counts of a tree."""
    total = Counter[str]()
    for counts in files:
        total.update(counts.model_dump())
    return Variety.model_validate(total)
