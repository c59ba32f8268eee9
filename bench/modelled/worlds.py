"""A small model of a repository, and of one iteration's work in it."""

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
    """Failing tests, in order, each with the point at which it fails."""
    broken: str = ""
    """Module whose import fails; empty if it builds."""
    edition: int = 0
    """Represents everything that no test sees."""
    cheats: bool = False
    """The tests pass because they were gamed; `failing` is their honest result."""

    @property
    def red(self) -> bool:
        return bool(self.broken or self.shown)

    @property
    def shown(self) -> tuple[tuple[int, int], ...]:
        """Failures reported by a test run."""
        return () if self.cheats else self.failing

    @property
    def passing(self) -> int:
        return 0 if self.broken else self.tests - len(self.shown)

    @cached_property
    def identity(self) -> str:
        """Equal for equal content, like git's tree hash."""
        content = repr((self.tests, self.failing, self.broken, self.edition, self.cheats))
        return hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()

    def fixed(self, tests: Iterable[int]) -> "Tree":
        gone = set(tests)
        return replace(self, failing=tuple(one for one in self.failing if one[0] not in gone))

    def with_failing(self, tests: Iterable[int]) -> "Tree":
        return replace(self, failing=tuple(sorted(dict.fromkeys(tests, 0).items() | dict(self.failing).items())))

    def further(self, test: int) -> "Tree":
        """The tree in which the test fails at a later point."""
        return replace(self, failing=tuple((name, far + (name == test)) for name, far in self.failing))


@dataclass(frozen=True)
class Told:
    """Input of an agent's next iteration."""

    tree: Tree
    number: int = 1
    """Number of the call including repeated attempts: the same under every rule."""
    rung: int = 0
    redirected: bool = False
    """Whether it was redirected: a level above the first, or instructions of the overseer."""
    rolled_back: bool = False
    """Whether the branch was returned to an earlier commit."""
    wavering: bool = False
    """Whether its last tree was reported as failing by chance; an unchanged tree is not checked again."""


@dataclass(frozen=True)
class Step:
    """Result of an iteration."""

    tree: Tree
    asked: bool = False
    outcome: AgentOutcome = AgentOutcome.FINISHED
    dollars: float = 0.5
    seconds: float = 300.0
    tool_calls: int = 20
    changed: int = 0
    """Number of files."""
    insertions: int = 0
    deletions: int = 0
    folder: str = "src/app"
    """Folder of the changed files."""
    place: int = 0
    """Distinguishes the changed files from those of other iterations."""
    denials: int = 0
    reverted: int = 0
    """Edits that were reverted within the session."""
    deeds: int = 10
    related: int = 9
    flaky: tuple[int, ...] = ()
    """Tests that failed and passed when they were run again."""
    unlucky: tuple[int, ...] = ()
    """Tests that failed both times although nothing is wrong."""
    reset_minutes: float = 0.0
    """Minutes until the usage limit ends."""
    sick: bool = False
    """Whether the pathology was active."""

    @property
    def counts(self) -> bool:
        return self.outcome is not AgentOutcome.USAGE_LIMIT

    @property
    def green(self) -> bool:
        return not self.tree.red and not self.unlucky

    @property
    def done(self) -> bool:
        """Whether it claimed completion with passing checks, with nothing that the invariants would deny."""
        return self.asked and self.green and not self.tree.cheats


@dataclass
class Character:
    """Lasting traits of an agent."""

    seed: str
    tests: int
    failing: int
    """Tests that fail at the start."""
    pace: float
    """Average share of all tests that an iteration fixes."""
    shows: float
    """Probability that an iteration without another passing test moves the point at which its test fails."""
    ordered: bool
    """Whether it works on the first failing test; otherwise in its own order."""
    dollars: float
    seconds: float
    relevance: float
    """Share of its actions with words related to the task."""
    check: str
    """Output of its checks: `pytest`, `typed` (with a type checker), `listing` (a line per failure) or `opaque` (one line)."""
    onset: int = 0
    """Healthy iterations before the pathology."""
    response: float = 0.0
    """Probability in each iteration that a redirection cures it."""
    carry: float = 0.0
    """Work on tests that do not pass yet, in tests."""

    def dice(self, told: Told) -> Random:
        """Random numbers of one call: the same under every rule."""
        return Random(f"{self.seed}/{told.number}")

    def dear(self, test: int) -> float:
        """Work for a test; 1 on average."""
        return 0.5 + Random(f"{self.seed}#{test}").random()

    def turn(self, test: int) -> float:
        """Its place in the order of work."""
        return test if self.ordered else Random(f"{self.seed}~{test}").random()

    def start(self) -> Tree:
        chosen = Random(f"{self.seed}:start").sample(range(self.tests), self.failing)
        return Tree(self.tests).with_failing(chosen)
