"""Audit of the checks: which agree with others, what none covers, what nothing proves.

It reports and never decides.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.parsers.rubric import RubricItem
from helmsman.parsers.shell_words import known_programs
from helmsman.records.checks import CheckReport

LEAST_REPORTS = 10
"""Minimum number of reports; two independent checks that fail half of the time agree in all of these once in 1,000 times."""
MOST_CHECKS = 50  # maximum number of checks to compare in pairs
MOST_FOUND = 20


@dataclass(frozen=True)
class Agreement:
    """Two checks that always passed and failed together."""

    checks: tuple[str, str]
    reports: int  # in which both ran
    failures: int  # in which both failed


@dataclass(frozen=True)
class Uncovered:
    """A class of failure that no current command covers."""

    kind: str
    failures: int  # reports in which a check of this class failed, when there was one


@dataclass(frozen=True)
class Audit:
    """Findings for a person to act on."""

    reports: int = 0  # number of different reports
    unproven: tuple[str, ...] = ()
    """Ids of criteria that no check and no test of their own proves, only the judge."""
    agreeing: tuple[Agreement, ...] = ()  # 20 at most
    uncovered: tuple[Uncovered, ...] = ()  # empty if there are no checks
    opaque: tuple[str, ...] = ()
    """Checks whose command does not reveal its purpose, such as `make check`; they may cover what seems uncovered."""


def audit(
    criteria: Iterable[RubricItem[CriterionConfig]], checks: Sequence[CheckConfig], reports: Iterable[CheckReport]
) -> Audit:
    """Compare the configured checks with their reports so far. Equal reports of one tree count once."""
    # a check that could not start says nothing about the tree
    ran = ([result for result in report.results if not result.error] for report in dict.fromkeys(reports))
    seen = [{result.name: (result.passed, result.command) for result in results} for results in ran]
    names = list(dict.fromkeys(check.title for check in checks))[:MOST_CHECKS]
    agreeing: list[Agreement] = []
    for first, second in combinations(names, 2):
        both = [(verdicts[first][0], verdicts[second][0]) for verdicts in seen if first in verdicts and second in verdicts]
        failures = both.count((False, False))
        if len(both) >= LEAST_REPORTS and failures and all(passed == other_passed for passed, other_passed in both):
            agreeing.append(Agreement((first, second), len(both), failures))
    covered = {kind for check in checks for kind in kinds(check.command)}
    uncovered = [kind for kind in KINDS if kind not in covered] if checks else []
    failed = [{kind for passed, command in verdicts.values() if not passed for kind in kinds(command)} for verdicts in seen]
    return Audit(
        reports=len(seen),
        unproven=tuple(criterion.config.id for criterion in criteria if not (criterion.config.tests or criterion.config.checks)),
        agreeing=tuple(agreeing[:MOST_FOUND]),
        uncovered=tuple(Uncovered(kind, sum(kind in kinds_of for kinds_of in failed)) for kind in uncovered),
        opaque=tuple(check.title for check in checks if not kinds(check.command)),
    )


# --- classes of failure by command --------------------------------------------------------------------------------------

LONGEST_COMMAND = 2_000  # maximum characters to read
_RUN = r"(?:npm|pnpm|yarn|bun|deno|make|just|task|run|mvn|mvnw|gradle|gradlew|bazel) +(?:-[^ ]+ +)*"
"""Required before a bare `test` or `build`, which alone would be a shell builtin or a folder."""


def _program_pattern(*kinds: str) -> str:
    return "|".join(map(re.escape, sorted(known_programs(*kinds))))


_COMPILES = r"(?:cargo|go|dotnet|swift|stack|cabal) +(?:test|build|check|run|clippy|vet)"
"""Commands that build first, which checks types."""
KINDS = {
    "tests": rf"{_RUN}test|(?:cargo|go|dotnet|swift|stack|cabal|node) +(?:--)?test|{_program_pattern('tests', 'environments')}",
    "lint": rf"lint|(?:cargo|go) +(?:clippy|vet)|{_program_pattern('lint')}",
    "types": rf"typecheck|type-check|{_COMPILES}|{_program_pattern('types')}",
    "build": rf"{_RUN}build|-m +build|compile|{_COMPILES}|{_program_pattern('build')}",
}
"""Classes of failure, with patterns of commands that look for them."""
_PATTERNS = {
    kind: re.compile(rf"(?<![\w./])(?:[\w./]*bin/)?(?:{words})(?![\w/])", re.IGNORECASE) for kind, words in KINDS.items()
}


def kinds(command: str) -> frozenset[str]:
    """Return the classes of failure that a command looks for, judging by its words."""
    return frozenset(kind for kind, pattern in _PATTERNS.items() if pattern.search(command[:LONGEST_COMMAND]))
