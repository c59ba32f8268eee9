"""Settings of linters, type checkers and coverage by which they find less."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.reading.additions import Addition, additions
from helmsman.verify.invariants.reading.patterns import matches, row
from helmsman.verify.invariants.reading.reporter import Reporter, Spot
from helmsman.verify.invariants.settings.exempted import covers_everything, covers_the_work
from helmsman.verify.invariants.settings.flat import Settings, Value, is_readable, line_of, quoted, settings, words

_REPORTER = Reporter("suppressions", "Leave the settings of the tools as they were and mend what they complain of.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT

_FILES = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.cfg|tox\.ini|\.flake8|\.?ruff\.toml|\.?mypy\.ini|\.coveragerc|\.?pylintrc|pyrightconfig\.json"
    r"|\.pylintrc\.toml|\.eslintrc(?:\.json)?|tsconfig[^/]*\.json|jsconfig\.json|biome\.jsonc?|\.?clippy\.toml|Cargo\.toml|package\.json"
    r"|\.nycrc(?:\.json)?|\.c8rc\.json|\.jshintrc|\.stylelintrc(?:\.json)?|\.golangci\.(?:ya?ml|toml|json)|\.rubocop\.ya?ml|\.eslintrc\.ya?ml|\.swiftlint\.yml"
    r"|\.?pytest\.(?:ini|toml))$"
)
_SHARED = re.compile(r"(?:^|/)(?:pyproject\.toml|setup\.cfg|tox\.ini|Cargo\.toml|package\.json|\.?pytest\.(?:ini|toml))$")
"""Files of several tools, and pytest's own, which a project gives up for one of them: that they are gone says nothing."""
_PREFIXES = {
    "ruff.toml": "tool.ruff.",
    ".coveragerc": "tool.coverage.",
    "pyrightconfig.json": "tool.pyright.",
    ".golangci.yml": "golangci.",
    ".golangci.yaml": "golangci.",
    ".golangci.toml": "golangci.",
    ".golangci.json": "golangci.",
    ".rubocop.yml": "rubocop.",
    ".rubocop.yaml": "rubocop.",
    ".swiftlint.yml": "swiftlint.",
}
_SCRIPTED = re.compile(r"(?:^|/)(?:eslint\.config|\.eslintrc|jest\.config|vitest\.config|vite\.config)\.[cm]?[jt]s$")
_IGNORE_FILE = re.compile(r"(?:^|/)\.(?:eslint|stylelint|jshint|biome|semgrep|coverage)ignore$")
_TOOLS = r"(?:tool\.)?(?:ruff|mypy|pyright|basedpyright|pylint|flake8|coverage|bandit|isort|pydocstyle)"
_RANKS = {
    "off": 0,
    "none": 0,
    "false": 0,
    "0": 0,
    "allow": 0,
    "information": 1,
    "warn": 2,
    "warning": 2,
    "1": 2,
    "error": 3,
    "deny": 3,
    "2": 3,
    "true": 3,
    "forbid": 4,
}
_MODES = {"off": 0, "basic": 1, "standard": 2, "strict": 3, "recommended": 3, "all": 4}


def _lower(old: Value, new: Value) -> bool:
    """A number went down, or is no longer demanded."""
    before, after = _number(old), _number(new)
    return before is not None and before > (after or 0)


def _set_to_zero(old: Value, new: Value) -> bool:
    return _number(new) == 0 and _number(old) != 0


def _higher(old: Value, new: Value) -> bool:
    before, after = _number(old), _number(new)
    return before is not None and (after is None or after > before)


def _number(value: Value) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def _turned_off(old: Value, new: Value) -> bool:
    """Said to be off where nothing was said counts: it was on by the tool's own will, or by a strict mode."""
    return _rank(old) > _rank(new) if old is not None else _rank(new) == 0


def _turned_on(old: Value, new: Value) -> bool:
    return str(new).lower() == "true" and str(old).lower() != "true"


def _newly_set(old: Value, new: Value) -> bool:
    return bool(new) and not old


def _rank(value: Value) -> int:
    """How hard a rule is; of ESLint's `["error", {...}]` the first counts."""
    first = value[0] if isinstance(value, tuple) and value else value
    return _RANKS.get(str(first).strip("\"'").lower(), 0)


def _softer_mode(old: Value, new: Value) -> bool:
    return _MODES.get(str(old), 0) > _MODES.get(str(new), 1)


def _grown(old: Value, new: Value) -> bool:
    return bool(set(words(new)) - set(words(old)))


def _shrunk(old: Value, new: Value) -> bool:
    lost = set(words(old)) - set(words(new))
    return bool(lost) and not any(one == "ALL" or any(gone.startswith(one) for gone in lost) for one in words(new))


def _truth_lost(old: Value, new: Value) -> bool:
    return str(new).lower() == "false" and str(old).lower() != "false"


def _fewer(old: Value, new: Value) -> bool:
    """A list of what is demanded lost some, where it was given."""
    return bool(set(words(old)) - set(words(new)))


def _none_by_default(old: Value, new: Value) -> bool:
    return str(new) == "none" != str(old)


@dataclass(frozen=True)
class _Loosening:
    name: re.Pattern[str]
    """Of the setting, as a whole."""
    is_looser: Callable[[Value, Value], bool]
    weight: Weight
    what: str
    files: bool = False
    """Whether its values are patterns of files, which weigh more where they are for the work itself."""


def _when(weight: Weight, name: str, is_looser: Callable[[Value, Value], bool], what: str, *, files: bool = False) -> _Loosening:
    return _Loosening(re.compile(name, re.IGNORECASE), is_looser, weight, what, files)


TABLE = (
    _when(
        _WARN,
        rf"{_TOOLS}\.(?:lint\.)?(?:extend-)?per-file-ignores(?:\..+)?|flake8\.per-file-ignores",
        _grown,
        "exempts files from rules",
    ),
    _when(
        _WARN,
        rf"{_TOOLS}.*\.(?:extend-)?(?:exclude_lines|exclude_also)|.*\bmypy\.overrides",
        _grown,
        "leaves lines or modules out",
    ),
    _when(
        _WARN,
        rf"{_TOOLS}.*\.(?:extend-)?(?:exclude|omit|ignore[_-]paths)|tool\.(?:based)?pyright\.ignore|flake8\.(?:extend-)?exclude"
        r"|exclude|(?:eslintConfig\.)?ignorePatterns|(?:jest\.)?coveragePathIgnorePatterns|nyc\.exclude|golangci\..*\b(?:exclude-(?:dirs|files)|skip-(?:dirs|files)|paths)|(?:rubocop\.\w+|swiftlint)\.(?:Exclude|excluded)",
        _grown,
        "leaves files out",
        files=True,
    ),
    _when(_BLOCK, r"golangci\.(?:linters|formatters)\.enable", _fewer, "turns linters off"),
    _when(_BLOCK, r"golangci\.linters\.disable|swiftlint\.disabled_rules", _grown, "turns linters off"),
    _when(_BLOCK, r"golangci\.linters\.default", _none_by_default, "turns linters off"),
    _when(_BLOCK, r"golangci\.linters\.enable-all", _truth_lost, "turns linters off"),
    _when(_BLOCK, r"golangci\.issues\.new", _turned_on, "finds less"),
    _when(_BLOCK, r"golangci\.issues\.new-from-(?:rev|patch|merge-base)", _newly_set, "finds less"),
    _when(_BLOCK, r"golangci\.(?:run\.)?issues-exit-code", _set_to_zero, "passes in spite of what is found"),
    _when(_BLOCK, r"rubocop\.AllCops\.DisabledByDefault", _turned_on, "turns cops off"),
    _when(_BLOCK, r"rubocop\..+\.Enabled", _truth_lost, "turns a cop off"),
    _when(_BLOCK, r"rubocop\.Metrics/\w+\.Max", _higher, "permits more"),
    _when(
        _BLOCK,
        rf"{_TOOLS}[.:](?:lint\.|messages[ _]control\.|main\.|master\.)?(?:extend-)?(?:ignore|disable|disable_error_code|skips)",
        _grown,
        "turns rules off",
    ),
    _when(_BLOCK, r"(?:messages control|main|master|basic)\.disable", _grown, "turns rules off"),
    _when(_BLOCK, rf"{_TOOLS}\.(?:lint\.)?(?:extend-)?(?:select|enable|enable_error_code)", _shrunk, "turns rules off"),
    _when(
        _BLOCK,
        r".*\bfail[_-]under|.*coverageThreshold\..+|.*\bthresholds?\..+|(?:nyc\.)?(?:lines|branches|functions|statements)",
        _lower,
        "demands less coverage",
    ),
    _when(_BLOCK, r".*\bmax-(?:complexity|args|branches|statements|returns|locals|public-methods)", _higher, "permits more"),
    _when(_BLOCK, r".*\btypeCheckingMode", _softer_mode, "checks types less strictly"),
    _when(_BLOCK, r".*\breport[A-Z]\w+", _turned_off, "turns a rule off"),
    _when(_BLOCK, r"(?:.*\.)?(?:rules|lints\.\w+|linter\.rules\..+)\.[^.]+(?:\.level)?", _turned_off, "turns a rule off"),
    _when(_BLOCK, r"(?:mypy[^.]*|tool\.mypy)\.ignore_errors", _turned_on, "ignores errors"),
    _when(_WARN, r"mypy-.+\.ignore_errors|(?:.*\.)?mypy\.ignore_missing_imports", _turned_on, "ignores errors"),
    _when(
        _BLOCK,
        r"(?:mypy[^.]*|tool\.mypy)\.(?:strict\w*|disallow_\w+|warn_\w+|check_untyped_defs|no_implicit_\w+)",
        _turned_off,
        "checks types less strictly",
    ),
    _when(
        _BLOCK,
        r"compilerOptions\.(?:strict\w*|no(?:Implicit|Unused|Fallthrough|Unchecked|Property)\w+|checkJs|exactOptionalPropertyTypes|alwaysStrict|useUnknown\w+)",
        _turned_off,
        "checks types less strictly",
    ),
    _when(_BLOCK, r".*\.xfail_strict|(?:tool\.)?coverage[.:]run\.branch", _turned_off, "judges less strictly"),
)
"""The first row whose name fits decides."""

SCRIPTED = (
    row(_BLOCK, "off", r"[\"'][@\w/-]{2,80}[\"']\s?:\s?\[?\s?[\"']off[\"']", "turns a rule off"),
    row(_BLOCK, "0", r"[\"'][@\w/-]{2,80}[\"']\s?:\s?\[?\s?0\b", "turns a rule off"),
    row(_WARN, "gnore", r"\b(?:ignores|ignorePatterns|coveragePathIgnorePatterns)\b\s?:", "leaves files out"),
)
"""Configuration that is a program is read line by line."""


def loosened(diff: TreeDiff) -> Iterator[Finding]:
    """Settings that are looser than they were; a tool's first settings are its own affair."""
    for file in diff:
        if file.before is not None and _FILES.search(file.path):
            yield from _looser_settings(file, diff)
    for addition in additions(diff):
        if addition.file.before is not None and _SCRIPTED.search(addition.file.path):
            yield from _scripted(addition, diff)
        elif addition.lines and _IGNORE_FILE.search(addition.file.path):
            yield from _ignored(addition, diff)


def _looser_settings(file: FileDiff, diff: TreeDiff) -> Iterator[Finding]:
    old, new = _settings(file.path, file.before), _settings(file.path, file.after)
    if file.after is None and not _SHARED.search(file.path):
        yield _REPORTER.hint(Spot(file.path), f"{file.path} is gone, and what it demanded with it")
    readable = file.after is not None and is_readable(file.path, file.after)  # its tool refuses to run with another
    for name in dict.fromkeys((*old, *new)) if readable else ():
        if _BY_NAME.fullmatch(name) and new.get("golangci.linters.enable"):
            continue  # what runs is named one by one
        if old.get(name) != new.get(name) and _is_known(file.path, name, old):
            yield from _judged(file, name, old.get(name), new.get(name), diff)


def _settings(path: str, text: str | None) -> Settings:
    """With names as if they stood in the file that tools share."""
    found = settings(path, text or "")
    prefix = next((prefix for name, prefix in _PREFIXES.items() if path.endswith(name)), "")
    return {prefix + name: value for name, value in found.items()} if prefix else found


def _is_known(path: str, name: str, old: Settings) -> bool:
    """Whether the tool had settings before: its first ones are no loosening."""
    tool = ".".join(name.split(".")[: 2 if name.startswith("tool.") else 1])
    return bool(old) and (not _SHARED.search(path) or any(other.startswith(tool) for other in old))


def _judged(file: FileDiff, name: str, old: Value, new: Value, diff: TreeDiff) -> Iterator[Finding]:
    rule = next((one for one in TABLE if one.name.fullmatch(name)), None)
    if rule is not None and rule.is_looser(old, new):
        spot = Spot(file.path, line_of(file.after or "", name), f"{name} = {quoted(new)}", f"{name} = {quoted(old)}")
        heavy = _exempts_the_work(rule, name, old, new, diff)
        yield _REPORTER.tell(_BLOCK if heavy else rule.weight, spot, f"{name} {rule.what}")


_BY_NAME = re.compile(r"golangci\.linters\.(?:disable-all|default)")
_MODULES = re.compile(r"\"module\": (?:\[([^\]]{1,1000})\]|\"([^\"]{1,200})\")")
_OF_MODULE = re.compile(r"mypy-(.{1,200})\.ignore_errors")


def _modules(name: str, gained: Iterable[str]) -> list[str]:
    """Modules whose errors mypy is told to pass over."""
    own = _OF_MODULE.fullmatch(name)
    loose = [one for one in gained if re.search(r"\"(?:ignore_errors|follow_imports)\": (?:true|\"skip\")", one)]
    listed = (word for one in loose for groups in _MODULES.findall(one) for group in groups for word in group.split(","))
    return own[1].split(",") if own else [word.strip(' "') for word in listed]


def _exempts_the_work(rule: _Loosening, name: str, old: Value, new: Value, diff: TreeDiff) -> bool:
    """Whether files of the work are left out, or exempted from every rule, or all files from some."""
    gained = set(words(new)) - set(words(old))
    modules = _modules(name, gained)
    if rule.files or modules:
        return covers_the_work(modules or gained, diff)
    head, found, pattern = name.partition("per-file-ignores.")
    if found:
        return covers_everything(pattern) or ("ALL" in gained and covers_the_work([pattern], diff))
    return "per-file-ignores" in head and any(
        covers_everything(before) for line in _lines(new) if line not in _lines(old) for before in line.split(":")[:1]
    )


def _lines(value: Value) -> list[str]:
    """Rows of a setting of flake8."""
    text = "\n".join(value) if isinstance(value, tuple) else str(value)
    return [line.strip() for line in text.splitlines() if ":" in line]


_QUOTED = re.compile(r"[\"'`]([^\"'`]{1,200})[\"'`]")


def _scripted(addition: Addition, diff: TreeDiff) -> Iterator[Finding]:
    for match in matches(addition, SCRIPTED):
        message = f"{match.text} {match.pattern.what}"
        listed = _QUOTED.findall(match.line.text[:2000]) if match.pattern.what == "leaves files out" else []
        weight = _BLOCK if covers_the_work(listed, diff) else match.pattern.weight
        yield _REPORTER.tell(weight, Spot(addition.file.path, match.line.number, match.line.text), message)


def _ignored(addition: Addition, diff: TreeDiff) -> Iterator[Finding]:
    path = addition.file.path
    for line in addition.lines:
        if covers_the_work([line.text.partition("#")[0].strip().removeprefix("/")], diff):
            yield _REPORTER.block(Spot(path, line.number, line.text), f"{path.rpartition('/')[2]} leaves files out")
