"""Git commands: their verb, the session's own commits and branches, and commands that would destroy older work."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from posixpath import normpath
from typing import NamedTuple

from helmsman.guardrails.paths import is_below, locate
from helmsman.guardrails.rules import Rules, table
from helmsman.parsers.shell import HOME, Command, resolve_word
from helmsman.parsers.shell_words import UNKNOWN, has_flag, operands
from helmsman.plain import word_set

_VALUED = word_set("-C -c --git-dir --work-tree --namespace --exec-path --config-env")
_BACK_STEPS, _STEP = re.compile(r"(?:HEAD|@)((?:\^|~[0-9]{0,6})*)"), re.compile(r"\^|~([0-9]{0,6})")
_SHORTEST_ID = 4
_MAINLINES = word_set("main master trunk develop")
_REMOTES = ("origin/", "upstream/", "refs/remotes/", "remotes/")
_EVERYWHERE = frozenset({"--global", "--system"})
"""Configuration scopes that affect this repository from any folder."""
_REBASE_VALUED = word_set("-x --exec -s --strategy -X --strategy-option --onto")
_REBASES = re.compile(r"--rebase(?:=(?!false|no|off|0)|\Z)|-[^-rsXSjo]*r")
"""Options of a pull; also in a cluster such as `-qr`, but not in the value of another option: `-Xours`."""
_CONFIG_VALUED = word_set("-f --file --blob --type --default --value --comment --url")
_CONFIG_READS = "-l --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --list"
_LOOPS_REFS = "refs/helmsman"
_COMMITS = {"commit": "--amend --dry-run", **dict.fromkeys(("revert", "cherry-pick"), "-n --no-commit --abort --quit --skip")}
"""Verbs that add a commit, unless one of the options is given."""


class Git(NamedTuple):
    verb: str = ""
    words: tuple[str, ...] = ()  # after the verb
    folder: str | None = None


class Scene(NamedTuple):
    """A command, and the state of the session when it runs."""

    command: Command
    git: Git
    rules: Rules
    commits: int  # the branch's commits since the session began, as far as known
    branches: frozenset[str]  # branches of the loop and of this session
    background: bool  # whether the session has started anything in the background


def git_of(command: Command, home: str = "") -> Git:
    """Parse verb, words and folder (`-C`) of a git command. `home`: the home folder, if known."""
    if command.program != "git":
        return Git(folder=command.folder)
    words, folder, start = command.arguments, command.folder, 0
    while start < len(words) and words[start].startswith("-"):
        if words[start] == "-C" and words[start + 1 :]:
            folder = resolve_word(words[start + 1], folder, home or HOME)
        start += 2 if words[start] in _VALUED else 1
    return Git("".join(words[start : start + 1]), words[start + 1 :], folder)


def steps_back(name: str) -> int | None:
    """Number of first parents between HEAD and a name such as `HEAD~2^`; None for other names."""
    match = _BACK_STEPS.fullmatch(name)
    return sum(int(step[1]) if step[1] else 1 for step in _STEP.finditer(match[1])) if match else None


def values(words: Sequence[str], flags: str) -> list[str]:
    """Values of the given options, after a space or an equals sign."""
    flag_names, joined = word_set(flags), (word.partition("=") for word in words if word.startswith("--"))
    separate = [after for flag, after in pairwise(words) if flag in flag_names]
    return [*separate, *(value for name, equals, value in joined if equals and name in flag_names)]


# commits and branches of a session ------------------------------------------------------------------------------------


def branches_made(commands: Iterable[Command]) -> Iterator[str]:
    """Names of branches that a script creates."""
    for git in map(git_of, commands):
        if git.verb in {"checkout", "switch", "worktree"}:
            yield from values(git.words, "-b -B -c -C --create --orphan")
        elif git.verb == "branch" and not any(word.startswith("-") for word in git.words):
            yield from git.words[:1]


def commits_after(commits: int, commands: Sequence[Command], worktree: str, *, failed: bool) -> int:
    """Number of the session's own commits on the worktree's branch after a script, according to its text.

    If the script failed, its last command does not count. Resets in another repository or an unknown folder are ignored.
    """
    for git in map(git_of, commands[:-1] if failed else commands):
        is_unknown = git.folder is None or is_below(git.folder, HOME)
        is_here_too = not is_unknown and is_below(git.folder or "", normpath(worktree) if worktree else "")
        if git.verb in _COMMITS and not has_flag(git.words, _COMMITS[git.verb]):
            commits += is_here_too or is_unknown
        elif git.verb == "reset" and is_here_too:
            commits = max(0, commits - max((steps_back(word) or 0 for word in git.words), default=0))
    return commits


def written_by_git(command: Command) -> Iterator[str]:
    """Paths in the worktree that a git command overwrites, moves or removes by name.

    Restoring files from the index or HEAD undoes an edit, for example of a formatter, and does not count as one.
    """
    _, words, _ = git = git_of(command)
    refs, names = list[str](), list[str]()
    if git.verb in {"rm", "mv"}:
        yield from operands(words)
    elif git.verb == "restore":
        refs = values(words, "-s --source")
        names = list(operands(words, word_set("-s --source")))
    elif git.verb == "checkout" and not values(words, "-b -B --orphan"):
        names = list(operands(words))
        if "--" in words:
            place = words.index("--")
            refs, names = list(operands(words[:place])), list(words[place + 1 :])
        elif len(names) > 1 and "." not in names[0]:  # the first of several names is a commit unless it looks like a file
            refs, names = names[:1], names[1:]
    yield from () if all(steps_back(ref) == 0 for ref in refs) else names


# conditions of the rows of guardrails.toml ----------------------------------------------------------------------------


def is_here(scene: Scene) -> bool:
    """Whether a command acts in this repository, not in another one or in an unknown folder."""
    place = locate(scene.git.folder or UNKNOWN, "/", scene.rules)
    return (place is not None and place.kind == "inside") or not _EVERYWHERE.isdisjoint(scene.git.words)


def _is_too_old(name: str, scene: Scene) -> bool:
    """Whether a name is certainly older than the session's start, on a remote, or on another line of work."""
    back = steps_back(name)
    if back is not None:
        return back > scene.commits
    base, start = name.rstrip("^~0123456789") if name[-1:] == "^" or "~" in name else name, scene.rules.start
    if base != name and len(base) >= _SHORTEST_ID and start and (start.startswith(base) or base.startswith(start)):
        return True  # before the first commit of the session
    return name.startswith(_REMOTES) or "@{u" in name or (name in _MAINLINES and name not in scene.branches)


def _resets_too_far(scene: Scene) -> bool:
    """Whether a reset removes older commits from the branch; with `--patch` or paths it removes none."""
    words, names = scene.git.words, list(operands(scene.git.words))
    return len(names) == 1 and "--" not in words[:-1] and not has_flag(words, "-p --patch") and _is_too_old(names[0], scene)


def _rebases_too_far(scene: Scene) -> bool:
    words = scene.git.words
    names = [*operands(words, _REBASE_VALUED), *values(words, "--onto")]
    return not names or has_flag(words, "--root") or any(_is_too_old(name, scene) for name in names)


def _forces_another_branch(scene: Scene) -> bool:
    """Whether a branch of others is deleted, moved or overwritten by force."""
    words, names = scene.git.words, list(operands(scene.git.words))
    is_rename = has_flag(words, "-mMcC --move --copy")
    overwritten = names if has_flag(words, "-dD --delete") else names[-1:] if is_rename else names[:1]
    others = [name for name in overwritten if name not in scene.branches]
    return has_flag(words, "-DMCf --force") and bool(others) and not others[0].startswith(UNKNOWN)


def _removes_a_worktree(scene: Scene) -> bool:
    words = scene.git.words
    places = [locate(word, scene.git.folder, scene.rules) for word in operands(words[1:])] if words[:1] == ("remove",) else []
    return any(place and (place.kind == "outside" or place.holds_worktree) for place in places)


def _leaves_the_branch(scene: Scene) -> bool:
    """Whether another branch is checked out; names with a suffix, a pattern or a trailing slash are paths."""
    words, names = scene.git.words, list(operands(scene.git.words))
    creates_branch = values(words, "-b -B --orphan") or has_flag(words, "-cC --create")
    if creates_branch or "--" in words[:-1] or len(names) != 1 or names[0] in scene.branches:
        return False
    name = names[0]
    is_path = name == "-" or "." in name or "*" in name or name.endswith("/") or name.startswith(UNKNOWN)
    return not is_path or name.startswith(_REMOTES) or steps_back(name) is not None


def _sets_a_kept_key(scene: Scene) -> bool:
    """Whether `git config` changes a key that the loop and the operator rely on."""
    words, kept_patterns = scene.git.words, table()["git"]["kept"].split()
    names = list(operands(words, _CONFIG_VALUED))
    verb = "".join(names[:1])
    if has_flag(words, _CONFIG_READS) or verb in {"get", "list"}:
        return False
    is_write = len(names) > 1 or has_flag(words, "--add --replace-all --unset --unset-all")
    keys = names[1:2] if verb in {"set", "unset"} else names[:1] if is_write else []
    return any(fnmatchcase(key.lower(), pattern) for key in keys for pattern in kept_patterns)


QUESTIONS: Mapping[str, Callable[[Scene], bool]] = {
    "resets_too_far": _resets_too_far,
    "rebases_too_far": _rebases_too_far,
    "has_no_commit": lambda scene: not scene.commits,
    "pulls_by_rebase": lambda scene: any(map(_REBASES.match, scene.git.words)),
    "forces_another_branch": _forces_another_branch,
    "removes_a_worktree": _removes_a_worktree,
    "leaves_the_branch": _leaves_the_branch,
    "sets_a_symbolic_ref": lambda scene: (
        len([*operands(scene.git.words, frozenset({"-m"}))]) > 1 or has_flag(scene.git.words, "-d --delete")
    ),
    "fetches_into_the_loops_refs": lambda scene: any(
        name.partition(":")[2].startswith(_LOOPS_REFS) for name in operands(scene.git.words)
    ),
    "names_something": lambda scene: next(operands(scene.git.words), None) is not None,
    "sets_a_kept_key": _sets_a_kept_key,
}
