"""A small model of a repository, and of an agent's work in it during one iteration."""

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
    broken_module: str = ""
    """Module whose import fails; empty if it builds."""
    revision: int = 0
    """Number that stands for everything that no test sees."""
    is_gamed: bool = False
    """The tests pass because they were gamed; `failing` is their honest result."""

    @property
    def is_red(self) -> bool:
        return bool(self.broken_module or self.reported_failures)

    @property
    def reported_failures(self) -> tuple[tuple[int, int], ...]:
        """Failures reported by a test run."""
        return () if self.is_gamed else self.failing

    @property
    def passing(self) -> int:
        return 0 if self.broken_module else self.tests - len(self.reported_failures)

    @cached_property
    def identity(self) -> str:
        """Equal for equal content, like git's tree hash."""
        content = repr((self.tests, self.failing, self.broken_module, self.revision, self.is_gamed))
        return hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()

    def with_fixed(self, tests: Iterable[int]) -> "Tree":
        fixed = set(tests)
        return replace(self, failing=tuple(failure for failure in self.failing if failure[0] not in fixed))

    def with_failing(self, tests: Iterable[int]) -> "Tree":
        return replace(self, failing=tuple(sorted(dict.fromkeys(tests, 0).items() | dict(self.failing).items())))

    def with_later_failure(self, test: int) -> "Tree":
        """The tree in which the test fails at a later point."""
        return replace(self, failing=tuple((name, point + (name == test)) for name, point in self.failing))


@dataclass(frozen=True)
class Feedback:
    """Input of an agent's next iteration."""

    tree: Tree
    call: int = 1
    """Number of the call including repeated attempts: the same under every rule."""
    level: int = 0
    redirected: bool = False
    """Whether it was redirected: a level above the first, or instructions of the overseer."""
    rolled_back: bool = False
    """Whether the branch was returned to an earlier commit."""
    failed_by_chance: bool = False
    """Whether its last tree was reported as failing by chance; an unchanged tree is not checked again."""


@dataclass(frozen=True)
class Step:
    """Result of an iteration."""

    tree: Tree
    claims_completion: bool = False
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
    file_id: int = 0
    """Distinguishes the changed files from those of other iterations."""
    denials: int = 0
    reverted: int = 0
    """Edits reverted within the session."""
    actions: int = 10
    related_actions: int = 9
    flaky: tuple[int, ...] = ()
    """Tests that failed, and passed when run again."""
    chance_failures: tuple[int, ...] = ()
    """Tests that failed twice although nothing is wrong."""
    reset_minutes: float = 0.0
    """Minutes until the usage limit ends."""
    is_faulty: bool = False
    """Whether the agent's fault was active."""

    @property
    def is_counted(self) -> bool:
        return self.outcome is not AgentOutcome.USAGE_LIMIT

    @property
    def is_green(self) -> bool:
        return not self.tree.is_red and not self.chance_failures

    @property
    def is_done(self) -> bool:
        """Whether it claimed completion with passing checks, with nothing that the invariants would deny."""
        return self.claims_completion and self.is_green and not self.tree.is_gamed


@dataclass
class AgentProfile:
    """Lasting traits of an agent."""

    seed: str
    tests: int
    failing: int
    """Tests that fail at the start."""
    pace: float
    """Average share of all tests that an iteration fixes."""
    partial_progress: float
    """Probability that an iteration without another passing test moves the point at which its test fails."""
    ordered: bool
    """Whether it works on the first failing test; otherwise in its own order."""
    dollars: float
    seconds: float
    relevance: float
    """Share of its actions that are related to the task."""
    check: str
    """Output of its checks: `pytest`, `typed` (with a type checker), `listing` (a line per failure) or `opaque` (one line)."""
    onset: int = 0
    """Healthy iterations before the fault."""
    response: float = 0.0
    """Probability in each iteration that a redirection cures it."""
    carried_work: float = 0.0
    """Work done on tests that do not pass yet, in tests."""

    def rng(self, feedback: Feedback) -> Random:
        """Random generator of one call: the same under every rule."""
        return Random(f"{self.seed}/{feedback.call}")

    def work_for(self, test: int) -> float:
        """Work that a test needs; 1 on average."""
        return 0.5 + Random(f"{self.seed}#{test}").random()

    def order_of(self, test: int) -> float:
        """Position of a test in the order of work."""
        return test if self.ordered else Random(f"{self.seed}~{test}").random()

    def first_tree(self) -> Tree:
        failing = Random(f"{self.seed}:start").sample(range(self.tests), self.failing)
        return Tree(self.tests).with_failing(failing)
