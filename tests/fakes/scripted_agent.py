"""Executable stand-ins for the agent, for tests of the loop.

They print the event stream of the real command line as recorded. tests/e2e uses the real one.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROMISE = "<promise>COMPLETE</promise>"


@dataclass(frozen=True)
class Call:
    """What one call of the agent does: run a shell text in the worktree, print events, exit."""

    shell: str = ""
    events: tuple[dict[str, Any], ...] = ()
    exit_code: int = 0


def says(text: str = "More remains.", *, shell: str = "", cost: float = 0.01, tokens: int = 100) -> Call:
    """A call that ends its turn with a text."""
    return Call(shell=shell, events=(*message_events(text), result(text, cost=cost, tokens=tokens)))


def message_events(text: str) -> tuple[dict[str, Any], ...]:
    message = {"id": "msg_1", "model": "scripted", "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 10}}
    return ({"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s"},)


def result(text: str, *, cost: float = 0.01, tokens: int = 100, **changes: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": text,
        "num_turns": 1,
        "total_cost_usd": cost,
        "usage": {"input_tokens": tokens, "output_tokens": 0},
        "terminal_reason": "completed",
        "session_id": "s",
        **changes,
    }


def fails_with(status: int, text: str, **changes: Any) -> Call:
    """A call that the API rejected."""
    refusal = result(text, cost=0, is_error=True, api_error_status=status, terminal_reason="api_error", **changes)
    return Call(events=(refusal,), exit_code=1)


def usage_limit(resets_at: int) -> Call:
    """A call that found the usage window exhausted."""
    info = {"status": "rejected", "resetsAt": resets_at, "rateLimitType": "five_hour", "isUsingOverage": False}
    limit = {"type": "rate_limit_event", "rate_limit_info": info, "session_id": "s"}
    text = "You've hit your 5-hour limit · resets 3:33am (UTC)"
    refused = fails_with(429, text, api_error="usage_limit_reached")
    return Call(events=(limit, *refused.events), exit_code=1)


def scripted_agent(folder: Path, calls: Sequence[Call]) -> Path:
    """Make an executable that plays one call after the other, and then repeats the last."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, call in enumerate(calls):
        (folder / f"{number}.sh").write_text(call.shell + "\n")
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(event) + "\n" for event in call.events))
        (folder / f"{number}.exit").write_text(str(call.exit_code))
    agent = folder / "agent"
    agent.write_text(_PLAYER.format(folder=shlex.quote(str(folder)), last=len(calls) - 1))
    agent.chmod(0o755)
    return agent


def calls_made(folder: Path) -> int:
    """How often the agent was started."""
    log = folder / "starts"
    return len(log.read_text().splitlines()) if log.exists() else 0


def prompt_of(folder: Path, number: int) -> str:
    return (folder / f"{number}.prompt").read_text()


_PLAYER = """\
#!/bin/sh
folder={folder}
number=$(wc -l < "$folder/starts" 2>/dev/null || echo 0)
echo start >> "$folder/starts"
cat > "$folder/$number.prompt"
[ "$number" -le {last} ] || number={last}
. "$folder/$number.sh"
cat "$folder/$number.jsonl"
exit "$(cat "$folder/$number.exit")"
"""
