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
_HEAD = 1500
"""Characters within which a generator says what it is."""
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


def is_generated(path: str, text: str) -> bool:
    """Whether a program wrote it, by its folder, its name or the usual words at its head."""
    return bool(_GENERATED_PATH.search(path) or _GENERATED_HEAD.search(text[:_HEAD]))
