"""Orders and hashes that are the same for every object, with an equality that rests on them, in languages read by text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_ARGUMENTS = r"\s?\([^)]{0,200}\)"


class _Same(NamedTuple):
    constant: re.Pattern[str]
    """A method that gives one value for all."""
    relies: re.Pattern[str]
    """An equality that asks it."""


def _same(constant: str, relies: str) -> _Same:
    return _Same(re.compile(constant, re.IGNORECASE), re.compile(relies, re.IGNORECASE))


_ORDER = rf"\bint\s+compareTo{_ARGUMENTS}\s{{0,80}}(?:\{{\s{{0,80}}return\s+0\s?;\s{{0,80}}\}}|=>\s?0\s?;)"
_HASH = (
    rf"\bint\s+(?:hashCode|GetHashCode){_ARGUMENTS}\s{{0,80}}(?:\{{"
    rf"\s{{0,80}}return\s+-?\d{{1,10}}\s?;\s{{0,80}}\}}|=>\s?-?\d{{1,10}}\s?;)"
)
_EQUALS = r"\bbool(?:ean)?\s+equals\s?\([^)]{0,200}\)[^}]{0,400}?"
_TABLE = {
    "java": (
        _same(_ORDER, rf"{_EQUALS}\bcompareTo\([^;]{{0,200}}==\s?0"),
        _same(_HASH, rf"{_EQUALS}\bhashCode\(\)\s?==|{_EQUALS}==\s?[\w.()]{{0,80}}hashCode\(\)"),
        _same(
            rf"\bfun\s+compareTo{_ARGUMENTS}[^{{=\n]{{0,40}}(?:=\s?0\b|\{{\s{{0,80}}return\s+0\s{{0,80}}\}})",
            r"\bfun\s+equals\s?\([^)]{0,200}\)[^}]{0,400}?\bcompareTo\([^\n]{0,200}==\s?0",
        ),
    ),
    "csharp": (_same(_ORDER, rf"{_EQUALS}\bCompareTo\([^;]{{0,200}}==\s?0"), _same(_HASH, rf"{_EQUALS}\bGetHashCode\(\)\s?==")),
    "ruby": (
        _same(r"\bdef\s+<=>\s?\(?[^)\n]{0,80}\)?[\s;]{1,80}(?:return\s+)?0[\s;]{1,80}end\b", r"\binclude\s+Comparable\b"),
        _same(
            r"\bdef\s+hash\b[\s;]{1,80}(?:return\s+)?-?\d{1,10}[\s;]{1,80}end\b",
            r"\bdef\s+(?:==|eql\?)[^\n]{0,80}\n[^\n]{0,200}\bhash\s?==",
        ),
    ),
    "rust": (
        _same(
            r"\bfn\s+cmp\s?\([^)]{0,200}\)\s?->\s?[\w:]{1,60}"
            r"\s{0,80}\{\s{0,80}(?:return\s+)?(?:\w{1,40}::){0,4}Equal\s?;?\s{0,80}\}",
            r"\bfn\s+eq\s?\([^)]{0,200}\)[^}]{0,400}?\.cmp\(",
        ),
    ),
    "go": (
        _same(
            r"\)\s?(?:Compare|Cmp)\s?\([^)]{0,200}\)\s?int\s?\{\s{0,80}return\s+0\s{0,80}\}",
            r"\)\s?Equals?\s?\([^)]{0,200}\)\s?bool[^}]{0,400}?\.(?:Compare|Cmp)\(",
        ),
    ),
    "javascript": (
        _same(
            r"\b(?:compareTo|compare|hashCode|valueOf)\s?\([^)]{0,200}\)[^{\n]{0,40}\{\s{0,80}return\s+\d{1,10}\s?;?\s{0,80}\}",
            r"\b(?:equals|isEqual)\s?\([^)]{0,200}\)[^}]{0,400}?\.(?:compareTo|compare|hashCode|valueOf)\(",
        ),
    ),
}


def same_for_all(kind: str, text: str) -> Iterator[re.Match[str]]:
    """Each constant order or hash that an equality of the file relies on."""
    for same in _TABLE.get(kind, ()):
        if same.relies.search(text):
            yield from same.constant.finditer(text)
