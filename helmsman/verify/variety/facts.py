"""Reads one file: which part it plays, and what it adds to the counts."""

import re
from collections.abc import Callable

from helmsman.plain import word_set
from helmsman.records.variety_facts import FileFacts
from helmsman.verify.cases import SkipKind, is_test_file, reading_of
from helmsman.verify.cases.reading import without_tests
from helmsman.verify.invariants.reading.kinds import is_generated, language, serves_tests
from helmsman.verify.variety.javascript import javascript_facts
from helmsman.verify.variety.other_languages import plain_facts
from helmsman.verify.variety.python import python_facts, underscored

LONGEST = 200_000
"""Characters that are read of one file; a longer one is generated, or data."""
_VENDORED = word_set(
    "node_modules bower_components vendor third_party third-party site-packages dist .venv venv Pods Carthage .yarn migrations "
    "__snapshots__"
)
"""Folders of code that nobody here writes by hand."""
_BUNDLED = re.compile(r"[.-]min\.[cm]?js|\.bundle\.js|\.d\.[cm]?ts")

_READERS: dict[str, Callable[[str, str], FileFacts]] = {"python": python_facts, "javascript": javascript_facts}
"""By language; the rest is read by its lines."""


def worth_reading(path: str) -> bool:
    """Whether its name says that it is code which is written by hand."""
    *folders, name = path.split("/")
    return bool(language(path)) and _VENDORED.isdisjoint(folders) and not _BUNDLED.search(name)


def facts_of(path: str, text: str) -> FileFacts:
    """What a file contributes. Never raises; linear in the text, which is cut at 200,000 characters."""
    text = text[:LONGEST].replace("\r\n", "\n")
    if not worth_reading(path) or is_generated(path, text):
        return FileFacts()
    if serves_tests(path):
        return _test_facts(path, text)
    source = without_tests(path, text)
    found = _READERS.get(language(path), plain_facts)(path, source)
    if source == text or not is_test_file(path, text):
        return found
    inline = _test_facts(path, text)  # Rust keeps tests in the file that they are about
    return found.model_copy(update={"tests": inline.tests, "skips": inline.skips})


def _test_facts(path: str, text: str) -> FileFacts:
    reading = reading_of(path, text)
    kind = language(path)
    return FileFacts(
        role="tests",
        lines=sum(1 for line in text.split("\n") if line.strip()),
        skips=sum(skip.kind is not SkipKind.CONDITION for skip in reading.skips),
        tests=len(reading.cases) if is_test_file(path, text) else 0,
        mentions=underscored(text) if kind == "python" else (),
    )
