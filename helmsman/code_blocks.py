"""Blocks of code in Markdown, line by line: what stands in one is no heading, no list and no order."""

import re

_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_FENCES = re.compile("```|~~~")
_TAB = 4


class CodeBlocks:
    """Is told the lines of a text in their order, and knows which of them belong to a block of code."""

    def __init__(self, deepest: int = 3) -> None:
        """`deepest`: columns that a fence is set in at most; in an entry of a list it may be more than the three of a text."""
        self._deepest = deepest
        self._fence = ""

    @property
    def open(self) -> bool:
        """Whether the line after those told so far is in a block."""
        return bool(self._fence)

    def holds(self, line: str) -> bool:
        """Whether the next line belongs to a block; the fences around it do."""
        inside, fence = self.open, self._fence_of(line)
        if fence and not inside:
            self._fence = fence
        elif inside and fence.startswith(self._fence) and not line.strip(" \t\r`~"):
            self._fence = ""
        return inside or bool(fence)

    def _fence_of(self, line: str) -> str:
        plain = line.expandtabs(_TAB)
        bare = plain.lstrip(" ")
        found = _FENCE.match(bare)
        return found[0] if found and len(plain) - len(bare) <= self._deepest else ""


def outside_code(text: str) -> str:
    """A text without its blocks of code."""
    if not _FENCES.search(text):
        return text
    code = CodeBlocks()
    return "\n".join(line for line in text.splitlines() if not code.holds(line))
