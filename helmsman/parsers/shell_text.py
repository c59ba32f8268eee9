"""What is done to the text of a script before the grammar reads it, and instead where the grammar cannot."""

import re
from collections.abc import Iterator
from shlex import shlex
from typing import NamedTuple

from helmsman.parsers.shell_words import ASSIGNMENT, KEYWORDS, UNKNOWN

_MARK = "\ue001"
_HERE = re.compile(r"""(?<!<)<<(-?)[ \t]*(?:(\\?)([\w.-]+)|'([^'\n]+)'|"([^"\n]+)")(?![^\s;&|<>()])""")
_SCRIPTS = re.compile(r"(?<!\\)(?:`([^`]+)`|\$\(((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+)\))")
_MISREAD = re.compile(r"(?<=\s)\\[<>](?=\s)|\$(?=[\s/;|])|(?<![\w./-])time(?=[ \t]+\[\[)")
"""Valid, and read wrongly by the grammar: `[ a \\> b ]`, `sed /^$/d`, `time [[ a > b ]]`. Nothing is lost without them."""
_SIGNS = frozenset("();<>|&`\n")
_READS, _WRITES = re.compile(r"<{1,3}|<&"), re.compile(r"&?>{1,2}[|&]?|<>")
_TOKENS = re.compile(r"[();<>|&`\n]+|[^\s();<>|&`'\"]+")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


class Here(NamedTuple):
    """A here-document."""

    body: str
    expands: bool
    """Whether its substitutions are run."""

    @property
    def scripts(self) -> list[str]:
        return [match[1] or match[2] for match in _SCRIPTS.finditer(self.body)] if self.expands else []


def prepared(text: str, bodies: dict[str, Here]) -> str:
    """A script for the grammar: here-documents, whose ends it does not find for certain, are words that are read from.

    `bodies` gets what each of these words stands for.
    """
    lines, found, missing, at = text.replace(_MARK, "").split("\n"), list[str](), set[str](), 0

    def as_word(match: re.Match[str]) -> str:
        nonlocal at
        tabs, escape, plain, *quoted = match.groups()
        delimiter = plain or quoted[0] or quoted[1]
        ends = (line.rstrip("\r").lstrip("\t" if tabs else "") for line in lines[at:])
        length = next((number for number, line in enumerate(ends) if line == delimiter), -1) if delimiter not in missing else -1
        if length < 0:
            missing.add(delimiter)
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
        found.append(_HERE.sub(as_word, line) if "<<" in line else line)
    return _MISREAD.sub(lambda match: {"time": " ", "$": "_"}.get(match[0], "="), "\n".join(found))


class Piece(NamedTuple):
    """What may be a command."""

    words: list[str]
    writes: list[str]
    end: str
    """The sign behind it."""


def split(text: str, variables: dict[str, str]) -> Iterator[Piece]:
    """A script without its grammar. Quotes count only where each of them is closed, here-documents do not."""
    words, writes, before, ticks = list[str](), list[str](), "", 0
    for token in (*_tokens(text), "\n"):
        sign = token if token and _SIGNS.issuperset(token) else ";" if token in KEYWORDS else ""
        if _READS.fullmatch(sign) or _WRITES.fullmatch(sign):
            words = words[:-1] if words and words[-1].isdigit() else words  # `2>`
        elif sign:
            ticks += sign.count("`")
            if "".join(words[-1:])[-1:] == "$" and sign[0] == "(":
                words[-1] = f"{words[-1][:-1]}{UNKNOWN}"
            elif "<(" in sign or ("`" in sign and ticks % 2):
                words.append(UNKNOWN)
            yield Piece(words, writes, sign)
            words, writes = [], []
        else:
            if before == "<<<" or "$(" in token or "`" in token:
                yield from split(re.sub(r"[\"'$]", " ", token), variables)
                token = UNKNOWN  # noqa: PLW2901 - what it comes to is not known
            value = _VARIABLE.sub(lambda match: variables.get(match[1], UNKNOWN), token)
            if ASSIGNMENT.match(value) and not words:
                variables[value.partition("=")[0]] = value.partition("=")[2]
            if ">" in before:
                writes.append(value)
            elif not _READS.fullmatch(before):
                words += value.split() if token[:1] == "$" else [value]
        before = sign


def _tokens(text: str) -> list[str]:
    lexer = shlex(text.replace("\\\n", ""), posix=True, punctuation_chars="".join(_SIGNS))
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        return list(lexer)
    except ValueError:
        return _TOKENS.findall(text)
