"""Shell blocks of a document: commands to type, and their shown output."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

SHELL = "sh"
LEFT_OUT = "…"
"""A line that stands for lines left out of the shown output."""

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_TYPED = re.compile(r"^(?:>|.*\[Y/n\]) (.+)$", re.MULTILINE)
_VARYING = (
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "HASH"),
    (re.compile(r"\b\d+\.\d+ ?s\b|\b\d+:\d\d:\d\d\b"), "DURATION"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"\$\d+(?:\.\d+)?"), "DOLLARS"),
    (re.compile(r"\b[\d,]+ tokens\b"), "TOKENS"),
    (re.compile(r"(?<=\S) {2,}(?=\S)"), "  "),  # a column is as wide as its widest entry, which may be a duration
)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    start: int
    """Where its text begins in the document."""


@dataclass(frozen=True)
class Step:
    """A command and its shown output."""

    command: str
    shown: Block | None
    """None: it prints nothing."""

    @property
    def answers(self) -> list[str]:
        """What a person types while it runs: the text behind the prompts."""
        return _TYPED.findall(self.shown.text) if self.shown else []

    def is_true(self, printed: str) -> bool:
        return agree(self.shown.text if self.shown else "", printed)


def steps(document: str) -> list[Step]:
    """Pair each command block with the output block after it. Raises ValueError for output without a command."""
    found = [Block(block["language"], block["text"], block.start("text")) for block in _BLOCK.finditer(document)]
    every = [Block("", "", 0), *found, Block(SHELL, "", 0)]
    for before, block in pairwise(every):
        if SHELL not in {before.language, block.language}:
            raise ValueError(f"nothing is typed that could print: {block.text}")
    return [Step(one.text, None if after.language == SHELL else after) for one, after in pairwise(every) if one.language == SHELL]


def agree(shown: str, printed: str) -> bool:
    """Whether the shown output matches the printed one, except for varying values and lines left out."""
    parts = [""]
    for line in _steady(shown):
        parts += [""] if line == LEFT_OUT else [parts.pop() + re.escape(f"{line}\n")]
    return re.fullmatch(r"(?:[^\n]*\n)*?".join(parts), "".join(f"{line}\n" for line in _steady(printed))) is not None


def corrected(document: str, perform: Callable[[Step], str]) -> str:
    """The document with outdated output replaced by the current."""
    text, end = "", 0
    for step in steps(document):
        printed = perform(step)
        if step.shown and not step.is_true(printed):
            text += document[end : step.shown.start] + tidy(printed)
            end = step.shown.start + len(step.shown.text)
    return text + document[end:]


def tidy(printed: str) -> str:
    """Strip trailing blanks and surrounding blank lines."""
    lines = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")
    return f"{lines}\n" if lines else ""


def _steady(text: str) -> Iterator[str]:
    """Lines with varying values replaced by names."""
    text = tidy(text)
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return iter(text.splitlines())
