"""Report errors as text and, if requested, as JSON, and map them to exit statuses."""

import errno
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helmsman.errors import HelmsmanError, OperatorError

FOREIGN = {errno.EACCES, errno.EPERM, errno.ENOTDIR}  # what lies there is not ours to use


def report(error: HelmsmanError) -> int:
    from helmsman.plain import clean_lines
    from tasks.engine.embedded import EngineAwayError
    from tasks.system.secrets import without_secrets_in

    without_secrets_in(error)
    message = clean_lines(str(error))
    _print_error(f"{error.fault} error: {message}" if error.fault != "nobody" else message, f"error.{error.fault}", str(error))
    status = {"operator": 2, "nobody": 130}.get(error.fault, 1)
    if isinstance(error, EngineAwayError):  # at exit Prefect would try for minutes to send its queue
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def report_unforeseen(error: Exception) -> int:
    from tasks.system.faults import transient_error
    from tasks.system.secrets import redact

    if known := transient_error(error) or _state_folder_error(error):
        return report(known)
    advice = "This is a bug in Helmsman. Finished work is kept; `helmsman list` shows the loops."
    _print_error(f"{redact(''.join(traceback.format_exception(error)))}\n{advice}", "error.unforeseen", redact(repr(error)))
    return 1


def _state_folder_error(error: Exception) -> OperatorError | None:
    """The error of a state folder that this user cannot make or write to, as without a home; None for other errors."""
    from tasks.system.paths import state_home

    if not isinstance(error, OSError) or not error.filename:
        return None
    home, path = state_home(), Path(str(error.filename))
    if not (home.is_relative_to(path) or (error.errno in FOREIGN and path.is_relative_to(home))):
        return None
    return OperatorError(
        "the state folder cannot be used",
        expected=f"write access to {home}",
        found=f"{error.strerror}: {path}",
        remedy="make it writable, or set HELMSMAN_HOME to another folder",
    )


def _print_error(message: str, rule: str, reason: str) -> None:
    sys.stderr.write(f"{message}\n")
    if "--json" in sys.argv:
        print(json.dumps(failure(rule, reason)))


def status_of(drive: Callable[[], int]) -> int:
    """Call the function and report any error; return the exit status."""
    try:
        return drive()
    except HelmsmanError as error:
        return report(error)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except Exception as error:  # noqa: BLE001 - the last place to report it
        return report_unforeseen(error)


def failure(rule: str, reason: str) -> dict[str, Any]:
    """Result of a loop that never began, in the format of every result."""
    from helmsman.records.decision import Outcome
    from helmsman.records.result import LoopResult

    result = LoopResult(
        loop="", outcome=Outcome.FAILED, rule=rule, reason=reason, iterations=0, agent_calls=0, cost_usd=0.0, tokens=0,
        seconds=0.0, branch="", commit="", state_ref="", checks=(), verified=False,
    )  # fmt: skip
    return result.model_dump(mode="json")
