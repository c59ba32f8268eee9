"""Errors by fault. Callers branch on the class and read the fields; people read the message.

HelmsmanError
├── OperatorError   you: a bad goal, path, key or check. Never retried.
├── AgentError      the agent: it could not be driven or broke its contract. Never retried.
├── TransientError      the network, the disk, an overloaded service. The only one that is retried.
│   └── CallInterrupted      during a paid call. Its results are stored first, so it is not retried.
└── Cancelled       nobody: a person asked the loop to stop.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class HelmsmanError(Exception):
    """An error with the problem, expected and found values, and a remedy."""

    fault = "nobody"

    def __init__(self, problem: str, *, expected: str = "", found: str = "", remedy: str = "") -> None:
        """Keep the parts as attributes."""
        self.problem, self.expected, self.found, self.remedy = problem, expected, found, remedy
        super().__init__(problem, expected, found, remedy)

    def __str__(self) -> str:
        parts = [
            self.problem,
            f"expected: {self.expected}" if self.expected else "",
            f"found: {self.found}" if self.found else "",
            f"what to do: {self.remedy}" if self.remedy else "",
        ]
        return "\n  ".join(part for part in parts if part)

    @property
    def one_line(self) -> str:
        """The whole message on one line."""
        return "; ".join(" ".join(line.split()) for line in str(self).splitlines() if line.strip())


class OperatorError(HelmsmanError):
    """The person who started the loop can fix it: goal, path, configuration, credentials."""

    fault = "operator"


class AgentError(HelmsmanError):
    """The agent's program misbehaved: it is missing, crashed, or speaks an unknown protocol."""

    fault = "agent"


class TransientError(HelmsmanError):
    """Something outside failed and may recover by itself: network, overload, disk."""

    fault = "world"


class CallInterrupted(TransientError):  # noqa: N818 - describes a call
    """A paid call failed half-way. It is not retried at once: its results are stored first."""


class Cancelled(HelmsmanError):  # noqa: N818 - a request that was granted, not a failure
    """A person asked the loop to stop; work and state are kept."""


def format_invalid(error: "ValidationError", most: int = 3) -> str:
    """Format the first problems of invalid input without its values, each after its place: `gate.kind: Field required`."""
    problems = error.errors(include_url=False, include_input=False)[:most]
    return "; ".join(": ".join(filter(None, (".".join(map(str, one["loc"])), one["msg"]))) for one in problems)
