"""The place in the project's own code that a stack trace points at."""

import re

_STRANGE = re.compile(
    r"site-packages|dist-packages|/lib/python|/lib64/python|node_modules|[<]|\bnode:|/usr/(?:lib|local/go|share)/|/pkg/mod/|"
    r"\.cargo/registry|/rustc/|\.venv/|/gems/|/vendor/"
)
_PYTHON = re.compile(
    r"^(?:(?:E +)? *File \"(?P<file>[^\"\n]{1,400})\", line "
    r"|(?P<short>[^\s:\"]{1,300}\.py):(?=\d+: in \S))"  # as pytest shortens it
    r"(?P<line>\d+)",
    re.MULTILINE,
)
_OTHERS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^ +at (?:.{1,200} \()?(?:file://)?([^\s():]{1,300}):(\d+):\d+\)?$",  # node
        r"^(?:file://)?(/[^\s():]{1,300}\.[cm]?[jt]sx?):(\d+)$",  # node, above its excerpt
        r"^\t([^\s:]{1,300}\.go):(\d+)",
        r"^\s{1,8}at [\w$./<>]{1,200}\(([\w$]{1,100}\.(?:java|kt|scala)):(\d+)\)",
        r"^ +at .{1,300} in ([^\n:]{1,300}):line (\d+)$",
        r"^\s{1,8}from ([^\s:]{1,300}\.rb):(\d+):in ",
        r"^.{0,300} in ([^\s:]{1,300}\.php)(?: on line |:)(\d+)$",
    )
)
_JAVA_OWN = re.compile(
    r"^\s{1,8}at (?:java|jdk|sun|javax|kotlin|scala|org\.(?:junit|gradle|apache|opentest4j))\b.*\n?", re.MULTILINE
)


def is_strange(path: str) -> bool:
    """Whether a path belongs to a library or a runtime."""
    return bool(_STRANGE.search(path))


def own_frame(text: str) -> str:
    """`path:line` of the innermost frame that belongs to no library: Python prints it last, the others first."""
    python = [f"{match['file'] or match['short']}:{match['line']}" for match in _PYTHON.finditer(text)]
    own = [frame for frame in python if not _STRANGE.search(frame)]
    if own:
        return own[-1]
    text = _JAVA_OWN.sub("", text)
    frames = (match for pattern in _OTHERS for match in pattern.finditer(text))
    return next((f"{match[1]}:{match[2]}" for match in frames if not _STRANGE.search(match[1])), "")
