"""Commands that came to an end and files that were written, as the event stream shows them."""

from typing import Any

import pytest

from helmsman.parsers.agent_actions import ToolInvocation, ToolPatience, ToolResult
from helmsman.records.agent import CommandRun
from tests.fakes.recordings import fold, replay

pytestmark = pytest.mark.feature("V6")


def calls(identity: Any, name: str, **given: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": identity, "name": name, "input": given}
    return {"type": "assistant", "message": {"id": f"m{identity}", "content": [block]}, "parent_tool_use_id": None}


def result(identity: Any, *, outcome: Any = None, meta: Any = None, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identity, "content": "", **fields}
    return {"type": "user", "message": {"content": [block]}, "tool_use_result": outcome, "tool_result_meta": meta}


def ran(command: str, *, failed: bool = False) -> CommandRun:
    return CommandRun(command=command, failed=failed)


def test_a_recorded_command_that_exits_with_3_failed() -> None:
    assert replay("failing_tool").commands == (ran("exit 3", failed=True),)


def test_commands_stand_in_the_order_in_which_they_ended() -> None:
    stream = (calls(1, "Bash", command="x"), calls("a", "Bash", command="a"), calls("b", "Bash", command="b"))
    call = fold(*stream, result("b"), result("a", is_error=True))
    assert call.commands == (ran("b"), ran("a", failed=True))


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({"is_error": True}, True),
        ({"is_error": False}, False),
        ({}, False),
        ({"outcome": "Error: Exit code 2"}, True),
        ({"outcome": {"stdout": "Error: printed", "interrupted": False}}, False),
        ({"outcome": {"stdout": "", "interrupted": True}}, True),
    ],
)
def test_a_failure_is_what_the_cli_marks_as_one(fields: dict[str, Any], failed: bool) -> None:
    assert fold(calls("a", "Bash", command="x"), result("a", **fields)).commands == (ran("x", failed=failed),)


def test_a_result_without_its_call_and_a_call_without_its_result_are_left_out() -> None:
    assert fold(calls("a", "Bash", command="x"), result("b")).commands == ()


def test_what_a_subagent_ran_is_listed_too() -> None:
    ((call, answer)) = [{**event, "parent_tool_use_id": "t"} for event in (calls("a", "Bash", command="x"), result("a"))]
    assert fold(call, answer).commands == (ran("x"),)


def test_the_last_50_commands_are_kept_with_300_characters_each() -> None:
    stream = [event for n in range(80) for event in (calls(f"i{n}", "Bash", command=f"{n} " + "x" * 999), result(f"i{n}"))]
    commands = fold(*stream).commands
    assert (len(commands), commands[0].command[:3], {len(run.command) for run in commands}) == (50, "30 ", {300})


@pytest.mark.parametrize(
    ("name", "key"),
    [("Write", "file_path"), ("Edit", "file_path"), ("MultiEdit", "file_path"), ("NotebookEdit", "notebook_path")],
)
def test_files_are_listed_once_for_every_tool_that_writes(name: str, key: str) -> None:
    twice = (calls("a", name, **{key: "n.py"}), result("a"), calls("b", name, **{key: "n.py"}), result("b"))
    assert fold(*twice).edited == ("n.py",)


def test_an_edit_that_failed_or_was_refused_is_none() -> None:
    refused = [{"id": "b", "non_execution_kind": "permission-rule"}]
    stream = (calls("a", "Edit", file_path="n.py"), result("a", is_error=True))
    assert fold(*stream, calls("b", "Edit", file_path="m.py"), result("b", meta=refused)).edited == ()


def test_200_edited_paths_are_kept_and_of_a_long_one_its_end() -> None:
    stream = [event for n in range(250) for event in (calls(f"i{n}", "Write", file_path="x" * 999 + f"/{n}.py"), result(f"i{n}"))]
    edited = fold(*stream).edited
    assert (len(edited), edited[7][-5:], len(edited[7])) == (200, "/7.py", 300)


# While a tool runs, its own limit says how long a session may be silent


def patience(*arguments: dict[str, Any], tool: str = "Bash", **environment: str) -> ToolPatience:
    """After these calls, which nothing has come of yet."""
    made = ToolPatience(300, environment)
    for number, given in enumerate(arguments):
        made.announce(ToolInvocation(str(number), tool, given))
    return made


CASES: list[tuple[tuple[dict[str, Any], ...], dict[str, str], float]] = [
    ((), {}, 300),
    (({"command": "make"},), {}, 300 + 120),
    (({"timeout": 500_000},), {}, 300 + 500),
    (({"timeout": 500_000}, {"timeout": 9_000}), {}, 300 + 500),
    (({"timeout": 10**9},), {}, 300 + 600),
    (({"timeout": -1},), {}, 300 + 120),
    (({},), {"BASH_DEFAULT_TIMEOUT_MS": "900000"}, 300 + 900),
    (({"timeout": 10**9},), {"BASH_MAX_TIMEOUT_MS": "1800000"}, 300 + 1800),
    (({},), {"BASH_DEFAULT_TIMEOUT_MS": "soon"}, 300 + 120),
]


@pytest.mark.feature("E5")
def test_a_command_in_flight_adds_its_own_limit() -> None:
    for arguments, environment, seconds in CASES:
        assert patience(*arguments, **environment).seconds() == seconds


@pytest.mark.feature("E5")
def test_a_command_that_has_ended_adds_nothing() -> None:
    made = patience({"timeout": 500_000})
    made.conclude(ToolResult("0", failed=True, output=""))
    assert made.seconds() == 300
