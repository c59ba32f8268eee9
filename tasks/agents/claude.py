"""The port to the agent: one call for an iteration, by the adapter of the loop's agent; and the adapter for Claude Code.

That one runs the real command line in print mode, folds its event stream and names its ending.
"""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime

from helmsman.config import ClaudeConfig, LoopConfig
from helmsman.errors import CallInterrupted, OperatorError, TransientError
from helmsman.orient.allowance import claude_config
from helmsman.parsers.agent_actions import ToolPatience, parse_event
from helmsman.parsers.claude_stream import ClaudeReader, spoken_by_model, tool_calls, tool_results
from helmsman.prices import known_price
from helmsman.records.agent import AgentCall, AgentOutcome, KeptSession
from helmsman.records.state import LoopState
from helmsman.render.spans import trace_context
from tasks.agents import template
from tasks.agents.call import Listener, Order, allowed_cost, kept, run_program
from tasks.agents.call_folder import STOPPED, begin, finished_call, interrupted_call, session_asked_for, set_aside
from tasks.agents.hooks import TOKEN, settings, steering, stop_seconds, window_of
from tasks.agents.project_settings import pinned
from tasks.agents.steering import Steering
from tasks.repository.git import IDENTITY, has_identity
from tasks.sandbox.enter import BOXED, Agent, Command, agent_box
from tasks.system.claude_binary import find_binary
from tasks.system.environment import agent_environment, inner_depth, ours
from tasks.system.faults import raising_transient_errors

OWN_TELEMETRY = "CLAUDE_CODE_ENABLE_TELEMETRY"
"""Switches the command line's own telemetry on, which then belongs into our trace."""


def call_agent(order: Order) -> AgentCall:
    """One call of the loop's agent: made, or read back where it was made: one that ended is never made again, not after a crash.

    Raises CallInterrupted where it broke off at work, TransientError before that, Cancelled where somebody stopped it.
    """
    try:
        with raising_transient_errors():
            return (template.call_agent if order.state.agent else _call_claude)(order)
    except TransientError as error:
        if interrupted_call(order.folder) is None:
            raise
        raise CallInterrupted(error.problem, expected=error.expected, found=error.found, remedy=error.remedy) from error


def _call_claude(order: Order) -> AgentCall:
    """Make the call that is due, or read back the one that was made. Raises TransientError, Cancelled.

    It goes on with the order's session, where there is one that the command line still knows.
    """
    state, config, folder = order.state, order.state.config, order.folder
    identity, known = {} if has_identity(order.place.worktree) else IDENTITY, as_it_is_called(config)
    traced = trace_context(state.uid, state.due, state.attempt) if known.get(OWN_TELEMETRY) else {}
    environment = {**known, **traced, **inner_depth(config), **identity, **order.credentials}
    call = finished_call(folder) or _make_call(order, environment, order.session)
    unknown = call.outcome is AgentOutcome.UNKNOWN_SESSION and call.tool_calls == 0
    if unknown and session_asked_for(folder) is not None:  # it is gone; the folder tells, also after a crash
        set_aside(folder)
        call = _make_call(order, environment, None)
    return kept(folder, call, lambda call: call.tool_calls == 0)


def arguments(
    config: ClaudeConfig, *, max_cost: float | None = None, system: str = "", session: KeptSession | None = None
) -> list[str]:
    """The command line after the program's name. The prompt goes by standard input: arguments are limited to 128 KiB."""
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
    named = [part for name, value in options if value or name == "--setting-sources" for part in (name, value)]
    return ["-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config", *named]


def refuse_root(config: ClaudeConfig, environment: dict[str, str]) -> None:
    """The CLI does not bypass permissions for root; say so before a loop starts."""
    if config.permission_mode == "bypassPermissions" and os.geteuid() == 0 and environment.get("IS_SANDBOX") != "1":
        raise OperatorError(
            "the agent refuses to bypass permissions for the root user",
            expected="an ordinary user, or a sandbox",
            found="root, without IS_SANDBOX=1",
            remedy="run as another user; in a container that may be broken, set IS_SANDBOX=1; or set claude.permission_mode",
        )


def _make_call(order: Order, environment: dict[str, str], session: KeptSession | None) -> AgentCall:
    state, place, home = order.state, order.place, environment.get("HOME", "")
    refuse_root(state.config.claude, environment)
    binary = find_binary(state.config.claude)
    begin(order.folder, order.prompt, order.start, session)
    config, own = claude_config(state), pinned(environment, state.config)
    allowed, here = allowed_cost(state, config.max_cost_usd), prices_known(config, state, environment)
    reader = ClaudeReader(session, config.disallowed_tools)
    options = arguments(config, max_cost=None if here else allowed, system=order.system, session=session)
    steers, ports, token, said = None, (), dict[str, str](), json.dumps({"env": own})
    with ExitStack() as stack:
        if state.config.steering.hooks:
            steered = steering(place, state, order.start, home, order.stop, order.item)
            steers, server = stack.enter_context(steered)
            ports, token, said = (server.port,), {TOKEN: server.token}, settings(server, stop_seconds(state, order.item), own)
        listener = ClaudeListener(order, environment, reader, allowed if here else None, steers)
        command = Command([str(binary), "--settings", said, *options], {**environment, **token})
        boxed = stack.enter_context(agent_box(state.config.box, place.worktree, place.folder, Agent(binary, ports), command))
        ended = run_program(
            order,
            boxed,
            stdin=order.prompt.encode(),
            idle=listener.patience.seconds,
            on_line=listener.hear,
            stop=lambda: order.stop() or listener.is_at_end,
        )
    if listener.deaf:
        raise OperatorError(
            "the agent's program does not call its hooks, so nothing would steer it",
            expected=f"a Claude Code that calls hooks of type http, with {TOKEN} as the loop sets it",
            found=reader.cli_version or "a program that does not report its version",
            remedy=(
                "look for disableAllHooks and env in .claude/settings.json, install a newer Claude Code, or set"
                " steering.hooks = false to do without guard rails"
            ),
        )
    if steers and steers.overdue:
        ended = replace(ended, by="itself")
    by, now = listener.ended_by(ended), datetime.now(UTC)
    call = reader.conclude(exit_code=ended.exit_code, ended_by=by, stderr=ended.stderr, seconds=ended.seconds, now=now)
    call = listener.conclude(call, ended)
    if steers is None:
        return call
    if steers.ending and call.outcome in STOPPED:  # it was us that stopped it
        call = call.model_copy(update={"outcome": AgentOutcome.ROTATED, "error": ""})
    return call.model_copy(update={"rotated": steers.ending, **steers.account(call.outcome)})


class ClaudeListener(Listener):
    """Hears the event stream of one call: folds it, and has the guard rails follow it."""

    def __init__(
        self,
        order: Order,
        environment: Mapping[str, str],
        reader: ClaudeReader,
        allowed: float | None,
        steers: Steering | None = None,
    ) -> None:
        """Nothing has been said yet."""
        super().__init__(order, environment, reader, allowed)
        self.reader, self._steers, self._state = reader, steers, order.state
        self.patience = ToolPatience(claude_config(order.state).idle_timeout_minutes * 60, environment)
        self.followers[:0] = [self.patience, steers] if steers else [self.patience]
        self.deaf = False
        """Whether the model spoke before any hook had heard its prompt: a CLI passes over hooks that it does not know in silence.

        The prompt comes first, so what is posted later in its place changes nothing.
        """

    @property
    def is_at_end(self) -> bool:
        """Whether its program is to be stopped. Where it is steered, hooks end it for its money, and only then is it overdue."""
        return bool(self.watch.pain) or self._steers.overdue or self.deaf if self._steers else self.must_end

    def hear(self, line: bytes) -> None:
        event = parse_event(line)
        if event is None:
            return
        self.reader.feed(event)
        if self._steers and not self._steers.heard and spoken_by_model(event):
            self.deaf = True
        heard = (*tool_calls(event), *tool_results(event))
        self.meter.read(self.reader.usage, goes_on=bool(heard))
        if self._steers and self.meter.used_up:
            self._steers.end(self.meter.used_up)
        self.tell(heard)
        if self._steers:
            self._steers.follow(event)
            self._steers.observe(self.reader.context(window_of(self._state, self.reader.model)))


def as_it_is_called(config: LoopConfig) -> dict[str, str]:
    """What it may see of our environment, and whether it is held."""
    boxed = {BOXED: "1"} if config.sandbox.kind != "none" else {}
    return {**agent_environment(ours(), config.claude.environment), **boxed}


def prices_known(config: ClaudeConfig, state: LoopState, environment: Mapping[str, str]) -> bool:
    """Whether its dollars can be counted from its tokens: by the models that it is told to use, and those that it has used."""
    names = (config.model, environment.get("ANTHROPIC_MODEL", ""), *state.windows)
    return all(known_price(name) for name in names if name)
