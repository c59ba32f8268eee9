"""Run git on the command line with hardened settings, and the queries that all other modules use."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError, TransientError
from tasks.system.faults import transient_error
from tasks.system.files import read_plain

LONGEST_LINK = 8192  # bytes of the file that links a worktree to its repository; twice the longest path
TIMEOUT_SECONDS = 300  # no local git command takes that long; a slow remote one is a network fault

HARDENED = (
    "core.hooksPath=/dev/null",  # the agent could plant a hook that our own commands would run
    "core.fsmonitor=false",  # likewise: it names a program
    "commit.gpgSign=false",  # nobody is there to type a passphrase
    "core.quotePath=false",
    "core.safecrlf=false",  # a user's setting must not reject the agent's line endings
    "core.filesRefLockTimeout=5000",  # another writer locks a ref for an instant, which is longer on a busy machine
    "advice.graftFileDeprecated=false",  # we pass an empty one; keep the warning out of error messages
    "diff.ignoreSubmodules=dirty",  # git would run programs that a submodule configures
    "submodule.recurse=false",  # likewise
    "log.showSignature=false",  # it runs a program, and adds lines to the output that we parse
    "gc.auto=0",  # not in the middle of an iteration
    "maintenance.auto=false",  # likewise; a commit would start a process only to find nothing to do
)

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Helmsman"), ("EMAIL", "helmsman@localhost"))
}

NO_REPLACEMENTS = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
"""Ignore replacements: with a `git replace` of the agent's we would check another tree than others fetch."""

NO_FETCH = {
    "GIT_NO_LAZY_FETCH": "1",  # do not fetch objects that a partial clone lacks
    "GIT_ALLOW_PROTOCOL": "none",  # the same, for a git that does not know that variable
}

CONNECTION = (
    "GIT_SSH", "GIT_SSH_*", "GIT_ASKPASS", "GIT_SSL_*", "GIT_PROXY_*", "GIT_HTTP_*", "GIT_ALLOW_PROTOCOL",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
)  # fmt: skip
"""Variables for the user's remotes and configuration. Git's others name a repository or change its output."""

_PASSWORD_IN_URL = re.compile(r"://[^/@\s]+@")


class GitError(TransientError):
    """A git command failed; `stderr` is its error output."""

    def __init__(self, arguments: Sequence[str], code: int, stderr: str) -> None:
        """Keep git's message, the best explanation there is."""
        self.code, self.stderr = code, _PASSWORD_IN_URL.sub("://", stderr.strip())
        command = next(part for part in arguments if not part.startswith("-") and "=" not in part)
        super().__init__(f"git {command} failed with exit code {code}", found=self.stderr[-2000:])


@dataclass(frozen=True)
class Repository:
    """A usable repository."""

    top: Path  # root of its checkout; the repository itself when it is bare
    common: Path  # the git folder that all worktrees share
    bare: bool

    @property
    def consent_key(self) -> Path:
        """Folder under which the user's consent is stored: the git folder, or a checkout that the git folder does not know.

        Anybody can write a `.git` that leads to a repository that the user trusts.
        """
        return self.common if self.bare or _knows_checkout(self.common, self.top) else self.top


def git(
    cwd: Path, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None, timeout: float = TIMEOUT_SECONDS
) -> str:
    """Run git and return its output. Raises GitError if it fails or takes longer than `timeout` seconds."""
    return git_bytes(cwd, *arguments, stdin=stdin, env=env, timeout=timeout).decode(errors="replace")


def git_bytes(
    cwd: Path, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None, timeout: float = TIMEOUT_SECONDS
) -> bytes:
    """Like `git`, but return bytes, for file names that are passed on: they need not be UTF-8."""
    command = ["git", *(part for setting in HARDENED for part in ("-c", setting)), *arguments]
    try:
        completed = subprocess.run(
            command, cwd=cwd, env=_git_environment(env), input=stdin or b"", capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise GitError(arguments, -1, f"no answer within {timeout:g} s") from error
    except OSError as error:
        raise start_error(cwd, error) or error from error
    if completed.returncode != 0:
        raise GitError(arguments, completed.returncode, completed.stderr.decode(errors="replace"))
    return completed.stdout


def succeeds(cwd: Path, *arguments: str) -> bool:
    """Whether git exits with 0."""
    try:
        git(cwd, *arguments)
    except GitError:
        return False
    return True


def paths_with(cwd: Path, commit: str, pattern: str, *within: str) -> list[str]:
    """Return the text files of a commit, all or those `within` the pathspecs, in which an extended regular expression matches."""
    try:
        listed = git_bytes(cwd, "grep", "--no-color", "-lzIE", "-e", pattern, commit, "--", *within)
    except GitError as error:
        if error.code == 1:  # no match
            return []
        raise
    return [os.fsdecode(name.partition(b":")[2]) for name in listed.split(b"\0") if name]


def contains(cwd: Path, commit: str, earlier: str) -> bool:
    """Whether `earlier` is the commit or an ancestor of it; False if either is missing."""
    return commit == earlier or succeeds(cwd, "merge-base", "--is-ancestor", earlier, commit)


def open_repository(path: Path, *, unborn: bool = False) -> Repository:
    """Find the repository at or above a path. Raises OperatorError if there is none or, unless `unborn`, it has no commit."""
    if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for invalid names
        remedy = "correct the path (--repo DIR)"
        raise OperatorError("the repository does not exist", expected="a folder", found=str(path), remedy=remedy)
    try:
        is_bare = git(path, "rev-parse", "--is-bare-repository").strip() == "true"
        common = (path / _rev_parse_path(path, "--git-common-dir")).resolve()
        top = common if is_bare else _rev_parse_path(path, "--show-toplevel").resolve()
        # in the git folder, because git also refuses that one if another user owns it
        is_empty = not git(common, "for-each-ref", "--count=1", "--format=%(objectname)")
    except GitError as error:
        if "dubious ownership" in error.stderr:
            owned = re.findall(r"safe\.directory (.+)", error.stderr)[:1] or [shlex.quote(str(path))]
            owned += [f"{owned[0]}/.git"] if not owned[0].endswith("/.git") and Path(owned[0], ".git").is_dir() else []
            raise OperatorError(
                "git refuses the repository because another user owns it",
                found=str(path),
                remedy=" && ".join(f"git config --global --add safe.directory {folder}" for folder in owned),
            ) from error
        raise OperatorError(
            "this is not a git repository",
            expected="a git repository with a checkout, or a bare one",
            found=f"{path}: {error.stderr}",
            remedy="give --repo DIR, or make it one: git init && git add -A && git commit -m start",
        ) from error
    if not is_bare and path != top and _common_folder_at(top) != common:
        raise OperatorError(
            "the repository's checkout belongs to another repository, or to none",
            expected="core.worktree unset, or a folder whose .git leads back to the repository",
            found=f"{common}, with core.worktree = {top}",
            remedy=f"git config --file {shlex.quote(str(common / 'config'))} --unset core.worktree",
        )
    # any branch is enough: HEAD may name one that nobody has pushed, as after `git init --bare` and in clones of it
    if is_empty and not unborn:
        require_head(top)
    return Repository(top=top, common=common, bare=is_bare)


def _common_folder_at(path: Path) -> Path | None:
    """The shared git folder of the repository at or above a path."""
    try:
        return (path / _rev_parse_path(path, "--git-common-dir")).resolve()
    except GitError:
        return None


def _knows_checkout(common: Path, top: Path) -> bool:
    """Whether a git folder lies in this checkout, or refers to it: as a linked worktree, or as a submodule."""
    link = top / ".git"
    if link.is_symlink() or link.is_dir():
        return not link.is_symlink() and link == common
    own = _rev_parse_path(top, "--absolute-git-dir").resolve()
    try:
        if own == common:
            return (own / git(own, "config", "--get", "core.worktree").removesuffix("\n")).resolve() == top
        back = os.fsdecode(read_plain(own / "gitdir", LONGEST_LINK)).removesuffix("\n")
    except (GitError, OSError):
        return False
    return own.parent == common / "worktrees" and (own / back).parent.resolve() == top


def require_head(top: Path) -> None:
    """Raise OperatorError if HEAD has no commit that work could begin with."""
    if not succeeds(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
        where = f"git -C {shlex.quote(str(top))}"
        first = f"{where} add --all && {where} commit --allow-empty -m start"
        remedy = f"check out a branch that has one, or make a first commit: {first}"
        raise OperatorError("the repository has no commit yet", expected="HEAD at a commit", found=str(top), remedy=remedy)


def commit_and_tree(cwd: Path, revision: str = "HEAD") -> tuple[str, str]:
    """Ids of a commit and of its tree."""
    commit, tree = git(cwd, "rev-parse", f"{revision}^{{commit}}", f"{revision}^{{tree}}").split()
    return commit, tree


def current_branch(cwd: Path) -> str:
    """Short name of the branch of HEAD; empty when detached."""
    try:
        full = git(cwd, "symbolic-ref", "--quiet", "HEAD").removesuffix("\n")
    except GitError:
        return ""
    return full.removeprefix("refs/heads/")  # not --short: it prints heads/x if x is ambiguous


def read_ref(cwd: Path, ref: str) -> str | None:
    """Commit that a full ref name points to, or None."""
    return tip_of(cwd, ref)[0]


def tip_of(cwd: Path, ref: str) -> tuple[str | None, bool]:
    """Commit that a full ref name points to, or None, and whether HEAD is on that branch.

    Split only at git's separators: a name may contain other Unicode blanks and line breaks.
    """
    listed = git(cwd, "for-each-ref", "--format=%(HEAD)%(objectname) %(refname)", "--", ref)
    line = next((line for line in listed.split("\n") if line[1:].partition(" ")[2] == ref), None)
    return (None, False) if line is None else (line[1:].partition(" ")[0], line.startswith("*"))


def has_identity(cwd: Path) -> bool:
    """Whether git has a user name and email for commits."""
    return all(succeeds(cwd, "config", "--get", name) for name in ("user.email", "user.name"))


def _rev_parse_path(cwd: Path, question: str) -> Path:
    """Path from `git rev-parse`. It may contain any character of a file name, even a line break."""
    return Path(os.fsdecode(git_bytes(cwd, "rev-parse", question).removesuffix(b"\n")))


def _git_environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """Our environment without git's variables: inside a hook, GIT_DIR would redirect every command to another repository."""
    hidden = "GIT_", "HELMSMAN_STATE_KEY"  # git starts the repository's filters, which must not see the key
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(hidden) or any(fnmatchcase(name, pattern) for pattern in CONNECTION)
    }
    fixed = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8", "LANGUAGE": "C"}
    return {**inherited, **NO_REPLACEMENTS, **fixed, **IDENTITY, **(extra or {})}


def start_error(cwd: Path, error: OSError) -> HelmsmanError | None:
    """Explain why git could not be started; None if it is neither a transient nor an operator error."""
    if fault := transient_error(error):
        return fault
    if not os.path.isdir(cwd):  # noqa: PTH112 - as above; it also raises without permission
        return OperatorError("git's working folder is missing, or cannot be entered", found=str(cwd))
    if isinstance(error, FileNotFoundError):
        return OperatorError("git is not installed", expected="git on PATH", remedy="install git 2.30 or newer")
    return OperatorError("git cannot be executed", found=str(error)) if isinstance(error, PermissionError) else None
