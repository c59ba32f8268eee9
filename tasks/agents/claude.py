"""One call of the agent: the real command line in print mode, its event stream folded, its ending named."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from helmsman.config import ClaudeConfig, LoopConfig
from helmsman.errors import OperatorError
from helmsman.orient.allowance import claude_config
from helmsman.parsers.agent_actions import ToolPatience, parse_event
from helmsman.parsers.claude_stream import ClaudeReader, spoken_by_model, tool_calls, tool_results
from helmsman.prices import known_price
from helmsman.records.events import ToolGuarded
from helmsman.records.evidence import AgentCall, AgentOutcome, Guarded
from helmsman.records.session import KeptSession
from helmsman.records.state import LoopState
from helmsman.render.spans import trace_context
from tasks.agents.adapting import IN_WORLD, ended_by, left_running, run_program, watch_for_pain, wording
from tasks.agents.call_folder import CallFolder, begin, finish, finished_call, session_asked_for, set_aside, with_rotation
from tasks.agents.claude_binary import find_binary
from tasks.agents.meter import Meter, allowed_cost
from tasks.agents.order import Order, unreachable
from tasks.agents.project_settings import pinned
from tasks.agents.tool_events import tool_called, tool_returned
from tasks.observers.journal import publish
from tasks.processes.environment import agent_environment, ours
from tasks.processes.nesting import inner_depth
from tasks.processes.process import Ended
from tasks.repository.git import IDENTITY, has_identity
from tasks.sandbox.entering import BOXED, Agent, Command, agent_box
from tasks.session.hook_server import TOKEN, HookServer
from tasks.session.pain_watch import Watch
from tasks.session.steered import steering, stop_seconds, window_of
from tasks.session.steering import Steering, settings
from tasks.system.secrets import without_secrets
from tasks.worktrees.workplace import Workplace

OWN_TELEMETRY = "CLAUDE_CODE_ENABLE_TELEMETRY"
"""Switches the command line's own telemetry on, which then belongs into our trace."""


@dataclass(frozen=True)
class _Work:
    """What one call is made with."""

    order: Order
    folder: CallFolder
    environment: dict[str, str]


def call_agent(order: Order) -> AgentCall:
    """Make the call that is due, or read back the one that was made. Raises WorldError when the world broke it, Cancelled.

    It goes on with the order's session, where there is one that the command line still knows.
    """
    place, state = order.place, order.state
    folder = CallFolder(place.folder.call(state.due, state.attempt), state.uid)
    work = _Work(order, folder, _environment(place, state, order.credentials))
    call = finished_call(folder) or _make_call(work, order.session)
    if _lost_session(folder, call):
        set_aside(folder)
        call = _make_call(work, None)
    call = without_secrets(call)
    if call.outcome in IN_WORLD and call.tool_calls == 0:
        set_aside(folder)
        raise unreachable(call)
    finish(folder, call)
    return call


def _lost_session(folder: CallFolder, call: AgentCall) -> bool:
    """Whether it ended at once because the session that it was to go on with is gone. The folder tells, also after a crash."""
    unknown = call.outcome is AgentOutcome.UNKNOWN_SESSION and call.tool_calls == 0
    return unknown and session_asked_for(folder) is not None


def arguments(
    config: ClaudeConfig, *, max_cost: float | None = None, system: str = "", session: KeptSession | None = None
) -> list[str]:
    """The command line after the program's name. The prompt goes by standard input: arguments are limited to 128 KiB."""
    options = (
        ("--permission-mode", config.permission_mode),
        ("--setting-sources", ",".join(config.setting_sources)),
        ("--model", config.model),
        ("--fallback-model", config.fallback_model),
        ("--append-system-prompt", "\n\n".join(text for text in (system, config.append_system_prompt) if text)),
        ("--allowedTools", ",".join(config.allowed_tools)),
        ("--disallowedTools", ",".join(config.disallowed_tools)),
        ("--max-turns", str(config.max_turns or "")),
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


def _make_call(work: _Work, session: KeptSession | None) -> AgentCall:
    order, state, environment = work.order, work.order.state, work.environment
    refuse_root(state.config.claude, environment)
    binary = find_binary(state.config.claude)
    begin(work.folder, order.prompt, order.start, session)
    config = claude_config(state)
    patience = ToolPatience(config.idle_timeout_minutes * 60, environment)
    allowed, here = allowed_cost(state, config.max_cost_usd), prices_known(config, state, environment)
    listener = Listener(wording(order), patience, session, config.disallowed_tools, Meter(allowed if here else None))
    listener.watch = watch_for_pain(order, environment, lambda: listener.reader.usage.tokens)
    options = arguments(config, max_cost=None if here else allowed, system=order.system, session=session)
    if not state.config.steering.hooks:
        alone = json.dumps({"env": pinned(environment, state.config)})
        command = Command([str(binary), "--settings", alone, *options], environment)
        ended = _run(work, command, listener, lambda: order.stop() or bool(listener.pain or listener.meter.used_up))
        return _conclude(order, listener, ended)
    return _steered_call(work, str(binary), options, listener)


def _steered_call(work: _Work, binary: str, options: list[str], listener: "Listener") -> AgentCall:
    order, state, home = work.order, work.order.state, work.environment.get("HOME", "")
    tell, rotate, stop = listener.guarded, work.folder.note_rotation, order.stop
    with steering(order.place, state, order.start, home, tell=tell, rotate=rotate, stop=stop, item=order.item) as (
        steers,
        server,
    ):
        own = pinned(work.environment, state.config)
        listener.follow(steers, lambda model: window_of(state, model))
        options = ["--settings", settings(server, stop_seconds(state, order.item), own), *options]
        command = Command([binary, *options], {**work.environment, TOKEN: server.token})
        enough = lambda: bool(listener.pain) or steers.overdue or listener.deaf  # noqa: E731 - what it says is all
        ended = _run(work, command, listener, lambda: stop() or enough(), hooks=(server.port,))
    if listener.deaf:
        raise _without_hooks(listener.reader, server)
    if steers.overdue:
        ended = replace(ended, by="itself")
    call = with_rotation(_conclude(order, listener, ended), steers.ending)
    return call.model_copy(update=steers.account(call.outcome))


def _run(work: _Work, command: Command, listener: "Listener", stop: Callable[[], bool], hooks: tuple[int, ...] = ()) -> Ended:
    order, config, agent = work.order, work.order.state.config, Agent(Path(command.arguments[0]), hooks)
    idle, said = listener.patience.seconds, order.prompt.encode()
    with agent_box(config.box, order.place.worktree, order.place.folder, agent, command) as boxed:
        return run_program(order, boxed, work.folder, stdin=said, idle=idle, on_line=listener.hear, stop=stop)


class Listener:
    """Hears the event stream of one call: folds it, and tells of tool calls with their details as `wording` makes them."""

    def __init__(
        self,
        wording: Callable[[str], str],
        patience: ToolPatience,
        resumed: KeptSession | None,
        disallowed: Sequence[str] = (),
        meter: Meter | None = None,
    ) -> None:
        """Nothing has been said yet. `disallowed`: rules of tools that the CLI refuses because we say so."""
        self.meter = meter or Meter(None)
        self.reader = ClaudeReader(resumed, disallowed)
        self.watch: Watch | None = None
        self.patience = patience
        self._wording = wording
        self.deaf = False
        """Whether the model spoke before any hook had heard its prompt: a CLI passes over hooks that it does not know in silence.

        The prompt comes first, so what is posted later in its place changes nothing.
        """
        self._steers: Steering | None = None
        self._window: Callable[[str], int] = lambda _: 0

    def follow(self, steers: Steering, window: Callable[[str], int]) -> None:
        """Tell the guard rails what came of calls, and how full the context is of a model with this window."""
        self._steers, self._window = steers, window

    def hear(self, line: bytes) -> None:
        event = parse_event(line)
        if event is None:
            return
        self.reader.feed(event)
        if self._steers and not self._steers.heard and spoken_by_model(event):
            self.deaf = True
        calls, results = tool_calls(event), tool_results(event)
        self.meter.read(self.reader.usage, goes_on=bool(calls or results))
        if self._steers and self.meter.used_up:
            self._steers.end(self.meter.used_up)
        for called in calls:
            publish(tool_called(called, self._wording))
            for follower in self._followers():
                follower.announce(called)
        for result in results:
            publish(tool_returned(result, self._wording))
            for follower in self._followers():
                follower.conclude(result)
        if self._steers:
            self._steers.follow(event)
            self._steers.observe(self.reader.context(self._window(self.reader.model)))

    @property
    def pain(self) -> str:
        """Why the session must end now; empty where it may go on."""
        return self.watch.pain if self.watch else ""

    def _followers(self) -> tuple[Steering | Watch | ToolPatience, ...]:
        return tuple(follower for follower in (self.patience, self._steers, self.watch) if follower)

    def guarded(self, guarded: Guarded) -> None:
        publish(ToolGuarded(guarded=guarded.model_copy(update={"detail": self._wording(guarded.detail)})))


def _without_hooks(reader: ClaudeReader, server: HookServer) -> OperatorError:
    if server.refused:
        return OperatorError(
            "the agent's program asks its hooks with a wrong token, so nothing would steer it",
            expected=f"{TOKEN} as the loop sets it",
            found="another value, as the repository's own settings of Claude Code may set it",
            remedy="look for env in .claude/settings.json, or set claude.setting_sources = []",
        )
    return OperatorError(
        "the agent's program works without asking its hooks, so nothing would steer it",
        expected="a Claude Code that calls hooks of type http",
        found=reader.cli_version or "a program that does not say its version",
        remedy=(
            "look for disableAllHooks in .claude/settings.json, install a newer Claude Code, or set steering.hooks = false"
            " to do without guard rails"
        ),
    )


def _conclude(order: Order, listener: Listener, ended: Ended) -> AgentCall:
    reader = listener.reader
    by = ended_by(ended, by_its_own_account=reader.finished or bool(listener.pain or listener.meter.used_up))
    call = reader.conclude(
        exit_code=ended.exit_code, ended_by=by, stderr=ended.stderr, seconds=ended.seconds, now=datetime.now(UTC)
    )
    call = listener.meter.conclude(call)
    return call.model_copy(update={"pain": listener.pain, "survivors": left_running(order, ended)})


def _environment(place: Workplace, state: LoopState, credentials: dict[str, str]) -> dict[str, str]:
    identity, config = {} if has_identity(place.worktree) else IDENTITY, state.config
    known = as_it_is_called(config)
    traced = trace_context(state.uid, state.due, state.attempt) if known.get(OWN_TELEMETRY) else {}
    return {**known, **traced, **inner_depth(config), **identity, **credentials}


def as_it_is_called(config: LoopConfig) -> dict[str, str]:
    """What it may see of our environment, and whether it is held."""
    boxed = {BOXED: "1"} if config.sandbox.kind != "none" else {}
    return {**agent_environment(ours(), config.claude.environment), **boxed}


def prices_known(config: ClaudeConfig, state: LoopState, environment: Mapping[str, str]) -> bool:
    """Whether its dollars can be counted from its tokens: by the models that it is told to use, and those that it has used."""
    names = (config.model, config.fallback_model, environment.get("ANTHROPIC_MODEL", ""), *state.windows)
    return all(known_price(name) for name in names if name)
