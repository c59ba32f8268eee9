"""The words of a piece of source text: names and literals."""

import re
from collections import Counter
from dataclasses import dataclass, field

_WORD = re.compile(
    r'"""(?P<long>[\s\S]*?)(?:"""|\Z)'
    r"|#[^\n]*+"
    r'|[rbfRBF]{0,2}"(?P<double>(?:[^"\\\n]++|\\.)*+)"'
    r"|[rbfRBF]{0,2}'(?P<single>(?:[^'\\\n]++|\\.)*+)'"
    r"|`(?P<tick>[^`]*+)`"
    r"|(?P<number>[0-9][\w.]*+)"
    r"|(?P<name>[^\W\d]\w*+)",
)
_COMMON = frozenset(
    [
        "assert",
        "def",
        "self",
        "with",
        "as",
        "for",
        "in",
        "if",
        "else",
        "not",
        "and",
        "or",
        "is",
        "return",
        "async",
        "await",
        "None",
        "True",
        "False",
        "import",
        "from",
        "pytest",
        "unittest",
        "mark",
        "parametrize",
        "test",
        "it",
        "expect",
        "toBe",
        "toEqual",
        "should",
        "func",
        "fn",
        "let",
        "mut",
        "const",
        "var",
        "function",
        "t",
        "T",
        "testing",
        "void",
        "public",
        "class",
        "assertEqual",
        "assertEquals",
        "assert_eq",
        "assert_equal",
        "true",
        "false",
        "null",
        "nil",
        "undefined",
        "to",
        "eq",
        "do",
        "end",
        "this",
        "new",
        "Errorf",
        "Error",
        "Fatal",
        "Fatalf",
        "got",
        "want",
        "result",
        "expected",
        "actual",
    ],
)
"""Words that most tests have, so that they tell nothing about one."""


_LONGEST_LIST = 200
"""Characters of a string that may be a row of values, as in JUnit's `@CsvSource("2000, true")`."""


@dataclass(frozen=True)
class Words:
    """Names once each, literals as often as they stand there."""

    names: frozenset[str] = frozenset()
    literals: Counter[str] = field(default_factory=Counter[str])

    @property
    def telling(self) -> frozenset[str]:
        return self.names | self.literals.keys()


def words_of(text: str) -> Words:
    names: set[str] = set()
    literals: Counter[str] = Counter()
    for match in _WORD.finditer(text):
        kind = match.lastgroup
        if kind == "name":
            names.add(match[0])
        elif kind is not None:
            literals[match[kind]] += 1
            if "," in match[kind] and len(match[kind]) <= _LONGEST_LIST:
                literals.update(part.strip() for part in match[kind].split(","))
    return Words(frozenset(names - _COMMON), literals)


def is_literal(text: str) -> bool:
    """Whether it is written out, without a name in it."""
    words = words_of(text)
    return bool(words.literals) and not words.names


def alike(one: Words, other: Words) -> float:
    """Share of the words of both that they have in common, 0 to 1."""
    ours, theirs = one.telling, other.telling
    every = len(ours | theirs)
    return len(ours & theirs) / every if every else 0.0


_NAME = re.compile(r"[^\W\d]\w*")


def names_in(text: str) -> frozenset[str]:
    """All words that may be names, common ones too."""
    return frozenset(_NAME.findall(text))
