"""Commands that ran and destroyed something, and the watch that ends a session for one.

Guard rails deny far more, and deny it beforehand. What counts here is what cannot be taken back: folders outside the working
tree or its .git removed, a disk erased, a branch on a remote overwritten, a package published. Where the text does not tell,
nothing is said: a false alarm ejects honest work.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from posixpath import basename, dirname, normpath

from helmsman.config import PainConfig
from helmsman.orient.guardrails import Rule, Rules, Session
from helmsman.orient.guardrails.command_rules import findings
from helmsman.orient.guardrails.git import Git, parsed
from helmsman.orient.guardrails.paths import Kind, Place, is_below, locate
from helmsman.orient.guardrails.shell import HOME, UNKNOWN, Command, read
from helmsman.orient.guardrails.words import has_flag, operands, word_set
from helmsman.records.evidence import CommandRun
from helmsman.records.state import LoopState
from helmsman.verify.agent_events import Called, ToolResult
from tasks.environment import ours

DESTROYED = "a destructive command ran: "
CUT = 300
"""Characters of a command that `CommandRun` keeps: the last word of one as long as that may be a part of another."""
_DEEP = "/a/b/c/d/e/f/g/h"
"""A session may stand in any folder of its working tree. What is outside from the top and from down here is outside."""
_EVERYTHING = word_set("* .* {*,.*} .[!.]*")
_CACHE = ("cache", "node_modules")
"""Parts of the names of folders that fill up again by themselves."""
_ANYWHERE = word_set("localhost 127.0.0.1 [::1] 0.0.0.0 testpypi test.pypi file:")
"""In the words of a command that publishes for a trial."""
_REVIEWED = ("gh pr",)
"""What a person still has to agree to."""
_MAKES = word_set("mkdir virtualenv venv")
_GIT_MAKES = word_set("clone init worktree")
_FORCES = word_set("--force --force-with-lease --mirror")
_TRIAL = word_set("--dry-run -n")
_OWN_GIT = (".git", f"{_DEEP[1:]}/.git")
_MADE = 200
"""Folders that are remembered as made by the session."""
_PENDING = 200


def executed(command: str, worktree: str, home: str = "", folder: str | None = None) -> str:
    """Why a command that ran to a good end was destructive; empty where it was not.

    `folder` is where the shell stood, None where that is not known.
    """
    return _executed(command, _rules(worktree, home), folder, {})


def destroyed(commands: Sequence[CommandRun], worktree: str, home: str = "") -> tuple[str, ...]:
    """Why commands of a session were destructive, each reason once. A command that failed destroyed nothing."""
    rules, made = _rules(worktree, home), dict[str, None]()
    whole = (run.command if len(run.command) < CUT else run.command.rpartition(" ")[0] for run in commands if not run.failed)
    return tuple(filter(None, dict.fromkeys(_executed(command, rules, None, made) for command in whole)))


class Watch:
    """Hears the tool calls of a running session and says when it must end now.

    A secret in a file is no reason: it may be gone before the commit.
    """

    def __init__(
        self,
        config: PainConfig,
        worktree: str,
        home: str = "",
        used: Callable[[], int] = lambda: 0,
        most: float | None = None,
    ) -> None:
        """`used` gives the tokens of this call so far; where they reach `most`, the budget is blown (see `tokens_left`)."""
        self._config, self._rules = config, _rules(worktree, home)
        self._used, self._most = used, most
        self._pending: dict[str, Called] = {}
        self._made: dict[str, None] = {}
        self._folder: str | None = worktree
        self._reason = ""

    @property
    def pain(self) -> str:
        """Why the session must end now; empty where it may go on."""
        if not self._reason and self._most is not None and self._used() >= self._most:
            self._reason = (
                f"this call has used {self._used():,} tokens; with what was used before, that is {self._config.budget:.0%}"
                " of limits.tokens"
            )
        return self._reason

    def announce(self, called: Called) -> None:
        """A tool is called; what came of it is told by `conclude`."""
        if called.tool == "Bash" and called.identity:
            self._pending[called.identity] = called
            if len(self._pending) > _PENDING:
                del self._pending[next(iter(self._pending))]

    def conclude(self, result: ToolResult) -> None:
        """A tool has answered. A call that was denied or failed did no harm."""
        called = self._pending.pop(result.identity, None)
        if called:
            self.feed(called, result)

    def feed(self, called: Called, result: ToolResult) -> None:
        """A tool call that came to an end, with what came of it."""
        command = called.arguments.get("command")
        if called.tool != "Bash" or not isinstance(command, str):
            return
        folder = None if called.parent else self._folder  # a subagent has a shell of its own
        if not result.failed and self._config.destructive:
            why = _executed(command, self._rules, folder, self._made)
            self._reason = self._reason or (f"{DESTROYED}{why}" if why else "")
        if not called.parent:
            self._folder = _stands_in(command, self._folder, self._rules, failed=result.failed)


def tokens_left(state: LoopState) -> float | None:
    """Tokens of a call that is about to begin, from which on the loop's budget is blown; None where there is no limit."""
    limit = state.config.limits.tokens
    return None if limit is None else state.config.pain.budget * limit - state.spending.tokens


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
    after = read(f"{command}\n:", folder or rules.worktree, rules.home)[-1].folder
    if failed and after != (folder or rules.worktree):
        return None
    if folder is None:
        return None
    place = locate(after, "/", rules) if after else None
    return after if place and place.kind is Kind.INSIDE else rules.worktree if place else None


def _executed(command: str, rules: Rules, folder: str | None, made: dict[str, None]) -> str:
    """`made` are folders that the session made itself, so they are its to remove; those that this command made are added."""
    starts = (folder, folder) if folder else (rules.worktree, rules.worktree.rstrip("/") + _DEEP)
    found = ""
    for both in zip(*(read(command, start, rules.home) for start in starts), strict=False):
        found = found or _reason(both, rules, made)
        made.update(dict.fromkeys(_makes(both[0], rules)))
    for path in tuple(made)[: max(len(made) - _MADE, 0)]:
        del made[path]
    return found


def _makes(command: Command, rules: Rules) -> Iterator[str]:
    """Folders that a command made. One that is there anyway is nobody's: a home, and all that hold the working tree."""
    git = parsed(command)
    if command.program in _MAKES or (command.program == "git" and git.verb in _GIT_MAKES):
        words = git.words if command.program == "git" else command.arguments
        places = (locate(word, command.folder, rules) for word in operands(words))
        yield from (one.path for one in places if one and one.kind is Kind.OUTSIDE and not _is_shared(one, rules))


def _is_shared(place: Place, rules: Rules) -> bool:
    return place.holds_worktree or UNKNOWN in place.path or is_below(rules.home or HOME, place.path)


def _reason(both: tuple[Command, ...], rules: Rules, made: Iterable[str]) -> str:
    """The same command, read from two folders: what holds for one of them only is not known."""
    removed = [_removed(command, rules, made) for command in both]
    return (removed[0] if all(removed) else "") or _forced(both[0], rules) or _sent_or_erased(both[0], rules)


def _removed(command: Command, rules: Rules, made: Iterable[str]) -> str:
    return next(filter(None, (_lost(word, command, rules, made) for word in _removals(command))), "")


def _removals(command: Command) -> Iterator[str]:
    """What a command removes with all that is below it."""
    words = command.arguments
    if command.program == "rm" and has_flag(words, "rR", word_set("--recursive")):
        yield from operands(words)
    elif command.program == "find" and "-delete" in words:
        yield from takewhile(lambda word: not word.startswith("-"), words)


def _lost(word: str, command: Command, rules: Rules, made: Iterable[str]) -> str:
    every = basename(word.rstrip("/")) in _EVERYTHING
    place = locate((dirname(word) or ".") if every else word, command.folder, rules)
    if place is None or UNKNOWN in place.path or any(is_below(place.path, path) for path in made):
        return ""
    if place.kind is Kind.INSIDE:
        return "" if every or command.program == "find" else _lost_inside(place, rules)
    if place.holds_worktree:
        return f"it removed {place.path}, which holds the working tree"
    fills_again = any(name in place.path.lower() for name in _CACHE)
    return "" if place.kind is Kind.TEMPORARY or fills_again else f"it removed {place.path}, outside the working tree"


def _lost_inside(place: Place, rules: Rules) -> str:
    if not place.path:
        return "it removed the whole working tree"
    gone = place.path in _OWN_GIT and not os.path.lexists(f"{rules.worktree}/.git")  # else it was another repository's
    return "it removed the working tree's .git" if gone else ""


def _forced(command: Command, rules: Rules) -> str:
    git = parsed(command)
    if command.program != "git" or git.verb != "push" or _TRIAL & set(git.words):
        return ""
    forced = has_flag(git.words, "f", _FORCES) or any(word.startswith("+") for word in operands(git.words))
    return "it overwrote what a remote holds, by a forced git push" if forced and not _for_a_trial(git, rules) else ""


def _for_a_trial(git: Git, rules: Rules) -> bool:
    """From or to a repository in a temporary folder or in the working tree; from an unknown one nothing is known."""
    there = locate(git.folder, "/", rules) if git.folder else None
    remote = next(operands(git.words), "")
    path = remote.removeprefix("file://")
    to = locate(path, git.folder, rules) if path.startswith(("/", "./", "../", "~")) else None
    return there is None or there.kind is Kind.TEMPORARY or (to is not None and to.kind is not Kind.OUTSIDE)


def _sent_or_erased(command: Command, rules: Rules) -> str:
    """What the guard rails know as well. Their other rules are about what can be mended, or about manners."""
    rule = next((one.rule for one in findings((replace(command, wrappers=()),), Session(), rules)), None)
    words = [word for word in command.arguments if not word.startswith("-")][:1]
    told = " ".join((command.program, *words))[:60]
    if rule is Rule.DESTRUCTIVE and (command.program == "dd" or command.program.startswith("mkfs")):
        return f"it wrote over a disk ({command.program})"
    local = any(name in word for word in command.arguments for name in _ANYWHERE)
    published = rule is Rule.PUBLISH and not local and told not in _REVIEWED
    return f"it published something ({told})" if published else ""
