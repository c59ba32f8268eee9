"""Source text without what is no code, and the brackets of what is left, for languages that are read by their lines."""

import re
from bisect import bisect_left
from dataclasses import dataclass

_LINE = {"slashes": r"//[^\n]*+", "hash": r"#(?!\[)[^\n]*+"}
_BLOCK = r"/\*[\s\S]*?(?:\*/|\Z)"
_TRIPLE = r'"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)'
_DOUBLE = r'"(?:[^"\\\n]++|\\.)*+"?'
_SINGLE = r"'(?:[^'\\\n]++|\\.)*+'?"
_CHARACTER = r"'(?:\\[^\n]{1,8}?|[^'\\\n])'"
_TICKS = r"`(?:[^`\\]++|\\[\s\S])*+`?"
_RAW = r"`[^`]*+`?"
_PATTERN = r"(?<=[(,=:!&|?;])[ ]?+/(?![/*])(?:[^/\\\n\[]|\\.|\[[^\]\n]{0,50}\]){1,100}+/"

_TOKENS = {
    "javascript": (("slashes",), (_BLOCK, _PATTERN, _DOUBLE, _SINGLE, _TICKS)),
    "go": (("slashes",), (_BLOCK, _DOUBLE, _CHARACTER, _RAW)),
    "rust": (("slashes",), (_BLOCK, _DOUBLE, _CHARACTER)),
    "java": (("slashes",), (_BLOCK, _TRIPLE, _DOUBLE, _CHARACTER)),
    "php": (("slashes", "hash"), (_BLOCK, _DOUBLE, _SINGLE)),
    "ruby": (("hash",), (_DOUBLE, _SINGLE)),
    "python": (("hash",), (_TRIPLE, _DOUBLE, _SINGLE)),
}
_SCANNERS = {
    language: re.compile("|".join((*(_LINE[name] for name in comments), *others)))
    for language, (comments, others) in _TOKENS.items()
}
_NOT_NEWLINE = re.compile(r"[^\n]")


@dataclass(frozen=True)
class Masked:
    """Three texts of one length, so that a position means the same in each."""

    text: str
    code: str
    """Without comments."""
    bare: str
    """Without comments and what stands in quotes."""
    comments: str


def masked(text: str, language: str) -> Masked:
    scanner = _SCANNERS[language]
    comments: list[str] = []
    code: list[str] = []
    bare: list[str] = []
    end = 0
    for match in scanner.finditer(text):
        between, token = text[end : match.start()], match[0]
        end = match.end()
        blank = _NOT_NEWLINE.sub(" ", token)
        is_comment = token.startswith(("//", "/*", "#"))
        if is_comment:
            comments.append(token)
        code += (between, blank if is_comment else token)
        bare += (between, blank)
    return Masked(text, "".join((*code, text[end:])), "".join((*bare, text[end:])), "\n".join(comments))


_PAIRS = {")": "(", "]": "[", "}": "{"}
_BRACKET = re.compile(r"[()\[\]{}]")


class Brackets:
    """Where brackets close, and which brace stands around a position. Brackets that do not match are passed over."""

    def __init__(self, bare: str) -> None:
        self.closes: dict[int, int] = {}
        self.parents: dict[int, int] = {}
        """The brace around each brace, -1 for none."""
        self._events: list[int] = []
        self._innermost: list[int] = []
        open_by_kind: dict[str, list[int]] = {"(": [], "[": [], "{": []}
        for match in _BRACKET.finditer(bare):
            self._bracket(match[0], match.start(), open_by_kind)

    def _bracket(self, bracket: str, position: int, open_by_kind: dict[str, list[int]]) -> None:
        braces = open_by_kind["{"]
        if bracket == "{":
            self.parents[position] = braces[-1] if braces else -1
        if bracket in open_by_kind:
            open_by_kind[bracket].append(position)
        elif open_by_kind[_PAIRS[bracket]]:
            self.closes[open_by_kind[_PAIRS[bracket]].pop()] = position
        if bracket in "{}":
            self._events.append(position)
            self._innermost.append(braces[-1] if braces else -1)

    def close(self, position: int, otherwise: int) -> int:
        return self.closes.get(position, otherwise)

    def around(self, position: int) -> int:
        """Position of the brace that stands open before a position; -1 for none."""
        index = bisect_left(self._events, position) - 1
        return self._innermost[index] if index >= 0 else -1
