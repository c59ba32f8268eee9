"""`copilot --output-format json`: the events of its session. It tells requests of its allowance, neither tokens nor dollars."""

from helmsman.verify.agents.account import Account
from helmsman.verify.agents.dialect import Dialect, Event, Write
from helmsman.verify.deed_reader import Tools
from helmsman.verify.loose_json import count, items, mapping


def _turn(account: Account, _: Event) -> None:
    account.turns += 1


def _retry(account: Account, _: Event) -> None:
    account.retries += 1


def _message(account: Account, data: Event) -> None:
    account.begin(model=data.get("model"))
    account.say(data.get("content"))


def _tool(account: Account, data: Event) -> None:
    account.call(data.get("toolCallId"), data.get("toolName"), mapping(data.get("arguments")))


def _result(account: Account, data: Event) -> None:
    exit_code = mapping(data.get("shellExecution")).get("exitCode")
    failed = exit_code != 0 if isinstance(exit_code, int) else data.get("success") is not True
    account.result(data.get("toolCallId"), failed=failed, output=mapping(data.get("result")).get("content"))
    for edit in items(data.get("fileEdits")) if data.get("success") is True else ():
        account.wrote(mapping(edit).get("path"))


def _error(account: Account, data: Event) -> None:
    account.complain(data.get("message"), count(data.get("statusCode")))


def _end(account: Account, event: Event) -> None:
    account.begin(session=event.get("sessionId"))
    account.end(well=event.get("exitCode") == 0)


def _in_data(write: Write) -> Write:
    """All but the last event have what they tell one level further in."""
    return lambda account, event: write(account, mapping(event.get("data")))


DIALECT = Dialect(
    tools=Tools(run={"bash": "command"}, write={"edit": "path", "create": "path"}, read={"view": "path"}),
    events={
        "assistant.turn_start": _in_data(_turn),
        "assistant.turn_retry": _in_data(_retry),
        "assistant.message": _in_data(_message),
        "tool.execution_start": _in_data(_tool),
        "tool.execution_complete": _in_data(_result),
        "session.error": _in_data(_error),
        "result": _end,
    },
)
