"""Source that takes its answers from the tests: imports of them, and files of theirs that it reads."""

import re
from collections.abc import Iterator

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.answers import REPORTER
from helmsman.verify.invariants.reading.additions import Addition
from helmsman.verify.invariants.reading.kinds import is_source, language
from helmsman.verify.invariants.reading.patterns import code
from helmsman.verify.invariants.reading.python_code import in_string
from helmsman.verify.invariants.reading.reporter import Spot

_FOLDER = r"(?:tests?|specs?|__tests__|testdata|fixtures|__snapshots__)"
_ANSWERS = r"(?:expect(?:ed|ations?)|golden|answers?|solutions?|snapshots?|approved|oracle|truth)"
_EXPECTED = re.compile(
    rf"[\"'/`]{_FOLDER}[\"'/`].{{0,80}}(?:\b|_){_ANSWERS}(?:\b|_)|[\"'/`]{_FOLDER}[\"'/`].{{0,40}}\btest_\w{{1,60}}\.py\b|\.snap\b",
    re.IGNORECASE,
)
_READS = re.compile(
    r"\bread_(?:text|bytes|to_string)\(|\bopen\((?![^)]{0,200}[\"'][wax])|\breadFile(?:Sync)?\(|\bReadFile\(|\b(?:File|IO)\.read\b"
    r"|\breadString\(|\breadAllLines\(|\binclude_(?:str|bytes)!|//go:embed|\bfile_get_contents\(|\bjson\.load\b|\brequire\("
)
_IMPORT = {
    "python": re.compile(
        r"^\s*(?:from\s+(tests?(?:\.\w{1,60}){0,6})\s+import\s+([^#\n]{1,200})|import\s+(tests?(?:\.\w{1,60}){1,6}))"
        r"|\b(?:import_module|__import__)\(\s?[\"'](tests?(?:\.\w{1,60}){0,6})[\"']"
    ),
    "javascript": re.compile(
        r"(?:\bfrom\s|\bimport\s|\brequire\(\s?|\bimport\(\s?)\s?[\"'`]((?:\.{1,2}/|@/|~/)(?:[\w.@-]{1,60}/){0,8}(?:tests?|__tests__|specs?|__snapshots__|fixtures)/[^\"'`\n]{1,120}"
        r"|(?:\.{1,2}/)[\w./@-]{1,120}\.(?:test|spec))[\"'`]"
    ),
    "ruby": re.compile(
        r"\brequire(?:_relative)?[\s(]\s?[\"']((?:\.{1,2}/){0,6}(?:spec|test)/[^\"'\n]{1,120}|[\w./]{0,80}_spec)[\"']"
    ),
    "rust": re.compile(
        r"\binclude!\(\s?\"([^\"\n]{0,80}\btests/[^\"\n]{1,120})\"|#\[path\s?=\s?\"([^\"\n]{0,80}\btests/[^\"\n]{1,120})\""
    ),
    "php": re.compile(r"\b(?:require|include)(?:_once)?\b[^;\n]{0,80}[\"']([^\"'\n]{0,80}\btests/[^\"'\n]{1,120})[\"']"),
    "go": re.compile(r"^\s*(?:import\s)?(?:\w{1,40}\s)?\"([\w./-]{1,120}/(?:tests?|testdata)(?:/[\w./-]{1,80})?)\"\s*$"),
}
_ANSWER_NAME = re.compile(rf"(?:^|[\W_]){_ANSWERS}(?:$|[\W_])|\bcases\b|\btest_\w|\bdata\b", re.IGNORECASE)
_TOOL = re.compile(
    r"(?:^|/)(?:scripts?|tools?|bin|dev|hack|bench\w{0,20}|ci|examples?|docs?|\.storybook|stories)/|(?:^|/)(?:setup|noxfile|tasks|manage|conf)\.py$"
    r"|\.(?:stories|bench|config)\.[cm]?[jt]sx?$"
)
"""Programs that are about the tests themselves."""


def from_tests(addition: Addition) -> Iterator[Finding]:
    """Lines of source by which it knows what tests know."""
    path, kind = addition.file.path, language(addition.file.path)
    if not is_source(path) or _TOOL.search(path):
        return
    reads = bool(_READS.search(addition.text))
    importing = _IMPORT.get(kind)
    for line in addition.lines:
        text = code(line.text[:2000], kind)
        spot = Spot(path, line.number, line.text)
        if reads and _EXPECTED.search(text) and not _is_prose(addition, line.number):
            yield REPORTER.block(spot, f"{path} reads what the tests expect")
        elif importing and (found := importing.search(text)) and not _is_prose(addition, line.number):
            named = " ".join(group for group in found.groups() if group)
            weight = Weight.BLOCK if _ANSWER_NAME.search(named) else Weight.HINT
            yield REPORTER.tell(weight, spot, f"{path} imports from the tests")


def _is_prose(addition: Addition, number: int) -> bool:
    return language(addition.file.path) == "python" and in_string(addition.file.after or "", number)
