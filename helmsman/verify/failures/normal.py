"""Texts without what differs from run to run: times, addresses, ids, ports, names of temporary folders."""

import re

MESSAGE = 300
WHERE = 200
_READ = 1000

_TEMPORARY: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"/tmp/pytest-of-[^/\s]+/pytest-\d+"), "/tmp/*"),  # noqa: S108 - a text
    (re.compile(r"(?:/private)?/var/folders/[^/\s]+/[^/\s]+/[A-Z]/[^/\s'\"`:,;)\]]+"), "/tmp/*"),  # noqa: S108 - a text
    (re.compile(r"(?:/private|/var)?/(?:tmp|dev/shm)/[^/\s'\"`:,;)\]*]+"), "/tmp/*"),  # noqa: S108 - a text
    (re.compile(r"(?<![^/\s'\"(])tmp[a-z0-9_]{6,12}(?![^/\s'\"`:,;)\]])"), "tmp*"),
    (re.compile(r"popen-gw\d+/|\[gw\d+\] "), ""),
)
_IDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "*"),
    (re.compile(r"(?i)\b0x[0-9a-f]+"), "*"),
)
_VARYING: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"),
        "*",
    ),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M\b)?"), "*"),
    (re.compile(r"\b(?=[0-9]{0,60}[a-f])(?=[a-f]{0,60}[0-9])[0-9a-f]{7,}\b|\b[0-9a-f]{12,}\b"), "*"),
    (
        re.compile(r"(?<![\w.])(?:\d+(?:\.\d+)?\s?(?:ns|us|µs|μs|ms|s|secs?|seconds?|mins?|minutes?|m|h|hours?)\b ?)+"),
        "* ",
    ),
    (re.compile(r"(?i)\b(p?pid|process|tid|thread|goroutine|worker|port)((?:[ :=#]|\bid\b){0,4}\(?)\d+"), r"\1\2*"),
    (re.compile(r"(?<===)\d+(?===)|(?<=\(node:)\d+|\b\d+ {1,9}(?=Segmentation|Abort|Killed|Terminated|Bus error)"), "*"),
    (
        re.compile(
            r"(?i)(?<=localhost):\d+|(?<=\d\.\d):\d+|(?<=\.\d\d):\d+|(?<=\.\d\d\d):\d+|(?<=::1\]):\d+|(?<=::1):\d+|:::\d+"
        ),
        "",
    ),
    (re.compile(r"(?i)(\b[a-z0-9-]{1,63}\.(?:com|org|net|io|dev|local|internal|test|example)):\d+"), r"\1"),
    (re.compile(r"\d{5,}"), "*"),
)


def normal(text: str) -> str:
    """A message in one line without what differs from run to run; small numbers stay, they may be what was expected."""
    return " ".join(_replaced(text[:_READ], _TEMPORARY + _IDS + _VARYING).split())[:MESSAGE]


def place(text: str) -> str:
    """A place in one line: its line numbers stay."""
    return " ".join(_replaced(text[:_READ], _TEMPORARY + _IDS).split())[:WHERE]


def settled(text: str) -> str:
    """A whole text without what differs from run to run."""
    return _replaced(text, _TEMPORARY + _IDS + _VARYING)


def _replaced(text: str, table: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, instead in table:
        text = pattern.sub(instead, text)
    return text
