"""Which commands serve the task: checks, tests and git do, looks say nothing, others by what they name."""

import re
from collections.abc import Sequence

from helmsman.oversee.drift.subject import Subject
from helmsman.records.evidence import CommandRun

_PROOF = re.compile(
    r"(?<![\w./-])(?:[\w.-]{0,100}/){0,9}(?:git|pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|gotestsum|playwright|cypress|bats|"
    r"ruff|mypy|pyright|eslint|tsc|clippy|rubocop|golangci-lint|tests?|check|lint|typecheck|vet|build)(?![\w/-])"
)
_LOOK = re.compile(
    r"\s*(?:ls|cat|pwd|cd|echo|head|tail|less|wc|e?grep|rg|ag|fd|find|tree|stat|file|which|sed -n|awk|diff|jq)(?![\w-])"
)
_LONGEST = 400


def serves(run: CommandRun, checks: Sequence[str], subject: Subject) -> bool:
    """Whether a command has to do with the task for certain; of the others nothing is known."""
    command = run.command[:_LONGEST]
    if any(check.strip() and check.strip() in command for check in checks) or _PROOF.search(command):
        return True
    return not run.failed and not _LOOK.match(command) and any(map(subject.covers, command.split()))
