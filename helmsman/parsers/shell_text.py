"""What is done to the text of a script before the grammar reads it."""

import re
from typing import NamedTuple

_MARK = "\ue001"
_HERE = re.compile(r"""(?<!<)<<(-?)[ \t]*(?:(\\?)([\w.-]+)|'([^'\n]+)'|"([^"\n]+)")(?![^\s;&|<>()])""")
_SCRIPTS = re.compile(r"(?<!\\)(?:`([^`]+)`|\$\(((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+)\))")
_MISREAD = re.compile(r"(?<=\s)\\[<>](?=\s)|\$(?=[\s/;|])|(?<![\w./-])time(?=[ \t]+\[\[)")
"""Valid, and read wrongly by the grammar: `[ a \\> b ]`, `sed /^$/d`, `time [[ a > b ]]`. Nothing is lost without them."""


class Here(NamedTuple):
    """A here-document."""

    body: str
    expands: bool  # whether its substitutions are run

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
