"""The watch that ends a session in which something was destroyed.

Guard rails deny far more, and deny it beforehand. What counts here is what cannot be taken back: folders outside the working
tree or its .git removed, a disk erased, a branch on a remote overwritten, a package published. The text of a command tells what
it may have done. Whether a folder is gone the file system tells, and whether the rest was done the way the command ended;
where they do not tell, nothing is said: a false alarm ejects honest work.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice
from posixpath import join, normpath
from stat import S_ISDIR
from typing import NamedTuple

from helmsman.config import CriticalConfig
from helmsman.guardrails import Rule, Rules
from helmsman.guardrails.commands import findings
from helmsman.guardrails.git import Git, git_of
from helmsman.guardrails.paths import Kind, locate
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
_TRIAL = word_set("--dry-run -n")
_BRINGS = word_set("fetch pull remote")
"""Verbs of git that tell of forced updates too: here, of what others did."""
_NO_DISKS = ("/dev/loop", "/dev/ram", "/dev/zram", "/dev/full")
"""Devices that hold nothing, or a file that somebody made into a disk."""
_ERASES = word_set("mkfs shred wipefs")
_UPDATED = "(forced update)"
_FILTERS = frozenset("-(!\\")
"""How what follows the folders of `find` begins: with any of it, `-delete` spares some."""
_PATTERN = frozenset("*?[")
_MOST_TARGETS = 20
"""Of one command, and of one pattern."""
_MOST_NAMES = 5000
"""Of a folder that a pattern is compared with."""
_MOST_FILES = 1000
"""Below a folder, of which one may be from before."""
_PENDING = 200


class _Noted(NamedTuple):
    """A command that has begun."""

    called: Called
    folder: str
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
        self._held = tuple(path for path in (worktree, join(worktree, ".git")) if exists(path))
        self._pending: dict[str, _Noted] = {}
        self._folder: str | None = worktree
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
        """A tool is called; what came of it is told by `conclude`."""
        command = called.arguments.get("command")
        if called.tool != "Bash" or not called.identity or not isinstance(command, str):
            return
        stands = not called.parent and not any(not one.called.parent for one in self._pending.values())
        folder = (self._folder if stands else None) or self._rules.worktree
        targets = self._targets(command, folder) if self._watches else ()
        self._pending[called.identity] = _Noted(called, folder, targets)
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]

    def conclude(self, result: ToolResult) -> None:
        """A tool has answered."""
        noted = self._pending.pop(result.identity, None)
        if noted is None:
            return
        command = str(noted.called.arguments["command"])
        if self._watches:
            gone = next((path for path in noted.targets if not self._exists(path)), None)  # however the command ended
            why = self._done(command, noted, result) if gone is None else _loss(gone, self._rules)
            self._reason = self._reason or (f"{DESTROYED}{why}" if why else "")
        if not noted.called.parent:
            self._folder = _stands_in(command, self._folder, self._rules, failed=result.failed)

    def _targets(self, command: str, folder: str) -> tuple[str, ...]:
        """What is there now of what a command may remove, and what no command may."""
        found: dict[str, None] = {}
        for path in islice(_removals(commands(command, folder, self._rules.home), self._rules), _MOST_TARGETS):
            place = locate(path, "/", self._rules)
            if place and place.holds_worktree:  # the loop made the working tree itself
                found[path] = None
            elif place and place.kind is Kind.OUTSIDE:
                found.update(dict.fromkeys(self._standing(path, self._since)))
        return (*(path for path in found if self._exists(path)), *self._held)

    def _done(self, command: str, noted: _Noted, result: ToolResult) -> str:
        if result.failed or noted.called.arguments.get("run_in_background"):
            return ""
        script = commands(command, noted.folder, self._rules.home)
        sure = [one for one in script if one.sure and not one.background]
        told = next(filter(None, (_sent_or_erased(one, self._rules) for one in sure)), "")
        return told or _overwritten(script, sure, result.output, self._rules)


def tokens_left(state: LoopState) -> float | None:
    """Tokens of a call that is about to begin, from which on the loop's budget is blown; None where there is no limit."""
    limit = state.config.limits.tokens
    return None if limit is None else BLOWN_AT * limit - state.spending.tokens


def standing_since(pattern: str, moment: float) -> tuple[str, ...]:
    """Paths that hold something from before a moment. Only the last part of the path may be a pattern of the shell's."""
    folder, _, name = pattern.rpartition("/")
    try:
        names = _matching(folder or "/", name) if _PATTERN & set(name) else [name]
    except (OSError, ValueError):  # half a character has no name in a file system
        return ()
    return tuple(path for path in (join(folder or "/", one) for one in names) if _older(path, moment))


def _matching(folder: str, pattern: str) -> list[str]:
    plain = pattern.replace("{*,.*}", "*")
    with os.scandir(folder) as entries:
        names = (entry.name for entry in islice(entries, _MOST_NAMES))
        return [name for name in names if fnmatchcase(name, plain) and (name[:1] != "." or pattern[:1] in ".{")][:_MOST_TARGETS]


def _older(path: str, moment: float) -> bool:
    """By the time of the inode's change, which nothing can set back: a copied, unpacked or cloned file is new."""
    try:
        return any(changed < moment for changed in islice(_changes(path), _MOST_FILES))
    except (OSError, ValueError):  # half a character has no name in a file system
        return False


def _changes(path: str) -> Iterator[float]:
    found = os.lstat(path)
    yield found.st_ctime
    folders = [path] if S_ISDIR(found.st_mode) else []
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                yield entry.stat(follow_symlinks=False).st_ctime
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def _rules(worktree: str, home: str) -> Rules:
    real = os.path.realpath(worktree)
    return Rules(
        worktree,
        home=home or ours().get("HOME", ""),
        temporary=(tempfile.gettempdir(), os.path.realpath(tempfile.gettempdir())),
        resolve=lambda path: real if path == normpath(worktree) else path,  # `rm` removes a link, not what it leads to
    )


def _stands_in(command: str, folder: str | None, rules: Rules, *, failed: bool) -> str | None:
    """Where the session's shell stands after a command. The CLI brings it back when it has left the working tree."""
    after = commands(f"{command}\n:", folder or rules.worktree, rules.home)[-1].folder
    if failed and after != (folder or rules.worktree):
        return None
    if folder is None:
        return None
    place = locate(after, "/", rules) if after else None
    return after if place and place.kind is Kind.INSIDE else rules.worktree if place else None


def _removals(script: Sequence[Command], rules: Rules) -> Iterator[str]:
    """Paths and patterns that commands remove with all that is below them, in the order in which they stand there."""
    for command in script:
        words = command.arguments
        removed: Iterable[str] = ()
        if command.program == "rm" and has_flag(words, "-rR --recursive"):
            removed = operands(words)
        elif command.program == "find" and words[-1:] == ("-delete",) and not any(word[:1] in _FILTERS for word in words[:-1]):
            removed = words[:-1]
        for word in removed:
            path = placed(word, command.folder, rules.home or HOME)
            if path and UNKNOWN not in path and not any(name in path.lower() for name in _CACHE):
                yield path


def _loss(path: str, rules: Rules) -> str:
    place = locate(path, "/", rules)
    if place is None or place.kind is not Kind.INSIDE:
        above = place is not None and place.holds_worktree
        return f"it removed {path}, {'which holds the working tree' if above else 'outside the working tree'}"
    return "it removed the working tree's .git" if place.path else "it removed the whole working tree"


def _overwritten(script: Sequence[Command], sure: Sequence[Command], output: str, rules: Rules) -> str:
    """Git tells what came of a push; where its words were thrown away, that it ran to a good end has to do."""
    told = (" -> " in output or "up-to-date" in output) and not any(git_of(one).verb in _BRINGS for one in script)
    forced = any(_forced(command, rules) for command in (script if told else sure))
    return "it overwrote what a remote holds, by a forced git push" if forced and (not told or _UPDATED in output) else ""


def _forced(command: Command, rules: Rules) -> bool:
    git = git_of(command, rules.home)
    if git.verb != "push" or _TRIAL & set(git.words):
        return False
    forced = has_flag(git.words, _FORCES) or any(word.startswith("+") for word in operands(git.words))
    return forced and not _for_a_trial(git, rules)


def _for_a_trial(git: Git, rules: Rules) -> bool:
    """From or to a repository in a temporary folder or in the working tree; from an unknown one nothing is known."""
    there = locate(git.folder, "/", rules) if git.folder else None
    remote = next(operands(git.words), "")
    path = remote.removeprefix("file://")
    to = locate(path, git.folder, rules) if path.startswith(("/", "./", "../", "~")) else None
    return there is None or there.kind is Kind.TEMPORARY or (to is not None and to.kind is not Kind.OUTSIDE)


def _sent_or_erased(command: Command, rules: Rules) -> str:
    disk = next((word for word in _written_over(command) if _is_disk(word, command, rules)), "")
    if disk:
        return f"it wrote over a disk ({command.program})"
    rule = next((one.rule for one in findings((replace(command, wrappers=()),), rules)), None)
    words = [word for word in command.arguments if not word.startswith("-")][:1]
    told = " ".join((command.program, *words))[:60]
    local = any(name in word for word in command.arguments for name in _ANYWHERE)
    published = rule is Rule.PUBLISH and not local and told not in _REVIEWED
    return f"it published something ({told})" if published else ""


def _written_over(command: Command) -> Iterator[str]:
    if command.program in _ERASES or command.program.startswith("mkfs."):
        yield from operands(command.arguments)
    elif command.program == "dd":
        yield from (word[3:] for word in command.arguments if word.startswith("of="))


def _is_disk(word: str, command: Command, rules: Rules) -> bool:
    place = locate(word, command.folder, rules)
    return (
        place is not None
        and place.kind is Kind.OUTSIDE
        and place.path.startswith("/dev/")
        and not place.path.startswith(_NO_DISKS)
    )
