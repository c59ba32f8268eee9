"""What the command line says of a goal: in words, in a file, or on standard input, where quoting cannot go wrong."""

import sys
from pathlib import Path
from typing import Any

from helmsman.errors import OperatorError
from tasks.loops.config_files import LARGEST_FILE

STANDARD_INPUT = Path("-")


def goal_said(goal: str | None, goal_file: Path | None) -> dict[str, Any]:
    """The goal as configuration; nothing where nothing is said."""
    if goal is None and goal_file == STANDARD_INPUT:
        return {"goal": _text(sys.stdin.buffer.read(LARGEST_FILE + 1))}
    said = {"goal": goal} if goal is not None else {}
    return said | ({"goal_file": str(goal_file)} if goal_file else {})


def _text(piped: bytes) -> str:
    if len(piped) > LARGEST_FILE:
        raise _unusable(f"more than {LARGEST_FILE} bytes")
    try:
        text = piped.decode("utf-8-sig").replace("\r\n", "\n").strip()
    except UnicodeDecodeError as error:
        raise _unusable(f"no UTF-8: {error.reason}") from None
    if not text:
        raise _unusable("nothing")
    return text


def _unusable(found: str) -> OperatorError:
    return OperatorError(
        "standard input cannot be used as the goal",
        expected="some words that say what shall be true at the end",
        found=found,
        remedy="pipe the goal in, or give it as the argument",
    )
