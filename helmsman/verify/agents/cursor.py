"""`cursor-agent --print --output-format stream-json`: messages, and tool calls that begin and end, one kind of tool in each."""

from helmsman.verify.agents.account import Account
from helmsman.verify.agents.dialect import Dialect, Event
from helmsman.verify.deed_reader import Tools
from helmsman.verify.loose_json import items, mapping, text

_SUFFIX = "ToolCall"


def _system(account: Account, event: Event) -> None:
    account.begin(model=event.get("model"))
    account.turns += 1


def _assistant(account: Account, event: Event) -> None:
    blocks = map(mapping, items(mapping(event.get("message")).get("content")))
    account.say("".join(text(block.get("text"), 8000) for block in blocks if block.get("type") == "text"))


def _tool(account: Account, event: Event) -> None:
    name, call = _called(mapping(event.get("tool_call")))
    account.call(event.get("call_id"), name, mapping(call.get("args")))
    if event.get("subtype") == "completed":
        done = mapping(call.get("result"))
        outcome = mapping(done.get("success"))
        account.result(event.get("call_id"), failed=_failed(done), output=outcome.get("stdout") or outcome.get("content"))


def _called(call: Event) -> tuple[str, Event]:
    """Its name is the key that it lies under; those without a shape of their own have a function's."""
    key = next((key for key in call if key.endswith(_SUFFIX)), "")
    if key:
        return key.removesuffix(_SUFFIX), mapping(call[key])
    return text(mapping(call.get("function")).get("name")) or "function", {}


def _failed(done: Event) -> bool | None:
    """A success with an exit code of its own is what that says. Without either nothing is known."""
    if "success" not in done:
        return True if done else None
    exit_code = mapping(done["success"]).get("exitCode")
    return exit_code != 0 if isinstance(exit_code, int) else False


def _end(account: Account, event: Event) -> None:
    well = event.get("subtype") == "success" and event.get("is_error") is not True
    if not well:
        account.complain(event.get("result") or event.get("subtype"))
    account.end(well=well)


DIALECT = Dialect(
    tools=Tools(
        run={"shell": "command"},
        write={"write": "path", "edit": "path", "delete": "path"},
        read={"read": "path"},
    ),
    events={
        "system": _system,
        "assistant": _assistant,
        "tool_call": _tool,
        "result": _end,
    },
    session="session_id",
)
