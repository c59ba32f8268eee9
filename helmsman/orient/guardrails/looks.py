"""Commands that only look, whose repetition is natural, and commands that may have changed what others find."""

import re
from collections.abc import Sequence

from helmsman.orient.guardrails.git import parsed
from helmsman.orient.guardrails.shell import Command
from helmsman.orient.guardrails.words import has_flag, word_set
from helmsman.orient.guardrails.wrappers import INTERPRETER
from helmsman.orient.guardrails.writes import written

_LOOKS = word_set(
    "ls cat pwd cd pushd popd echo printf head tail less more wc grep egrep fgrep rg ag fd find tree stat file du df which type "
    "env printenv date whoami hostname uname id ps pgrep top jobs sleep wait lsof ss netstat curl wget nc ping true false test [ "
    "[[ jq yq sort uniq cut tr column awk sed diff cmp basename dirname realpath readlink export set read source . tee od xxd "
    "strings history command time nproc free uptime man help seq"
)
_GIT_LOOKS = word_set(
    "status diff log show branch remote blame grep ls-files ls-tree rev-parse rev-list describe shortlog reflog cat-file tag "
    "config help version stash merge-base name-rev for-each-ref show-ref"
)
_LOOKING = {
    "docker": word_set("ps logs images inspect stats"),
    "podman": word_set("ps logs images inspect stats"),
    "kubectl": word_set("get describe logs"),
    "gh": word_set("run pr issue api"),
    "systemctl": word_set("status"),
    "npm": word_set("ls list view outdated"),
    "pip": word_set("list show freeze"),
    "go": word_set("env version list"),
}
_CHANGES = word_set(
    "git mv cp rm mkdir touch ln tar unzip patch chmod rsync docker docker-compose podman kubectl systemctl kill pkill killall "
    "pip pip3 uv npm pnpm yarn bun bundle gem poetry pdm conda apt apt-get brew black isort prettier gofmt rustfmt goimports "
    "alembic createdb dropdb psql sqlite3 mysql redis-cli protoc mktemp"
)
_CHANGING = {
    "go": word_set("get mod generate install fmt clean"),
    "cargo": word_set("add remove fmt fix update install clean"),
    "ruff": word_set("format"),
    "make": word_set("clean install generate format fmt"),
}
_INTERPRETERS = word_set("node bun deno ruby perl php sh bash zsh")
_FIXES = frozenset({"--fix", "--write", "--fix-only", "--update-snapshot", "--inline-snapshot", "--snapshot-update"})
_RUNS = {"npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm", "bundle"}
_RUNNING = word_set("test t tst run run-script exec build lint start check")
_SCRIPT = re.compile(r"[^-].*\.(?:py|js|mjs|cjs|ts|rb|pl|php|sh|bash)")
_TESTS = re.compile(r"test|spec|check|lint|build|type|verify|^dev$|^start$|^pytest$|^ruff$|^mypy$|^tsc$|^eslint$|^jest$")
"""Names of scripts and jobs that look at the code and leave it as it is."""


def is_look(commands: Sequence[Command]) -> bool:
    """Whether a script only looks; one of which nothing can be read counts as a look."""
    return all(_looks(command) for command in commands) and not any(_keeps(command) for command in commands)


def _keeps(command: Command) -> bool:
    return any(not target.startswith("/dev/") for target in written(command))


def _looks(command: Command) -> bool:
    program, words = command.program, command.arguments
    if program == "git":
        git = parsed(command)
        return git.verb in _GIT_LOOKS and (git.verb != "stash" or git.words[:1] in {("list",), ("show",)})
    if program == "kill":
        return "-0" in words
    return not program or program in _LOOKS or bool(_LOOKING.get(program, frozenset()) & set(words[:2]))


def may_change(commands: Sequence[Command]) -> bool:
    """Whether a script may have changed files, packages or processes."""
    return any(_changes(command) for command in commands)


def _is_script(command: Command) -> bool:
    """Whether it runs a program of the project's own that may write anything: a generator, a migration, a text on its input."""
    if not (INTERPRETER.fullmatch(command.program) or command.program in _INTERPRETERS):
        return False
    first = next(iter(command.arguments), "-")
    if first == "-":
        return bool(command.stdin)
    return bool(_SCRIPT.fullmatch(first)) and not _TESTS.search(first)


def _changes(command: Command) -> bool:
    if _looks(command):
        return _keeps(command) or command.background
    program, words = command.program, command.arguments
    if program in _RUNS and words[:1] and words[0] in _RUNNING:
        return words[0] in {"run", "run-script", "exec"} and not any(map(_TESTS.search, words[1:3]))
    return (
        _is_script(command)
        or program in _CHANGES
        or command.background
        or bool(_CHANGING.get(program, frozenset()) & set(words[:2]))
        or has_flag(words, "", _FIXES)
        or _keeps(command)
    )
