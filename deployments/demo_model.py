"""A scripted model: an Anthropic Messages API on loopback with predefined answers.

It works with the real, unmodified Claude Code CLI and any other client of that API, without a network or an account.
A script is a function from a request to a turn; `by_call` builds the usual one from lists of turns.
"""

import json
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import BaseServer
from typing import Any, Self, TypeAlias, cast
from uuid import uuid4

from tasks.loopback import LoopbackServer, serving

Json: TypeAlias = dict[str, Any]
Tool: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Turn:
    text: str | None = None
    tools: tuple[Tool, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    """Token counts by their API names; missing ones have small defaults."""

    @property
    def ending(self) -> str:
        """The `stop_reason` of its message."""
        return "tool_use" if self.tools else "end_turn"

    def play(self, exchange: "Exchange", body: Json) -> None:
        content, answer = response_for(self, body)
        exchange.begin(200, content, len(answer))
        exchange.wfile.write(answer)


def say(text: str) -> Turn:
    """A turn that ends with a text."""
    return Turn(text=text)


def call(*tools: Tool) -> Turn:
    """A turn that calls these tools."""
    return Turn(tools=tools)


def bash(command: str, **extra: Any) -> tuple[str, Json]:
    return "Bash", {"command": command, **extra}


def read(path: Path | str) -> tuple[str, Json]:
    return "Read", {"file_path": str(path)}


def write(path: Path | str, content: str) -> tuple[str, Json]:
    return "Write", {"file_path": str(path), "content": content}


def edit(path: Path | str, old: str, new: str) -> tuple[str, Json]:
    return "Edit", {"file_path": str(path), "old_string": old, "new_string": new}


_USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20}


def response_for(turn: Turn, body: Json) -> tuple[str, bytes]:
    """Content type and body of a message, as an event stream if the request asks for one."""
    text_blocks: list[Json] = [{"type": "text", "text": turn.text}] if turn.text is not None else []
    tool_blocks = [{"type": "tool_use", "id": new_id("toolu"), "name": name, "input": dict(args)} for name, args in turn.tools]
    message: Json = {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": [*text_blocks, *tool_blocks],
        "stop_reason": turn.ending,
        "stop_sequence": None,
        "usage": {**_USAGE, **turn.usage},
    }
    if not body.get("stream"):
        return "application/json", json.dumps(message).encode()
    unfinished: Json = {"content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[Json] = [{"type": "message_start", "message": {**message, **unfinished}}]
    for index, block in enumerate(message["content"]):
        key, empty, delta = "text", "", {"type": "text_delta", "text": block.get("text")}
        if block["type"] == "tool_use":
            key, empty, delta = "input", Json(), {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += (
            {"type": "content_block_start", "index": index, "content_block": {**block, key: empty}},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        )
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += {"type": "message_delta", "delta": end, "usage": message["usage"]}, {"type": "message_stop"}
    parts = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "text/event-stream; charset=utf-8", "".join(parts).encode()


def new_id(kind: str) -> str:
    return f"{kind}_{uuid4().hex[:24]}"  # unlike a count, still unique when a session is resumed with another model


Answer: TypeAlias = Callable[[str, Json], Turn]  # from the session of a request and its body to a turn

_SIDE_ANSWER = say("ok")


class Server(LoopbackServer):
    daemon_threads = False  # closing the server waits only for non-daemon threads
    block_on_close = True

    def __init__(self, answer: Answer, host: str) -> None:
        self.stopping = threading.Event()
        super().__init__((host, 0), partial(Exchange, answer, self.stopping))

    def close_all(self) -> None:
        super().close_all()
        self.stopping.set()  # after the connections are closed, so that woken threads cannot write

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """Ignore a client that disconnects; print the traceback of a script that raises."""
        if not isinstance(sys.exception(), ConnectionError):
            BaseServer.handle_error(self, request, client_address)


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, answer: Answer, stopping: threading.Event, *connection: Any) -> None:
        self._answer, self.stopping = answer, stopping
        super().__init__(*connection)  # which also handles the connection

    def do_POST(self) -> None:
        raw, parsed = self.rfile.read(int(self.headers.get("content-length", 0))), None
        with suppress(ValueError):
            parsed = json.loads(raw)
        if self.path.partition("?")[0] != "/v1/messages":
            return self.send_error(404, "the scripted model knows only POST /v1/messages")
        if not isinstance(parsed, dict) or "messages" not in parsed:
            return self.send_error(400, "the body is not a JSON object with messages")
        body = cast("Json", parsed)
        is_side_question = not body.get("tools") and "format" not in body.get("output_config", {})  # from the CLI itself
        turn = _SIDE_ANSWER if is_side_question else self._answer(self.headers.get("x-claude-code-session-id", ""), body)
        return turn.play(self, body)

    def begin(self, status: int, content: str, size: int, headers: Mapping[str, str] | None = None) -> None:
        fixed = {"content-type": content, "content-length": str(size), "request-id": new_id("req")}
        self.send_response_only(status)
        for name, value in {**fixed, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that is overridden
        """Log nothing, since the loop uses the terminal."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request of an agent session; requests of subagents and retries count as its turns."""

    number: int  # number of earlier requests
    call: int
    """Number of agent sessions that appeared before this one. Clients without a session id are not agents."""
    turn: int  # number of earlier requests of the same session
    prompt: str  # text of the first user message as sent, including reminders added by the CLI
    body: Json


Script: TypeAlias = Callable[[Request], Turn]
NOTHING_LEFT = say("There is nothing left to do.")


def by_call(calls: Sequence[Sequence[Turn]], after: Turn = NOTHING_LEFT) -> Script:
    """One sequence of turns per agent call, in order of appearance; further requests get `after`."""

    def script(request: Request) -> Turn:
        turns = calls[request.call] if request.call < len(calls) else ()
        return turns[request.turn] if request.turn < len(turns) else after

    return script


def environment(model_url: str, home: Path) -> dict[str, str]:
    """Environment of a run that talks only to the scripted model. The caller adds PATH."""
    return {
        "HOME": str(home),
        "CLAUDE_CODE_TMPDIR": str(home / "tmp"),
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "dummy",
        "IS_SANDBOX": "1",  # root may skip permissions only inside a sandbox
        "CLAUDE_CODE_MAX_RETRIES": "0",  # ten retries of an error take three minutes
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # they would keep the process alive after its result
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


class ScriptedModel:
    """The server as a context manager, on a free port. Exiting closes every connection, including hanging ones.

    Several threads may call the script at once, one per connection.
    """

    def __init__(self, script: Script, host: str = "127.0.0.1") -> None:
        self._script, self._host, self._stack = script, host, ExitStack()
        self._requests: list[Request] = []
        self._turns: dict[str, int] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        server = self._stack.enter_context(serving(Server(self._next_turn, self._host), "scripted-model"))
        self.url = f"http://{self._host}:{server.socket.getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def requests(self) -> list[Request]:
        with self._lock:
            return list(self._requests)

    def _next_turn(self, session: str, body: Json) -> Turn:
        with self._lock:
            turn = self._turns.setdefault(session, 0)
            self._turns[session] = turn + 1
            content = next((message["content"] for message in body["messages"] if message["role"] == "user"), "")
            texts = [content] if isinstance(content, str) else [block["text"] for block in content if block["type"] == "text"]
            sessions = [seen for seen in self._turns if seen or not session]
            request = Request(
                number=len(self._requests), call=sessions.index(session), turn=turn, prompt="\n".join(texts), body=body
            )
            self._requests.append(request)
        return self._script(request)
