"""Which loop a command means, and who drives it."""

from datetime import datetime
from typing import Any, NamedTuple

from helmsman.errors import OperatorError
from tasks.lock import holder
from tasks.places import loop_folder
from tasks.repository.git import Repository
from tasks.repository.state_ref import loop_names, read_state


class Driver(NamedTuple):
    """The process that holds a loop's lock, by its own account."""

    name: str
    since: datetime | None
    """None where the account cannot be read."""


def chosen_loop(repository: Repository, loop: str | None) -> str:
    """The loop that was named; else one that is driven now, else the latest. Raises OperatorError where there is none."""
    if loop is not None:
        return read_state(repository, loop)[0].loop
    names = loop_names(repository)
    if not names:
        raise OperatorError(
            "no loop was started in this repository yet",
            found=str(repository.top),
            remedy="helmsman run GOAL --check CMD",
        )
    return next((name for name in names if holder(loop_folder(repository, name).lock)), names[0])


def driver_of(repository: Repository, loop: str) -> Driver | None:
    """Who drives the loop now; None: nobody does, on this machine or any that shares its disk."""
    found = holder(loop_folder(repository, loop).lock)
    if found is None:
        return None
    return Driver(
        f"process {found.get('process')} on {found.get('host')} since {found.get('since')}", _moment(found.get("since"))
    )


def _moment(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
