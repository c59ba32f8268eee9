"""Rules about git: pushing, rewriting what is older than the session, other branches, cleaning."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from helmsman.orient.guardrails.git import Git, branches_made, branches_of, commits_after, parsed, steps_back
from helmsman.orient.guardrails.git_config import sets_kept_key
from helmsman.orient.guardrails.paths import Kind, locate
from helmsman.orient.guardrails.rules import Finding, Rule, Rules
from helmsman.orient.guardrails.shell import UNKNOWN, Command
from helmsman.orient.guardrails.tool_calls import Session
from helmsman.orient.guardrails.words import has_flag, operands, word_set

_SHORTEST_ID = 4
_MAINLINES = word_set("main master trunk develop")
_REMOTES = ("origin/", "upstream/", "refs/remotes/", "remotes/")
_GOES_ON = word_set("--abort --continue --skip --quit --edit-todo --show-current-patch")
_REBASE_VALUED = word_set("-x --exec -s --strategy -X --strategy-option --onto")
_REBASES = re.compile(r"--rebase(?:=|\Z)|-[^-rsXSjo]*r")
"""Of a pull; in a cluster such as `-qr`, but not in the value of another letter: `-Xours`."""
_MERGES = word_set("--no-rebase --rebase=false --rebase=no --rebase=off --rebase=0 -rfalse")
_EVERYWHERE = frozenset({"--global", "--system"})
"""Such a configuration acts in this repository too, whichever folder it is set in."""
_LOOPS_REFS = "refs/helmsman"
_PUSHING = {("push",), ("send-pack",), ("http-push",), ("subtree", "push"), ("lfs", "push"), ("svn", "dcommit"), ("p4", "submit")}


class Scene(NamedTuple):
    """A git command, and what is known when it runs."""

    git: Git
    rules: Rules
    commits: int
    """The branch's commits since the session began, as far as known."""
    branches: frozenset[str]
    """Branches of the loop and of this session."""


GitRule = Callable[[Scene], Finding | None]


def findings(commands: tuple[Command, ...], session: Session, rules: Rules) -> Iterator[Finding]:
    """What speaks against the git commands of a call."""
    made = frozenset((*session.branches, *branches_made(commands), rules.branch))
    commits = session.commits
    for command in commands:
        if command.program != "git":
            continue
        scene = Scene(parsed(command, rules.home), rules, commits, made)
        rule = _push if _pushes(scene.git) else _RULES.get(scene.git.verb)
        everywhere = rule is _push or _EVERYWHERE & set(scene.git.words)
        if rule and (everywhere or not _elsewhere(scene)) and (finding := rule(scene)):
            yield finding
        commits = commits_after(commits, (command,), rules.worktree, failed=False)


def _elsewhere(scene: Scene) -> bool:
    """Another repository, in a temporary folder for one, or in a folder that the text does not tell."""
    place = locate(scene.git.folder or UNKNOWN, "/", scene.rules)
    return place is None or place.kind is not Kind.INSIDE


def _pushes(git: Git) -> bool:
    words = (git.verb, *git.words[:1])
    return words[:1] in _PUSHING or words in _PUSHING


def _push(_: Scene) -> Finding:
    return Finding(Rule.PUSH, "Pushing is the loop's business. Commit here; the work is pushed when it is proven.")


def _history(what: str) -> Finding:
    return Finding(
        Rule.HISTORY,
        f"{what} would change or drop commits that are older than this session. Undo with `git revert`, discard uncommitted work"
        " with `git reset --hard HEAD`, or make a new commit.",
    )


def _too_old(name: str, scene: Scene) -> bool:
    """Whether a name surely is older than the session's start, on a remote, or another line of work."""
    back = steps_back(name)
    if back is not None:
        return back > scene.commits
    base = name.rstrip("^~0123456789") if name[-1:] == "^" or "~" in name else name
    if base != name and _is_start(base, scene.rules):
        return True
    return name.startswith(_REMOTES) or "@{u" in name or (name in _MAINLINES and name not in scene.branches)


def _is_start(name: str, rules: Rules) -> bool:
    return len(name) >= _SHORTEST_ID and bool(rules.start) and (rules.start.startswith(name) or name.startswith(rules.start))


def _reset(scene: Scene) -> Finding | None:
    """Soft or hard, the branch loses commits; by parts or with paths, behind a `--` for one, it stays where it is."""
    words = scene.git.words
    names = list(operands(words))
    moves = len(names) == 1 and "--" not in words[:-1] and not has_flag(words, "p", word_set("--patch"))
    return _history("This reset") if moves and _too_old(names[0], scene) else None


def _rebase(scene: Scene) -> Finding | None:
    words = scene.git.words
    if has_flag(words, "", _GOES_ON):
        return None
    onto = (after for flag, after in pairwise(words) if flag == "--onto")
    names = [*operands(words, _REBASE_VALUED), *onto]
    named = bool(names) and not has_flag(words, "", word_set("--root"))
    return None if named and not any(_too_old(name, scene) for name in names) else _history("This rebase")


def _commit(scene: Scene) -> Finding | None:
    amends = has_flag(scene.git.words, "", word_set("--amend"))
    return _history("Amending") if amends and not scene.commits else None


def _filter(scene: Scene) -> Finding | None:
    ranges = (word.partition("..") for word in scene.git.words if ".." in word)
    return None if any(_is_start(name, scene.rules) for name, _, _ in ranges) else _history("Filtering")


def _pull(scene: Scene) -> Finding | None:
    """The last option that says how wins."""
    rebases = [word not in _MERGES for word in scene.git.words if word in _MERGES or _REBASES.match(word)]
    return _history("A pull that rebases") if rebases[-1:] == [True] else None


def _branch(scene: Scene) -> Finding | None:
    """By force a branch is deleted, set elsewhere, or overwritten by another one's new name."""
    words, names = scene.git.words, list(operands(scene.git.words))
    forced = has_flag(words, "DMCf", word_set("--force"))
    renamed = has_flag(words, "mMcC", word_set("--move --copy"))
    lost = names if has_flag(words, "dD", word_set("--delete")) else names[-1:] if renamed else names[:1]
    others = [name for name in lost if name not in scene.branches]
    if not forced or not others or others[0].startswith(UNKNOWN):
        return None
    return Finding(
        Rule.HISTORY,
        "That branch was not made in this session. Delete or move only your own; leave others, their commits are not yours.",
    )


def _worktree(scene: Scene) -> Finding | None:
    words = scene.git.words
    if words[:1] != ("remove",):
        return None
    places = [locate(word, scene.git.folder, scene.rules) for word in operands(words[1:])]
    if all(place is None or (place.kind is not Kind.OUTSIDE and not place.holds_worktree) for place in places):
        return None
    return Finding(
        Rule.DESTRUCTIVE, "Working trees belong to the loop. Leave them; remove only those you made in a temporary folder."
    )


def _other_branch(scene: Scene) -> Finding | None:
    words = scene.git.words
    names = list(operands(words))
    made = branches_of(scene.git) or has_flag(words, "cC", word_set("--create"))
    if made or "--" in words[:-1] or len(names) != 1 or names[0] in scene.branches or _is_path(names[0]):
        return None
    return Finding(
        Rule.OTHER_BRANCH,
        "If this changes the branch: the loop reads only its own. Look at another one by `git show other:path` and come back"
        " with `git checkout -` before you commit.",
    )


def _is_path(name: str) -> bool:
    """By its looks: a branch has no suffix and no slash at the end."""
    branch = name.startswith(_REMOTES) or steps_back(name) is not None
    return not branch and (name in {"-", "."} or "." in name or "*" in name or name.endswith("/") or name.startswith(UNKNOWN))


def _clean(scene: Scene) -> Finding | None:
    if not has_flag(scene.git.words, "xX") or has_flag(scene.git.words, "n", word_set("--dry-run")):
        return None
    return Finding(
        Rule.CLEAN,
        "-x also removes ignored files: environments, dependencies, .helmsman. Remove what you mean by name, or leave -x out.",
    )


def _refs(_: Scene) -> Finding:
    return Finding(Rule.GIT_INTERNALS, "Refs belong to the loop. Use `git commit`, `git branch` and `git tag` for your own.")


def _symbolic_ref(scene: Scene) -> Finding | None:
    names = list(operands(scene.git.words, frozenset({"-m"})))
    return _refs(scene) if len(names) > 1 or has_flag(scene.git.words, "d", frozenset({"--delete"})) else None


def _fetch(scene: Scene) -> Finding | None:
    """Fetching from the repository itself writes any ref."""
    written = (name.partition(":")[2] for name in operands(scene.git.words))
    return _refs(scene) if any(ref.startswith(_LOOPS_REFS) for ref in written) else None


def _replace(scene: Scene) -> Finding | None:
    if has_flag(scene.git.words, "l", frozenset({"--list"})) or not list(operands(scene.git.words)):
        return None
    return Finding(Rule.GIT_INTERNALS, "The checks see commits as they are, not their replacements. Make a new commit instead.")


def _config(scene: Scene) -> Finding | None:
    if not sets_kept_key(scene.git.words):
        return None
    return Finding(
        Rule.GIT_INTERNALS,
        "Leave git's configuration of programs, files and addresses as it is: the checks run without it. Where one command needs"
        " a setting, give it there: `git -c key=value …`.",
    )


_RULES: dict[str, GitRule] = {
    "reset": _reset,
    "rebase": _rebase,
    "commit": _commit,
    "filter-branch": _filter,
    "filter-repo": _filter,
    "pull": lambda scene: _fetch(scene) or _pull(scene),
    "branch": _branch,
    "worktree": _worktree,
    "checkout": _other_branch,
    "switch": _other_branch,
    "clean": _clean,
    "config": _config,
    "fetch": _fetch,
    "replace": _replace,
    "update-ref": _refs,
    "symbolic-ref": _symbolic_ref,
}
