"""A git command line: its verb, the words behind it, and what it does to the session's own commits and branches."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from posixpath import normpath
from typing import NamedTuple

from helmsman.orient.guardrails.paths import is_below
from helmsman.orient.guardrails.shell import HOME, Command, placed
from helmsman.orient.guardrails.words import has_flag, operands, word_set

_VALUED = word_set("-C -c --git-dir --work-tree --namespace --exec-path --config-env")
_BACK = re.compile(r"(?:HEAD|@)((?:\^|~[0-9]{0,6})*)")
_STEP = re.compile(r"\^|~([0-9]{0,6})")


class Git(NamedTuple):
    verb: str
    words: tuple[str, ...]
    """Behind the verb."""
    folder: str | None


def parsed(command: Command, home: str = "") -> Git:
    """Options before the verb are read; `-C` says where. `home`: the home folder, where it is known."""
    words, folder, start = command.arguments, command.folder, 0
    while start < len(words) and words[start].startswith("-"):
        if words[start] == "-C" and words[start + 1 :]:
            folder = placed(words[start + 1], folder, home or HOME)
        start += 2 if words[start] in _VALUED else 1
    return Git("".join(words[start : start + 1]), words[start + 1 :], folder)


def folder_of(command: Command, home: str = "") -> str | None:
    """Where a command's words are looked for; git may be told another folder than the one it is called in."""
    return parsed(command, home).folder if command.program == "git" else command.folder


def git_commands(commands: Iterable[Command]) -> Iterator[Git]:
    return (parsed(command) for command in commands if command.program == "git")


def steps_back(name: str) -> int | None:
    """How many first parents before HEAD `HEAD~2^` is; None for all other names."""
    match = _BACK.fullmatch(name)
    if not match:
        return None
    return sum(int(step[1]) if step[1] else 1 for step in _STEP.finditer(match[1]))


def branches_made(commands: Iterable[Command]) -> Iterator[str]:
    """Names of branches that a script makes."""
    for git in git_commands(commands):
        if git.verb in {"checkout", "switch", "worktree"}:
            yield from _behind(git.words, word_set("-b -B -c -C --create --orphan"))
        elif git.verb == "branch" and not any(word.startswith("-") for word in git.words):
            yield from git.words[:1]


def _behind(words: Sequence[str], flags: frozenset[str]) -> Iterator[str]:
    return (after for flag, after in pairwise(words) if flag in flags)


def commits_after(commits: int, commands: Sequence[Command], worktree: str, *, failed: bool) -> int:
    """How many commits of its own the worktree's branch has after a script, as far as its text tells.

    Where the script failed, a commit counts unless it was the last thing to run. What is done in another repository, or in a
    folder that is not known, takes none away.
    """
    done = commands[:-1] if failed else commands
    for git in git_commands(done):
        here = _is_in(git, worktree)
        commits += _adds(git) if here is not False else 0
        if git.verb == "reset" and here:
            commits = max(0, commits - _farthest_back(git))
    return commits


def _is_in(git: Git, worktree: str) -> bool | None:
    """Whether it is about the repository of the worktree; None where the text does not tell."""
    if git.folder is None or is_below(git.folder, HOME):
        return None
    return is_below(git.folder, normpath(worktree) if worktree else "")


def _adds(git: Git) -> int:
    if git.verb == "commit":
        return 0 if has_flag(git.words, "", word_set("--amend --dry-run")) else 1
    made = git.verb in {"revert", "cherry-pick"} and not has_flag(git.words, "n", word_set("--no-commit --abort --quit --skip"))
    return int(made)


def _farthest_back(git: Git) -> int:
    return max((steps_back(word) or 0 for word in git.words), default=0)


def written_by_git(command: Command) -> Iterator[str]:
    """Paths in the worktree that a git command overwrites, moves or removes by name."""
    git = parsed(command)
    if git.verb in {"rm", "mv"}:
        yield from operands(git.words)
    elif git.verb == "restore" and not _puts_back(_sources(git)):
        yield from operands(git.words, word_set("-s --source"))
    elif git.verb == "checkout" and not branches_of(git):
        refs, paths = _refs_and_paths(git)
        yield from () if _puts_back(refs) else paths


def _puts_back(refs: Sequence[str]) -> bool:
    """Files as the index or HEAD has them undo an edit, of a formatter for one; that is no edit."""
    return all(steps_back(ref) == 0 for ref in refs)


def _sources(git: Git) -> list[str]:
    joined = [word.partition("=")[2] for word in git.words if word.startswith("--source=")]
    return [*joined, *_behind(git.words, word_set("-s --source"))]


def _refs_and_paths(git: Git) -> tuple[Sequence[str], Sequence[str]]:
    """Without `--`, the first of several names is a commit unless it looks like a file."""
    if "--" in git.words:
        place = git.words.index("--")
        return list(operands(git.words[:place])), git.words[place + 1 :]
    names = list(operands(git.words))
    first = names[:1] if len(names) > 1 and "." not in names[0] else []
    return first, names[len(first) :]


def branches_of(git: Git) -> tuple[str, ...]:
    """Branches that a checkout makes."""
    return tuple(_behind(git.words, word_set("-b -B --orphan")))
