"""A small model of a repository, and of what one iteration did in it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from helmsman.records.agent import AgentOutcome


@dataclass(frozen=True)
class Tree:
    """A state of the repository."""

    tests: int
    failing: tuple[tuple[int, int], ...] = ()
    """Tests that fail, in order, each with how far it gets before it does."""
    broken: str = ""
    """Module for which nothing can be imported; empty where it builds."""
    edition: int = 0
    """Stands for everything that no test sees."""
    cheats: bool = False
    """The tests pass because they were gamed; `failing` is what they would say."""

    @property
    def red(self) -> bool:
        return bool(self.broken or self.shown)

    @property
    def shown(self) -> tuple[tuple[int, int], ...]:
        """What a test run reports as failing."""
        return () if self.cheats else self.failing

    @property
    def passing(self) -> int:
        return 0 if self.broken else self.tests - len(self.shown)

    @cached_property
    def identity(self) -> str:
        """Equal for equal content, as git's hash of a tree."""
        content = repr((self.tests, self.failing, self.broken, self.edition, self.cheats))
        return hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()

    def fixed(self, tests: Iterable[int]) -> "Tree":
        gone = set(tests)
        return replace(self, failing=tuple(one for one in self.failing if one[0] not in gone))

    def with_failing(self, tests: Iterable[int]) -> "Tree":
        return replace(self, failing=tuple(sorted(dict.fromkeys(tests, 0).items() | dict(self.failing).items())))

    def further(self, test: int) -> "Tree":
        """The test fails at a later point than before."""
        return replace(self, failing=tuple((name, far + (name == test)) for name, far in self.failing))


@dataclass(frozen=True)
class Told:
    """What an agent knows when its next iteration begins."""

    tree: Tree
    number: int = 1
    """Of the call, repeated attempts included: the same under every rule."""
    rung: int = 0
    redirected: bool = False
    """It was told what to do instead: a rung above the first, or instructions of the overseer."""
    rolled_back: bool = False
    """The branch was returned to an earlier commit."""
    wavering: bool = False
    """Its last tree was reported red by chance, and is not checked again as it is."""


@dataclass(frozen=True)
class Step:
    """What an iteration came to."""

    tree: Tree
    asked: bool = False
    outcome: AgentOutcome = AgentOutcome.FINISHED
    dollars: float = 0.5
    seconds: float = 300.0
    tool_calls: int = 20
    changed: int = 0
    """Files."""
    insertions: int = 0
    deletions: int = 0
    folder: str = "src/app"
    """Of the files that changed."""
    place: int = 0
    """Tells the changed files from those of other iterations."""
    denials: int = 0
    reverted: int = 0
    """Edits that were taken back within the session."""
    deeds: int = 10
    related: int = 9
    flaky: tuple[int, ...] = ()
    """Tests that failed and passed when they were run again."""
    unlucky: tuple[int, ...] = ()
    """Tests that failed both times though nothing is wrong."""
    reset_minutes: float = 0.0
    """Until the usage limit is over."""
    sick: bool = False
    """Whether the pathology was at work."""

    @property
    def counts(self) -> bool:
        return self.outcome is not AgentOutcome.USAGE_LIMIT

    @property
    def green(self) -> bool:
        return not self.tree.red and not self.unlucky

    @property
    def done(self) -> bool:
        """Asked under green checks, with nothing that the invariants would deny."""
        return self.asked and self.green and not self.tree.cheats


@dataclass
class Character:
    """An agent's lasting traits."""

    seed: str
    tests: int
    failing: int
    """Tests that fail at the start."""
    pace: float
    """Share of all tests that an iteration gets done on average."""
    shows: float
    """Probability that an iteration without a test more moves the point at which its test fails."""
    ordered: bool
    """It works on the first failing test; else on them in an order of its own."""
    dollars: float
    seconds: float
    relevance: float
    """Share of its deeds that words relate to the task."""
    check: str
    """What its checks show: `pytest`, `typed` (a type checker beside it), `listing` (a line a failure) or `opaque` (one line)."""
    onset: int = 0
    """Healthy iterations before the pathology."""
    response: float = 0.0
    """Probability that being redirected cures it, in each iteration."""
    carry: float = 0.0
    """Work done on tests that do not pass yet, in tests."""

    def dice(self, told: Told) -> Random:
        """Chance in one call: the same whatever rule watches."""
        return Random(f"{self.seed}/{told.number}")

    def dear(self, test: int) -> float:
        """Work that a test takes; 1 on average."""
        return 0.5 + Random(f"{self.seed}#{test}").random()

    def turn(self, test: int) -> float:
        """Its place in the order of work."""
        return test if self.ordered else Random(f"{self.seed}~{test}").random()

    def start(self) -> Tree:
        chosen = Random(f"{self.seed}:start").sample(range(self.tests), self.failing)
        return Tree(self.tests).with_failing(chosen)
