"""Calling the agent for an iteration, by the adapter of the loop's agent; and the adapter for Claude Code.

The latter runs the real CLI in print mode, reads its event stream and classifies its ending.
"""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime

from helmsman.config import ClaudeConfig, LoopConfig
from helmsman.errors import CallInterrupted, OperatorError, TransientError
from helmsman.orient.allowance import claude_config
from helmsman.parsers.agent_actions import ToolPatience, parse_event
from helmsman.parsers.claude_stream import ClaudeReader, is_model_message, tool_calls, tool_results
from helmsman.prices import known_price
from helmsman.records.agent import AgentCall, AgentOutcome, KeptSession
from helmsman.records.state import LoopState
from helmsman.render.spans import trace_context
from tasks.agents import template
from tasks.agents.call import Listener, Order, allowed_cost, record_end, run_program
from tasks.agents.call_folder import KILLED, begin, discard_call, finished_call, interrupted_call, requested_session
from tasks.agents.hooks import TOKEN, context_window, settings, steering, stop_seconds
from tasks.agents.project_settings import pinned_variables
from tasks.agents.steering import Steering
from tasks.repository.git import IDENTITY, has_identity
from tasks.sandbox.enter import BOXED, Agent, Command, agent_sandbox
from tasks.system.environment import agent_environment, find_binary, inner_depth, neutral_directory, own_environment
from tasks.system.faults import raising_transient_errors
from tasks.system.process import run

OWN_TELEMETRY = "CLAUDE_CODE_ENABLE_TELEMETRY"
"""Enables the CLI's own telemetry, which then joins our trace."""
LOGINS = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"
LOG_IN = "log in with `claude /login`, or set ANTHROPIC_API_KEY"
STATUS_SECONDS = 30


def call_agent(order: Order) -> AgentCall:
    """Call the loop's agent, or read back a call that ended, which is never repeated, even after a crash.

    Raises CallInterrupted where the call broke off while working, TransientError before that, Cancelled where it was stopped.
    """
    try:
        with raising_transient_errors():
            return (template.call_agent if order.state.agent else _call_claude)(order)
    except TransientError as error:
        if interrupted_call(order.folder) is None:
            raise
        raise CallInterrupted(error.problem, expected=error.expected, found=error.found, remedy=error.remedy) from error


def _call_claude(order: Order) -> AgentCall:
    """Make the due call, or read back the one that was made. Raises TransientError, Cancelled.

    Resumes the order's session where the CLI still knows it.
    """
    state, config, folder = order.state, order.state.config, order.folder
    identity, variables = {} if has_identity(order.place.worktree) else IDENTITY, call_environment(config)
    trace = trace_context(state.uid, state.due, state.attempt) if variables.get(OWN_TELEMETRY) else {}
    environment = {**variables, **trace, **inner_depth(config), **identity, **order.credentials}
    call = finished_call(folder) or _make_call(order, environment, order.session)
    is_unknown_session = call.outcome is AgentOutcome.UNKNOWN_SESSION and call.tool_calls == 0
    if is_unknown_session and requested_session(folder) is not None:  # the session is gone; also detected after a crash
        discard_call(folder)
        call = _make_call(order, environment, None)
    return record_end(folder, call, lambda call: call.tool_calls == 0)


def arguments(
    config: ClaudeConfig, *, max_cost: float | None = None, system: str = "", session: KeptSession | None = None
) -> list[str]:
    """The CLI's arguments. The prompt goes to standard input: arguments are limited to 128 KiB."""
    options = (
        ("--permission-mode", config.permission_mode),
        ("--setting-sources", ",".join(config.setting_sources)),
        ("--model", config.model),
        ("--append-system-prompt", system),
        ("--allowedTools", ",".join(config.allowed_tools)),
        ("--disallowedTools", ",".join(config.disallowed_tools)),
        ("--max-budget-usd", "" if max_cost is None else f"{max_cost:.4f}"),
        ("--resume", session.id if session else ""),
    )
    flags = [part for name, value in options if value or name == "--setting-sources" for part in (name, value)]
    return ["-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config", *flags]


def refuse_root(config: ClaudeConfig, environment: dict[str, str]) -> None:
    """Raise OperatorError before a loop starts as root: the CLI does not bypass permissions for root."""
    if config.permission_mode == "bypassPermissions" and os.geteuid() == 0 and environment.get("IS_SANDBOX") != "1":
        raise OperatorError(
            "the agent refuses to bypass permissions for the root user",
            expected="an ordinary user, or a sandbox",
            found="root, without IS_SANDBOX=1",
            remedy="run as another user; in a disposable container, set IS_SANDBOX=1; or set claude.permission_mode",
        )


def is_logged_out(config: ClaudeConfig, environment: Mapping[str, str]) -> bool:
    """Whether Claude Code itself reports that it has no credentials. A program of the operator's own may bring its own."""
    if config.binary or config.block or any(environment.get(name) for name in LOGINS):
        return False
    command = [str(find_binary(config)), "auth", "status"]
    ended = run(command, cwd=neutral_directory(), env=environment, tag="login", deadline=STATUS_SECONDS)
    with suppress(ValueError, AttributeError):  # an older program has no such command
        return json.loads(ended.head).get("loggedIn") is False
    return False


def _make_call(order: Order, environment: dict[str, str], session: KeptSession | None) -> AgentCall:
    state, place, home = order.state, order.place, environment.get("HOME", "")
    refuse_root(state.config.claude, environment)
    binary = find_binary(state.config.claude)
    begin(order.folder, order.prompt, order.start, session)
    config, variables = claude_config(state), pinned_variables(environment, state.config)
    allowed, is_priced = allowed_cost(state), has_known_prices(config, state, environment)
    reader = ClaudeReader(session, config.disallowed_tools)
    options = arguments(config, max_cost=None if is_priced else allowed, system=order.system, session=session)
    session_steering, ports, token, settings_json = None, (), dict[str, str](), json.dumps({"env": variables})
    with ExitStack() as stack:
        if state.config.steering.hooks:
            steering_context = steering(place, state, order.start, home, order.stop, order.item)
            session_steering, server = stack.enter_context(steering_context)
            ports, token = (server.port,), {TOKEN: server.token}
            settings_json = settings(server, stop_seconds(state, order.item), variables)
        listener = ClaudeListener(order, environment, reader, allowed if is_priced else None, session_steering)
        command = Command([str(binary), "--settings", settings_json, *options], {**environment, **token})
        boxed = stack.enter_context(
            agent_sandbox(state.config.isolation, place.worktree, place.folder, Agent(binary, ports), command)
        )
        ended = run_program(
            order,
            boxed,
            stdin=order.prompt.encode(),
            idle=listener.patience.seconds,
            on_line=listener.hear,
            stop=lambda: order.stop() or listener.must_stop,
        )
    if listener.ignores_hooks:
        raise OperatorError(
            "the agent's program does not call its hooks, so guardrails have no effect",
            expected=f"a Claude Code that calls hooks of type http, with {TOKEN} as the loop sets it",
            found=reader.cli_version or "a program that does not report its version",
            remedy=(
                "check disableAllHooks and env in .claude/settings.json, install a newer Claude Code, or set"
                " steering.hooks = false to work without guardrails"
            ),
        )
    if session_steering and session_steering.overdue:
        ended = replace(ended, by="itself")
    ended_by, now = listener.ended_by(ended), datetime.now(UTC)
    call = reader.conclude(exit_code=ended.exit_code, ended_by=ended_by, stderr=ended.stderr, seconds=ended.seconds, now=now)
    call = listener.conclude(call, ended)
    if session_steering is None:
        return call
    if session_steering.ending and call.outcome in KILLED:  # Helmsman stopped it
        call = call.model_copy(update={"outcome": AgentOutcome.ROTATED, "error": ""})
    return call.model_copy(update={"rotated": session_steering.ending, **session_steering.account(call.outcome)})


class ClaudeListener(Listener):
    """Reads the event stream of one call, and passes its events to meter and guardrails."""

    def __init__(
        self,
        order: Order,
        environment: Mapping[str, str],
        reader: ClaudeReader,
        allowed: float | None,
        steers: Steering | None = None,
    ) -> None:
        """Set up the followers of tool calls."""
        super().__init__(order, environment, reader, allowed)
        self.reader, self._steers, self._state = reader, steers, order.state
        self.patience = ToolPatience(claude_config(order.state).idle_timeout_minutes * 60, environment)
        self.followers[:0] = [self.patience, steers] if steers else [self.patience]
        self.ignores_hooks = False
        """Whether the model answered before a hook received its prompt: a CLI silently ignores hooks that it does not know.

        The prompt comes first, so a forged event that is posted later changes nothing.
        """

    @property
    def must_stop(self) -> bool:
        """Whether to stop the program. With steering, hooks end it at its budget, and it is stopped only when overdue."""
        return bool(self.watch.pain) or self._steers.overdue or self.ignores_hooks if self._steers else self.must_end

    def hear(self, line: bytes) -> None:
        event = parse_event(line)
        if event is None:
            return
        self.reader.feed(event)
        if self._steers and not self._steers.prompt_seen and is_model_message(event):
            self.ignores_hooks = True
        events = (*tool_calls(event), *tool_results(event))
        self.meter.read(self.reader.usage, continues=bool(events))
        if self._steers and self.meter.used_up:
            self._steers.end(self.meter.used_up)
        self.handle(events)
        if self._steers:
            self._steers.follow(event)
            self._steers.observe(self.reader.context(context_window(self._state, self.reader.model)))


def call_environment(config: LoopConfig) -> dict[str, str]:
    """The CLI's environment: the allowed variables of ours, and whether it is sandboxed."""
    boxed = {BOXED: "1"} if config.sandbox.kind != "none" else {}
    return {**agent_environment(own_environment(), config.claude.environment), **boxed}


def has_known_prices(config: ClaudeConfig, state: LoopState, environment: Mapping[str, str]) -> bool:
    """Whether its cost follows from its tokens: the prices of all configured and used models are known."""
    names = (config.model, environment.get("ANTHROPIC_MODEL", ""), *state.windows)
    return all(known_price(name) for name in names if name)
