"""Rust modules of tests that are in files of their own, and run only as long as a line names them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.verify.cases.masks import masked
from helmsman.verify.diff import FileDiff, TreeDiff

_MODULE = re.compile(
    r"(?m)^[ \t]*+(?P<marks>(?:#\[[^\n\]]{0,200}\][ \t\n]*+){0,5})(?:pub(?:\([^)\n]{0,40}\))? )?"
    r"mod (?P<name>\w{1,100})(?P<end>[ ;{])"
)
_OF_TESTS = re.compile(r"tests?|tests?_\w{1,90}|\w{1,90}_tests?")
_ROOTS = frozenset({"lib.rs", "main.rs", "mod.rs"})


@dataclass(frozen=True)
class Unnamed:
    """A module of tests that a file named, and that nothing in the diff names now."""

    path: str
    """Of the file that named it."""
    module: str
    """Path of the file that holds it."""
    line: str


def unnamed_modules(diff: TreeDiff, paths: frozenset[str]) -> Iterator[Unnamed]:
    """Those whose files are still there."""
    files = [file for file in diff if file.path.endswith(".rs")]
    now = {match["name"] for file in files for match in _modules(file.after)}
    for file in files:
        for match in _modules(file.before) if file.after is not None else ():
            is_test = "cfg(test)" in match["marks"] or _OF_TESTS.fullmatch(match["name"])
            places = _places(file, match["name"])
            if is_test and match["end"] == ";" and match["name"] not in now and not places.isdisjoint(paths):
                yield Unnamed(file.path, min(places & paths), f"mod {match['name']};")


def _modules(text: str | None) -> Iterator[re.Match[str]]:
    return _MODULE.finditer(masked(text, "rust").code) if text and "mod " in text else iter(())


def _places(file: FileDiff, name: str) -> frozenset[str]:
    """Where the compiler looks for a module. A file right below `tests` runs by itself."""
    folder, _, own = file.path.rpartition("/")
    inner = folder if own in _ROOTS or folder == "tests" else f"{folder}/{own.removesuffix('.rs')}"
    places = [f"{inner}/{name}.rs".lstrip("/"), f"{inner}/{name}/mod.rs".lstrip("/")]
    return frozenset(place for place in places if place.rpartition("/")[0].rpartition("/")[2] != "tests" or "src" in place)
