"""How long a session may be silent: as configured, and while a tool runs, until that tool's own limit has passed as well."""

from collections.abc import Mapping

from helmsman.verify.agent_events import Called, ToolResult
from helmsman.verify.loose_json import count

BASH_SECONDS = 120.0
"""Without a `timeout` of its own a command of the CLI's Bash tool ends after this (BASH_DEFAULT_TIMEOUT_MS)."""
BASH_LONGEST = 600.0
"""Whatever `timeout` says, the CLI ends it after this (BASH_MAX_TIMEOUT_MS)."""
MOST = 100
"""Calls in flight that are remembered; a CLI runs a dozen at a time."""


class ToolPatience:
    """Follows the calls of one session. Only the Bash tool has a limit that is known."""

    def __init__(self, idle: float, environment: Mapping[str, str]) -> None:
        """`idle`: seconds of silence while no tool runs. The environment is the session's."""
        self._idle = idle
        self._usual = _seconds(environment.get("BASH_DEFAULT_TIMEOUT_MS"), BASH_SECONDS)
        self._longest = max(_seconds(environment.get("BASH_MAX_TIMEOUT_MS"), BASH_LONGEST), self._usual)
        self._limits: dict[str, float] = {}

    def announce(self, called: Called) -> None:
        if called.tool == "Bash" and len(self._limits) < MOST:
            asked = _seconds(called.arguments.get("timeout"), self._usual)
            self._limits[called.identity] = min(asked, self._longest)

    def conclude(self, result: ToolResult) -> None:
        self._limits.pop(result.identity, None)

    def seconds(self) -> float:
        """The silence that is still life. The configured one comes on top: after its limit a tool has to be ended first."""
        return self._idle + max(self._limits.values(), default=0.0)


def _seconds(milliseconds: object, otherwise: float) -> float:
    given = count(int(milliseconds) if isinstance(milliseconds, str) and milliseconds.isdecimal() else milliseconds)
    return given / 1000 if given else otherwise
