"""What goes wrong, told to people and, where they asked for JSON, to scripts; and the exit status that it comes to."""

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from helmsman.errors import HelmsmanError


def report(error: HelmsmanError) -> int:
    from helmsman.plain import clean_lines
    from tasks.engine.embedded import EngineAwayError
    from tasks.system.secrets import without_secrets_in

    without_secrets_in(error)
    words = clean_lines(str(error))
    _tell(f"{error.fault} error: {words}" if error.fault != "nobody" else words, f"error.{error.fault}", str(error))
    status = {"operator": 2, "nobody": 130}.get(error.fault, 1)
    if isinstance(error, EngineAwayError):  # at the interpreter's own end Prefect tries for minutes to send what it has queued
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def report_unforeseen(error: Exception) -> int:
    from tasks.system.faults import transient_error
    from tasks.system.secrets import redact

    if told := transient_error(error):
        return report(told)
    what_now = "This is a bug in Helmsman. Finished work is kept; `helmsman list` shows the loops."
    _tell(f"{redact(''.join(traceback.format_exception(error)))}\n{what_now}", "error.unforeseen", redact(repr(error)))
    return 1


def _tell(words: str, rule: str, reason: str) -> None:
    sys.stderr.write(f"{words}\n")
    if "--json" in sys.argv:
        print(json.dumps(failure(rule, reason)))


def status_of(drive: Callable[[], int]) -> int:
    """Drive, and tell whatever goes wrong: this is the last place where it can be told. Returns the exit status."""
    try:
        return drive()
    except HelmsmanError as error:
        return report(error)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - nobody else would tell of it
        return report_unforeseen(error)


def failure(rule: str, reason: str) -> dict[str, Any]:
    """The result of a loop that never began, in the shape of every other result."""
    from helmsman.records.decision import Outcome
    from helmsman.records.result import LoopResult

    nothing = LoopResult(
        loop="", outcome=Outcome.FAILED, rule=rule, reason=reason, iterations=0, agent_calls=0, cost_usd=0.0, tokens=0,
        seconds=0.0, branch="", commit="", state_ref="", checks=(), verified=False,
    )  # fmt: skip
    return nothing.model_dump(mode="json")
