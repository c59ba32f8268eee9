"""Settings of Maven, Gradle and RSpec by which tests are left out or fail without effect."""

import re
from collections.abc import Iterator

from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import TreeDiff
from helmsman.verify.invariants.reading.additions import Addition, additions
from helmsman.verify.invariants.reading.patterns import Pattern, code, row, scan
from helmsman.verify.invariants.reading.reporter import Reporter, Spot

_REPORTER = Reporter("collection", "Let the build run every test and fail where one fails.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT

_TRUE = r"[\"']?>?\s?true\b"
_MAVEN = (
    row(_BLOCK, "kip", rf"(?:<|-D)(?:maven\.test\.skip(?:\.exec)?|skip(?:Tests|ITs|UTs|UnitTests))[>=]{_TRUE}", "skips tests"),
    row(
        _BLOCK, "ailure", rf"(?:<|-D)(?:maven\.test\.failure\.ignore|testFailureIgnore)[>=]{_TRUE}", "passes in spite of failures"
    ),
    row(_BLOCK, "roups>", r"<excludedGroups>\s?[^<\s$]", "leaves tests out"),
    row(
        _BLOCK,
        "xclude>",
        r"<exclude>[^<]{0,200}(?:Tests?|IT|Spec)(?:\*|\.\w{1,8}|[$/])?[^<\w]{0,20}</exclude>",
        "leaves tests out",
    ),
    row(_WARN, "<", r"<(?:test|groups)>\s?[^<\s$]", "chooses which tests run"),
)
_GRADLE = (
    row(
        _BLOCK,
        "gnoreFailures",
        r"\b(?:ignoreFailures(?:\.set)?|setIgnoreFailures)\s?[=( ]\s?true\b",
        "passes in spite of failures",
    ),
    row(
        _BLOCK,
        "xclude",
        r"\bexclude(?:s\s?\+?=|TestsMatching|Tags|Categories|Groups)\b|\bexcludes?\b[^\n]{0,80}(?:Tests?\b|/test/)",
        "leaves tests out",
    ),
    row(_BLOCK, "nabled", r"\b[tT]est\w{0,40}[\"')\s]{0,4}[.{]\s?(?:enabled|isEnabled)\s?=\s?false", "turns tests off"),
    row(_BLOCK, "onlyIf", r"\bonlyIf\s?[({]\s?\{?\s?false\b", "turns a task off"),
    row(
        _BLOCK,
        "depends",
        r"\b(?:check|build)\b[^\n]{0,40}\bdependsOn\.(?:remove|clear|removeAll)\(",
        "takes tests out of the build",
    ),
    row(_WARN, "failOnNoMatchingTests", r"\bfailOnNoMatchingTests\s?=\s?false", "passes without tests"),
    row(_WARN, "include", r"\b(?:includeTestsMatching|includeTags|includeCategories)\b", "chooses which tests run"),
)
_RSPEC_OPTIONS = (
    row(_BLOCK, "-", r"--(?:dry-run|only-failures|next-failure|exclude-pattern)\b|--failure-exit-code[= ]0", "leaves tests out"),
    row(_BLOCK, "-t", r"(?:--tag|(?:^|\s)-t)[= ]?~", "leaves tests out"),
    row(_BLOCK, "-", r"(?:--tag|--example(?:-matches)?|--pattern|(?:^|\s)-[etP])(?:[= ]|$)", "chooses which tests run"),
    row(_WARN, "--fail-fast", r"--fail-fast\b", "ends at the first failure"),
)
_RSPEC_HELPER = (
    row(_BLOCK, "xclu", r"\.(?:filter_run_excluding|exclusion_filter|exclude_pattern)\b", "leaves tests out", "ruby"),
    row(_BLOCK, "failure_exit_code", r"\.failure_exit_code\s?=\s?0", "makes failures end well", "ruby"),
    row(_BLOCK, "dry_run", r"\.dry_run\s?=\s?true", "runs no test", "ruby"),
    row(_WARN, "filter_run", r"\.filter_run(?:_including)?[\s(]{1,3}(?!:?focus)", "chooses which tests run", "ruby"),
    row(_WARN, "fail_fast", r"\.fail_fast\s?=\s?(?:true|[1-9])", "ends at the first failure", "ruby"),
)
_TABLES = (
    (re.compile(r"(?:^|/)(?:pom\.xml|\.mvn/(?:maven\.config|jvm\.config))$"), "", _MAVEN),
    (re.compile(r"(?:^|/)[^/]{1,100}\.gradle(?:\.kts)?$"), "java", _GRADLE),
    (re.compile(r"(?:^|/)\.rspec(?:-local)?$"), "shell", _RSPEC_OPTIONS),
    (re.compile(r"(?:^|/)(?:spec|rails|test)_helper\.rb$|(?:^|/)spec/support/[^\n]{1,200}\.rb$"), "ruby", _RSPEC_HELPER),
)
"""Which file, how its comments begin, and what to look for."""
_XML_COMMENT = re.compile(r"<!--.{0,1000}?(?:-->|$)")


def collection_builds(diff: TreeDiff) -> Iterator[Finding]:
    """Additions to build files; in a file that is new they are told only."""
    for addition in additions(diff):
        for path, kind, table in _TABLES:
            if addition.lines and path.search(addition.file.path):
                yield from _found(addition, kind, table)


def _found(addition: Addition, kind: str, table: tuple[Pattern, ...]) -> Iterator[Finding]:
    path = addition.file.path
    for match in scan(addition.lines, addition.text, kind, table, code if kind else _without_comments):
        weight = match.pattern.weight if addition.file.before is not None else _WARN
        spot = Spot(path, match.line.number, match.line.text)
        yield _REPORTER.tell(weight, spot, f"{path.rpartition('/')[2]} {match.pattern.what}")


def _without_comments(text: str, kind: str) -> str:  # noqa: ARG001 - called like `code`
    return _XML_COMMENT.sub("", text[:2000])
