"""What a rule may look at."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from helmsman.records.checks import CheckReport
from helmsman.records.findings import Finding
from helmsman.verify.diff import TreeDiff


@dataclass(frozen=True)
class Scene:
    """A diff between two commits and what is needed to understand it."""

    diff: TreeDiff
    tests: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts of the test files that the diff does not touch, by path, as far as they were read."""
    paths: frozenset[str] = frozenset()
    """Every path of the tree as it is now."""
    commands: tuple[str, ...] = ()
    """The check commands, as the operator wrote them."""
    protected: tuple[str, ...] = ()
    """Glob patterns of paths that the operator protects besides what rules protect by themselves."""
    report: CheckReport | None = None
    """What the checks found on the tree as it is now."""
    most_tests: Mapping[str, int] = field(default_factory=dict[str, int])
    """By check command: the largest number of tests (passed and failed, not skipped) that this loop has seen it run."""


Rule = Callable[[Scene], Iterable[Finding]]
