"""`gemini --output-format stream-json`. It tells whether a tool ran, and nothing of how the command in it ended."""

from helmsman.verify.agents.account import Account
from helmsman.verify.agents.dialect import Dialect, Event, usage_with_cached
from helmsman.verify.deed_reader import Tools
from helmsman.verify.loose_json import mapping


def _init(account: Account, event: Event) -> None:
    account.begin(session=event.get("session_id"), model=event.get("model"))
    account.turns += 1


def _message(account: Account, event: Event) -> None:
    if event.get("role") == "assistant":
        account.say(event.get("content"), more=event.get("delta") is True)


def _tool(account: Account, event: Event) -> None:
    account.call(event.get("tool_id"), event.get("tool_name"), mapping(event.get("parameters")))


def _result(account: Account, event: Event) -> None:
    """A command that exits with 1 is a success here, so of commands nothing is known."""
    failed = None if account.runs(event.get("tool_id")) else event.get("status") != "success"
    account.result(event.get("tool_id"), failed=failed, output=event.get("output"))


def _error(account: Account, event: Event) -> None:
    """A warning, or what ends it: the result tells which."""
    account.complain(event.get("message"))


def _end(account: Account, event: Event) -> None:
    stats, well = mapping(event.get("stats")), event.get("status") == "success"
    account.spend(usage_with_cached(stats, "cached"))
    if not well:
        account.complain(mapping(event.get("error")).get("message"))
    account.end(well=well)


DIALECT = Dialect(
    tools=Tools(
        run={"run_shell_command": "command"},
        write={"write_file": "file_path", "replace": "file_path"},
        read={"read_file": "file_path"},
    ),
    events={
        "init": _init,
        "message": _message,
        "tool_use": _tool,
        "tool_result": _result,
        "error": _error,
        "result": _end,
    },
)
