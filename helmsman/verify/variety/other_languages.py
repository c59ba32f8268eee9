"""Languages of which lines, suppressions, casts and public names are counted, and neither imports nor dead names.

Go and Rust find unused imports and most dead code by themselves, Go refuses cycles; what would be read for Java, C and the
rest needs their class paths and build files.
"""

import re

from helmsman.records.variety_facts import FileFacts
from helmsman.verify.cases.masks import masked
from helmsman.verify.cases.paths import LANGUAGES
from helmsman.verify.invariants.reading.kinds import language
from helmsman.verify.invariants.reading.patterns import code
from helmsman.verify.variety.muted import suppressions_in

_CASTS = {
    "go": re.compile(r"\binterface\s{0,3}\{\s{0,3}\}|(?<![\w.])any(?![\w(:.])|\bunsafe\."),
    "rust": re.compile(r"\bunsafe\b|\btransmute\b"),
    "csharp": re.compile(r"\bdynamic\b|\bunsafe\b"),
}
_PUBLIC = {
    "go": re.compile(r"(?m)^(?:func|type|var|const)\s{1,9}[A-Z]|^func\s{0,9}\([^)\n]{0,200}\)\s{0,9}[A-Z]"),
    "rust": re.compile(
        r"(?m)^[ \t]{0,99}pub\s{1,9}(?:async |unsafe |const ){0,3}(?:fn|struct|enum|trait|type|const|static|mod)\b"
    ),
    "java": re.compile(r"(?m)^[ \t]{0,99}public\s"),
    "csharp": re.compile(r"(?m)^[ \t]{0,99}public\s"),
    "swift": re.compile(r"(?m)^[ \t]{0,99}(?:public|open)\s"),
}


def plain_facts(path: str, text: str) -> FileFacts:
    """A language without a row in a table has none of that kind."""
    kind = language(path)
    bare = masked(text, kind).bare if kind in LANGUAGES.values() else "\n".join(code(line, kind) for line in text.split("\n"))
    return FileFacts(
        role="source",
        lines=sum(1 for line in text.split("\n") if line.strip()),
        suppressions=suppressions_in(path, text),
        casts=_number(_CASTS.get(kind), bare),
        public_names=_number(_PUBLIC.get(kind), bare),
    )


def _number(pattern: re.Pattern[str] | None, text: str) -> int:
    return sum(1 for _ in pattern.finditer(text)) if pattern else 0
