"""`amp --execute --stream-json`: messages with blocks, as Claude Code prints them, but without ids and dollars."""

from helmsman.verify.agents.account import Account
from helmsman.verify.agents.dialect import Dialect, Event
from helmsman.verify.deed_reader import Tools
from helmsman.verify.loose_json import items, mapping
from helmsman.verify.spent_reader import usage_of


def _system(account: Account, event: Event) -> None:
    account.begin(model=event.get("model"))


def _assistant(account: Account, event: Event) -> None:
    message, main = mapping(event.get("message")), event.get("parent_tool_use_id") is None
    account.turns += main
    account.spend(usage_of(mapping(message.get("usage"))))
    for block in map(mapping, items(message.get("content"))):
        if block.get("type") == "tool_use":
            account.call(block.get("id"), block.get("name"), mapping(block.get("input")))
        elif block.get("type") == "text" and main:
            account.say(block.get("text"))


def _user(account: Account, event: Event) -> None:
    """A command that exits with 1 is a result like any other here, so of commands that are no error nothing is known."""
    for block in map(mapping, items(mapping(event.get("message")).get("content"))):
        if block.get("type") == "tool_result":
            identity, wrong = block.get("tool_use_id"), block.get("is_error") is True
            failed = None if account.runs(identity) and not wrong else wrong
            account.result(identity, failed=failed, output=block.get("content"))


def _end(account: Account, event: Event) -> None:
    well = event.get("subtype") == "success" and event.get("is_error") is not True
    if not well:
        account.complain(event.get("error") or event.get("result") or event.get("subtype"))
    account.end(well=well)


DIALECT = Dialect(
    tools=Tools(run={"Bash": "cmd"}, write={"create_file": "path", "edit_file": "path"}, read={"Read": "path"}),
    events={
        "system": _system,
        "assistant": _assistant,
        "user": _user,
        "result": _end,
    },
    session="session_id",
)
