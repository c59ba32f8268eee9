"""Markers of pytest that were put on tests that were there, with an option that leaves such tests out."""

import re

from helmsman.verify.diff import TreeDiff
from helmsman.verify.invariants.reading.additions import additions
from helmsman.verify.invariants.reading.kinds import language, serves_tests

_REFUSED = re.compile(r"\bnot\s{1,9}\(?\s?(\w{1,80}(?:\s{1,9}or\s{1,9}\w{1,80}){0,20})")
_WORD = re.compile(r"\b(?!or\b)\w{1,80}")
_MARK = re.compile(r"\bmark\.(\w{1,80})|\badd_marker\(\s?[\"'](\w{1,80})[\"']")
_MARKER = re.compile(r"^(?:-m|--markers?=?)")


def refused(options: tuple[str, ...]) -> frozenset[str]:
    """Markers whose tests do not run: `slow` and `net` of `-m "not slow and not net"`."""
    text = " ".join(options).replace('"', " ").replace("'", " ")
    return frozenset(word for group in _REFUSED.findall(text) for word in _WORD.findall(group))


def is_marker_option(option: str) -> bool:
    return bool(_MARKER.match(option))


def newly_marked(diff: TreeDiff) -> frozenset[str]:
    """Names of the markers that this diff puts into files of tests that were there."""
    kept = (one for one in additions(diff) if one.file.before is not None and _is_python_test(one.file.path))
    texts = (text for one in kept for text in _above_old(one.file.before or "", one.file.after or "", one.text))
    return frozenset(name for text in texts for groups in _MARK.findall(text) for name in groups if name)


def _is_python_test(path: str) -> bool:
    return language(path) == "python" and serves_tests(path)


_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)


def _above_old(before: str, after: str, added: str) -> list[str]:
    """Added lines that mark: those before a test that was there, and those that hold for a whole module or class."""
    known, new = set(_DEFINED.findall(before)), {line.strip() for line in added.split("\n")}
    found, waiting = list[str](), list[str]()
    for line in after.split("\n"):
        defined = _DEFINED.match(line)
        if line.strip() in new and "mark" in line:
            (waiting if line.lstrip().startswith("@") else found).append(line[:500])
        elif defined:
            found += waiting if defined[1] in known else []
            waiting = []
    return found
