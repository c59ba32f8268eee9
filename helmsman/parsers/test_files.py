"""Classify files as tests, test support and source, by what common runners collect."""

import re
from functools import lru_cache
from itertools import pairwise

from helmsman.parsers.source import TABLE, Source

LANGUAGES = {suffix: language for language, suffixes in TABLE["suffixes"].items() for suffix in suffixes.split()}
_NAMES: dict[str, re.Pattern[str]] = {language: re.compile(pattern) for language, pattern in TABLE["tests"].items()}
_FOLDERS = {"javascript": "__tests__", "rust": "tests"}  # folders in which all files are tests
_JVM_SOURCE_SETS = frozenset({"test", "androidTest", "integrationTest"})
_SKIPPED_FOLDERS = frozenset({"build", "dist", "node_modules", "venv", "CVS", "_darcs"})
"""pytest's norecursedirs, and folders that JavaScript runners skip."""
_GO_SKIPPED_FOLDERS = frozenset({"testdata", "vendor"})  # folders that `./...` skips, besides names that begin with _ or a dot
_SUPPORT = frozenset(["test", "tests", "spec", "specs", "__tests__", "__mocks__", "__snapshots__", "testdata", "fixtures"])
_GENERATED_PATH = re.compile(
    r"(?:^|/)(?:__)?generated(?:__)?/|(?:^|/)[^/]{1,200}(?:\.generated\.[a-z]{1,5}"
    r"|_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)|\.g\.(?:cs|dart|ts))$"
)
_GENERATED_HEAD = re.compile(
    r"^\s{0,9}(?://|#|/\*|\*|--|<!--).{0,120}"
    r"(?:@generated\b|(?i:\b(?:auto-?matically |auto-?)?generated (?:by|with|from|using|file|code)\b"
    r"|\bthis (?:file|code|module) (?:is|was|has been) (?:auto-?matically "
    r"|auto-?)?generated\b|\bcode generated\b.{0,80}\bdo not edit\b))",
    re.MULTILINE,
)
_HEAD = 1500  # characters to search for a generator's notice


def language_of(path: str) -> str:
    """Return a path's language, with TypeScript as `javascript` and Kotlin as `java`; empty if it is not code."""
    return LANGUAGES.get(path.rpartition(".")[2].lower(), "") if "." in path else ""


@lru_cache(maxsize=4096)
def is_test_file(path: str, text: str = "") -> bool:
    """Whether runners collect tests from a file, by its path; some files also need the text."""
    *folders, name = path.split("/")
    language = language_of(path)
    if language not in _NAMES or any(folder in _SKIPPED_FOLDERS or folder.startswith(".") for folder in folders):
        return False
    if language == "go" and any(part.startswith(("_", ".")) or part in _GO_SKIPPED_FOLDERS for part in (*folders, name)):
        return False
    source_set = language == "java" and any(outer == "src" and inner in _JVM_SOURCE_SETS for outer, inner in pairwise(folders))
    if _NAMES[language].fullmatch(name.rpartition(".")[0]) or _FOLDERS.get(language) in folders or source_set:
        return True
    needs_text = bool(text) and (language == "rust" or (language == "javascript" and "test" in folders))
    return needs_text and bool(Source(path, text).tests)


def needs_text(path: str) -> bool:
    """Whether only the text shows if it is a test file, as for Rust tests within sources, or files below `test` for mocha."""
    language, folders = language_of(path), path.split("/")[:-1]
    return not is_test_file(path) and (language == "rust" or (language == "javascript" and "test" in folders))


def is_only_tests(path: str, text: str) -> bool:
    """Whether a collected file contains nothing that other code uses."""
    if language_of(path) == "python":
        names = _TOP_LEVEL_NAME.findall(_FIXTURE.sub("", text))
        return any(map(_TEST_NAME.match, names)) and all(name.startswith("_") or _TEST_NAME.match(name) for name in names)
    return bool(Source(path, text).tests) and not _EXPORTS.search(text)


_FIXTURE = re.compile(r"(?m)^@(?:pytest\.)?fixture.*\n(?:@.*\n)*(?:async )?def .*")
_TOP_LEVEL_NAME = re.compile(r"(?m)^(?:(?:async )?def|class) (\w+)")
_TEST_NAME = re.compile(r"test|Test|.*(?:Test|Tests|TestCase)$")
_EXPORTS = re.compile(r"\bexport\b|\bmodule\.exports\b|\bexports\.|\bimport\.meta\.vitest\b")


def is_test_support(path: str) -> bool:
    """Whether a path is test support: fixtures, data, helpers."""
    *folders, name = path.split("/")
    return name == "conftest.py" or not _SUPPORT.isdisjoint(folders)


def is_source(path: str) -> bool:
    """Whether a path is source code, not tests or test support."""
    return bool(language_of(path)) and not is_test_file(path) and not is_test_support(path)


def is_generated(path: str, text: str) -> bool:
    """Whether a file is generated, by its folder, its name or a notice at its top."""
    return bool(_GENERATED_PATH.search(path) or _GENERATED_HEAD.search(text[:_HEAD]))
