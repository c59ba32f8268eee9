"""A scripted model: an Anthropic Messages API on loopback whose answers are written down beforehand.

It drives the real, unmodified Claude Code CLI, and any other client of that API, without a network or an account.
A script is a function from a request to a turn; `by_call` makes the usual one from lists of turns.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias

from deployments.demo.server import Server
from deployments.demo.turns import Json, Tool, Turn, bash, call, edit, read, say, write
from helmsman.errors import OperatorError

__all__ = [
    "Request",
    "Script",
    "ScriptedModel",
    "Tool",
    "Turn",
    "bash",
    "by_call",
    "call",
    "edit",
    "environment",
    "read",
    "say",
    "write",
]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request of an agent's main loop; subagents and retries of the same session count as its turns."""

    number: int
    """How many requests came before this one."""
    call: int
    """How many other sessions of agents appeared before the one of this request. Clients without a session are no agents."""
    turn: int
    """How many requests of the same session came before this one."""
    prompt: str
    """The text of the first user message, as the client sent it: with the reminders that the CLI puts around it."""
    body: Json


Script: TypeAlias = Callable[[Request], Turn]


NOTHING_LEFT = say("There is nothing left to do.")


def by_call(calls: Sequence[Sequence[Turn]], after: Turn = NOTHING_LEFT) -> Script:
    """One sequence of turns for each agent call, in order of appearance; what goes beyond gets `after`."""

    def script(request: Request) -> Turn:
        turns = calls[request.call] if request.call < len(calls) else ()
        return turns[request.turn] if request.turn < len(turns) else after

    return script


def environment(model_url: str, home: Path) -> dict[str, str]:
    """The variables of a run that talks to the scripted model and to nothing else. PATH is the caller's to add."""
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
    """The server. Use it as a context manager, or `start` and `stop` it; the system chooses the port.

    The script may be asked by several threads at once, one for each connection.
    """

    def __init__(self, script: Script, host: str = "127.0.0.1") -> None:
        """Take the script; nothing listens before `start`."""
        self._script, self._host = script, host
        self._server: Server | None = None
        self._requests: list[Request] = []
        self._turns: dict[str, int] = {}
        self._counting = threading.Lock()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        if self._server is None:
            raise OperatorError("the scripted model is not running", remedy="ask for its url between start and stop")
        return f"http://{self._host}:{self._server.port}"

    @property
    def requests(self) -> list[Request]:
        """The main-loop requests so far, as a copy."""
        with self._counting:
            return list(self._requests)

    def start(self) -> None:
        if self._server is None:
            self._server = Server(self._answer, self._host)

    def stop(self) -> None:
        """End every connection, also those that hang, and wait for the threads behind them."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _answer(self, session: str, body: Json) -> Turn:
        return self._script(self._count(session, body))

    def _count(self, session: str, body: Json) -> Request:
        with self._counting:
            turn = self._turns.setdefault(session, 0)
            self._turns[session] = turn + 1
            request = Request(
                number=len(self._requests),
                call=[known for known in self._turns if known or not session].index(session),
                turn=turn,
                prompt=_prompt(body),
                body=body,
            )
            self._requests.append(request)
            return request


def _prompt(body: Json) -> str:
    content = next((message["content"] for message in body["messages"] if message["role"] == "user"), "")
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")
