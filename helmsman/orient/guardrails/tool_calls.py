"""A tool call as the agent's hook reports it, and what a session remembers of those before it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from posixpath import normpath
from typing import Any, NamedTuple, cast

from helmsman.agent_tools import WRITERS
from helmsman.orient.guardrails.git import branches_made, commits_after
from helmsman.orient.guardrails.looks import is_look, may_change
from helmsman.orient.guardrails.shell import Command, read

KEPT_CALLS = 200
KEPT_BRANCHES = 50
_LONGEST_ARGUMENTS = 20_000
LOOKS = frozenset({"Read", "Grep", "Glob", "LS"})


@dataclass(frozen=True)
class ToolCall:
    """What the hook got; the values are the agent's and may be of any type."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cwd: str = ""

    def text(self, name: str) -> str:
        """An argument that is text; "" for all else."""
        return _as_text(_argument(self.arguments, name))

    @property
    def command(self) -> str:
        return self.text("command") if self.tool == "Bash" else ""

    @property
    def path(self) -> str:
        """The file that a writing tool writes."""
        name = WRITERS.get(_as_text(self.tool))
        return (self.text(name) or self.text("file_path")) if name else ""

    def folder(self, otherwise: str) -> str:
        """Where it is made."""
        cwd = _as_text(self.cwd)
        return cwd if cwd.startswith("/") else otherwise

    def commands(self, worktree: str, home: str = "") -> tuple[Command, ...]:
        return read(self.command, self.folder(worktree), home) if self.command else ()


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _argument(arguments: Any, name: str) -> Any:
    return cast("Mapping[str, Any]", arguments).get(name) if isinstance(arguments, Mapping) else None


class Seen(NamedTuple):
    """One call, by the digest of its normal form, since something was last changed."""

    key: str
    times: int
    """With the same outcome, as far as it is known."""
    failed: bool = False
    outcome: str = ""
    """Digest of its last output; empty where it is not known."""


@dataclass(frozen=True)
class Session:
    """What happened so far; its size is bounded."""

    worktree: str = ""
    seen: tuple[Seen, ...] = ()
    """Newest last, KEPT_CALLS at most."""
    commits: int = 0
    """Commits made in this session that are still on the branch, as far as its commands tell."""
    branches: tuple[str, ...] = ()
    """Branches made in this session."""
    background: bool = False
    """Whether anything was started in the background."""

    def found(self, call: ToolCall) -> Seen:
        """How often the call was made since the last change."""
        key = key_of(call, self.worktree)
        return next((one for one in self.seen if one.key == key), Seen(key, 0))


def before(session: Session, call: ToolCall) -> Session:
    """The session when a call was judged and is about to run, or was denied."""
    commands = call.commands(session.worktree)
    made = tuple(dict.fromkeys((*session.branches, *branches_made(commands))))
    starts = call.tool == "Bash" and (_argument(call.arguments, "run_in_background") is True or any(map(_starts, commands)))
    counted = _with(session, call, lambda one: one._replace(times=one.times + 1))
    return replace(counted, branches=made[-KEPT_BRANCHES:], background=session.background or starts)


def after(session: Session, call: ToolCall, failed: bool, changed: bool, outcome: str = "") -> Session:
    """The session when a call has run. `changed`: a tool that changes files has succeeded since; all counts begin again.

    A command that may itself have changed something makes every other command new, but not its own repetition. One that comes to
    another `outcome` than before, by digest, is no repetition.
    """
    commands = call.commands(session.worktree)
    commits = commits_after(session.commits, commands, session.worktree, failed=failed)
    if changed or (call.path and not failed):
        return replace(session, seen=(), commits=commits)
    told = _with(session, call, lambda one: _concluded(one, outcome, failed=failed))
    kept = (told.found(call),) if may_change(commands) else told.seen
    return replace(told, seen=kept, commits=commits)


def _with(session: Session, call: ToolCall, change: Callable[[Seen], Seen]) -> Session:
    if not is_counted(call):
        return session
    found = session.found(call)
    others = tuple(one for one in session.seen if one.key != found.key)
    return replace(session, seen=(*others, change(found))[-KEPT_CALLS:])


def _concluded(one: Seen, outcome: str, *, failed: bool) -> Seen:
    another = bool(outcome and one.outcome) and outcome != one.outcome
    return one._replace(times=1 if another else one.times, failed=failed, outcome=outcome or one.outcome)


def is_counted(call: ToolCall) -> bool:
    """Whether repeating it says something: commands and looks into files."""
    return bool(call.command.strip()) or _as_text(call.tool) in LOOKS


def only_looks(call: ToolCall, worktree: str = "") -> bool:
    """Whether a call leaves everything as it is."""
    return not call.command or is_look(call.commands(worktree))


def key_of(call: ToolCall, worktree: str) -> str:
    """Digest of what is run and where, whatever the spacing and the way to write paths."""
    text = _normal(call.command, worktree) if call.command else _arguments(call)
    whole = f"{_as_text(call.tool)}\n{_relative(call.folder(worktree), worktree)}\n{text}"
    return sha256(whole.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _normal(command: str, worktree: str) -> str:
    text = " ".join(command.split())
    if worktree.strip("/"):
        top = normpath(worktree)
        text = text.removeprefix(f"cd {top} && ").replace(f"{top}/", "")
    shorter = _without_end(text)
    while shorter != text:
        text, shorter = shorter, _without_end(shorter)
    return text


_ENDS = (";", "&& true", "&&true", "; true", "|| true", "||true")


def _without_end(text: str) -> str:
    return next((text[: -len(end)].rstrip() for end in _ENDS if text.endswith(end)), text)


def _arguments(call: ToolCall) -> str:
    try:
        return json.dumps(call.arguments, sort_keys=True, default=str)[:_LONGEST_ARGUMENTS]
    except (TypeError, ValueError, RecursionError):
        return ""


def _relative(folder: str, worktree: str) -> str:
    return normpath(folder).removeprefix(normpath(worktree)) if worktree else folder


def _starts(command: Command) -> bool:
    return command.background or bool({"setsid", "nohup"} & set(command.wrappers))
