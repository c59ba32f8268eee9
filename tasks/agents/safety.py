"""The watch that ends a session in which something was destroyed.

Guard rails deny far more, and deny it beforehand. What counts here is what cannot be taken back: folders outside the working
tree or its .git removed, a branch on a remote overwritten, a package published. The text of a command tells what it may have
done. Whether a folder is gone the file system tells, what came of a push git, and of the rest the way the command ended; where
they do not tell, nothing is said: a false alarm ejects honest work.
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
from helmsman.oversee.critical import BLOWN_AT
from helmsman.parsers.agent_actions import Called, ToolResult
from helmsman.parsers.shell import HOME, Command, commands, placed
from helmsman.parsers.shell_words import UNKNOWN, has_flag, operands
from helmsman.plain import word_set
from helmsman.records.state import LoopState
from tasks.system.environment import ours

DESTROYED = "a destructive command ran: "
_CACHE = ("cache", "node_modules")
"""Parts of the names of folders that fill up again by themselves."""
_ANYWHERE = word_set("localhost 127.0.0.1 [::1] 0.0.0.0 testpypi test.pypi file:")
"""In the words of a command that publishes for a trial."""
_REVIEWED = ("gh pr",)
"""What a person still has to agree to."""
_FORCES = "-f --force --force-with-lease --mirror"
_BRINGS = word_set("fetch pull remote")
"""Verbs of git that tell of forced updates too: here, of what others did."""
_UPDATED = "(forced update)"
_MOST_TARGETS = 20
"""Of one command, and of one pattern."""
_MOST_NAMES = 5000
"""In a folder, of which one may be from before."""
_PENDING = 200


class _Noted(NamedTuple):
    """A command that has begun."""

    called: Called
    script: Sequence[Command]
    targets: tuple[str, ...]
    """Paths that are there and that it would be a loss to miss."""


class Watch:
    """Hears the tool calls of a running session and says when it must end now.

    A secret in a file is no reason: it may be gone before the commit.
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
        standing: Callable[[str, float], Iterable[str]] | None = None,
    ) -> None:
        """`used` gives the tokens of this call so far; where they reach `most`, the budget is blown (see `tokens_left`).

        What was made after `since`, in seconds since 1970, is the session's own to remove; without it, after now.
        """
        self._watches, self._rules = "destructive" not in config.off, _rules(worktree, home)
        self._used, self._most = used, most
        self._since = time.time() if since is None else since
        self._exists, self._standing = exists, standing or standing_since
        self._held = tuple(filter(exists, (worktree, join(worktree, ".git"))))
        self._pending: dict[str, _Noted] = {}
        self._reason = ""

    @property
    def pain(self) -> str:
        """Why the session must end now; empty where it may go on."""
        if not self._reason and self._most is not None and self._used() >= self._most:
            self._reason = (
                f"this call has used {self._used():,} tokens; with what was used before, that is {BLOWN_AT:.0%} of limits.tokens"
            )
        return self._reason

    def announce(self, called: Called) -> None:
        """A tool is called; what came of it is told by `conclude`. What is there now of what it may remove is noted."""
        command = called.arguments.get("command")
        if called.tool != "Bash" or not called.identity or not isinstance(command, str) or not self._watches:
            return
        # Where the session's shell stands is not followed: what is named from elsewhere is not there, and cannot go.
        script = commands(command, self._rules.worktree, self._rules.home)
        found: dict[str, None] = {}
        for path in islice(_removed(script, self._rules), _MOST_TARGETS):
            place = locate(path, "/", self._rules)
            if place and place.holds_worktree:  # the loop made the working tree itself
                found[path] = None
            elif place and place.kind == "outside":
                found.update(dict.fromkeys(self._standing(path, self._since)))
        self._pending[called.identity] = _Noted(called, script, (*filter(self._exists, found), *self._held))
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]

    def conclude(self, result: ToolResult) -> None:
        """A tool has answered."""
        noted = self._pending.pop(result.identity, None)
        if noted is None or self._reason:
            return
        gone = next((path for path in noted.targets if not self._exists(path)), None)  # however the command ended
        done = ""
        if gone is not None:
            place = locate(gone, "/", self._rules)
            if place is not None and place.kind == "inside":
                done = "it removed the working tree's .git" if place.path else "it removed the entire working tree"
            else:
                above = place is not None and place.holds_worktree
                done = f"it removed {gone}, {'which holds the working tree' if above else 'outside the working tree'}"
        elif not result.failed and not noted.called.arguments.get("run_in_background"):
            # git tells whether a push overwrote something; where its words were thrown away, nothing does
            overwrote = _UPDATED in result.output and not any(git_of(one).verb in _BRINGS for one in noted.script)
            if overwrote and any(_forced(command, self._rules) for command in noted.script):
                done = "it overwrote what a remote holds, by a forced git push"
            elif published := next(filter(None, (_published_by(one, self._rules) for one in noted.script)), ""):
                done = f"it published something ({published})"
        self._reason = f"{DESTROYED}{done}" if done else ""


def tokens_left(state: LoopState) -> float | None:
    """Tokens of a call that is about to begin, from which on the loop's budget is blown; None where there is no limit."""
    limit = state.config.limits.tokens
    return None if limit is None else BLOWN_AT * limit - state.spending.tokens


def standing_since(pattern: str, moment: float) -> tuple[str, ...]:
    """Paths, or what a pattern of the shell's stands for, that hold something from before a moment.

    By the time of the inode's change, which nothing can set back: a copied, unpacked or cloned file is new. One level is enough:
    a folder that was there has something in it that was there, unless all of it was written anew.
    """

    def is_older(path: str) -> bool:
        found = os.lstat(path)
        if found.st_ctime < moment or not S_ISDIR(found.st_mode):
            return found.st_ctime < moment
        with os.scandir(path) as entries:
            return any(entry.stat(follow_symlinks=False).st_ctime < moment for entry in islice(entries, _MOST_NAMES))

    every = "{*,.*}"
    found = glob.iglob(pattern.replace(every, "*"), include_hidden=every in pattern)  # noqa: PTH207 - hides what the shell does
    try:
        return tuple(filter(is_older, islice(found, _MOST_TARGETS)))
    except (OSError, ValueError):  # half a character has no name in a file system
        return ()


def _rules(worktree: str, home: str) -> Rules:
    real = os.path.realpath(worktree)
    return Rules(
        worktree,
        home=home or ours().get("HOME", ""),
        temporary=(tempfile.gettempdir(), os.path.realpath(tempfile.gettempdir())),
        resolve=lambda path: real if path == normpath(worktree) else path,  # `rm` removes a link, not what it leads to
    )


def _removed(script: Sequence[Command], rules: Rules) -> Iterator[str]:
    """Paths and patterns that commands remove with all that is below them, in the order in which they stand there."""
    for command in script:
        recursive = command.program == "rm" and has_flag(command.arguments, "-rR --recursive")
        for word in operands(command.arguments) if recursive else ():
            path = placed(word, command.folder, rules.home or HOME)
            if path and UNKNOWN not in path and not any(name in path.lower() for name in _CACHE):
                yield path


def _published_by(command: Command, rules: Rules) -> str:
    """What it published, if it surely ran to a good end where the whole script did; empty for nothing."""
    rule = next((one.rule for one in findings((replace(command, wrappers=()),), rules)), None)
    words = [word for word in command.arguments if not word.startswith("-")][:1]
    named = " ".join((command.program, *words))[:60]
    local = any(name in word for word in command.arguments for name in _ANYWHERE)
    published = rule == "publish" and command.sure and not command.background and not local
    return named if published and named not in _REVIEWED else ""


def _forced(command: Command, rules: Rules) -> bool:
    """Whether it is a forced push, not for a trial: from or to a repository in a temporary folder or in the working tree."""
    git = git_of(command, rules.home)
    names = list(operands(git.words))
    if git.verb != "push" or not (has_flag(git.words, _FORCES) or any(name.startswith("+") for name in names)):
        return False
    path = "".join(names[:1]).removeprefix("file://")
    here, to = (locate(word, git.folder, rules) for word in (".", path if path.startswith(("/", ".", "~")) else ""))
    return here is not None and here.kind != "temporary" and (to is None or to.kind == "outside")
