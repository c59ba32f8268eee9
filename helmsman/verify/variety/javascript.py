"""JavaScript and TypeScript, read by their lines."""

import re
from collections import Counter
from collections.abc import Iterator

from helmsman.records.variety_facts import FileFacts
from helmsman.verify.cases.masks import Masked, masked
from helmsman.verify.variety.muted import suppressions_in
from helmsman.verify.variety.python import MOST_IMPORTS, MOST_LONELY

_TYPED = (".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
_FROM = re.compile(r"(?<![\w$.])from\s{0,9}[\"'](\.[^\"'\n]{0,300})[\"']")
_BARE = re.compile(r"(?<![\w$.])import\s{0,9}[\"'](\.[^\"'\n]{0,300})[\"']")
_CALLED = re.compile(r"(?<![\w$.])(require|import)\s{0,9}\(\s{0,9}[\"'](\.[^\"'\n]{0,300})[\"']")
_BEGINS = re.compile(r"(?<![\w$.])(?:import|export)\b")
_TYPES_ONLY = re.compile(r"(?:import|export)\s{1,9}type\b")
_MODULE = re.compile(r"(?m)^(?:import|export)\b|(?<![\w$.])(?:require\s?\(|module\.exports|exports\.)")

_CAST = re.compile(r"\bas\s{1,9}unknown\s{1,9}as\b|(?:(?<![?\w$.])as|[:<,|&]|=>)\s{0,9}any(?![\w$(:.])")
_EXPORT = re.compile(
    r"(?m)^export\s{1,9}(?:default\b|(?:declare\s|abstract\s|async\s){0,3}"
    r"(?:function|class|const|let|var|type|interface|enum|namespace)\b|\*)"
    r"|^(?:module\.)?exports(?:\.\w{1,80})?\s{0,9}="
)
_EXPORT_LIST = re.compile(r"(?m)^export\s{1,9}(?:type\s{1,9})?\{([^}]{0,2000}+)\}")
_OWN = re.compile(
    r"(?m)^(?:abstract\s{1,9}|async\s{1,9})?(?:function\s?\*?|class|const|let|var|type|interface|enum)\s{1,9}([A-Za-z_$][\w$]{0,80})"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*+")


def javascript_facts(path: str, text: str) -> FileFacts:
    """Imports count where they name a relative path; aliases of build tools are not known here."""
    read = masked(text, "javascript")
    imports, late = _imports(read)
    return FileFacts(
        role="source",
        lines=sum(1 for line in text.split("\n") if line.strip()),
        suppressions=suppressions_in(path, text),
        casts=sum(1 for _ in _CAST.finditer(read.bare)) if path.endswith(_TYPED) else 0,
        public_names=_exported(read.bare),
        imports=imports,
        late=late,
        lonely=_lonely(text, read.bare),
    )


def _imports(read: Masked) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those that run when the file is loaded, and the others."""
    now, late = dict[str, None](), dict[str, None]()
    for target, is_late in _found(read.code):
        (late if is_late else now)[target] = None
    return tuple(now)[:MOST_IMPORTS], tuple(target for target in late if target not in now)[:MOST_IMPORTS]


def _found(code: str) -> Iterator[tuple[str, bool]]:
    for match in _FROM.finditer(code):
        yield match[1], bool(_TYPES_ONLY.match(_statement(code, match.start())))
    yield from ((match[1], False) for match in _BARE.finditer(code))
    for match in _CALLED.finditer(code):
        start = code.rfind("\n", max(0, match.start() - 200), match.start()) + 1
        yield match[2], match[1] == "import" or code[start : start + 1].isspace()


def _statement(code: str, position: int) -> str:
    """From the `import` or `export` that a `from` belongs to, where it is near."""
    furthest = max(0, position - 2000)
    starts = [match.start() for match in _BEGINS.finditer(code, furthest, position)]
    return code[starts[-1] if starts else furthest : position]


def _exported(bare: str) -> int:
    lists = (part for match in _EXPORT_LIST.finditer(bare) for part in match[1].split(",") if part.strip())
    return sum(1 for _ in _EXPORT.finditer(bare)) + sum(1 for _ in lists)


def _lonely(text: str, bare: str) -> tuple[str, ...]:
    """Names at the top of a module that it does not export and never mentions: nobody else can.

    A file that is no module shares its names with every other script of a page, so nothing of it is known.
    """
    if not _MODULE.search(bare):
        return ()
    own = Counter(match[1] for match in _OWN.finditer(bare))
    words = Counter(_WORD.findall(text)) if own else Counter[str]()
    return tuple(sorted(name for name, times in own.items() if words[name] <= times))[:MOST_LONELY]
