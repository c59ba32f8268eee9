"""The input of steering for one call: its rules, the files that they read, and the server for the CLI's hooks.

The server listens on loopback, in the process that runs the agent. Every event is a POST of one JSON object with the run's token;
the answer is one JSON object, empty without a message. Each connection has its own thread, so parallel tool calls and subagents
do not block each other here; the answering function takes its own lock. The server never raises into the agent: an unreadable
event is answered with an error, which a hook that must not fail open turns into a denial (`onFailure: block`).
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
from helmsman.parsers.source import is_test_file
from helmsman.records.agent import Guarded
from helmsman.records.events import StopAnswered, ToolGuarded
from helmsman.records.state import LoopState
from tasks.agents.call import display_detail
from tasks.agents.steering import Steering
from tasks.agents.stop import StopGate, Stops
from tasks.checks.targets import clean_checkout
from tasks.loopback import LoopbackServer, serving
from tasks.repository.git import git
from tasks.repository.loop_context import LoopContext
from tasks.system.files import read_plain
from tasks.system.journal import publish

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""A function from an event to the hook's output; raises nothing."""

TIMEOUT = 10
"""Seconds that the CLI waits for an answer, which takes milliseconds unless the answering process is dead."""
MARGIN = 60
"""Seconds that the CLI waits for the answer to a stop beyond the checks' limit: their files are checked out first."""
TOKEN = "HELMSMAN_HOOK_TOKEN"  # noqa: S105 - the name of a variable
HEADER = "X-Helmsman-Token"
LARGEST_EVENT = 32 * 1024 * 1024
"""Bytes; an event contains the full text of written files."""
_DIGITS = 20
"""Python refuses numbers with thousands of digits."""
PATIENCE = 10
"""Seconds that a connection may take to send its announced body."""

LARGEST_CONTENT = 4 * 1024 * 1024
"""Largest file, in bytes, whose content is compared; larger files are not written by hand."""
SHARE_OF_IDLE = 0.5
"""Share of the idle timeout that checks at a stop may take: the agent prints nothing while it waits for them."""


@dataclass
class HookServer:
    """Port that the CLI sends its events to, and the token that it has to send."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@contextmanager
def steering(
    context: LoopContext, state: LoopState, start: str, home: str, stop: Callable[[], bool], item: str = ""
) -> Generator[tuple[Steering, HookServer]]:
    """Guardrails for a call that starts from this commit, and their server. Everything is stopped at the end of the block.

    `item`: the check of the current plan item.
    """
    gate, stops, worktree = None, None, str(context.worktree)
    if seconds := stop_seconds(state, item):
        limited = state.config.steering.model_copy(update={"stop_seconds": seconds})
        config = state.config.model_copy(update={"steering": limited})
        gate = StopGate(clean_checkout(context, state), start, context.tag(state), config, state.checks, stop, item)
        stops = Stops(gate.run, lambda attempt: publish(StopAnswered(attempt=attempt)))

    def tell(guarded: Guarded) -> None:
        publish(ToolGuarded(guarded=guarded.model_copy(update={"detail": display_detail(guarded.detail, worktree)})))

    steers = Steering(_rules(context, state, start, home), tell, partial(_content_digest, context.worktree), stops)
    with hook_server(steers.answer) as server:
        try:
            yield steers, server
        finally:
            if gate:
                gate.close()


def stop_seconds(state: LoopState, item: str = "") -> float:
    """Seconds that checks may take when the agent wants to stop; 0 where none run.

    Without a clean checkout none run: they would change the files that the agent works on.
    """
    config = state.config
    due = (config.checks or item) and config.workspace.clean and not state.researching
    return min(checks_allowance(state) if due else 0, SHARE_OF_IDLE * config.claude.idle_timeout_minutes * 60)


def context_window(state: LoopState, model: str) -> int:
    """Size of a model's context window in tokens. The events do not repeat the `[1m]` that requests a large one."""
    configured = claude_config(state).model
    return known_window(configured if "[1m]" in configured else model, state.windows, state.config.context.window)


def _rules(context: LoopContext, state: LoopState, start: str, home: str) -> Rules:
    """The guardrail rules for the current iteration."""
    config = state.config

    @cache
    def tests_before() -> frozenset[str]:
        names = git(context.worktree, "ls-tree", "-r", "-z", "--name-only", state.base_commit).split("\0")
        return frozenset(filter(is_test_file, names))

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
        tests=lambda path: is_test_file(path) and path in tests_before(),  # the loop may change tests that it wrote
    )


def _content_digest(worktree: Path, path: str) -> str | None:
    """Digest of a file's content; empty without a file, None for one that is too large or unreadable."""
    try:
        file = worktree / path
        if not os.path.lexists(file):
            return ""
        content = read_plain(file, LARGEST_CONTENT + 1)
        return None if len(content) > LARGEST_CONTENT else hashlib.sha256(content).hexdigest()
    except (OSError, ValueError):
        return None


@contextmanager
def hook_server(answer: Answer) -> Generator[HookServer]:
    """Listen on a free port while the block runs; every connection is closed at its end."""
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
    wbufsize = 64 * 1024  # head and body are sent together

    def do_POST(self) -> None:
        server, length = cast("_Server", self.server), self.headers.get("content-length", "")
        if not hmac.compare_digest(self.headers.get(HEADER, "").encode(), server.known.token.encode()):
            self.close_connection = True  # the body is not read, and would be taken for the next request
            self._send(HTTPStatus.FORBIDDEN, {})
            return
        event: Any = None
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > LARGEST_EVENT:
            self.close_connection = True  # the body cannot be skipped
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

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - name of the overridden method's parameter
        """Log nothing: the terminal belongs to the loop."""


def settings(server: HookServer, stop_seconds: float = 0, env: Mapping[str, str] = MappingProxyType({})) -> str:
    """The CLI's settings that send its events to us. Only a tool call is denied where our server does not answer.

    `env`: variables that override those of the project's settings.
    Results of successful calls are read from the event stream: a hook after each call would double the cost of steering.
    """
    hook = {"type": "http", "url": server.url, "headers": {HEADER: f"${TOKEN}"}, "allowedEnvVars": [TOKEN], "timeout": TIMEOUT}
    hooks = {
        "UserPromptSubmit": hook,
        "PreToolUse": {**hook, "onFailure": "block"},
        "PostToolUseFailure": hook,
        **({"Stop": {**hook, "timeout": round(stop_seconds) + MARGIN}} if stop_seconds else {}),
    }
    return json.dumps({"hooks": {name: [{"hooks": [definition]}] for name, definition in hooks.items()}, "env": dict(env)})
