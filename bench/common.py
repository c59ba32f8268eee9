"""Set-up and figures that several benchmarks share."""

import json
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

SCRATCH = "helmsman-bench-"
"""Prefix of temporary folders."""
_RESULT = {
    "type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "total_cost_usd": 0.0,
    "session_id": "s", "usage": {"input_tokens": 1, "output_tokens": 1}, "terminal_reason": "completed",
}  # fmt: skip


def isolate_state(folder: Path) -> None:
    """Use an engine and a state folder of their own, in this process and its children."""
    os.environ |= {"HELMSMAN_HOME": str(folder / "state"), "PREFECT_HOME": str(folder / "prefect")}
    os.environ.pop("PREFECT_API_URL", None)


def write_agent(folder: Path, script: str, message: str) -> Path:
    """Write an instant agent: a shell script in which {result} is the file of its output with this final message."""
    agent, result = folder / "agent", folder / "result.json"
    result.write_text(json.dumps({**_RESULT, "result": message}) + "\n")
    agent.write_text(script.format(folder=shlex.quote(str(folder)), result=shlex.quote(str(result))))
    agent.chmod(0o755)
    return agent


def set_options(settings: Iterable[str]) -> list[str]:
    """Options of the command line for settings such as `gates.ask=true`."""
    return [part for setting in settings for part in ("--set", setting)]


def percentile(values: Iterable[float], share: float) -> float:
    """Value below which this share of the values lies."""
    ordered: Sequence[float] = sorted(values)
    return ordered[int(share * (len(ordered) - 1))]


def print_row(cells: Sequence[object], widths: Sequence[int]) -> None:
    """Print a row of a table at once, for tables that take minutes."""
    print(" ".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip(), flush=True)
