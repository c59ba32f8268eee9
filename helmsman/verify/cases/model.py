"""What is read out of a test: what it asserts, what skips it, what it is made of."""

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property

from helmsman.verify.cases.words import Words, words_of


class Kind(StrEnum):
    """How an assertion compares."""

    TRIVIAL = "trivial"
    """It holds whatever the code does."""
    RUNS = "runs"
    """It does not raise, which any test says of all that it calls."""
    PRESENT = "present"
    """Not None, defined."""
    TRUTHY = "truthy"
    FALSY = "falsy"
    """False, zero or empty."""
    TYPE = "type"
    EITHER = "either"
    """One of several conditions."""
    NOT_EQUAL = "not equal"
    ORDER = "order"
    CONTAINS = "contains"
    MATCHES = "matches"
    RAISES_BROAD = "raises anything"
    APPROX = "approximately"
    CALL = "call"
    """A named assertion whose comparison is not known here."""
    RAISES = "raises"
    IDENTITY = "identity"
    EQUAL = "equal"
    ROW = "parameters"
    """One row of a parametrised test."""


STRENGTH = {
    Kind.TRIVIAL: 0,
    Kind.RUNS: 1,
    Kind.PRESENT: 1,
    Kind.TRUTHY: 2,
    Kind.TYPE: 2,
    Kind.EITHER: 2,
    Kind.NOT_EQUAL: 2,
    Kind.ORDER: 3,
    Kind.CONTAINS: 3,
    Kind.MATCHES: 3,
    Kind.RAISES_BROAD: 3,
    Kind.FALSY: 4,
    Kind.APPROX: 5,
    Kind.CALL: 5,
    Kind.RAISES: 5,
    Kind.IDENTITY: 6,
    Kind.EQUAL: 6,
    Kind.ROW: 6,
}
"""How much of what the code may do each kind rules out, as an order: an equality leaves one value, a presence all but one."""

SYMMETRIC = frozenset({Kind.EQUAL, Kind.NOT_EQUAL, Kind.IDENTITY, Kind.APPROX})


class Guard(IntEnum):
    """What stands between a test's start and its assertion; larger is worse."""

    PLAIN = 0
    CONDITIONAL = 1
    """It runs in one branch only."""
    SWALLOWED = 2
    """What it raises is caught and dropped."""
    UNREACHABLE = 3


@dataclass(frozen=True)
class Assertion:
    """One comparison. Subject and expected value are source text without white space."""

    line: int
    text: str
    kind: Kind
    subject: str = ""
    expected: str = ""
    guard: Guard = Guard.PLAIN
    tolerance: float | None = None
    """Largest difference that passes, where that is a number that can be read."""
    detail: str = ""
    """What narrows it further, such as the message that an exception must have."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for two assertions that say the same, whichever side the expected value stands on."""
        sides = frozenset({self.subject, self.expected}) if self.kind in SYMMETRIC else (self.subject, self.expected)
        return (self.kind, sides, self.detail, self.tolerance)

    @cached_property
    def words(self) -> Words:
        return words_of(f"{self.subject} {self.expected} {self.detail}" if self.subject or self.expected else self.text)


class SkipKind(StrEnum):
    """When a test is skipped."""

    ALWAYS = "always"
    CONDITION = "condition"
    """Only on some platform, version or installation."""
    FOCUS = "focus"
    """All others are skipped."""


@dataclass(frozen=True)
class Skip:
    """A mark or a statement by which tests do not run, or may fail."""

    line: int
    text: str
    kind: SkipKind
    holder: str = ""
    """Name of the test, function or class; empty for a file."""
    asks: str = ""
    """The environment variable, property or feature without which the test does not run."""


@dataclass(frozen=True)
class Case:
    """A test, or a function that tests call."""

    path: str
    name: str
    """With the classes or suites around it: `TestAdd.test_two`, `add > gives two`."""
    line: int
    body: str
    """Its source text with decorators, without comments where they were easy to leave out."""
    assertions: tuple[Assertion, ...] = ()
    dormant: str = ""
    """Why no runner collects it, for a function that is no test: `it stands below if False`."""

    @property
    def bare_name(self) -> str:
        return self.name.rpartition(" > ")[2] if " > " in self.name else self.name.rpartition(".")[2]

    @property
    def is_table(self) -> bool:
        """Whether it is no function and holds rows for tests."""
        return bool(self.assertions) and all(item.kind is Kind.ROW for item in self.assertions)

    @cached_property
    def words(self) -> Words:
        return words_of(self.body)

    @cached_property
    def values(self) -> frozenset[str]:
        """Its literals, without those that are only messages of assertions."""
        messages = {literal for item in self.assertions for literal in words_of(item.text).literals}
        messages.difference_update(literal for item in self.assertions for literal in item.words.literals)
        return frozenset(self.words.literals.keys() - messages)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for bodies that differ only in white space."""
        return "".join(self.body.split())

    @cached_property
    def arrangement(self) -> Counter[str]:
        """Everything in it that is no assertion: its lines, without white space."""
        asserted = Counter("".join(line.split()) for item in self.assertions for line in item.text.split("\n"))
        return Counter("".join(line.split()) for line in self.body.split("\n")) - asserted


@dataclass(frozen=True)
class Reading:
    """All that one file says about tests."""

    cases: tuple[Case, ...] = ()
    """Tests that a runner collects."""
    others: tuple[Case, ...] = ()
    """Functions that no runner collects: helpers, and tests that were put out of its way."""
    skips: tuple[Skip, ...] = ()
    gates: tuple[str, ...] = ()
    """What keeps the whole file from being collected, such as a build tag."""
    commented: str = ""
    """Its comments."""
