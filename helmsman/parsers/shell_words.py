"""Words of a command: options, operands and nested scripts; and preprocessing of scripts for the grammar."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from helmsman.plain import word_set
from helmsman.toml_text import load_bundled

UNKNOWN = "\0"  # placeholder for unknown text; no argument can contain it
SHELLS = word_set("sh bash zsh dash ksh")
INTERPRETER = re.compile(r"(?:python|pypy)[0-9.]*")
KEYWORDS = word_set("if then do else elif while until ! { } coproc function")  # may be followed by a command
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")

_MOST_WRAPPERS = 10


def known_programs(*kinds: str) -> frozenset[str]:
    """Return the programs of these kinds in programs.toml."""
    return word_set(" ".join(load_bundled("helmsman.parsers", "programs.toml")[kind] for kind in kinds))


def name_of(word: str) -> str:
    """Return a program's name without its folder."""
    return word.rpartition("/")[2]


def operands(words: Iterable[str], valued: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the words that are neither options nor their values, and all words after `--`."""
    skip = done = False
    for word in words:
        if skip:
            skip = False
        elif done or not word.startswith("-") or word == "-":
            yield word
        elif word == "--":
            done = True
        else:
            skip = word in valued


def has_flag(words: Iterable[str], flags: str) -> bool:
    """Whether one of the flags, such as `-rf --force`, is present: letters also in clusters, long names also with a value."""
    letters = {letter for flag in flags.split() if flag[1:2] != "-" for letter in flag[1:]}
    names = {flag for flag in flags.split() if flag[1:2] == "-"}
    return any(
        word.partition("=")[0] in names if word[1:2] == "-" else letters & {*word[1:]} and word[0] == "-" for word in words
    )


_WRAPPERS: Mapping[str, str] = load_bundled("helmsman.parsers", "shell.toml")["wrappers"]


def unwrap(words: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of wrappers, and the words of the wrapped command."""
    wrappers: list[str] = []
    rest = list(words)
    for _ in range(_MOST_WRAPPERS):
        while rest and (ASSIGNMENT.match(rest[0]) or rest[0] in KEYWORDS):
            del rest[0]
        program = name_of("".join(rest[:1]))
        name = program if program in _WRAPPERS else " ".join((program, *rest[1:2]))
        if INTERPRETER.fullmatch(program) and "-m" in rest[1:3] and rest[-1] != "-m":
            end = rest.index("-m") + 1
        elif name not in _WRAPPERS or (
            program == "command" and has_flag(rest[1:2], "-vV")
        ):  # `command -v` only prints a program's path
            break
        else:
            end = name.count(" ") + 1
            while end < len(rest) and rest[end].startswith("-"):
                end += 2 if rest[end] in _WRAPPERS[name].split() else 1
            end += name == "timeout"
        wrappers.append(program)
        del rest[:end]
    return tuple(wrappers), tuple(rest)


class ShellCall(NamedTuple):
    """Arguments of a shell."""

    letters: frozenset[str]  # option letters
    first: str = ""  # first operand


def shell_call(words: Iterable[str]) -> ShellCall:
    """Read the arguments of a shell."""
    letters: frozenset[str] = frozenset()
    rest = iter(words)
    for word in rest:
        if word in {"-", "--"}:
            return ShellCall(letters, next(rest, ""))
        if not word.startswith(("-", "+")):
            return ShellCall(letters, word)
        if not word.startswith("--"):
            letters |= frozenset(word[1:] if word[0] == "-" else "")
            if {"o", "O"} & {*word}:  # `-euo pipefail`
                next(rest, "")
    return ShellCall(letters)


def script_of(words: Sequence[str], stdin: str) -> str:
    """Return the script that a command receives as text; empty if none."""
    program = name_of("".join(words[:1]))
    if program == "eval":
        return " ".join(words[1:])
    if program not in SHELLS:
        return ""
    call = shell_call(words[1:])
    if "c" in call.letters:
        return call.first
    return stdin if "s" in call.letters or not call.first else ""


# --- preprocessing of a script for the grammar -------------------------------------------------------------------------------

_MARK = "\ue001"
_HEREDOC = re.compile(r"""(?<!<)<<(-?)[ \t]*(?:(\\?)([\w.-]+)|'([^'\n]+)'|"([^"\n]+)")(?![^\s;&|<>()])""")
_SCRIPTS = re.compile(r"(?<!\\)(?:`([^`]+)`|\$\(((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+)\))")
_MISREAD = re.compile(r"(?<=\s)\\[<>](?=\s)|\$(?=[\s/;|])|(?<![\w./-])time(?=[ \t]+\[\[)")
"""Valid, but misread by the grammar: `[ a \\> b ]`, `sed /^$/d`, `time [[ a > b ]]`. Removing them loses nothing."""


class Here(NamedTuple):
    """A here-document."""

    body: str
    expands: bool  # whether its substitutions run

    @property
    def scripts(self) -> list[str]:
        return [match[1] or match[2] for match in _SCRIPTS.finditer(self.body)] if self.expands else []


def prepare(text: str, bodies: dict[str, Here]) -> str:
    """Prepare a script for the grammar: replace here-documents, whose ends it may miss, by words to read from.

    Adds the here-document of each word to `bodies`.
    """
    lines, prepared_lines, unclosed, at = text.replace(_MARK, "").split("\n"), list[str](), set[str](), 0

    def as_word(match: re.Match[str]) -> str:
        nonlocal at
        tabs, escape, plain, *quoted = match.groups()
        delimiter = plain or quoted[0] or quoted[1]
        ends = (line.rstrip("\r").lstrip("\t" if tabs else "") for line in lines[at:])
        length = next((number for number, line in enumerate(ends) if line == delimiter), -1) if delimiter not in unclosed else -1
        if length < 0:
            unclosed.add(delimiter)
            return match[0]
        word = f"{_MARK}{len(bodies)}{_MARK}"
        bodies[word] = Here("\n".join(lines[at : at + length]), expands=bool(plain) and not escape)
        at += length + 1
        return f"< {word}"

    while at < len(lines):
        line = lines[at]
        at += 1
        while line.endswith("\\") and at < len(lines):
            line, at = f"{line}\n{lines[at]}", at + 1
        prepared_lines.append(_HEREDOC.sub(as_word, line) if "<<" in line else line)
    return _MISREAD.sub(lambda match: {"time": " ", "$": "_"}.get(match[0], "="), "\n".join(prepared_lines))
