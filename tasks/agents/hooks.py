"""What steering needs of one call: its rules, the files they look at, and the server that the agent's CLI asks.

The server listens on loopback, inside of the process that runs the agent. Every event is a POST of one JSON object with the run's
token; the answer is one JSON object, empty where there is nothing to say. A thread serves each connection, so parallel tool calls
and subagents do not wait for one another here; whoever answers takes its own lock. The server never raises into the agent: what
it cannot read is answered with an error, which a hook that must not fail open turns into a denial (`onFailure: block`).
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from helmsman.guardrails import Rules, is_fix
from helmsman.guardrails.context import known_window
from helmsman.orient.allowance import checks_allowance, claude_config
from helmsman.parsers.alignment_file import own_goal
from helmsman.parsers.test_files import is_test_file
from helmsman.records.agent import Guarded
from helmsman.records.events import StopAnswered, ToolGuarded
from helmsman.records.state import LoopState
from tasks.agents.call import worded
from tasks.agents.steering import Steering
from tasks.agents.stop import StopGate, Stops
from tasks.checks.targets import clean_checkout
from tasks.loopback import LoopbackServer, serving
from tasks.repository.git import git
from tasks.repository.loop_context import LoopContext
from tasks.system.files import read_plain
from tasks.system.journal import publish

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From an event to the hook's output; raises nothing."""

TIMEOUT = 10
"""Seconds that the CLI waits for an answer. It comes within milliseconds, or the process that gives it is gone."""
MARGIN = 60
"""Seconds that the CLI waits for the answer to a stop beyond those that checks may take: files are laid out for them first."""
TOKEN = "HELMSMAN_HOOK_TOKEN"  # noqa: S105 - the name of a variable
HEADER = "X-Helmsman-Token"
LARGEST_EVENT = 32 * 1024 * 1024
"""Bytes; an event carries whole files that are written."""
_DIGITS = 20
"""Python reads no number with thousands of them."""
PATIENCE = 10
"""Seconds that a connection may take to send what it announced."""

LARGEST_CONTENT = 4 * 1024 * 1024
"""Bytes of a file whose content is compared with what it was; such a file is not written by hand."""
SHARE_OF_IDLE = 0.5
"""Of the time without a line of output that counts as a hang: the agent is silent while it waits for the checks."""


@dataclass
class HookServer:
    """Where the CLI sends its events, and the token that it has to show."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@contextmanager
def steering(
    context: LoopContext, state: LoopState, start: str, home: str, stop: Callable[[], bool], item: str = ""
) -> Generator[tuple[Steering, HookServer]]:
    """Guard rails for a call that begins at this commit, and where its CLI finds them. At the end nothing of it runs any more.

    `item`: the own check of the plan's item in hand.
    """
    gate, stops, worktree = None, None, str(context.worktree)
    if seconds := stop_seconds(state, item):
        allowed = state.config.steering.model_copy(update={"stop_seconds": seconds})
        config = state.config.model_copy(update={"steering": allowed})
        gate = StopGate(clean_checkout(context, state), start, context.tag(state), config, state.checks, stop, item)
        stops = Stops(gate.run, lambda attempt: publish(StopAnswered(attempt=attempt)))

    def tell(guarded: Guarded) -> None:
        publish(ToolGuarded(guarded=guarded.model_copy(update={"detail": worded(guarded.detail, worktree)})))

    steers = Steering(_rules(context, state, start, home), tell, partial(_content, context.worktree), stops)
    with hook_server(steers.answer) as server:
        try:
            yield steers, server
        finally:
            if gate:
                gate.close()


def stop_seconds(state: LoopState, item: str = "") -> float:
    """Seconds that checks may take when the agent wants to stop; 0 where none runs then.

    Without a clean checkout none does: it would change the files that the agent works on.
    """
    config = state.config
    due = (config.checks or item) and config.workspace.clean and not state.researching
    return min(checks_allowance(state) if due else 0, SHARE_OF_IDLE * config.claude.idle_timeout_minutes * 60)


def window_of(state: LoopState, model: str) -> int:
    """Tokens that the context window of a model holds. The messages do not repeat the `[1m]` that a large one is asked for by."""
    configured = claude_config(state).model
    return known_window(configured if "[1m]" in configured else model, state.windows, state.config.context.window)


def _rules(context: LoopContext, state: LoopState, start: str, home: str) -> Rules:
    """For the iteration that is due."""
    config = state.config

    @cache
    def tests_before() -> frozenset[str]:
        found = git(context.worktree, "ls-tree", "-r", "-z", "--name-only", state.base_commit).split("\0")
        return frozenset(filter(is_test_file, found))

    return Rules(
        worktree=os.path.realpath(context.worktree),
        protected=config.invariants.protect,
        allowed=config.invariants.allow,
        level=state.oversight.ladder.rung if config.ladder.act else 0,
        branch=state.branch,
        nesting=config.limits.nesting,
        fix=is_fix(own_goal(config.goal)),
        looks_only=state.researching,
        start=start,
        home=home,
        resolve=os.path.realpath,
        exists=os.path.lexists,
        tests=lambda path: is_test_file(path) and path in tests_before(),  # those that the loop wrote are its own to change
    )


def _content(worktree: Path, path: str) -> str | None:
    """Digest of a file's content; empty where there is no file, None for one that cannot be read at once."""
    try:
        whole = worktree / path
        if not os.path.lexists(whole):
            return ""
        found = read_plain(whole, LARGEST_CONTENT + 1)
        return None if len(found) > LARGEST_CONTENT else hashlib.sha256(found).hexdigest()
    except (OSError, ValueError):
        return None


@contextmanager
def hook_server(answer: Answer) -> Generator[HookServer]:
    """Listen on a port of the system's choice while the block runs; every connection is closed at its end."""
    with serving(_Server(answer), "hooks") as server:
        yield server.known


class _Server(LoopbackServer):
    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.answer, self.known = answer, HookServer(self.socket.getsockname()[1], secrets.token_urlsafe(24))


class _Exchange(BaseHTTPRequestHandler):
    timeout = PATIENCE
    protocol_version = "HTTP/1.1"  # the CLI keeps its connections
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024  # head and body leave together

    def do_POST(self) -> None:
        server, length = cast("_Server", self.server), self.headers.get("content-length", "")
        if not hmac.compare_digest(self.headers.get(HEADER, "").encode(), server.known.token.encode()):
            self.close_connection = True  # what it sent is not read, and would pass for its next request
            self._send(HTTPStatus.FORBIDDEN, {})
            return
        event: Any = None
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > LARGEST_EVENT:
            self.close_connection = True  # what follows cannot be read past
        else:
            with suppress(ValueError, RecursionError):
                event = json.loads(self.rfile.read(int(length)))
        if isinstance(event, dict):
            self._send(HTTPStatus.OK, server.answer(cast("dict[str, Any]", event)))
        else:
            self._send(HTTPStatus.BAD_REQUEST, {})

    def _send(self, status: HTTPStatus, output: Mapping[str, Any]) -> None:
        body = json.dumps(output).encode()
        self.send_response_only(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that is overridden
        """Keep the terminal to the loop."""


def settings(server: HookServer, stop_seconds: float = 0, env: Mapping[str, str] = MappingProxyType({})) -> str:
    """The CLI's settings that send its events to us. A tool call that cannot be judged is denied; nothing else waits for us.

    `env`: variables that outrank those of the project's settings.
    What came of a call that succeeded is read from the event stream: a hook after each would double what steering costs.
    """
    hook = {"type": "http", "url": server.url, "headers": {HEADER: f"${TOKEN}"}, "allowedEnvVars": [TOKEN], "timeout": TIMEOUT}
    hooks = {
        "UserPromptSubmit": hook,
        "PreToolUse": {**hook, "onFailure": "block"},
        "PostToolUseFailure": hook,
        **({"Stop": {**hook, "timeout": round(stop_seconds) + MARGIN}} if stop_seconds else {}),
    }
    return json.dumps({"hooks": {name: [{"hooks": [one]}] for name, one in hooks.items()}, "env": dict(env)})
