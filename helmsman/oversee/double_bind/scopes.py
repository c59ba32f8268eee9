"""Scopes that orders name, and what lies in them."""

from fnmatch import fnmatchcase
from functools import lru_cache

from helmsman.oversee.drift.words import word_set

_LONGEST = 300
NAMED = {
    "test": ("tests/**", "test/**", "spec/**", "**/__tests__/**", "**/test_*.py", "**/*_test.py", "**/*_test.go", "**/*.test.*",
             "**/*.spec.*", "**/*Test.java", "**/tests/**"),
    "migration": ("**/migrations/**", "**/migrate/**"),
    "dependency": ("**/requirements*.txt", "**/*.lock", "**/package-lock.json", "**/pnpm-lock.yaml", "**/go.sum"),
    "lockfile": ("**/*.lock", "**/package-lock.json", "**/pnpm-lock.yaml", "**/go.sum"),
    "workflow": (".github/workflows/**",),
    "snapshot": ("**/__snapshots__/**", "**/*.snap"),
}  # fmt: skip
"""Paths that belong to a scope with a name."""
FOLDERS = {"test": ("tests", "test"), "migration": ("migrations",)}
"""Where something new of a kind is put."""
KINDS = {"module": "*.py", "migration": "**/migrations/**", "test": "**/test*", "file": "**", "script": "*.sh"}
"""Which paths are of a kind that a noun names."""
PUBLIC = word_set("api interface signature function method class endpoint module parameter export name")
"""What public API consists of."""
SET_APART = word_set("vendor third_party third-party node_modules dist build generated gen fixtures snapshots legacy archive")
"""Folders that rules for all code are never meant for."""


def inside(path: str, scope: str) -> bool:
    """Whether a path (or all that a glob means) lies in a scope: the same file, a folder above, or a glob that matches."""
    path, scope = _plain(path), _plain(scope)
    if not path or not scope:
        return False
    base = path.split("*")[0].rstrip("/") or path
    return base == scope.rstrip("/") or base.startswith(f"{scope.rstrip('/')}/") or _matches(base, scope)


def named(path: str, scope: str) -> bool:
    """Whether a path belongs to a scope that has a name."""
    return any(_matches(_plain(path), pattern) for pattern in NAMED.get(scope, ()))


def of_kind(path: str, noun: str) -> bool:
    pattern = KINDS.get(noun)
    return pattern is not None and _matches(_plain(path), pattern)


def set_apart(path: str) -> bool:
    parts = path.lower().strip("/").split("/")
    return bool(SET_APART & set(parts)) or path.endswith((".lock", ".snap"))


@lru_cache(maxsize=10_000)
def _matches(path: str, pattern: str) -> bool:
    """`*` stands for any characters here, slashes too: a scope is rather too wide than too narrow a match for `**`."""
    if "*" not in pattern and "?" not in pattern:
        return False
    if pattern.count("*") > 6 or "[" in pattern:  # noqa: PLR2004 - no glob of a person has more
        return False
    anywhere = pattern.removeprefix("**/")
    name = path.rsplit("/", 1)[-1]
    below = "/" not in anywhere and fnmatchcase(name, anywhere)
    return (
        below
        or fnmatchcase(path, pattern)
        or (pattern != anywhere and fnmatchcase(path, f"*/{anywhere}"))
        or (pattern != anywhere and fnmatchcase(path, anywhere))
    )


def _plain(path: str) -> str:
    return path[:_LONGEST].removeprefix("./").removeprefix("/")
