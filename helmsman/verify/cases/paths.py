"""Which files hold tests, by what the common runners collect."""

import re
from itertools import pairwise

_JS = ("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts")
_JVM = ("java", "kt", "kts", "groovy")
LANGUAGES = {
    "py": "python",
    **dict.fromkeys(_JS, "javascript"),
    "go": "go",
    "rs": "rust",
    **dict.fromkeys(_JVM, "java"),
    "rb": "ruby",
    "php": "php",
}
_NAMES = {
    "python": re.compile(r"test.*|.*_tests?"),
    "javascript": re.compile(r".+[.\-_](?:test|spec)(?:\.d)?"),
    "go": re.compile(r".+_test"),
    "rust": re.compile(r"tests?|.+_tests?"),
    "java": re.compile(r"Test[A-Z].*|.*(?:Test|Tests|TestCase|IT|Spec)"),
    "ruby": re.compile(r"test_.+|.+_(?:spec|test)"),
    "php": re.compile(r".*(?:Test|Cest)"),
}
"""File names without suffix: what each language's runners collect by default."""
_FOLDERS = {"javascript": "__tests__", "rust": "tests"}
"""A folder that makes tests of all files below it."""
_JVM_SOURCE_SETS = frozenset({"test", "androidTest", "integrationTest"})
_PASSED_OVER = frozenset({"build", "dist", "node_modules", "venv", "CVS", "_darcs"})
"""pytest's norecursedirs, and what the JavaScript runners leave out."""
_GO_PASSES = frozenset({"testdata", "vendor"})
"""Folders that `./...` leaves out, besides names that begin with _ or a dot."""
_SUPPORT = frozenset(["test", "tests", "spec", "specs", "__tests__", "__mocks__", "__snapshots__", "testdata", "fixtures"])
_OTHER_SOURCES = frozenset(
    [
        "c",
        "cc",
        "cpp",
        "cxx",
        "h",
        "hpp",
        "cs",
        "swift",
        "scala",
        "ex",
        "exs",
        "erl",
        "hs",
        "ml",
        "clj",
        "lua",
        "pl",
        "sh",
        "sql",
        "vue",
        "svelte",
        "dart",
        "m",
        "mm",
        "zig",
    ]
)
_RUST_TESTS = re.compile(r"#\[cfg\((?:all\()?\s*test\b")
_SCRIPT_TESTS = re.compile(r"(?m)^(?:describe|context|suite|it|test|specify)(?:\.\w+)*+\(")


def language_of(path: str) -> str:
    """Name of the language whose tests are read, or nothing."""
    return LANGUAGES.get(path.rpartition(".")[2], "")


def is_test_file(path: str, text: str = "") -> bool:
    """Whether runners look for tests in it, by its path; of some files only the text tells."""
    *folders, name = path.split("/")
    language = language_of(path)
    if not language or any(folder in _PASSED_OVER or folder.startswith(".") for folder in folders):
        return False
    if language == "go" and any(part.startswith(("_", ".")) or part in _GO_PASSES for part in (*folders, name)):
        return False
    named = _NAMES[language].fullmatch(name.rpartition(".")[0]) or _FOLDERS.get(language) in folders
    return bool(named) or _in_source_set(language, folders) or _is_told_by_text(language, folders, text)


def only_text_tells(path: str) -> bool:
    """Whether it may be a test file that is not named like one."""
    language, folders = language_of(path), path.split("/")[:-1]
    return not is_test_file(path) and (language == "rust" or (language == "javascript" and "test" in folders))


def _is_told_by_text(language: str, folders: list[str], text: str) -> bool:
    """A source of Rust may hold its own tests; mocha and Node take what lies below `test`, beside helpers and fixtures."""
    if language == "rust":
        return bool(_RUST_TESTS.search(text))
    return language == "javascript" and "test" in folders and bool(_SCRIPT_TESTS.search(text))


def _in_source_set(language: str, folders: list[str]) -> bool:
    beside = pairwise(folders)
    return language == "java" and any(outer == "src" and inner in _JVM_SOURCE_SETS for outer, inner in beside)


def is_test_support(path: str) -> bool:
    """Whether it is no test itself and serves only tests: fixtures, data, helpers."""
    *folders, name = path.split("/")
    return name == "conftest.py" or not _SUPPORT.isdisjoint(folders)


def is_source(path: str) -> bool:
    """Whether it is program text that tests may be about."""
    known = bool(language_of(path)) or path.rpartition(".")[2] in _OTHER_SOURCES
    return known and not is_test_file(path) and not is_test_support(path)
