"""Git by its command line: one function that runs it hardened, and the questions that every other file asks of it."""

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

TIMEOUT_SECONDS = 300  # no local git command takes that long; a remote one that does is the network's fault

HARDENED = (
    "core.hooksPath=/dev/null",  # the agent could plant a hook that our own commands would run
    "core.fsmonitor=false",  # likewise: it names a program
    "commit.gpgSign=false",  # nobody is there to type a passphrase
    "core.quotePath=false",
    "core.safecrlf=false",  # a user's setting must not refuse the agent's line endings
    "core.filesRefLockTimeout=5000",  # a writer beside us holds a ref for an instant; on a busy machine that is long
    "advice.graftFileDeprecated=false",  # we name an empty one; a person who reads of an error shall not read of that
    "diff.ignoreSubmodules=dirty",  # to look for changes in one, git runs what is set up in there
    "submodule.recurse=false",  # likewise
    "log.showSignature=false",  # it runs a program, and prints between the lines that we read
    "gc.auto=0",  # not in the middle of an iteration
    "maintenance.auto=false",  # likewise; a commit would start a process to find out that there is nothing to do
)

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Helmsman"), ("EMAIL", "helmsman@localhost"))
}

AS_IT_IS = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
"""One `git replace` of the agent's would have us check another tree than the one that everybody else gets."""

UNFETCHED = {
    "GIT_NO_LAZY_FETCH": "1",  # what a partial clone lacks is missing
    "GIT_ALLOW_PROTOCOL": "none",  # the same, for a git that does not know that variable yet
}

CONNECTION = (
    "GIT_SSH", "GIT_SSH_*", "GIT_ASKPASS", "GIT_SSL_*", "GIT_PROXY_*", "GIT_HTTP_*", "GIT_ALLOW_PROTOCOL",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
)  # fmt: skip
"""How the user reaches remotes and where the user's settings lie. Git's other variables name a repository or change its words."""

_PASSWORD_IN_URL = re.compile(r"://[^/@\s]+@")


class GitError(TransientError):
    """A git command failed; `stderr` holds its words."""

    def __init__(self, arguments: Sequence[str], code: int, stderr: str) -> None:
        """Keep git's own words: they are the best explanation there is."""
        self.code, self.stderr = code, _PASSWORD_IN_URL.sub("://", stderr.strip())
        command = next(part for part in arguments if not part.startswith("-") and "=" not in part)
        super().__init__(f"git {command} failed with exit code {code}", found=self.stderr[-2000:])


@dataclass(frozen=True)
class Repository:
    """A repository that was found to be usable."""

    top: Path  # root of its checkout; the repository itself when it is bare
    common: Path  # the git folder that all worktrees share
    bare: bool


def git(
    cwd: Path, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None, timeout: float = TIMEOUT_SECONDS
) -> str:
    """Run git and return what it printed. Raises GitError when it fails, or takes `timeout` seconds."""
    return git_bytes(cwd, *arguments, stdin=stdin, env=env, timeout=timeout).decode(errors="replace")


def git_bytes(
    cwd: Path, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None, timeout: float = TIMEOUT_SECONDS
) -> bytes:
    """Like `git`, for names that are used again: a file's name need not be UTF-8."""
    command = ["git", *(part for setting in HARDENED for part in ("-c", setting)), *arguments]
    try:
        done = subprocess.run(
            command, cwd=cwd, env=_environment(env), input=stdin or b"", capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise GitError(arguments, -1, f"no answer within {timeout:g} s") from error
    except OSError as error:
        raise cannot_start(cwd, error) or error from error
    if done.returncode != 0:
        raise GitError(arguments, done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout


def succeeds(cwd: Path, *arguments: str) -> bool:
    """Whether git answers yes by its exit code."""
    try:
        git(cwd, *arguments)
    except GitError:
        return False
    return True


def contains(cwd: Path, commit: str, earlier: str) -> bool:
    """Whether a commit holds an earlier one; neither need be there."""
    return commit == earlier or succeeds(cwd, "merge-base", "--is-ancestor", earlier, commit)


def open_repository(path: Path) -> Repository:
    """Find the repository at or above a path. Raises OperatorError where there is none or it has no commit."""
    if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for a name that none can have
        raise OperatorError("the repository does not exist", expected="a folder", found=str(path), remedy="give --repo DIR")
    try:
        is_bare = git(path, "rev-parse", "--is-bare-repository").strip() == "true"
        common = (path / _path(path, "--git-common-dir")).resolve()
        top = common if is_bare else _path(path, "--show-toplevel").resolve()
    except GitError as error:
        if "dubious ownership" in error.stderr:
            raise OperatorError(
                "git refuses the repository because somebody else owns it",
                found=str(path),
                remedy=f"git config --global --add safe.directory {shlex.quote(str(path))}",
            ) from error
        raise OperatorError(
            "this is not a git repository",
            expected="a git repository with a checkout, or a bare one",
            found=f"{path}: {error.stderr}",
            remedy="give --repo DIR, or make it one: git init && git add -A && git commit -m start",
        ) from error
    # some branch is enough: HEAD may name one that nobody has pushed, as `git init --bare` and clones of it leave it
    if not git(top, "for-each-ref", "--count=1", "--format=%(objectname)"):
        require_head(top)
    return Repository(top=top, common=common, bare=is_bare)


def require_head(top: Path) -> None:
    """Raises OperatorError where nothing is checked out that work could begin with."""
    if not succeeds(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
        where = f"git -C {shlex.quote(str(top))}"
        remedy = f"check out a branch that has one, or make a first commit: {where} commit --allow-empty -m start"
        raise OperatorError("the repository has no commit yet", expected="HEAD at a commit", found=str(top), remedy=remedy)


def commit_and_tree(cwd: Path, revision: str = "HEAD") -> tuple[str, str]:
    """Ids of a commit and of its tree."""
    commit, tree = git(cwd, "rev-parse", f"{revision}^{{commit}}", f"{revision}^{{tree}}").split()
    return commit, tree


def current_branch(cwd: Path) -> str:
    """Short name of the branch that HEAD is on; empty when detached."""
    try:
        full = git(cwd, "symbolic-ref", "--quiet", "HEAD").removesuffix("\n")
    except GitError:
        return ""
    return full.removeprefix("refs/heads/")  # not --short: that says heads/x where x is ambiguous


def read_ref(cwd: Path, ref: str) -> str | None:
    """Commit that a full ref name points to, or None."""
    return tip_of(cwd, ref)[0]


def tip_of(cwd: Path, ref: str) -> tuple[str | None, bool]:
    """Commit that a full ref name points to, or None, and whether HEAD is on that branch.

    Cut where git puts a blank or a line's end: a name may hold whatever else Unicode has of both.
    """
    listed = git(cwd, "for-each-ref", "--format=%(HEAD)%(objectname) %(refname)", "--", ref)
    line = next((line for line in listed.split("\n") if line[1:].partition(" ")[2] == ref), None)
    return (None, False) if line is None else (line[1:].partition(" ")[0], line.startswith("*"))


def has_identity(cwd: Path) -> bool:
    """Whether a commit without further ado would have an author."""
    return all(succeeds(cwd, "config", "--get", name) for name in ("user.email", "user.name"))


def _path(cwd: Path, question: str) -> Path:
    """A path that git knows. It may hold whatever a file name may, a line break too."""
    return Path(os.fsdecode(git_bytes(cwd, "rev-parse", question).removesuffix(b"\n")))


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """Ours without git's own variables: inside a hook, GIT_DIR would turn every command to another repository."""
    hidden = "GIT_", "HELMSMAN_STATE_KEY"  # a filter of the repository's is a program that git starts
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(hidden) or any(fnmatchcase(name, one) for one in CONNECTION)
    }
    plain = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8", "LANGUAGE": "C"}
    return {**inherited, **AS_IT_IS, **plain, **IDENTITY, **(extra or {})}


def cannot_start(cwd: Path, error: OSError) -> HelmsmanError | None:
    """Why git could not be started; None where it is neither a transient error nor the operator's."""
    if told := transient_error(error):
        return told
    if not os.path.isdir(cwd):  # noqa: PTH112 - as above; it also raises where we may not look
        return OperatorError("git's working folder is missing, or cannot be entered", found=str(cwd))
    if isinstance(error, FileNotFoundError):
        return OperatorError("git is not installed", expected="git on PATH", remedy="install git 2.30 or newer")
    return OperatorError("git cannot be executed", found=str(error)) if isinstance(error, PermissionError) else None
