"""`codex exec --json`: items that begin and end within one turn."""

import shlex

from helmsman.verify.agents.account import Account
from helmsman.verify.agents.dialect import Dialect, Event, usage_with_cached
from helmsman.verify.deed_reader import Tools
from helmsman.verify.loose_json import items, mapping, text

_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_LONGEST = 20_000
_RETRIES = "Reconnecting..."
_NO_TOOLS = frozenset({"agent_message", "reasoning", "todo_list", "error", "plan"})
_FAILED = frozenset({"failed", "declined"})


def _thread(account: Account, event: Event) -> None:
    account.begin(session=event.get("thread_id"))


def _turn(account: Account, _: Event) -> None:
    account.turns += 1


def _began(account: Account, event: Event) -> None:
    item = mapping(event.get("item"))
    kind = text(item.get("type"))
    if kind and kind not in _NO_TOOLS:
        account.call(item.get("id"), _name(kind, item), _arguments(kind, item))


def _ended(account: Account, event: Event) -> None:
    item = mapping(event.get("item"))
    kind = text(item.get("type"))
    if kind == "agent_message":
        account.say(item.get("text"))
    if not kind or kind in _NO_TOOLS:
        return
    _began(account, event)  # some items are told only when they are done
    account.result(item.get("id"), failed=_failed(item), output=item.get("aggregated_output"))
    if kind == "file_change" and item.get("status") == "completed":
        for change in items(item.get("changes")):
            account.wrote(mapping(change).get("path"))


def _completed(account: Account, event: Event) -> None:
    account.spend(usage_with_cached(mapping(event.get("usage")), "cached_input_tokens"))
    account.end(well=True)


def _turn_failed(account: Account, event: Event) -> None:
    account.complain(mapping(event.get("error")).get("message"))
    account.end(well=False)


def _error(account: Account, event: Event) -> None:
    """Not the end: it may be about to try again."""
    if text(event.get("message")).startswith(_RETRIES):
        account.retries += 1
    account.complain(event.get("message"))


DIALECT = Dialect(
    tools=Tools(run={"command_execution": "command"}),
    events={
        "thread.started": _thread,
        "turn.started": _turn,
        "item.started": _began,
        "item.completed": _ended,
        "turn.completed": _completed,
        "turn.failed": _turn_failed,
        "error": _error,
    },
)


def _name(kind: str, item: Event) -> str:
    return text(item.get("tool")) or kind if kind == "mcp_tool_call" else kind


def _arguments(kind: str, item: Event) -> Event:
    if kind == "command_execution":
        return {"command": _unwrapped(text(item.get("command"), _LONGEST))}
    changes = items(item.get("changes"))
    return {"path": mapping(changes[0]).get("path")} if changes else item


def _unwrapped(command: str) -> str:
    """The command itself, of `/bin/bash -lc '…'`."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    shell = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in {"-c", "-lc"}  # noqa: PLR2004 - shell, option, text
    return words[2] if shell else command


def _failed(item: Event) -> bool:
    exit_code = item.get("exit_code")
    return exit_code != 0 if isinstance(exit_code, int) else text(item.get("status")) in _FAILED
