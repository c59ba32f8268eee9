"""The commands that a shell script runs, as far as its text tells: where, with which words, into which files.

`sh -c "…"`, `eval`, `$(…)`, `find -exec` and here-documents given to a shell are followed. A part of a word that the text does
not tell, the value of an unknown variable for one, is the character UNKNOWN.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from posixpath import join, normpath
from typing import NamedTuple

from helmsman.orient.guardrails.lexing import Here, Operator, Redirect, Substitution, Token, Variable, Word, tokens
from helmsman.orient.guardrails.words import operands, word_set
from helmsman.orient.guardrails.wrappers import ASSIGNMENT, name_of, unwrap

UNKNOWN = "\0"
"""No argument can hold it, so it stands for what is not known."""
HOME = "/~"
"""Stands for a home folder that isn't known."""
LONGEST = 20_000
"""Characters of a command that are read."""
FORK_BOMB = "fork bomb"
PARENT = "$PPID"
"""Stands for the process that runs the agent's shell."""

_DEEPEST = 5
"""Scripts within scripts that are followed."""
_MOST_COMMANDS = 2000
_LONGEST_VALUE = 200
"""Characters of a variable that are kept, so that doubling it stays harmless."""
SHELLS = word_set("sh bash zsh dash ksh")
_KEYWORDS = word_set("if then do else elif while until ! { } coproc")
_BEFORE_COMMANDS = _KEYWORDS | {"time"}
_DATA = word_set("for case select fi done esac")
"""What follows them is no command."""
_EXPORTS = word_set("export local readonly declare typeset")
_INTO = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_EXEC = word_set("-exec -execdir -ok -okdir")
_FOR_GOOD = frozenset("cs")
_START_UP = frozenset({"--rcfile", "--init-file"})


@dataclass(frozen=True)
class Command:
    """One simple command, without what it was wrapped in."""

    words: tuple[str, ...] = ()
    folder: str | None = ""
    """Absolute path of the folder it runs in; None where the text doesn't tell."""
    writes: tuple[str, ...] = ()
    """Targets of its redirections."""
    stdin: str = ""
    upstream: tuple[str, ...] = ()
    """Programs whose output it reads: those before it in its pipeline, and in `< <(…)`."""
    inner: tuple[str, ...] = ()
    """Programs in the substitutions of its words."""
    wrappers: tuple[str, ...] = ()
    background: bool = False

    @property
    def program(self) -> str:
        return name_of(self.words[0]) if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]


@lru_cache(maxsize=32)  # one call is judged, then folded twice
def read(text: str, folder: str, home: str = "") -> tuple[Command, ...]:
    """The commands in the first LONGEST characters of a script that starts in `folder`."""
    reader = _Reader(folder, home or HOME)
    reader.script(text[:LONGEST])
    return tuple(reader.commands)


class _Reader:
    """Where a script stands: its folder and its variables."""

    def __init__(self, folder: str, home: str) -> None:
        self.folder: str | None = folder
        self.home = home
        self.before: str | None = folder
        self.variables = {"HOME": home, "TMPDIR": "/tmp", "PPID": PARENT}  # noqa: S108 - a name to compare with, nothing is made there
        self.commands: list[Command] = []
        self.depth = 0

    def script(self, text: str) -> None:
        self._run(tokens(text))

    def _run(self, script: Sequence[Token]) -> None:
        if _is_fork_bomb(script):
            self.commands.append(Command(words=(FORK_BOMB,)))
        folders: list[str | None] = []
        upstream: tuple[str, ...] = ()
        gathered: list[Token] = []
        for token in (*script, Operator("\n")):
            if not isinstance(token, Operator):
                gathered.append(token)
                continue
            programs = self._simple(gathered, upstream, background=token.text == "&")
            gathered = []
            upstream = (*upstream, *programs)[-20:] if token.text in {"|", "|&"} else ()
            if token.text == "(":
                folders.append(self.folder)
            elif token.text == ")" and folders:
                self.folder = folders.pop()

    def _simple(self, gathered: Sequence[Token], upstream: tuple[str, ...], *, background: bool) -> tuple[str, ...]:
        """One command: give its program, and those in the substitutions of its words."""
        if not gathered or len(self.commands) >= _MOST_COMMANDS:
            return ()
        start = len(self.commands)
        words = [text for token in gathered if isinstance(token, Word) for text in self._words(token)]
        writes = self._writes(gathered)
        inner = tuple(one.program for one in self.commands[start:])
        read_from = self._read_from(gathered)
        wrappers, bare = unwrap(self._bare(words))
        command = Command(
            words=bare,
            folder=self.folder,
            writes=tuple(target for target in writes if not target.isdigit() and target != "-"),
            stdin="\n".join(token.body for token in gathered if isinstance(token, Here)),
            upstream=(*upstream, *read_from),
            inner=inner,
            wrappers=wrappers,
            background=background,
        )
        self.commands.append(command)
        self._follow(command)
        return *inner, command.program

    def _read_from(self, gathered: Iterable[Token]) -> tuple[str, ...]:
        """Programs in the substitutions that it reads instead of a file."""
        start = len(self.commands)
        for token in gathered:
            if isinstance(token, Redirect) and token.operator == "<":
                self._text(token.target)
        return tuple(one.program for one in self.commands[start:])

    def _writes(self, gathered: Iterable[Token]) -> list[str]:
        """Targets of redirections; between `[[`, where it begins the command, and `]]` the sign compares."""
        found: list[str] = []
        begins, compares = True, False
        for token in gathered:
            word = _unquoted(token)
            if isinstance(token, Redirect) and token.operator in _INTO:
                target = self._text(token.target)  # whatever it is for, a substitution in it runs
                found += [] if compares else [target]
            compares = (compares and word != "]]") or (begins and word == "[[")
            begins = begins and word in _BEFORE_COMMANDS
        return found

    def _bare(self, words: list[str]) -> list[str]:
        """Without keywords; a line that only sets variables is remembered and has no words."""
        words = _behind_keywords(words)
        if words[:1] == ["for"]:
            self.variables.pop("".join(words[1:2]), None)
        if not words or words[0] in _DATA:
            return []
        named = words[1:] if words[0] in _EXPORTS else words
        if all(ASSIGNMENT.match(word) for word in named):
            for word in named:
                self._assign(word)
        return words

    def _assign(self, word: str) -> None:
        name, _, value = word.partition("=")
        known = len(value) <= _LONGEST_VALUE and not name.endswith("+")
        self.variables[name.rstrip("+")] = value if known else UNKNOWN

    def _words(self, word: Word) -> list[str]:
        text = self._text(word)
        loose = not word.quoted and any(isinstance(part, Variable) for part in word.parts)
        return text.split() if loose and not ASSIGNMENT.match(text) else [text]

    def _text(self, word: Word) -> str:
        return "".join(part if isinstance(part, str) else self._value(part) for part in word.parts)

    def _value(self, part: Variable | Substitution) -> str:
        if isinstance(part, Substitution):
            return self._substituted(part)
        if part.name == "PWD":
            return self.folder or UNKNOWN
        return self.variables.get(part.name, UNKNOWN)

    def _substituted(self, part: Substitution) -> str:
        start, folder = len(self.commands), self.folder
        self._run(part.script)
        self.folder = folder
        only = self.commands[start:]
        return _printed(only[0].words, folder or UNKNOWN) if len(only) == 1 else UNKNOWN

    def _follow(self, command: Command) -> None:
        """What a command does to the scripts after it and within it."""
        if command.program in {"cd", "pushd", "popd"}:
            self._go(command)
        elif command.program == "find":
            self._found(command)
        elif self.depth < _DEEPEST and (inner := script_in(command)):
            folder = self.folder
            self.depth += 1
            self.script(inner)
            self.depth -= 1
            if command.program != "eval":
                self.folder = folder

    def _go(self, command: Command) -> None:
        there = next(operands(command.arguments), self.home if command.program == "cd" else "-")
        folder = self.before if there == "-" else placed(there, self.folder, self.home)
        self.before, self.folder = self.folder, folder

    def _found(self, command: Command) -> None:
        words = command.words
        begins = [number for number, word in enumerate(words) if word in _EXEC]
        start = next(operands(words[1 : begins[0]]), ".") if begins else "."
        end = 0
        for begin in begins:
            if begin < end:  # a word of the one before
                continue
            end = next((number for number in range(begin, len(words)) if words[number] in {";", "+"}), len(words))
            wrappers, bare = unwrap([word.replace("{}", f"{start}/{UNKNOWN}") for word in words[begin + 1 : end]])
            inner = replace(command, words=bare, wrappers=wrappers, writes=(), upstream=("find",))
            self.commands.append(inner)
            if inner.program != "find":  # `find -exec sh -c …`; a find within a find is nobody's habit
                self._follow(inner)


def _printed(words: tuple[str, ...], folder: str) -> str:
    """What a command prints that only says where things are."""
    if words == ("pwd",):
        return folder
    if words in {("git", "rev-parse", "--git-dir"), ("git", "rev-parse", "--git-common-dir")}:
        return f"{folder}/.git"
    return UNKNOWN


def _behind_keywords(words: list[str]) -> list[str]:
    start = 0
    while skipped := _keywords(words[start : start + 3]):
        start += skipped
    return words[start:]


def _keywords(words: list[str]) -> int:
    """How many words at the start only say that a command follows: `function name`, `time -p {`."""
    first = "".join(words[:1])
    if first == "time":
        options = 2 if words[1:2] == ["-p"] else 1
        return options if _KEYWORDS & set(words[options : options + 1]) else 0
    return 2 if first == "function" else int(first in _KEYWORDS)


def placed(word: str, folder: str | None, home: str) -> str | None:
    """A word as an absolute path without `..`; None where the text doesn't tell."""
    if word.startswith("~"):
        word = home + word[1:] if word[1:2] in {"", "/"} else f"/~/{word[1:]}"
    if word.startswith(UNKNOWN) or (folder is None and not word.startswith("/")):
        return None
    return normpath(join(folder or "/", word))


def script_in(command: Command) -> str:
    """The script that a command is given as text."""
    if command.program == "eval":
        return " ".join(command.arguments)
    if command.program not in SHELLS:
        return ""
    call = shell_call(command.arguments)
    if "c" in call.letters:
        return call.first
    return command.stdin if "s" in call.letters or not call.first else ""


class ShellCall(NamedTuple):
    """How a shell is called."""

    letters: frozenset[str]
    """Its options."""
    first: str = ""
    """The first word that is no option nor the value of one."""
    start_up: str = ""
    """A file that it runs before all others."""


def shell_call(words: Iterable[str]) -> ShellCall:
    letters: frozenset[str] = frozenset()
    start_up, rest = "", iter(words)
    for word in rest:
        if word in {"-", "--"}:
            return ShellCall(letters, next(rest, ""), start_up)
        if not word.startswith(("-", "+")):
            return ShellCall(letters, word, start_up)
        if word in _START_UP:
            start_up = next(rest, "")
        elif not word.startswith("--"):
            letters = _switched(letters, word)
            if {"o", "O"} & set(word):  # `-euo pipefail`
                next(rest, "")
    return ShellCall(letters, "", start_up)


def _switched(letters: frozenset[str], cluster: str) -> frozenset[str]:
    """A plus takes away what can be taken away: a shell reads `+c` and `+s` like `-c` and `-s`."""
    given = frozenset(cluster[1:])
    return letters | given if cluster[0] == "-" else letters - (given - _FOR_GOOD) | (given & _FOR_GOOD)


def _unquoted(token: Token) -> str:
    """A word that stands as it is meant, as keywords do."""
    return _plain(token) if isinstance(token, Word) and not token.quoted and len(token.parts) == 1 else ""


def _is_fork_bomb(script: Sequence[Token]) -> bool:
    r"""Whether a function is defined that runs itself twice: `:(){ :|:& };:`."""
    flat = [_plain(token) for token in script]
    opened = (number for number in range(1, len(flat) - 5) if flat[number : number + 3] == ["(", ")", "{"])
    return any(_twice(flat[number - 1], flat[number + 3 : number + 7]) for number in opened)


def _twice(name: str, body: Iterable[str]) -> bool:
    return [text for text in body if text != "\n"][:3] == [name, "|", name]


def _plain(token: Token) -> str:
    if isinstance(token, Operator):
        return token.text
    return "".join(part for part in token.parts if isinstance(part, str)) if isinstance(token, Word) else ""
