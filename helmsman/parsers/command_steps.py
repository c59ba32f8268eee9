"""The steps of a shell command: what runs, and what decides whether the next one does."""

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from helmsman.plain import word_set

LOOKS = word_set(
    "ls cat cd echo grep egrep fgrep rg ag sed awk head tail less more bat pwd wc mkdir rmdir rm cp mv touch true false which "
    "diff sort uniq cut tr tree file stat chmod ln printf date sleep export set source . test [ [[ fd tee jq xargs pushd popd "
    "for case env find kill wait ps sudo local read unset trap exit :"
)
_READ = 4000
_SEPARATORS = "();&|<>\n"
_JOINTS = re.compile(r"[0-9]?>&[0-9-]|\\\n|^[ \t]*#.*$", re.MULTILINE)
_HERE = re.compile(r"(?<!<)<<-?[ \t]*['\"\\]?([A-Za-z_]\w{0,59})['\"]?")
"""Neither `<<< word`, which is one line, nor a shift by a number."""
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "{", "}", "time", "fi", "done", "nohup"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_GIVES_SCRIPT = re.compile(r"-[a-z]*c")
_NESTED = 3


class Step(NamedTuple):
    """One command of a script."""

    words: tuple[str, ...]
    """Without what only starts it: `CI=1 python -m pytest -q` is `pytest`."""
    raw: tuple[str, ...]
    then: str = ""
    """The operators after it."""
    files: tuple[str, ...] = ()
    """What its output is written to."""


def steps(command: str, depth: int = 0) -> list[Step]:
    """All steps in order, those of `bash -lc '…'` in its place; none where the quotes do not close."""
    found = [step for step in _split(_tokens(_without_documents(command[:_READ]))) if step.words]
    return [inner for step in found for inner in _opened(step, depth)]


def _opened(step: Step, depth: int) -> list[Step]:
    given = next((number for number, word in enumerate(step.raw[:-1]) if _GIVES_SCRIPT.fullmatch(word)), None)
    if depth >= _NESTED or step.words[0] not in _SHELLS or given is None:
        return [step]
    inner = steps(step.raw[given + 1], depth + 1)
    return [*inner[:-1], inner[-1]._replace(then=step.then)] if inner else [step]


def _without_documents(command: str) -> str:
    kept: list[str] = []
    end = ""
    for line in command.split("\n"):
        if end:
            end = "" if line.strip() == end else end
            continue
        kept.append(line)
        here = _HERE.search(line)
        end = here[1] if here else ""
    return "\n".join(kept)


def _tokens(command: str) -> list[str]:
    lexer = shlex.shlex(_JOINTS.sub(" ", command), posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _split(tokens: Sequence[str]) -> Iterator[Step]:
    raw: list[str] = []
    files: list[str] = []
    then, target = "", ""
    for token in tokens:
        operator = bool(token) and not token.strip(_SEPARATORS)
        if operator and ("<" in token or ">" in token):
            target = token
        elif operator:
            then += token
        elif target:
            files += [token] if ">" in target else []
            target = ""
        else:
            if then:
                yield _step(raw, then, files)
                raw, files, then = [], [], ""
            raw.append(token)
    yield _step(raw, then, files)


def _step(raw: Sequence[str], then: str, files: Sequence[str]) -> Step:
    start = next((number for number, word in enumerate(raw) if word not in _KEYWORDS), len(raw))
    words = raw[start:]
    return Step(normal(" ".join(words)), tuple(words), then, tuple(files))


def programs(found: Sequence[Step]) -> frozenset[str]:
    """The first two words of each step: the program, and which of its jobs it does."""
    return frozenset(word for step in found for word in step.words[:2])


def program(found: Sequence[Step], command: str) -> str:
    """The program that a failure is most likely of: the last one that does more than look."""
    names = [step.words[0] for step in found]
    doing = [name for name in names if name not in LOOKS]
    return (doing or names or [*command.split(maxsplit=1), ""][:1])[-1]


_ASSIGNMENT = re.compile(r"[A-Z_][A-Z0-9_]*=\S*")
_REDIRECT = re.compile(r"[0-9&]?>>?(?:&[0-9]|\S+)?|</dev/null")
_QUIET = re.compile(r"-(?:-|q+|v+|x|s|l|ra|rA|rf|n|j|[nj]?[0-9]+|-tb=\w+|-no-header|-color\S*|-verbose|-quiet|-silent|-ci|-run)")
_EVERYTHING = {".", "./..."}
_INTERPRETER = re.compile(r"python[0-9.]*|py")
_WRAPPERS = frozenset({
    "uv run", "poetry run", "pipenv run", "pdm run", "hatch run", "bundle exec", "pnpm exec", "yarn exec", "npx", "bunx", "env",
    "time", "sudo", "command",
})  # fmt: skip


@lru_cache(maxsize=1024)
def normal(command: str) -> tuple[str, ...]:
    """The words that say what is run: no path to the program, no wrapper, no flag that only changes what is printed.

    `CI=1 .venv/bin/python -m pytest -q 2>&1` is `pytest`, `npm run test` is `npm test`.
    """
    words = [word for word in command.strip().removeprefix("$ ").split()[:60] if not _REDIRECT.fullmatch(word)]
    while words and (cut := _wrapping(words)):
        words = words[cut:]
    if not words:
        return ()
    program = words[0].rpartition("/")[2] or words[0]
    rest = [word for word in words[1:] if not _QUIET.fullmatch(word) and word not in _EVERYTHING]
    if program in {"npm", "yarn", "pnpm", "bun"} and rest[:1] == ["run"]:
        rest = rest[1:]
    return ("python" if _INTERPRETER.fullmatch(program) else program, *rest)


def _wrapping(words: Sequence[str]) -> int:
    """How many words at the start only say how the rest is started."""
    if _ASSIGNMENT.fullmatch(words[0]):
        return 1
    if words[0] == "timeout":
        return min(2, len(words) - 1)
    if _INTERPRETER.fullmatch(words[0].rpartition("/")[2]) and words[1:2] == ["-m"] and words[2:]:
        return len(words[:2])
    return next((many for many in (1, 2) if len(words) > many and " ".join(words[:many]) in _WRAPPERS), 0)
