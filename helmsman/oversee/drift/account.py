"""What was asked and what was done, taken from the records."""

from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.records.evidence import CommandRun, Execution
from helmsman.records.memory import WorkingMemory
from helmsman.records.state import LoopState


@dataclass(frozen=True)
class Task:
    """What the agent was asked."""

    goal: str
    asked: tuple[str, ...] = ()
    """What else the operator asks: criteria, guidance, the item of a plan. As the goal it can make a task wide."""
    told: tuple[str, ...] = ()
    """What the loop told: rejections, findings, and what the agent itself wrote down as open or decided."""
    checks: tuple[str, ...] = ()
    """Commands."""
    failing: tuple[str, ...] = ()
    """Tests, as runners print them."""


@dataclass(frozen=True)
class Deeds:
    """What the agent did."""

    changed: tuple[str, ...] = ()
    """Paths from git."""
    read: tuple[str, ...] = ()
    """Paths as the agent named them."""
    commands: tuple[CommandRun, ...] = ()
    worktree: str = ""


def task_of(state: LoopState) -> Task:
    """What the iteration that is due is asked."""
    config, judge, results = state.config, state.judge, state.checks.results if state.checks else ()
    return Task(
        goal=config.goal,
        asked=tuple(criterion.text for criterion in config.judge.criteria),
        told=(
            *(rejection.reason for rejection in judge.feedback),
            *(f"{finding.where} {finding.message} {finding.honest}" for finding in state.findings),
            *_written_down(state.memory),
        ),
        checks=tuple(check.command for check in config.checks),
        failing=tuple(name for result in results if result.counts for name in result.counts.failing),
    )


def _written_down(memory: WorkingMemory) -> Iterator[str]:
    """Without what is completed: that something was done is no reason to go on with it."""
    yield memory.remaining_gap
    yield from memory.uncertainties
    yield from (f"{choice.chose} {choice.reason}" for choice in memory.decisions)


def deeds_of(execution: Execution, worktree: str) -> Deeds:
    """What the agent did in its call, by the records."""
    call = execution.call
    return Deeds(execution.change.files, call.looked, call.commands, worktree)
