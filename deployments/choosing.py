"""Find the loop of a command, its driver, and the step at which it was interrupted."""

import shlex
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.events import StepStarted
from helmsman.records.state import LoopState
from tasks.observers.follow import last_entries
from tasks.repository.git import Repository, read_ref
from tasks.repository.loop_context import group_folder, group_of, loop_folder
from tasks.repository.state_ref import loop_names, show_state, state_ref
from tasks.system.lock import holder


def chosen_loop(repository: Repository, loop: str | None) -> str:
    """The named loop, else one that is driven now, else the latest. Raises OperatorError if there is none."""
    if loop is not None:
        return show_state(repository, loop).state.loop
    names = loop_names(repository)
    if not names:
        problem, remedy = "no loop was started in this repository yet", "helmsman run GOAL --check CMD"
        raise OperatorError(problem, found=str(repository.top), remedy=remedy)
    return next((name for name in names if holder(loop_folder(repository, name).lock)), names[0])


def driver_of(repository: Repository, loop: str) -> str | None:
    """Process that drives the loop; None if there is none, on this machine or any that shares its disk."""
    return lock_owner(loop_folder(repository, loop).lock)


def lock_owner(lock: Path) -> str | None:
    """Process that holds the lock of a loop or group, as recorded in it."""
    owner = holder(lock)
    return f"process {owner.get('process')} on {owner.get('host')} since {owner.get('since')}" if owner is not None else None


def is_group(repository: Repository, name: str) -> bool:
    """Whether the name belongs to a group; a loop of that name takes precedence."""
    return read_ref(repository.common, state_ref(name)) is None and group_folder(repository, name).root.exists()


def continue_text(repository: Repository, loop: str) -> str:
    """What continues a loop: also the command of its group, without which the group's later loops do not start."""
    resume, group = f"helmsman resume {shlex.quote(clean(loop))}", clean(group_of(repository, loop))
    return f"run the command that started group {group} again; or only this loop: {resume}" if group else resume


def interruption(repository: Repository, state: LoopState) -> str:
    """Text about the step at which a driver died; empty if the loop is driven, waits, has ended or never began here."""
    folder = loop_folder(repository, state.loop)
    if state.outcome is not None or state.gate is not None or holder(folder.lock):
        return ""
    entries = last_entries(folder.journal)
    step = next((event for _, event in reversed(entries) if isinstance(event, StepStarted)), None)
    if step is None:
        return ""
    attempt, last = f", attempt {step.attempt}" if step.attempt > 1 else "", entries[-1][0]
    return f"in step {step.step} of iteration {step.iteration}{attempt}, last active at {last:%Y-%m-%d %H:%M:%S} UTC"
