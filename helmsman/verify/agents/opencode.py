"""`opencode run --format json`: parts of messages. A tool is told when it is done; the last step ends the whole."""

from helmsman.records.usage import Usage
from helmsman.verify.agents.account import Account
from helmsman.verify.agents.dialect import Dialect, Event
from helmsman.verify.deed_reader import Tools
from helmsman.verify.loose_json import amount, count, mapping, text

_MORE = "tool-calls"
"""Why a step ended after which another one comes."""
_WELL = "stop"


def _step(account: Account, _: Event) -> None:
    account.turns += 1


def _text(account: Account, event: Event) -> None:
    account.say(mapping(event.get("part")).get("text"))


def _tool(account: Account, event: Event) -> None:
    part = mapping(event.get("part"))
    state, tool = mapping(part.get("state")), text(part.get("tool"))
    account.call(part.get("callID"), tool, mapping(state.get("input")))
    if state.get("status") in {"completed", "error"}:
        output = state.get("output") if state.get("status") == "completed" else state.get("error")
        account.result(part.get("callID"), failed=_failed(state), output=output)


def _failed(state: Event) -> bool:
    exit_code = mapping(state.get("metadata")).get("exit")
    return state.get("status") == "error" or (isinstance(exit_code, int) and exit_code != 0)


def _finish(account: Account, event: Event) -> None:
    part = mapping(event.get("part"))
    tokens = mapping(part.get("tokens"))
    cache = mapping(tokens.get("cache"))
    account.spend(
        Usage(
            cost_usd=amount(part.get("cost")) or 0.0,
            input_tokens=count(tokens.get("input")),
            cache_creation_tokens=count(cache.get("write")),
            cache_read_tokens=count(cache.get("read")),
            output_tokens=count(tokens.get("output")) + count(tokens.get("reasoning")),
        )
    )
    reason = text(part.get("reason"))
    if reason != _MORE:
        account.end(well=reason == _WELL)


def _error(account: Account, event: Event) -> None:
    wrong = mapping(event.get("error"))
    data = mapping(wrong.get("data"))
    account.complain(data.get("message") or wrong.get("name"), count(data.get("statusCode")))
    account.end(well=False)


DIALECT = Dialect(
    tools=Tools(run={"bash": "command"}, write={"edit": "filePath", "write": "filePath"}, read={"read": "filePath"}),
    events={
        "step_start": _step,
        "text": _text,
        "tool_use": _tool,
        "step_finish": _finish,
        "error": _error,
    },
    session="sessionID",
)
