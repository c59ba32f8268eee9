"""The watch that aborts a session which destroyed something.

Guardrails deny far more, and deny it beforehand. Only irreversible damage counts here: a folder outside the working tree or its
.git removed, a branch on a remote overwritten, a package published. A command's text shows what it may have done. The file system
confirms a removed folder, git's output a push, and the exit status the rest; without confirmation nothing is reported, because a
false alarm ejects honest work.
"""

import glob
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from posixpath import join, normpath
from stat import S_ISDIR
from typing import NamedTuple

from helmsman.config import CriticalConfig
from helmsman.guardrails import Rules
from helmsman.guardrails.commands import findings
from helmsman.guardrails.git import git_of
from helmsman.guardrails.paths import locate
from helmsman.oversee.critical import EXCEEDED_AT
from helmsman.parsers.agent_actions import ToolInvocation, ToolResult
from helmsman.parsers.shell import HOME, Command, commands, resolve_word
from helmsman.parsers.shell_words import UNKNOWN, has_flag, operands
from helmsman.plain import word_set
from helmsman.records.state import LoopState
from tasks.system.environment import own_environment

DESTROYED = "a destructive command ran: "
_CACHE = ("cache", "node_modules")
"""Parts of the names of folders that are recreated automatically."""
_ANYWHERE = word_set("localhost 127.0.0.1 [::1] 0.0.0.0 testpypi test.pypi file:")
"""Words in a command that publishes only for a test."""
_REVIEWED = ("gh pr",)
"""Commands whose result a person still has to approve."""
_FORCES = "-f --force --force-with-lease --mirror"
_BRINGS = word_set("fetch pull remote")
"""git subcommands that also report forced updates, made by others."""
_UPDATED = "(forced update)"
_MOST_TARGETS = 20
"""Targets per command and per pattern."""
_MOST_NAMES = 5000
"""Entries of a folder that are searched for an older one."""
_PENDING = 200


class _StartedCommand(NamedTuple):
    """A command that has started."""

    called: ToolInvocation
    script: Sequence[Command]
    targets: tuple[str, ...]
    """Existing paths whose removal would be a loss."""


class Watch:
    """Follows the tool calls of a running session and reports when it must be aborted.

    A secret in a file is not a reason: it may be gone before the commit.
    """

    def __init__(
        self,
        config: CriticalConfig,
        worktree: str,
        home: str = "",
        used: Callable[[], int] = lambda: 0,
        most: float | None = None,
        *,
        since: float | None = None,
        exists: Callable[[str], bool] = os.path.lexists,
        older_paths: Callable[[str, float], Iterable[str]] | None = None,
    ) -> None:
        """`used` returns the tokens of this call so far; at `most` the budget is blown (see `tokens_left`).

        The session may remove files created after `since`, a Unix time in seconds; the default is now.
        """
        self._watches, self._rules = "destructive" not in config.off, _rules(worktree, home)
        self._used, self._most = used, most
        self._since = time.time() if since is None else since
        self._exists, self._older_paths = exists, older_paths or paths_older_than
        self._held = tuple(filter(exists, (worktree, join(worktree, ".git"))))
        self._pending: dict[str, _StartedCommand] = {}
        self._reason = ""

    @property
    def pain(self) -> str:
        """Why the session must be aborted; empty while it may continue."""
        if not self._reason and self._most is not None and self._used() >= self._most:
            self._reason = (
                f"this call has used {self._used():,} tokens; with earlier calls, that is {EXCEEDED_AT:.0%} of limits.tokens"
            )
        return self._reason

    def announce(self, called: ToolInvocation) -> None:
        """Record a tool call before it runs, with the existing paths that it may remove; `conclude` gets its result."""
        command = called.arguments.get("command")
        if called.tool != "Bash" or not called.identity or not isinstance(command, str) or not self._watches:
            return
        # The shell's working directory is not tracked: a path relative to another folder does not exist, and is ignored.
        script = commands(command, self._rules.worktree, self._rules.home)
        targets: dict[str, None] = {}
        for path in islice(_removed_paths(script, self._rules), _MOST_TARGETS):
            place = locate(path, "/", self._rules)
            if place and place.holds_worktree:  # the loop created the working tree itself
                targets[path] = None
            elif place and place.kind == "outside":
                targets.update(dict.fromkeys(self._older_paths(path, self._since)))
        self._pending[called.identity] = _StartedCommand(called, script, (*filter(self._exists, targets), *self._held))
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]

    def conclude(self, result: ToolResult) -> None:
        """Record the result of a tool call, and detect damage."""
        started = self._pending.pop(result.identity, None)
        if started is None or self._reason:
            return
        gone = next((path for path in started.targets if not self._exists(path)), None)  # however the command ended
        damage = ""
        if gone is not None:
            place = locate(gone, "/", self._rules)
            if place is not None and place.kind == "inside":
                damage = "it removed the working tree's .git" if place.path else "it removed the entire working tree"
            else:
                is_above = place is not None and place.holds_worktree
                damage = f"it removed {gone}, {'which holds the working tree' if is_above else 'outside the working tree'}"
        elif not result.failed and not started.called.arguments.get("run_in_background"):
            # git's output shows whether a push overwrote something; without it nothing is reported
            has_overwritten = _UPDATED in result.output and not any(git_of(command).verb in _BRINGS for command in started.script)
            if has_overwritten and any(_is_forced_push(command, self._rules) for command in started.script):
                damage = "it overwrote a remote branch by a forced git push"
            elif published := next(filter(None, (_published_by(command, self._rules) for command in started.script)), ""):
                damage = f"it published something ({published})"
        self._reason = f"{DESTROYED}{damage}" if damage else ""


def tokens_left(state: LoopState) -> float | None:
    """Tokens that the next call may use before the loop's budget is blown; None without a limit."""
    limit = state.config.limits.tokens
    return None if limit is None else EXCEEDED_AT * limit - state.spending.tokens


def paths_older_than(pattern: str, moment: float) -> tuple[str, ...]:
    """Paths matching a shell pattern that are, or contain, something older than `moment`.

    Uses the inode's change time, which cannot be set back: a copied, unpacked or cloned file is new. One level is enough: an old
    folder has an old entry unless all entries were rewritten.
    """

    def is_older(path: str) -> bool:
        info = os.lstat(path)
        if info.st_ctime < moment or not S_ISDIR(info.st_mode):
            return info.st_ctime < moment
        with os.scandir(path) as entries:
            return any(entry.stat(follow_symlinks=False).st_ctime < moment for entry in islice(entries, _MOST_NAMES))

    every = "{*,.*}"
    matches = glob.iglob(pattern.replace(every, "*"), include_hidden=every in pattern)  # noqa: PTH207 - hides as the shell does
    try:
        return tuple(filter(is_older, islice(matches, _MOST_TARGETS)))
    except (OSError, ValueError):  # a lone surrogate is not a valid file name
        return ()


def _rules(worktree: str, home: str) -> Rules:
    real = os.path.realpath(worktree)
    return Rules(
        worktree,
        home=home or own_environment().get("HOME", ""),
        temporary=(tempfile.gettempdir(), os.path.realpath(tempfile.gettempdir())),
        resolve=lambda path: real if path == normpath(worktree) else path,  # `rm` removes a link, not its target
    )


def _removed_paths(script: Sequence[Command], rules: Rules) -> Iterator[str]:
    """Paths and patterns that commands remove recursively, in order."""
    for command in script:
        recursive = command.program == "rm" and has_flag(command.arguments, "-rR --recursive")
        for word in operands(command.arguments) if recursive else ():
            path = resolve_word(word, command.folder, rules.home or HOME)
            if path and UNKNOWN not in path and not any(name in path.lower() for name in _CACHE):
                yield path


def _published_by(command: Command, rules: Rules) -> str:
    """What a command published, if it certainly succeeded in a script that succeeded; empty for nothing."""
    rule = next((finding.rule for finding in findings((replace(command, wrappers=()),), rules)), None)
    words = [word for word in command.arguments if not word.startswith("-")][:1]
    label = " ".join((command.program, *words))[:60]
    local = any(name in word for word in command.arguments for name in _ANYWHERE)
    published = rule == "publish" and command.sure and not command.background and not local
    return label if published and label not in _REVIEWED else ""


def _is_forced_push(command: Command, rules: Rules) -> bool:
    """Whether a command is a forced push, except from or to a repository in a temporary folder or in the working tree."""
    git = git_of(command, rules.home)
    names = list(operands(git.words))
    if git.verb != "push" or not (has_flag(git.words, _FORCES) or any(name.startswith("+") for name in names)):
        return False
    path = "".join(names[:1]).removeprefix("file://")
    here, to = (locate(word, git.folder, rules) for word in (".", path if path.startswith(("/", ".", "~")) else ""))
    return here is not None and here.kind != "temporary" and (to is None or to.kind == "outside")
