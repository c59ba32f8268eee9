"""What a path is, by its name alone: which language, and whether it holds tests."""

import re
from functools import lru_cache

_LANGUAGES = {
    "python": ("py", "pyi", "pyw"),
    "javascript": ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"),
    "go": ("go",),
    "rust": ("rs",),
    "java": ("java", "kt", "kts", "scala", "groovy"),
    "csharp": ("cs",),
    "c": ("c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm"),
    "swift": ("swift",),
    "ruby": ("rb", "rake"),
    "php": ("php",),
    "shell": ("sh", "bash", "zsh"),
}
_BY_SUFFIX = {suffix: language for language, suffixes in _LANGUAGES.items() for suffix in suffixes}

_TEST_NAMES = {
    "python": r"(?:test_[^/]*|[^/]*_tests?|tests?)\.py",
    "javascript": r"[^/]+[._-](?:test|tests|spec|e2e|cy)\.[cm]?[jt]sx?",
    "go": r"[^/]+_test\.go",
    "rust": r"(?:tests?|[^/]+_tests?|test_[^/]+)\.rs",
    "java": r"(?:[^/]*(?:Tests?|TestCase|IT|Spec)|Test[A-Z][^/]*)\.(?:java|kt|kts|scala|groovy)",
    "csharp": r"[^/]*Tests?\.cs",
    "c": r"(?:test_[^/]+|[^/]+_(?:unit)?tests?)\.(?:c|cc|cpp|cxx)",
    "swift": r"[^/]*Tests?\.swift",
    "ruby": r"(?:test_[^/]+|[^/]+_(?:test|spec))\.rb",
    "php": r"[^/]*Test\.php",
    "shell": r"(?:test_[^/]+|[^/]+_test)\.(?:sh|bash)",
}
_TEST_FOLDERS = {
    "javascript": r"(?:^|.*/)(?:__tests__|tests?|specs?|e2e|cypress)/[^/]",
    "rust": r"(?:^|.*/)tests/",
    "java": r"(?:^|.*/)src/(?:test|androidTest|integrationTest)/",
    "ruby": r"(?:^|.*/)(?:test|spec)/",
    "php": r"(?:^|.*/)tests?/",
}
_SUPPORT = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|__mocks__|specs?|e2e|testdata|fixtures?|fakes?|mocks?|stubs?)/"
    r"|(?:^|/)(?:conftest|[^/]*(?:fake|mock|stub|dummy|fixture)[^/]*)\.[a-z]+$",
    re.IGNORECASE,
)
_NAMES = {language: re.compile(rf"(?:.*/)?{pattern}") for language, pattern in _TEST_NAMES.items()}
_FOLDERS = {language: re.compile(pattern) for language, pattern in _TEST_FOLDERS.items()}


def language(path: str) -> str:
    """The language's name in lower case, TypeScript being `javascript` and Kotlin `java`; empty where it is no code."""
    return _BY_SUFFIX.get(path.rpartition(".")[2].lower(), "") if "." in path else ""


@lru_cache(maxsize=4096)
def is_test(path: str) -> bool:
    """Whether a runner would look for tests in it; conftest.py and helpers of tests are none."""
    kind = language(path)
    name, folder = _NAMES.get(kind), _FOLDERS.get(kind)
    return bool((name and name.fullmatch(path)) or (folder and folder.match(path)))


@lru_cache(maxsize=4096)
def serves_tests(path: str) -> bool:
    """Whether it holds tests or what only tests use: fixtures, fakes, conftest.py."""
    return is_test(path) or bool(_SUPPORT.search(path))


def is_source(path: str) -> bool:
    """Whether it is code of the project itself."""
    return bool(language(path)) and not serves_tests(path)
