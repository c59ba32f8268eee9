"""Values that honest projects give to what a check heeds and nothing had set: a shell, flags of make, a variable of a recipe."""

import re

_SH = r"(?:ba|z|da|k|a)?sh"
_ASK = r"(?:which|command -v|type -[pP])"
_QUIET = r"(?: ?2> ?/dev/null)?"
_CORES = (
    r"(?:nproc(?: --(?:all|ignore=[0-9]))?|getconf _?NPROCESSORS_(?:ONLN|CONF)|sysctl -n [\w.]{1,40}"
    r"|grep -c [\w^\"']{1,40} /proc/cpuinfo|(?:expr|echo) (?:nproc|shell |[0-9()$+*/ -]){1,40}"
    rf"|python3? -c [\"'][\w ;.()]{{0,60}}cpu_count[\w ;.()]{{0,20}}[\"']){_QUIET}"
)
"""Commands that print how many there are."""
_COUNT = rf"(?:[0-9]{{1,3}}|\$[({{]\w{{1,80}}[)}}]|\$\(shell {_CORES}(?: ?\|\| ?{_CORES}){{0,3}}\))"
_SHELL_PATH = r"(?!/tmp/|/var/tmp/|/dev/)(?:/(?!\.\./)[\w.+@-]{1,80}){0,9}/bin/(?:env )?"
_SHELL_ASKED = rf"\$\(shell {_ASK} {_SH}{_QUIET}(?: ?\|\| ?(?:{_ASK}|echo) (?:/usr)?(?:/bin/)?{_SH})?\)"
_FLAG = rf"-j(?: ?{_COUNT})?|--jobs(?:[= ]{_COUNT})?|-[rRsw]{{1,4}}|-O\w{{0,8}}|--(?:no-|warn|silent|output-sync)[\w=-]{{0,30}}"
_NAMED = (
    ("SHELL", rf"(?:{_SHELL_PATH})?{_SH}(?: -[eux]{{1,3}}| -o pipefail){{0,4}}|{_SHELL_ASKED}"),
    (r"\.SHELLFLAGS", r"(?:-[eux]{1,3} |-?o pipefail |-[eux]{1,3}o pipefail ){0,4}-[eux]{0,3}c"),
    ("MAKEFLAGS", rf"(?:(?:{_FLAG})(?: |$)){{1,9}}"),
    (r".*\.ignore_(?:outcome|errors)", r"(?i:false|no|0)"),
    (r".*\.set_?env", r"(?![\s\S]*ADDOPTS)[\s\S]*"),
    (r".*\.commands_(?:pre|post)", r"[\s\S]*"),
)
_HARMLESS = tuple((re.compile(name), re.compile(value)) for name, value in _NAMED)
"""By the name of what was not set. Each option ends with a blank: no text can be divided into them in two ways."""


def leaves_nothing_out(name: str, value: str) -> bool:
    """Whether a shell, flags of make or a setting of tox may be set to that."""
    return not value or any(one.fullmatch(name) and harmless.fullmatch(value) for one, harmless in _HARMLESS)


LONGEST = 2000
_VARIABLE = re.compile(r"(?!SHELL$|MAKEFLAGS$|GNUMAKEFLAGS$|MAKE$)[A-Za-z_]\w{0,80}")
_PROGRAM = rf"(?!(?:[\w./-]{{0,80}}/)?(?:true|echo|printf|exit|sleep)\b)[\w./-]{{1,80}}{_QUIET}"
_ASKS = re.compile(rf"\$\(shell {_ASK} {_PROGRAM}(?: ?\|\| ?(?:{_ASK}|echo) {_PROGRAM}){{0,3}}\)")
"""Where a program is."""
_MODULE = re.compile(r"\b(?:python|pypy|py|run)[0-9.]{0,5}(?: -[A-Za-z]{1,3}){0,3} -m [\w.]{1,80}")
_NOT_ALL = re.compile(
    r"""(?:^|(?<=[\s"'=,(]))(?:"""
    r"-k|-m(?!arch=|tune=|cpu=|[0-9]|avx|sse|fma|fpu|float|macosx|no-)"
    r"(?!\s(?:pytest|py\.test|unittest|coverage|tox|nox|ruff|mypy|pyright|pylint|flake8|black)\b)"
    r"|-p\s?no:(?!(?:cacheprovider|warnings|randomly|sugar|logging|xdist)\b)"
    r"|-(?:run|short|skip|list)\b|-(?:[ihtERL]|LE)(?=[\s=]|$)|-n(?=\s|$)(?!\s(?:[0-9]|auto\b|logical\b|\$))"
    r"|-x\s?:?[\w:]{0,40}[tT]est|-D[\w.]{0,60}(?:skip|[tT]est=)"
    r"|--(?:ignore|deselect|co(?![\w-])|collect-only|last-failed|lf\b|stepwise|sw\b|noconftest|runxfail|setup-only|setup-plan"
    r"|continue-on|suppress-no-test|exit-zero|pass-?[wW]ith-?[nN]o|no-?run|dry-?run|just-print|recon|list|skip|exclude|omit"
    r"|test-?[nN]ame|testPath|filter|f?grep|invert|tags?\b|help|version|if-present|no-fail(?!-fast)|touch|question|markers|fixtures"
    r"|lib\b|doc\b|bins?\b|only|changed|last-commit|findRelated|shard|no-tests|warn-only))"
    r"""|ADDOPTS|::|(?:^|[\s/"'=])(?:test_\w{1,80}|\w{1,80}_test)\.(?:py|go|rb|exs?|[cm]?[jt]sx?)\b|\w\.(?:test|spec)\.[cm]?[jt]sx?\b"""
    r"|\b(?:filter-out|firstword|lastword|wordlist)\s"
)
"""Options, files and functions by which a runner runs fewer tests, or none."""
_NO_RUNNER = re.compile(
    r"[\"']?(?:[@+-]{0,3}\s?(?:(?:env|command|exec|sudo|time|nice)\s){0,3}[\w./-]{0,80}"
    r"(?<![\w.-])(?:true|:|echo|printf|exit|sleep)(?![\w./-])"
    r"|[@+]{0,3}-[@+]{0,3}\s?(?:cargo|go|npm|npx|pnpm|yarn|bun|pytest|python3?|node|make|mvn|gradle|ctest|bundle|rake|uv|tox|poetry)\b"
    r"|[@+]{0,3}-\s|!)"
    rf"|[^\n]{{0,2000}}\$\(shell (?:{_ASK} )?(?:[\w./-]{{0,80}}/)?(?:true|echo|printf|exit|sleep|cat)\b"
)
"""How a value begins that is a program which tests nothing, or whose failure make passes over."""
_OPERATOR = re.compile(r"[;|&#`\\]")


def runs_no_less(name: str, value: str) -> bool:
    """Whether a variable of a recipe may be set to that: no operator that hides how it ends, no option that leaves tests out."""
    if len(value) >= LONGEST or not _VARIABLE.fullmatch(name):
        return False
    bare = _MODULE.sub("python", _ASKS.sub("found", value))
    return not (_OPERATOR.search(bare) or _NO_RUNNER.match(bare) or _NOT_ALL.search(bare))
