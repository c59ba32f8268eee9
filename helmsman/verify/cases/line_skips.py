"""What makes tests not run, in languages that are read by their lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.verify.cases.masks import Masked
from helmsman.verify.cases.model import SkipKind


@dataclass(frozen=True)
class FoundSkip:
    position: int
    kind: SkipKind

    def start(self) -> int:
        return self.position


_SUITE = "(?:it|test|describe|context|suite|specify)"
_RUBY_MARKS = (
    r"(?m)^[ \t]*+(?:x(?:it|describe|context|specify|example|feature|scenario)|skip|pending)\b"
    r"|\b(?:skip|pending):\s*true|(?<!\w):skip\b"
)
_RULES: dict[str, tuple[tuple[SkipKind, str], ...]] = {
    "javascript": (
        (SkipKind.CONDITION, rf"(?<![\w$]){_SUITE}(?:\.\w+)*?\.(?:skipIf|runIf)\b"),
        (SkipKind.CONDITION, rf"(?<![\w$]){_SUITE}\.(?:skip|fixme)\((?=[^)\n]*(?:[!=]=|process\.|[a-z]Name\b))(?!\s*[\"'`])"),
        (SkipKind.FOCUS, rf"(?<![\w$])(?:{_SUITE}(?:\.concurrent|\.serial)?\.only\b|f(?:it|describe|context)(?=\())"),
        (
            SkipKind.ALWAYS,
            rf"(?<![\w$.])(?:{_SUITE}(?:\.concurrent)?\.(?:skip|todo|failing|fails|fixme)|x(?:it|test|describe|context|specify)(?=[.(]))",
        ),
        (SkipKind.ALWAYS, r"(?<![\w$])(?:this|ctx|context|t)\.skip\(|(?<![\w$.])pending\("),
    ),
    "go": ((SkipKind.ALWAYS, r"(?<!\w)[tbf]\.Skip(?:f|Now)?\("),),
    "rust": ((SkipKind.ALWAYS, r"#\[ignore\b"), (SkipKind.CONDITION, r"#\[cfg_attr\([^\]\n]{0,200}?\bignore\b")),
    "java": (
        (SkipKind.CONDITION, r"@(?:Disabled|Enabled)(?:On|If|For)\w*|(?<!\w)assume(?:That|True|False|Not\w*)\("),
        (
            SkipKind.ALWAYS,
            r"@(?:Disabled|Ignore|Ignored)\b|@Test\s*\([^)\n]{0,80}enabled\s*=\s*false|throw\s+new\s+SkipException\b",
        ),
    ),
    "ruby": (
        (SkipKind.FOCUS, r"(?m)^[ \t]*+f(?:it|describe|context|specify)\b|(?<!\w):focus\b|\bfocus:\s*true"),
        (
            SkipKind.ALWAYS,
            _RUBY_MARKS,
        ),
    ),
    "php": (
        (SkipKind.FOCUS, r"->only\("),
        (SkipKind.ALWAYS, r"->(?:skip|todo)\(|markTest(?:Skipped|Incomplete)\("),
    ),
    "python": (
        (
            SkipKind.ALWAYS,
            r"@(?:pytest\.mark\.|unittest\.)(?:skip|xfail|expectedFailure)\b|(?<!\w)(?:pytest\.skip|self\.skipTest)\(",
        ),
    ),
}
_SEARCHED = {
    language: re.compile(
        "|".join(f"(?P<{kind.name.lower()}{n}>{text.replace('(?m)', '')})" for n, (kind, text) in enumerate(rules)), re.MULTILINE
    )
    for language, rules in _RULES.items()
}
_ALWAYS_TRUE = re.compile(r"(?:assumeTrue\(\s*false|assumeFalse\(\s*true)")
_RUBY_CONDITION = re.compile(r"\s(?:if|unless)\s+(?!true\b)")


_HINTS = {
    "javascript": (
        "skip",
        "only",
        "todo",
        "fixme",
        "fail",
        "pending",
        "runIf",
        "xit",
        "xtest",
        "xd",
        "xc",
        "xs",
        "fit",
        "fd",
        "fc",
    ),
    "go": (".Skip",),
    "rust": ("ignore",),
    "java": ("abled", "Ignore", "assume", "enabled", "SkipException"),
    "ruby": ("skip", "pending", "focus", "xit", "xd", "xc", "xs", "xe", "xf", "fit", "fd", "fc", "fs"),
    "php": ("only", "skip", "todo", "markTest"),
    "python": ("skip", "xfail", "expectedFailure"),
}
"""One of these stands in every text that skips: most texts need no closer look."""


def skips_in(masked: Masked, language: str) -> Iterator[FoundSkip]:
    if not any(hint in masked.code for hint in _HINTS[language]):
        return
    for match in _SEARCHED[language].finditer(masked.code):
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        if masked.bare[start : start + 1].strip():
            yield FoundSkip(start, _kind(match, masked, language))


def _kind(match: re.Match[str], masked: Masked, language: str) -> SkipKind:
    kind = SkipKind((match.lastgroup or "").rstrip("0123456789"))
    line = masked.code[match.start() : match.start() + 200].lstrip().partition("\n")[0]
    if _ALWAYS_TRUE.match(line):
        return SkipKind.ALWAYS
    return SkipKind.CONDITION if language == "ruby" and _RUBY_CONDITION.search(line) else kind
