"""Settings of test runners by which they find or count other tests."""

import re
from collections.abc import Iterator

from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.reading.additions import Addition, additions
from helmsman.verify.invariants.reading.patterns import code, matches, row
from helmsman.verify.invariants.reading.reporter import Reporter, Spot
from helmsman.verify.invariants.settings.flat import Settings, Value, line_of, quoted, settings, words
from helmsman.verify.invariants.settings.marked import is_marker_option, newly_marked, refused

_REPORTER = Reporter("collection", "Leave the runner's settings as they were, so that every test is collected and judged.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT

_FILES = re.compile(
    r"(?:^|/)(?:\.?pytest\.ini|\.?pytest\.toml|pyproject\.toml|setup\.cfg|tox\.ini|package\.json|jest\.config\.json|Cargo\.toml"
    r"|\.mocharc(?:\.jsonc?|\.ya?ml)?|jasmine\.json|vitest\.config\.json)$"
)
_SCRIPTED = re.compile(
    r"(?:^|/)(?:(?:jest|vitest|vite|playwright|karma|cypress|ava)[\w.-]*\.config|\.mocharc|jest\.setup|vitest\.workspace)\.[cm]?[jt]s$"
)
_OWN_FILE = re.compile(r"(?:^|/)(?:\.mocharc[^/]{0,20}|(?:jest|vitest)\.config\.json|jasmine\.json)$")
"""What belongs to one runner alone."""
_PYTEST = re.compile(r"(?:tool\.pytest(?:\.ini_options)?|tool:pytest|pytest)\.(\w+)")
_CHOOSING = frozenset(
    {"testpaths", "norecursedirs", "python_files", "python_classes", "python_functions", "collect_imported_tests"}
)
_DEFAULTS = {
    "python_files": {"test_*.py", "*_test.py", "tests.py", "tests_*.py"},
    "python_classes": {"Test", "Test*", "*Test", "*Tests"},
    "python_functions": {"test", "test_*", "test*"},
    "norecursedirs": {"*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}", ".git", ".venv", ".tox"},
}
"""What may be said without leaving anything out."""
_EXCLUDING = re.compile(
    r"-k.*|-m.*|--ignore(?:-glob)?(?:=.*)?|--deselect(?:=.*)?|--collect-only|--co|--last-failed|--lf|--stepwise|--sw"
    r"|--continue-on-collection-errors|--noconftest|--exitfirst|-x|--maxfail(?:=.*)?|--suppress-no-test-exit-code|--runxfail"
    r"|-pno:.*|no:.*|--setup-only|--setup-plan|--assert=plain|--reruns(?:=.*)?"
)
_HARMLESS = re.compile(r"no:(?:cacheprovider|warnings|randomly|sugar|doctest|nose|legacypath|faulthandler|logging|xdist)")
_TOLD = re.compile(r"-m.*|-x|--exitfirst|--maxfail.*|--reruns.*")
_COVERAGE = re.compile(r"--cov-fail-under(?:=|\s)([0-9]{1,3}(?:\.[0-9]{0,9})?)(?![0-9.])")

_JAVASCRIPT = (
    r"(?:jest\.|vitest\.|mocha\.|test\.|ava\.)?(?:projects\.)?(?:testPathIgnorePatterns|testMatch|testRegex|modulePathIgnorePatterns"
    r"|roots|exclude|include|passWithNoTests|bail|testIgnore|testNamePattern|grep|fgrep|spec|ignore|forbidOnly|failZero|allowOnly|testRunner|exclusions|spec_files|invert|files)"
)
_JS_SETTING = re.compile(_JAVASCRIPT)
_CARGO = re.compile(r"(?:(?:lib|bin|test|example|bench)(?:\..+)?\.(?:test|harness|doctest)|package\.autotests)")
_OUTPUT = re.compile(r"(?:node_modules|dist|build|coverage|git|cache|next|out|e2e|rootDir|\W)++")
_EVERY_TEST = re.compile(r"(?:<rootDir>/)?(?:[\w.-]{1,40}/){0,3}\*\*/\*[^*/]{0,40}\b(?:test|spec)\b[^*/]{0,40}")
"""A pattern for all tests below a folder."""
SCRIPTED = (
    row(
        _BLOCK,
        "gnore",
        r"\b(?:testPathIgnorePatterns|modulePathIgnorePatterns|testIgnore)\b\s?:",
        "leaves tests out",
        "javascript",
    ),
    row(_BLOCK, "test", r"\b(?:testMatch|testRegex|testNamePattern)\b\s?:", "chooses which tests run", "javascript"),
    row(_BLOCK, "exclude", r"^\s*exclude\s?:", "leaves tests out", "javascript"),
    row(_WARN, "include", r"^\s*include\s?:", "chooses which tests run", "javascript"),
    row(_BLOCK, "passWithNoTests", r"\bpassWithNoTests\b\s?:\s?true", "passes without tests", "javascript"),
    row(_BLOCK, "bail", r"\bbail\b\s?:\s?(?:true|[1-9])", "ends at the first failure", "javascript"),
    row(_BLOCK, "grep", r"\bf?grep\b\s?:", "chooses which tests run", "javascript"),
    row(
        _BLOCK,
        "dangerouslyIgnoreUnhandledErrors",
        r"dangerouslyIgnoreUnhandledErrors\s?:\s?true",
        "passes in spite of errors",
        "javascript",
    ),
)


_MOCHA = (
    row(_BLOCK, "gnore", r"(?:^|[{,])\s{0,40}[\"']?ignore[\"']?\s?:", "leaves tests out", "javascript"),
    row(_BLOCK, "spec", r"(?:^|[{,])\s{0,40}[\"']?spec[\"']?\s?:", "chooses which tests run", "javascript"),
    row(_BLOCK, "files", r"(?:^|[{,])\s{0,40}[\"']?files[\"']?\s?:", "chooses which tests run", "javascript"),
)
"""What other runners and builders mean something else by."""
_OF_MOCHA = re.compile(r"(?:^|/)(?:\.mocharc|ava\.config)\.[cm]?js$")


def collection_settings(diff: TreeDiff) -> Iterator[Finding]:
    """Settings that leave tests out or judge them by another measure."""
    for file in diff:
        if file.after is not None and _FILES.search(file.path):
            yield from _changed(file, diff)
    for addition in additions(diff):
        if addition.lines and _SCRIPTED.search(addition.file.path):
            yield from _scripted(addition)


def _changed(file: FileDiff, diff: TreeDiff) -> Iterator[Finding]:
    old, new = settings(file.path, file.before or ""), settings(file.path, file.after or "")
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        spot = Spot(file.path, line_of(file.after or "", name), f"{name} = {quoted(after)}", f"{name} = {quoted(before)}")
        marked = newly_marked(diff) if name.endswith("addopts") else frozenset[str]()
        yield from _judged(file, name, before, after, spot, first=_is_first(file.path, name, old), marked=marked)


def _is_first(path: str, name: str, old: Settings) -> bool:
    """Whether the runner had no settings in the file: a project's first ones are its own affair."""
    if _OWN_FILE.search(path):
        return not old
    section = name.partition(".")[0] if not name.startswith("tool.") else ".".join(name.split(".")[:2])
    return not any(other.startswith(f"{section}.") or other == name for other in old)


def _judged(
    file: FileDiff, name: str, old: Value, new: Value, spot: Spot, *, first: bool, marked: frozenset[str]
) -> Iterator[Finding]:
    pytest = _PYTEST.fullmatch(name)
    if pytest and pytest[1] == "addopts":
        yield from _options(old, new, spot, marked)
    elif pytest and pytest[1] in _CHOOSING:
        yield from _chosen(pytest[1], old, new, spot, first=first)
    elif file.path.endswith("Cargo.toml") and _CARGO.fullmatch(name) and new is False:
        weight = _WARN if file.before is None or name.endswith("doctest") else _BLOCK
        yield _REPORTER.tell(weight, spot, f"{name} = false leaves tests out")
    elif file.path.endswith((".json", ".jsonc", "rc", ".yml", ".yaml")) and _is_javascript(file.path, name):
        yield from _javascript(name, old, new, spot, first=first or file.before is None)


def _options(old: Value, new: Value, spot: Spot, marked: frozenset[str]) -> Iterator[Finding]:
    before, after = _arguments(old), _arguments(new)
    taken = refused(after) & marked
    for option in dict.fromkeys(one for one in after if one not in before):
        if _EXCLUDING.fullmatch(option) and not _HARMLESS.fullmatch(option.removeprefix("-p")):
            leaves_out = is_marker_option(option) and taken
            weight = _WARN if _TOLD.fullmatch(option) and not leaves_out else _BLOCK
            yield _REPORTER.tell(weight, spot, f"pytest is given {option}")
    if _demanded(before) > _demanded(after):
        yield _REPORTER.block(spot, "pytest demands less coverage")


def _demanded(options: tuple[str, ...]) -> float:
    """Percent of coverage; 0 where no number is given, so that pytest demands none or refuses to run."""
    found = _COVERAGE.search(" ".join(options))
    return float(found[1]) if found else 0


def _arguments(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else tuple(value.split()) if isinstance(value, str) else ()


def _chosen(key: str, old: Value, new: Value, spot: Spot, *, first: bool) -> Iterator[Finding]:
    before, after = set(words(old)), set(words(new))
    if new is None:
        return  # the runner's own choice is everything
    gained, lost = after - before, before - after
    narrowed = gained - _DEFAULTS["norecursedirs"] if key == "norecursedirs" else lost
    other = after - _DEFAULTS.get(key, set[str]())
    if narrowed:
        yield _REPORTER.tell(_WARN if first else _BLOCK, spot, f"{key} takes tests out of the run")
    elif not before and other and not first:
        yield _REPORTER.hint(spot, f"{key} now says which tests run")
    elif first and other and key != "testpaths":
        yield _REPORTER.hint(spot, f"{key} is not what pytest takes by itself")


def _is_javascript(path: str, name: str) -> bool:
    own = not path.endswith("package.json")
    return bool(_JS_SETTING.fullmatch(name)) and (own or name.startswith(("jest.", "vitest.", "mocha.", "ava.")))


def _javascript(name: str, old: Value, new: Value, spot: Spot, *, first: bool) -> Iterator[Finding]:
    gained, lost = set(words(new)) - set(words(old)), set(words(old)) - set(words(new))
    choosing = name.rpartition(".")[2] in {"spec", "testMatch", "include", "files", "spec_files"}
    harmless = not lost and all(_OUTPUT.fullmatch(word) or (choosing and _EVERY_TEST.fullmatch(word)) for word in gained)
    if new is not None and new is not False and not harmless:
        yield _REPORTER.tell(_WARN if first else _BLOCK, spot, f"{name} changes which tests run or what counts as passing")


def _scripted(addition: Addition) -> Iterator[Finding]:
    path = addition.file.path
    for match in matches(addition, (*SCRIPTED, *_MOCHA) if _OF_MOCHA.search(path) else SCRIPTED, code):
        if not _harmless(code(match.line.text, "javascript"), new=addition.file.before is None):
            weight = match.pattern.weight if addition.file.before is not None else _WARN
            yield _REPORTER.tell(
                weight, Spot(path, match.line.number, match.line.text), f"{path.rpartition('/')[2]} {match.pattern.what}"
            )


def _harmless(text: str, *, new: bool) -> bool:
    """`exclude: ["node_modules", "dist"]`; in a first configuration also `include: ["src/**/*.test.ts"]`."""
    listed = re.findall(r"[\"'`]([^\"'`]{1,200})[\"'`]", text)
    chosen = new and bool(re.match(r"\s{0,80}(?:include|testMatch|spec|files)\b", text))
    return bool(listed) and all(_OUTPUT.fullmatch(word) or (chosen and _EVERY_TEST.fullmatch(word)) for word in listed)
