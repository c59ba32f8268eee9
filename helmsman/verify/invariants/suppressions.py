"""Linters, type checkers and coverage that are told to look away."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import Line
from helmsman.verify.invariants.reading.additions import Addition, additions, split
from helmsman.verify.invariants.reading.kinds import is_generated, language
from helmsman.verify.invariants.reading.patterns import Match, Pattern, code, comment, row, scan
from helmsman.verify.invariants.reading.python_code import in_string
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.settings.loosened import loosened

_REPORTER = Reporter("suppressions", "Mend what the tool complains of; where it is wrong, name the one code and say why.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT
_CODE = r"[A-Z]{1,10}[0-9]{1,5}"

_UNMEASURED = row(_WARN, "pragma:", r"#\s{0,9}pragma:\s?no\s?(?:cover|branch)", "pragma: no cover", "python")
TABLE = (
    row(_BLOCK, "noqa", r"#\s{0,9}(?:flake8|ruff)\s?:\s?noqa", "noqa for the whole file", "python"),
    row(_WARN, "noqa", rf"#\s{{0,9}}noqa\s?:\s?{_CODE}", "noqa", "python"),
    row(_BLOCK, "noqa", r"#\s{0,9}noqa\b", "noqa without a code", "python"),
    row(_BLOCK, "NOQA", r"#\s{0,9}NOQA\b(?!\s?:)", "noqa without a code", "python"),
    row(
        _BLOCK,
        "mypy:",
        r"#\s{0,9}mypy:\s?(?:ignore-errors|disable-error-code|allow-|no-)",
        "mypy loosened for the whole file",
        "python",
    ),
    row(_WARN, "type:", r"#\s{0,9}type:\s?ignore\[\w", "type: ignore", "python"),
    row(_BLOCK, "type:", r"#\s{0,9}type:\s?ignore\b", "type: ignore without a code", "python"),
    row(_WARN, "pyright:", r"#\s{0,9}pyright:\s?ignore\s?\[\w", "pyright: ignore", "python"),
    row(_BLOCK, "pyright:", r"#\s{0,9}pyright:\s?ignore\b", "pyright: ignore without a rule", "python"),
    row(
        _BLOCK,
        "pyright:",
        r"#\s{0,9}pyright:\s?(?:basic|standard|\w{1,60}\s?=\s?(?:false|none))",
        "pyright loosened for the whole file",
        "python",
    ),
    row(_BLOCK, "pylint:", r"#\s{0,9}pylint:\s?(?:skip-file|disable\s?=\s?all\b|disable-all)", "pylint disabled", "python"),
    row(_WARN, "pylint:", r"#\s{0,9}pylint:\s?disable", "pylint: disable", "python"),
    _UNMEASURED,
    row(_WARN, "nosec", r"#\s{0,9}nosec[\s:]{1,3}B[0-9]{3}", "nosec", "python"),
    row(_BLOCK, "nosec", r"#\s{0,9}nosec\b", "nosec without a code", "python"),
    row(_WARN, "eslint-disable", r"eslint-disable-(?:next-line|line)\s{1,9}[@\w]", "eslint-disable for a line", "javascript"),
    row(_BLOCK, "eslint-disable", r"eslint-disable-(?:next-line|line)", "eslint-disable without a rule", "javascript"),
    row(_BLOCK, "eslint-disable", r"/\*\s{0,9}eslint-disable\b", "eslint-disable for the whole file", "javascript"),
    row(_BLOCK, "@ts-nocheck", r"@ts-nocheck\b", "@ts-nocheck", "javascript"),
    row(_BLOCK, "@ts-ignore", r"@ts-ignore\b", "@ts-ignore", "javascript"),
    row(_WARN, "@ts-expect-error", r"@ts-expect-error\b", "@ts-expect-error", "javascript"),
    row(_WARN, "biome-ignore", r"biome-ignore(?:-all)?\b", "biome-ignore", "javascript"),
    row(_BLOCK, "ignore", r"(?:istanbul|c8|v8)\s{1,9}ignore\s{1,9}file", "no coverage for the whole file", "javascript"),
    row(_WARN, "ignore", r"(?:istanbul|c8|v8)\s{1,9}ignore\s{1,9}(?:next|if|else|start)", "no coverage", "javascript"),
    row(_WARN, "nolint", r"//\s?nolint\s?:\s?(?!all\b)\w", "nolint", "go"),
    row(_BLOCK, "nolint", r"//\s?nolint\b", "nolint without a linter", "go"),
    row(_WARN, "NOLINT", r"NOLINT(?:NEXTLINE)?\(", "NOLINT", "c"),
    row(_BLOCK, "NOLINT", r"NOLINT(?:NEXTLINE|BEGIN)?\b", "NOLINT without a check", "c"),
    row(_WARN, "rubocop:", r"#\s{0,9}rubocop:(?:disable|todo)\s{1,9}(?!all\b)\w", "rubocop:disable", "ruby"),
    row(_BLOCK, "rubocop:", r"#\s{0,9}rubocop:(?:disable|todo)\b", "rubocop:disable all", "ruby"),
    row(_WARN, ":nocov:", r"#\s{0,9}:nocov:", "no coverage", "ruby"),
    row(_BLOCK, "phpstan-ignore", r"@phpstan-ignore-(?:next-line|line)", "phpstan-ignore without an identifier", "php"),
    row(_WARN, "phpstan-ignore", r"@phpstan-ignore\b", "phpstan-ignore", "php"),
    row(_BLOCK, "phpcs:ignoreFile", r"phpcs:ignoreFile", "phpcs off for the whole file", "php"),
    row(_WARN, "phpcs:", r"phpcs:(?:ignore(?!File)|disable)", "phpcs:ignore", "php"),
    row(_BLOCK, "swiftlint:", r"swiftlint:disable\s{1,9}all\b", "swiftlint:disable all", "swift"),
    row(_WARN, "swiftlint:", r"swiftlint:disable", "swiftlint:disable", "swift"),
    row(_WARN, "shellcheck", r"#\s{0,9}shellcheck\s{1,9}disable\s?=\s?SC", "shellcheck disable", "shell"),
)
"""Comments. Coverage pragmas and expected errors name no code by nature; honest code has them."""

ATTRIBUTES = (
    row(_BLOCK, "#!", r"#!\[(?:allow|expect)\(", "#![allow] for the whole file", "rust"),
    row(
        _BLOCK,
        "#[",
        r"#\[(?:allow|expect)\([^)]{0,200}\b(?:warnings|clippy::(?:all|pedantic|correctness)|unused)\b",
        "#[allow] of everything",
        "rust",
    ),
    row(_WARN, "#[", r"#\[(?:allow|expect)\(", "#[allow]", "rust"),
    row(_BLOCK, "@Supp", r"@Suppress(?:Warnings|FBWarnings)?\(\s?\{?\s?\"all\"", "all warnings suppressed", "java"),
    row(_WARN, "@Supp", r"@Suppress(?:Warnings|FBWarnings|Lint)?\(", "warnings suppressed", "java"),
    row(_BLOCK, "#pragma", r"#pragma\s{1,9}warning\s{1,9}disable\s{0,9}$", "all warnings disabled", "csharp"),
    row(
        _WARN,
        "#pragma",
        r"#pragma\s{1,9}(?:warning\s{1,9}disable|warning\(disable|(?:GCC|clang)\s{1,9}diagnostic\s{1,9}ignored)",
        "warnings disabled",
        "csharp",
        "c",
    ),
)
"""What is code."""


_UNREACHED = re.compile(
    r"\s*(?:if (?:typing\.)?TYPE_CHECKING|if __name__|(?:el)?if (?:sys|os|platform)\."
    r"|else\b|except\b|raise\b|pass\b|\.\.\.|assert_never|assert False"
    r"|return NotImplemented|def __(?:repr|str)__|def main\b|case _|@|import\b|from\b|#)"
)
"""What honest code keeps from being measured: what runs on one system only, or never."""
_MANY = 4
_MOST = 4
"""From so many pragmas on, where there is one for every so many lines that were added, they hide new code."""


def suppressions(scene: Scene) -> Iterable[Finding]:
    """Rule `suppressions`: comments, attributes and settings by which a tool finds less than it found."""
    comments = (finding for addition in additions(scene.diff) if addition.lines for finding in _in_file(addition))
    return most_important(chain(comments, loosened(scene.diff)))


def _in_file(addition: Addition) -> Iterator[Finding]:
    kind = language(addition.file.path)
    found = [match for match in muted(addition.lines, addition.text, kind) if not _is_quoted(match, addition.file.after, kind)]
    grown = _growth(addition) if found else Counter[Pattern]()
    many = _leaves_code_out(found, addition)
    for match in reversed(found):
        grown[match.pattern] -= 1
        if grown[match.pattern] >= 0:
            yield _told(match, addition, heavy=many and match.pattern == _UNMEASURED)


def _leaves_code_out(found: Iterable[Match], addition: Addition) -> bool:
    """Whether much of the ordinary code that was added is not to be measured."""
    left_out = [match for match in found if match.pattern == _UNMEASURED and not _UNREACHED.match(match.line.text)]
    statements = [line for line in addition.lines if not line.text.lstrip().startswith(("#", '"', "'", ")", "]", "}"))]
    return len(left_out) >= _MANY and _MOST * len(left_out) >= len(statements)


def _growth(addition: Addition) -> Counter[Pattern]:
    """How many more there are than before: a line that was changed and kept its comment adds none."""
    before, after = _tally(addition, addition.file.before), _tally(addition, addition.file.after)
    after.subtract(before)
    return after


def _tally(addition: Addition, text: str | None) -> Counter[Pattern]:
    lines = [Line(number, line) for number, line in enumerate(split(text), 1)]
    kind = language(addition.file.path)
    return Counter(match.pattern for match in muted(lines, text or "", kind) if not _is_quoted(match, text, kind))


def _told(match: Match, addition: Addition, *, heavy: bool) -> Finding:
    path, text, after = addition.file.path, match.line.text, addition.file.after or ""
    ends = match.pattern.what == "eslint-disable for the whole file" and "eslint-enable" in after
    ends = ends or (is_generated(path, after) and is_generated(path, addition.file.before or after))
    message = f"{match.pattern.what} was added: {' '.join(text.split())[:80]}"
    return _REPORTER.tell(
        _WARN if ends else _BLOCK if heavy else match.pattern.weight, Spot(path, match.line.number, text), message
    )


def _is_quoted(match: Match, text: str | None, kind: str) -> bool:
    return kind == "python" and in_string(text or "", match.line.number)


_BY_TOOL = tuple(tuple(rows) for _, rows in groupby(TABLE, key=lambda row: row.word))
"""Of the rows of one tool the first that fits a line tells; another tool may be switched off on the same line."""


def muted(lines: Iterable[Line], text: str, kind: str) -> Iterator[Match]:
    """Suppressions where their tools read them, in a comment or as an attribute outside of one. `text` is all of the lines."""
    for table in _BY_TOOL:
        yield from scan(lines, text, kind, table, comment)
    yield from scan(lines, text, kind, ATTRIBUTES, code)
