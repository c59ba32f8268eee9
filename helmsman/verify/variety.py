"""How many ways the code leaves open for later work: lines of each file that match a table of its language.

The counts are only compared over time, so nothing is parsed: what a pattern takes wrongly of a text it took wrongly before.
"""

import re
from collections import Counter
from collections.abc import Iterable

from helmsman.parsers.test_files import is_generated, is_test_file, is_test_support, language_of
from helmsman.plain import word_set
from helmsman.records.oversight import Variety

LONGEST = 200_000
"""Characters that are read of one file; a longer one is generated, or data."""
_BY_HAND = word_set(
    "node_modules bower_components vendor third_party third-party site-packages dist .venv venv Pods Carthage .yarn migrations "
    "__snapshots__"
)
"""Folders of code that nobody here writes by hand."""
_BUNDLED = re.compile(r"[.-]min\.[cm]?js|\.bundle\.js|\.d\.[cm]?ts")

_PRIVATE = re.compile(r"(?m)^(?:(?:async )?def |class )?(_[a-zA-Z0-9]\w*)")
_UNDERSCORED = re.compile(r"(?<!\w)_[a-zA-Z0-9]\w{0,80}")
_OF_TESTS = ("tests", "skips")

_TABLE: dict[str, dict[str, str]] = {
    "python": {
        "suppressions": r"#\s{0,9}(?:(?:(?:flake8|ruff)\s?:\s?)?noqa\b|(?:type|pyright|mypy|pylint):\s?"
        r"(?:ignore|disable|skip|allow)|pragma:\s?no\b|nosec\b)",
        "casts": r"^(?![ \t]*(?:from|import)\b).*?(?<![\w.])(?:typing\.|t\.)?(?:Any\b|cast\()",
        "public_names": r"^(?:(?:async\s)?def|class)\s[a-zA-Z]|^[a-zA-Z]\w{0,99}\s?(?::[^=\n]{1,99})?=(?!=)",
        "imports": r"^[ \t]{0,40}(?:from\s[.\w]{1,199}\s)?import\s",
        "tests": r"^[ \t]{0,40}(?:async\s)?def\stest",
        "skips": r"@(?:pytest\.mark|unittest)\.(?:skip|xfail|expectedFailure)\b|\b(?:pytest\.skip|self\.skipTest)\(",
    },
    "javascript": {
        "suppressions": r"eslint-disable|@ts-(?:nocheck|ignore|expect-error)\b|biome-ignore|\b(?:istanbul|c8|v8)\signore\b",
        "casts": r"\bas\s{1,9}unknown\s{1,9}as\b|(?:(?<![?\w$.])as|[:<,|&]|=>)\s{0,9}any(?![\w$(:.])",
        "public_names": r"^export\b|^(?:module\.)?exports\b",
        "imports": r"(?<![\w$.])(?:from|import|require\s?\()\s{0,9}[\"']\.",
        "tests": r"(?<![\w$.])(?:it|test)(?:\.(?:only|each|concurrent)\b.{0,200})?\s?\(",
        "skips": r"(?<![\w$.])(?:(?:it|test|describe)\.(?:skip|todo)|x(?:it|test|describe)\s?\()",
    },
    "go": {
        "suppressions": r"//\s?nolint\b",
        "casts": r"\binterface\s{0,3}\{\s{0,3}\}|(?<![\w.])any(?![\w(:.])|\bunsafe\.",
        "public_names": r"^(?:func|type|var|const)\s{1,9}[A-Z]|^func\s{0,9}\([^)\n]{0,200}\)\s{0,9}[A-Z]",
        "tests": r"^func\sTest",
        "skips": r"\bt\.Skip(?:f|Now)?\(",
    },
    "rust": {
        "suppressions": r"#!?\[(?:allow|expect)\(",
        "casts": r"\bunsafe\b|\btransmute\b",
        "public_names": r"^[ \t]{0,99}pub\s{1,9}(?:async |unsafe |const ){0,3}(?:fn|struct|enum|trait|type|const|static|mod)\b",
        "tests": r"#\[(?:\w{1,40}::)?test\b",
        "skips": r"#\[ignore\b",
    },
    "java": {
        "suppressions": r"@Suppress(?:Warnings|FBWarnings|Lint)?\(",
        "public_names": r"^[ \t]{0,99}public\s",
        "tests": r"@(?:Parameterized)?Test\b",
        "skips": r"@(?:Disabled|Ignore)\b",
    },
    "csharp": {
        "suppressions": r"#pragma\s{1,9}warning\s{1,9}disable",
        "casts": r"\bdynamic\b|\bunsafe\b",
        "public_names": r"^[ \t]{0,99}public\s",
        "tests": r"\[(?:Fact|Theory|Test|TestMethod|TestCase)\b(?!.{0,99}Skip)",
        "skips": r"\[Ignore\b|\bSkip\s?=",
    },
    "c": {
        "suppressions": r"\bNOLINT|#pragma\s{1,9}(?:warning\(disable|(?:GCC|clang)\s{1,9}diagnostic\s{1,9}ignored)",
        "tests": r"^TEST(?:_[FP])?\(",
    },
    "swift": {
        "suppressions": r"swiftlint:disable",
        "public_names": r"^[ \t]{0,99}(?:public|open)\s",
        "tests": r"\bfunc\stest|@Test\b",
    },
    "ruby": {
        "suppressions": r"#\s{0,9}(?:rubocop:(?:disable|todo)|:nocov:)",
        "tests": r"^[ \t]{0,40}(?:it\s|def\stest_)",
        "skips": r"^[ \t]{0,40}(?:x?skip|xit|pending)\b",
    },
    "php": {
        "suppressions": r"@phpstan-ignore|phpcs:(?:ignore|disable)",
        "tests": r"function\stest|#\[Test\b",
        "skips": r"markTestSkipped",
    },
    "shell": {"suppressions": r"#\s{0,9}shellcheck\s{1,9}disable"},
}
"""By language, what counts towards which number. A language without a row of a kind has none of it."""
_PATTERNS = {kind: {name: re.compile(rf"(?m)(?:{pattern}).*") for name, pattern in rows.items()} for kind, rows in _TABLE.items()}


def worth_reading(path: str) -> bool:
    """Whether its name says that it is code which is written by hand."""
    *folders, name = path.split("/")
    return bool(language_of(path)) and _BY_HAND.isdisjoint(folders) and not _BUNDLED.search(name)


def counts_of(path: str, text: str) -> Variety:
    """What a file adds to the counts: tests and what of them never runs, or all else of source. Rust keeps both in one file."""
    text = text[:LONGEST].replace("\r\n", "\n")
    if not worth_reading(path) or is_generated(path, text):
        return Variety()
    kind, tests = language_of(path), is_test_file(path) or is_test_support(path)
    numbers = {
        name: sum(1 for _ in pattern.finditer(text))
        for name, pattern in _PATTERNS.get(kind, {}).items()
        if (name in _OF_TESTS) is tests or (kind == "rust" and not tests)
    }
    if tests:
        return Variety.model_validate(numbers)
    lines = sum(1 for line in text.split("\n") if line.strip())
    return Variety.model_validate({"files": 1, "lines": lines, "dead": _dead(text) if kind == "python" else 0, **numbers})


def _dead(text: str) -> int:
    """Private names at the top of a module that it mentions nowhere but there."""
    mentioned = Counter(_UNDERSCORED.findall(text))
    return sum(mentioned[name] == 1 for name in set(_PRIVATE.findall(text)))


def variety_of(files: Iterable[Variety]) -> Variety:
    """The counts of a whole tree."""
    total = Counter[str]()
    for counts in files:
        total.update(counts.model_dump())
    return Variety.model_validate(total)
