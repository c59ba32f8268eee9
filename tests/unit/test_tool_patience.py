"""While a tool runs, its own limit says how long a session may be silent."""

from typing import Any

import pytest

from helmsman.parsers.agent_actions import Called, ToolPatience, ToolResult

pytestmark = pytest.mark.feature("E5")


def patience(*arguments: dict[str, Any], tool: str = "Bash", **environment: str) -> ToolPatience:
    """After these calls, which nothing has come of yet."""
    made = ToolPatience(300, environment)
    for number, given in enumerate(arguments):
        made.announce(Called(str(number), tool, given))
    return made


CASES: list[tuple[tuple[dict[str, Any], ...], dict[str, str], float]] = [
    ((), {}, 300),
    (({"command": "make"},), {}, 300 + 120),
    (({"timeout": 500_000},), {}, 300 + 500),
    (({"timeout": 500_000}, {"timeout": 9_000}), {}, 300 + 500),
    (({"timeout": 10**9},), {}, 300 + 600),
    (({"timeout": -1},), {}, 300 + 120),
    (({"timeout": "long"},), {}, 300 + 120),
    (({},), {"BASH_DEFAULT_TIMEOUT_MS": "900000"}, 300 + 900),
    (({"timeout": 10**9},), {"BASH_MAX_TIMEOUT_MS": "1800000"}, 300 + 1800),
    (({},), {"BASH_DEFAULT_TIMEOUT_MS": "soon"}, 300 + 120),
]


def test_a_command_in_flight_adds_its_own_limit() -> None:
    for arguments, environment, seconds in CASES:
        assert patience(*arguments, **environment).seconds() == seconds


def test_a_command_that_has_ended_adds_nothing() -> None:
    made = patience({"timeout": 500_000})
    made.conclude(ToolResult("0", failed=True, output=""))
    assert made.seconds() == 300
