"""One call of the agent: the real command line in print mode, its event stream folded, its ending named.

A call has a folder. `started.json` says that it began and from which commit, `transcript.jsonl` grows as it goes, `call.json`
says that it ended. A call that ended is never made again: after a crash it is read back from there.
"""

import gzip
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from helmsman.config import ClaudeConfig, LoopConfig
from helmsman.errors import Cancelled, OperatorError, WorldError
from helmsman.records.events import AgentStarted, ToolCalled, ToolGuarded
from helmsman.records.evidence import AgentCall, AgentOutcome, Guarded, Interrupted
from helmsman.records.state import LoopState
from helmsman.records.usage import Usage
from helmsman.verify.agent_events import CallReader, parse_event, tool_calls, tool_results
from tasks.claude_binary import find_binary
from tasks.environment import agent_environment, ours
from tasks.git import IDENTITY, has_identity
from tasks.hook_server import TOKEN
from tasks.journal import publish
from tasks.nesting import inner_depth
from tasks.process import Ended, run
from tasks.secrets_kept import redact
from tasks.steering import Steering, settings, steering
from tasks.workplace import Workplace

IN_WORLD = frozenset({AgentOutcome.OVERLOADED, AgentOutcome.RATE_LIMITED})
"""Outcomes that may pass by themselves."""


@dataclass(frozen=True)
class CallFolder:
    root: Path

    @property
    def prompt(self) -> Path:
        return self.root / "prompt.md"

    @property
    def started(self) -> Path:
        return self.root / "started.json"

    @property
    def transcript(self) -> Path:
        return self.root / "transcript.jsonl"

    @property
    def packed(self) -> Path:
        return self.root / "transcript.jsonl.gz"

    @property
    def call(self) -> Path:
        return self.root / "call.json"


def interrupted_call(folder: CallFolder) -> Interrupted | None:
    """A call that began and never ended, or None when there is none."""
    if not folder.started.exists() or finished_call(folder) is not None:
        return None
    note = json.loads(folder.started.read_text())
    begun = datetime.fromisoformat(note["at"])
    usage = _read_transcript(folder).usage if folder.transcript.exists() else Usage()
    return Interrupted(start=note["start"], started_at=begun, ended_at=begun + _at_work(folder), usage=usage)


def finished_call(folder: CallFolder) -> AgentCall | None:
    """The call as it ended, also when the process died before it could note so: a result event is an end."""
    if folder.call.exists():
        return AgentCall.model_validate_json(folder.call.read_text())
    if not folder.transcript.exists():
        return None
    reader = _read_transcript(folder)
    if not reader.finished:
        return None
    seconds = _at_work(folder).total_seconds()
    return reader.conclude(exit_code=None, ended_by="itself", stderr="", seconds=seconds, now=datetime.now(UTC))


def _read_transcript(folder: CallFolder) -> CallReader:
    reader = CallReader()
    with folder.transcript.open("rb") as lines:
        for event in filter(None, map(parse_event, lines)):
            reader.feed(event)
    return reader


def _at_work(folder: CallFolder) -> timedelta:
    """From the note that a call began to the last thing that was heard of it."""
    if not folder.transcript.exists():
        return timedelta(0)
    return timedelta(seconds=max(folder.transcript.stat().st_mtime - folder.started.stat().st_mtime, 0.0))


def call_agent(
    place: Workplace,
    state: LoopState,
    prompt: str,
    start: str,
    *,
    credentials: dict[str, str],
    stop: Callable[[], bool],
) -> AgentCall:
    """Make the call that is due, or read back the one that was made. Raises WorldError when the world broke it, Cancelled."""
    folder = CallFolder(place.folder.call(state.due, state.attempt))
    environment = _environment(place, state.config, credentials)
    call = finished_call(folder) or _make_call(place, state, folder, prompt, start, environment, stop)
    call = without_secrets(call, environment)
    if call.outcome in IN_WORLD and call.tool_calls == 0:
        _set_aside(folder)
        raise WorldError(
            f"the agent could not reach its model ({call.outcome})",
            found=call.error,
            remedy="it is tried again by itself",
        )
    _finish(folder, call)
    return call


def arguments(config: ClaudeConfig, *, cost_left: float | None) -> list[str]:
    """The command line after the program's name. The prompt goes by standard input: arguments are limited to 128 KiB."""
    costs = [cost for cost in (config.max_cost_usd, cost_left) if cost is not None]
    options = (
        ("--permission-mode", config.permission_mode),
        ("--setting-sources", ",".join(config.setting_sources)),
        ("--model", config.model),
        ("--fallback-model", config.fallback_model),
        ("--append-system-prompt", config.append_system_prompt),
        ("--allowedTools", ",".join(config.allowed_tools)),
        ("--disallowedTools", ",".join(config.disallowed_tools)),
        ("--max-turns", str(config.max_turns or "")),
        ("--max-budget-usd", f"{max(min(costs), 0.01):.4f}" if costs else ""),
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


def _make_call(
    place: Workplace,
    state: LoopState,
    folder: CallFolder,
    prompt: str,
    start: str,
    environment: dict[str, str],
    stop: Callable[[], bool],
) -> AgentCall:
    refuse_root(state.config.claude, environment)
    binary = find_binary(state.config.claude)
    _begin(folder, prompt, start)
    listener = Listener(lambda detail: redact(detail.replace(f"{place.worktree}/", ""), environment))
    if not state.config.steering.hooks:
        ended = _run(place, state, folder, [str(binary)], prompt, environment, listener, stop)
        return _conclude(listener.reader, ended)
    with steering(place, state, start, environment.get("HOME", ""), listener.guarded) as (steers, server):
        listener.on_result = steers.conclude
        command = [str(binary), "--settings", settings(server)]
        told = {**environment, TOKEN: server.token}
        ended = _run(place, state, folder, command, prompt, told, listener, lambda: stop() or listener.deaf(steers))
    if listener.deaf(steers):
        raise _without_hooks(listener.reader)
    return _conclude(listener.reader, ended).model_copy(update={"guarded": tuple(steers.guarded)})


def _run(
    place: Workplace,
    state: LoopState,
    folder: CallFolder,
    command: list[str],
    prompt: str,
    environment: dict[str, str],
    listener: "Listener",
    stop: Callable[[], bool],
) -> Ended:
    config = state.config.claude
    return run(
        [*command, *arguments(config, cost_left=_cost_left(state))],
        cwd=place.worktree,
        env=environment,
        tag=place.tag(state),
        deadline=_deadline(state),
        idle=config.idle_timeout_minutes * 60,
        grace=config.stop_grace_seconds,
        stdin=prompt.encode(),
        output_file=folder.transcript,
        on_line=listener.hear,
        on_start=lambda process: publish(AgentStarted(iteration=state.due, attempt=state.attempt, process_id=process)),
        stop=stop,
    )


class Listener:
    """Hears the event stream of one call: folds it, and tells of tool calls with their details as `wording` makes them."""

    def __init__(self, wording: Callable[[str], str]) -> None:
        """Nothing has been said yet."""
        self.reader = CallReader()
        self.on_result: Callable[[str, bool], None] = lambda _identity, _failed: None
        self._wording = wording
        self._called = False

    def hear(self, line: bytes) -> None:
        event = parse_event(line)
        if event is None:
            return
        self.reader.feed(event)
        for tool, detail in tool_calls(event):
            self._called = True
            publish(ToolCalled(tool=tool, detail=self._wording(detail)))
        for identity, failed in tool_results(event):
            self.on_result(identity, failed)

    def guarded(self, guarded: Guarded) -> None:
        publish(ToolGuarded(guarded=guarded.model_copy(update={"detail": self._wording(guarded.detail)})))

    def deaf(self, steers: Steering) -> bool:
        """Whether tools are called and no hook was: a CLI that does not know our hooks passes over them in silence."""
        return self._called and not steers.heard


def _without_hooks(reader: CallReader) -> OperatorError:
    return OperatorError(
        "the agent's program calls tools without asking its hooks, so nothing would steer it",
        expected="a Claude Code that calls hooks of type http",
        found=reader.cli_version or "a program that does not say its version",
        remedy="install a newer Claude Code, or set steering.hooks = false to do without guard rails",
    )


def without_secrets(call: AgentCall, environment: Mapping[str, str]) -> AgentCall:
    """The call with every secret that the agent could see replaced in what it said."""
    told = {name: redact(getattr(call, name), environment) for name in ("final_text", "error")}
    commands = tuple(run.model_copy(update={"command": redact(run.command, environment)}) for run in call.commands)
    edited = tuple(redact(path, environment) for path in call.edited)
    guarded = tuple(one.model_copy(update={"detail": redact(one.detail, environment)}) for one in call.guarded)
    return call.model_copy(update={**told, "commands": commands, "edited": edited, "guarded": guarded})


def _conclude(reader: CallReader, ended: Ended) -> AgentCall:
    if ended.by == "stop" and not reader.finished:
        raise Cancelled("cancelled while the agent was at work")
    by: Literal["itself", "deadline", "idle", "stop"] = "itself" if ended.by == "stop" else ended.by
    return reader.conclude(
        exit_code=ended.exit_code, ended_by=by, stderr=ended.stderr, seconds=ended.seconds, now=datetime.now(UTC)
    )


def _environment(place: Workplace, config: LoopConfig, credentials: dict[str, str]) -> dict[str, str]:
    identity = {} if has_identity(place.worktree) else IDENTITY
    return {**agent_environment(ours(), config.claude.environment), **inner_depth(config), **identity, **credentials}


def _cost_left(state: LoopState) -> float | None:
    limit = state.config.limits.cost_usd
    return None if limit is None else limit - state.spending.cost_usd


def _deadline(state: LoopState) -> float:
    """Seconds that this call may take: its own timeout, or what is left of the loop's wall clock."""
    own, hours = state.config.claude.timeout_minutes * 60, state.config.limits.wall_clock_hours
    return own if hours is None else max(min(own, hours * 3600 - state.spending.seconds), 1.0)


def _begin(folder: CallFolder, prompt: str, start: str) -> None:
    folder.root.mkdir(parents=True, exist_ok=True)
    folder.prompt.write_text(prompt, encoding="utf-8")
    folder.transcript.unlink(missing_ok=True)
    _write(folder.started, json.dumps({"start": start, "at": datetime.now(UTC).isoformat()}))


def _finish(folder: CallFolder, call: AgentCall) -> None:
    """Note the end, durably and first; then pack the transcript."""
    if not folder.call.exists():
        _write(folder.call, call.model_dump_json(indent=1))
    if folder.transcript.exists():
        with folder.transcript.open("rb") as plain, gzip.open(folder.packed, "wb") as packed:
            shutil.copyfileobj(plain, packed)
        folder.transcript.unlink()


def _set_aside(folder: CallFolder) -> None:
    """A call that the world broke before it did anything is no call; its transcript is kept for people."""
    folder.started.unlink(missing_ok=True)
    if folder.transcript.exists():
        folder.transcript.replace(folder.root / "transcript.failed.jsonl")


def _write(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
