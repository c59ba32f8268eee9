"""A shell script as tokens: words with their quotes removed, operators, redirections, here-documents as data.

One pass from left to right, so time grows with the length of the text. Syntax that is broken or not known never raises: what
was read until then is given, and a quote that is never closed reaches to the end.
"""

import re
from typing import NamedTuple

DEEPEST = 20
"""Levels of `$(…)` that are followed; no script written by hand has more."""


class Variable(NamedTuple):
    """`$NAME`; the name is empty where the value can't be known from the text."""

    name: str


class Substitution(NamedTuple):
    """The script in `$(…)`, in backticks, in `<(…)`."""

    script: "tuple[Token, ...]"


Part = str | Variable | Substitution


class Word(NamedTuple):
    parts: tuple[Part, ...]
    quoted: bool
    """Whether a part of it stood in quotes, so that it stays one word."""


class Redirect(NamedTuple):
    operator: str
    target: Word


class Here(NamedTuple):
    """What a here-document or `<<<` gives to a command."""

    body: str


class Operator(NamedTuple):
    """One of `;`, `&`, `&&`, `|`, `||`, `|&`, `;;`, `(`, `)` and the end of a line."""

    text: str


Token = Word | Redirect | Here | Operator

_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECT = re.compile(r"[0-9]{0,3}(?:<<<|<<-?|<>|>>|>\||>&|<&|<(?!\()|>(?!\())|&>>?")
_OPERATOR = re.compile(r"\|&|\|\||&&|;;|[;&|()\n]")
_PLAIN = re.compile(r"[^\s;&|<>()\\'\"`$]+|[\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_IN_QUOTES = re.compile(r"[^\"\\`$]+")
_BACKTICKS = re.compile(r"((?:[^`\\]|\\.)*+)`?", re.DOTALL)
_ANSI = re.compile(r"((?:[^'\\]|\\.)*+)'?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = "!?$#@*-0123456789"
_BRACKET = re.compile("[()]")
_UNKNOWN = Variable("")


class _Pending(NamedTuple):
    """A here-document whose body begins on the next line."""

    position: int
    delimiter: str
    tabs: bool


def tokens(text: str) -> tuple[Token, ...]:
    """Read a whole script."""
    return _Lexer(text.replace("\0", ""), 0).script("")


class _Lexer:
    """Where the reading stands in one text."""

    def __init__(self, text: str, depth: int) -> None:
        self.text, self.depth, self.at = text, depth, 0

    def script(self, closer: str) -> tuple[Token, ...]:
        """Read up to an unmatched closer, or to the end."""
        found: list[Token] = []
        pending: list[_Pending] = []
        opened = 0
        while self.at < len(self.text):
            if self._match(_BLANK) or self._match(_COMMENT):
                continue
            if redirect := self._match(_REDIRECT):
                self._redirect(redirect[0], found, pending)
            elif operator := self._match(_OPERATOR):
                if operator[0] == closer and not opened:
                    break
                opened += {"(": 1, ")": -1}.get(operator[0], 0)
                found.append(Operator(operator[0]))
                if operator[0] == "\n":
                    self._bodies(found, pending)
            else:
                found.append(self._word())
        return tuple(found)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def _redirect(self, text: str, found: list[Token], pending: list[_Pending]) -> None:
        self._match(_BLANK)
        target, operator = self._word(), text.lstrip("0123456789")
        literal = "".join(part for part in target.parts if isinstance(part, str))
        if operator == "<<<":
            found.append(Here(literal) if literal.strip() else Redirect("<", target))  # `<<< "$(…)"` is `< <(…)`
        elif operator.startswith("<<"):
            pending.append(_Pending(len(found), literal, operator == "<<-"))
            found.append(Here(""))
        else:
            found.append(Redirect(operator, target))

    def _bodies(self, found: list[Token], pending: list[_Pending]) -> None:
        """A line has ended: what its here-documents hold comes next."""
        for here in pending:
            lines: list[str] = []
            while self.at < len(self.text):
                line = self._line()
                if (line.lstrip("\t") if here.tabs else line).rstrip("\r") == here.delimiter:
                    break
                lines.append(line)
            found[here.position] = Here("\n".join(lines))
        pending.clear()

    def _line(self) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        line = self.text[self.at : end]
        self.at = end + 1
        return line

    def _word(self) -> Word:
        parts: list[Part] = []
        quoted = False
        while self.at < len(self.text):
            if plain := self._match(_PLAIN):
                parts.append(plain[0])
                continue
            start, char = self.at, self.text[self.at]
            if char in "'\"\\":
                quoted = True
                self._quoted(char, parts)
            elif char in "$`":
                self._dollar_or_backticks(char, parts)
            elif not parts and self.text.startswith(("<(", ">("), start):
                self.at += 2
                parts.append(self._nested())
            else:
                break
        return Word(tuple(parts), quoted)

    def _quoted(self, char: str, parts: list[Part]) -> None:
        self.at += 1
        if char == '"':
            self._double(parts)
            return
        if char == "\\":
            text = self.text[self.at : self.at + 1]
            self.at += 1
            text = "" if text == "\n" else text
        else:
            end = self.text.find("'", self.at)
            end = len(self.text) if end < 0 else end
            text = self.text[self.at : end]
            self.at = end + 1
        parts.append(_no_home(text, parts))

    def _double(self, parts: list[Part]) -> None:
        while self.at < len(self.text):
            if run := self._match(_IN_QUOTES):
                parts.append(_no_home(run[0], parts))
                continue
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                after = self.text[self.at + 1 : self.at + 2]
                parts.append({"\n": ""}.get(after, after) if after in '"\\$`\n' else char + after)
                self.at += 2
            else:
                self._dollar_or_backticks(char, parts)

    def _dollar_or_backticks(self, char: str, parts: list[Part]) -> None:
        self.at += 1
        if char == "`":
            match = self._match(_BACKTICKS)
            inner = match[1].replace("\\`", "`") if match and self.depth < DEEPEST else ""
            parts.append(Substitution(_Lexer(inner, self.depth + 1).script("")))
        else:
            self._dollar(parts)

    def _dollar(self, parts: list[Part]) -> None:
        after = self.text[self.at : self.at + 1]
        if self.text.startswith("((", self.at):
            self._skip_sum()
            parts.append(_UNKNOWN)
        elif after == "(":
            self.at += 1
            parts.append(self._nested())
        elif after == "{":
            start = self.at + 1
            self._skip_past("}")
            name = self.text[start : self.at - 1]
            parts.append(Variable(name) if _NAME.fullmatch(name) else _UNKNOWN)
        elif after == "'" and (ansi := self._match(re.compile("'")) and self._match(_ANSI)):
            parts.append(ansi[1])
        elif name := self._match(_NAME):
            parts.append(Variable(name[0]))
        elif after and after in _SPECIAL:
            self.at += 1
            parts.append(_UNKNOWN)
        else:
            parts.append("$")

    def _nested(self) -> Substitution:
        if self.depth >= DEEPEST:
            self.at = len(self.text)
            return Substitution(())
        self.depth += 1
        inner = self.script(")")
        self.depth -= 1
        return Substitution(inner)

    def _skip_sum(self) -> None:
        """Past the bracket that closes the first one of `((`."""
        opened = 0
        for bracket in _BRACKET.finditer(self.text, self.at):
            opened += 1 if bracket[0] == "(" else -1
            if not opened:
                self.at = bracket.end()
                return
        self.at = len(self.text)

    def _skip_past(self, closer: str) -> None:
        end = self.text.find(closer, self.at)
        self.at = len(self.text) if end < 0 else end + len(closer)


def _no_home(text: str, parts: list[Part]) -> str:
    """A tilde in quotes is a letter."""
    return f"./{text}" if text.startswith("~") and not parts else text
