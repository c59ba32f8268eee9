"""What of a worktree counts as work, and bringing git's index up to it: junk, submodules, repositories inside repositories."""

import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from helmsman.errors import OperatorError
from tasks.repository.branch_files import an_index
from tasks.repository.git import GitError, commit_and_tree, git, git_bytes, succeeds
from tasks.repository.objects import own_folder
from tasks.system.files import open_up

_FOLDERS = "__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis node_modules .venv"
JUNK = (*(f"**/{name}/**" for name in _FOLDERS.split()), "**/*.pyc", "**/.coverage", "**/.DS_Store")
"""Left lying about by tools and ignored by most repositories; never work, so never committed by us."""

NO_WORK = (*JUNK, ".helmsman/**")
WORK = (".", *(f":(exclude,glob){pattern}" for pattern in NO_WORK))
"""Paths that count: everything but junk and the loop's own files."""

GITLINK = b"160000 "
SOME_FAILED = 1  # exit code of an add that went on after a file that it could not add


def stage(path: Path, env: Mapping[str, str] | None = None, *, at_work: bool = False) -> None:
    """Bring the index up to the worktree: what is there is in it, whatever was done to hide it.

    `at_work`: somebody is, so no mode is changed to read a file. Raises GitError where one cannot be read.
    """
    try:
        embedded = _stage(path, env)
    except GitError as error:
        if error.code != SOME_FAILED or at_work:
            raise
        open_up(path)  # more can be seen now
        embedded = _stage(path, env, what_can_be=True)
    for name in embedded:
        _absorb(path, name, env)


def _stage(path: Path, env: Mapping[str, str] | None, *, what_can_be: bool = False) -> list[bytes]:
    """Returns the repositories that somebody made inside this one. They are no links while git adds: it would work in each."""
    # the index and what is not in it: `H 100644 <id> 0<tab>name`, or `? name`
    listed = git_bytes(path, "ls-files", "-z", "-v", "--stage", "--others", "--exclude-standard", "--", *WORK, env=env)
    lines = (line for line in listed.split(b"\0") if line)
    new, entries = list[bytes](), list[tuple[bytes, bytes, bytes]]()
    for tag, rest in ((line[:1], line[2:]) for line in lines):
        if tag != b"?":
            mode, name = rest.split(b"\t", 1)
            entries.append((tag, mode, name))
        elif rest.endswith(b"/"):
            new.append(rest.rstrip(b"/"))
    # what assume-unchanged and skip-worktree hide: a change must not pass the checks and miss the commit
    assumed = [name for tag, _, name in entries if tag.islower()]
    skipped = [name for tag, _, name in entries if tag in b"Ss" and os.path.lexists(path / os.fsdecode(name))]
    links = [name for _, mode, name in entries if mode.startswith(GITLINK)]
    embedded = _embedded(path, [*links, *new])
    inner = list(set(links).intersection(embedded))
    for flag, names in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped), ("--force-remove", inner)):
        if names:
            git(path, "update-index", flag, "-z", "--stdin", stdin=b"\0".join(names), env=env)
    try:
        git(path, "add", "--all", "--ignore-errors", "--", *WORK, env=env)
    except GitError as error:
        if error.code != SOME_FAILED or not what_can_be:
            raise
    return embedded


def snapshot(path: Path, onto: str, message: str, *, at_work: bool = False) -> str:
    """Commit the worktree as it lies there on top of a commit. Returns `onto` where nothing differs from it.

    No branch, HEAD or file changes, nor the index that somebody works with. `at_work` as in `stage`.
    """
    with an_index() as index:
        git(path, "read-tree", onto, env=index)
        stage(path, index, at_work=at_work)
        tree = git(path, "write-tree", env=index).strip()
    if tree == commit_and_tree(path, onto)[1]:
        return onto
    return git(path, "commit-tree", tree, "-p", onto, "-m", message).strip()


def stage_holds_work(path: Path) -> bool:
    """Whether there is anything to commit, once the junk is out that an agent's own `git add --all` swept in."""
    # kind and name of every staged change, each ended by a zero
    staged = "diff", "--cached", "--name-status", "-z", "--no-renames", "--"
    parts = git_bytes(path, *staged, ".").split(b"\0")
    added = list[bytes]()
    if b"A" in parts[::2]:
        junk = git_bytes(path, *staged, *(f":(glob){pattern}" for pattern in NO_WORK)).split(b"\0")
        added = [name for kind, name in zip(junk[::2], junk[1::2], strict=False) if kind == b"A"]
    if added:
        git(path, "update-index", "-z", "--force-remove", "--stdin", stdin=b"\0".join(added))
    return len(parts) // 2 > len(added)


def submodules(path: Path) -> list[Path]:
    """Folders of the submodules that are checked out, and that git made: any other repository's settings run what they say."""
    return [path / os.fsdecode(name) for name in _own(path, _links(path))]


def loose_submodules(path: Path) -> list[str]:
    """Submodules whose repository lies in their own folder, where whoever works in there can change its settings."""
    return [os.fsdecode(name) for name in _embedded(path, _links(path))]


def add_submodules(path: Path, base: str) -> None:
    """Check out the submodules that are not there yet, as the commit `base` names them. Raises OperatorError where that fails."""
    missing = missing_submodules(path, base)
    if not missing:
        return
    try:
        git(path, "submodule", "update", "--init", "--quiet", "--", *missing)
    except GitError as error:
        command = f"git -C {shlex.quote(str(path))} submodule update --init --recursive"
        local = "transport 'file' not allowed" in error.stderr
        allow = "git refuses submodules from local folders; if you trust it: git config --global protocol.file.allow always"
        raise OperatorError(
            "the repository's submodules could not be checked out in the worktree",
            found=error.stderr,
            remedy=allow if local else f"make this work: {command}",
        ) from error
    for name in missing:
        add_submodules(path / name, "HEAD")


def missing_submodules(path: Path, base: str = "HEAD") -> list[str]:
    """Submodules without a repository, as far as that commit declares them, with the same address."""
    missing = [name for name in _links(path) if not _is_repository(path, name)]
    if not missing:
        return []
    now, then = _declared(path, "--file", ".gitmodules"), _declared(path, "--blob", f"{base}:.gitmodules")
    return [os.fsdecode(name) for name in missing if name in now and now[name] == then.get(name)]


def clean_submodules(path: Path) -> None:
    """One by one: git's own way down goes into repositories that an agent made. One that was removed comes back, none is new."""
    for name in missing_submodules(path):
        succeeds(path, "submodule", "update", "--force", "--checkout", "--quiet", "--", name)
    for inner in submodules(path):
        insist(path, "submodule", "update", "--force", "--checkout", "--quiet", "--", str(inner.relative_to(path)))
        insist(inner, "clean", "-ffdq")
        clean_submodules(inner)


def insist(path: Path, *arguments: str) -> None:
    """Run git; where read-only files are in its way, make them writable and run it again."""
    try:
        git(path, *arguments)
    except GitError:
        open_up(path)
        git(path, *arguments)


def _embedded(path: Path, names: list[bytes]) -> list[bytes]:
    """Repositories that somebody made inside this one. Git keeps no more of them than a commit id that nobody else has."""
    found = [name for name in names if _is_repository(path, name)]
    own = _own(path, found)
    return [name for name in found if name not in own]


def _own(path: Path, names: list[bytes]) -> list[bytes]:
    """Those whose repository lies where git keeps submodules': nobody who is held in the worktree can write there."""
    if not names:
        return []
    modules = (path / os.fsdecode(git_bytes(path, "rev-parse", "--git-path", "modules").removesuffix(b"\n"))).resolve()
    found = list[bytes]()
    for name in names:
        link = path / os.fsdecode(name) / ".git"
        if _is_repository(path, name) and link.is_file() and not link.is_symlink():
            own = own_folder(link.parent)
            found += [name] if own.is_dir() and own != modules and own.is_relative_to(modules) else []
    return found


def _absorb(path: Path, name: bytes, env: Mapping[str, str] | None) -> None:
    """Put the files of a repository inside ours that are not ignored into our index as what they are: files.

    Git works in an empty repository: this one's settings may name programs.
    """
    inner = path / os.fsdecode(name)
    with tempfile.TemporaryDirectory(prefix="helmsman-") as folder:
        git(Path(folder), "init", "--quiet", "--bare", "--template=", folder)
        ours = f"--git-dir={folder}", f"--work-tree={inner}", "ls-files", "-z"
        listed = git_bytes(inner, *ours, "--others", "--exclude-standard", "--", *WORK)
    names = {name + b"/" + found.rstrip(b"/") for found in listed.split(b"\0") if found}
    deeper = {found for found in names if _is_repository(path, found)}
    files = {found for found in names - deeper if lies_there(path, found)}
    git(path, "update-index", "--force-remove", "--", os.fsdecode(name), env=env)
    git(path, "update-index", "-z", "--add", "--remove", "--stdin", stdin=b"\0".join(files), env=env)
    for found in deeper:
        _absorb(path, found, env)


def _links(path: Path) -> list[bytes]:
    """What the index links to, where submodules are declared at all: .gitmodules alone may say anything, `../..` too."""
    if not (path / ".gitmodules").is_file():
        return []
    listed = git_bytes(path, "ls-files", "-z", "--stage").split(b"\0")
    return [entry.split(b"\t", 1)[1] for entry in listed if entry.startswith(GITLINK)]


def _declared(path: Path, *where: str) -> dict[bytes, list[bytes]]:
    """By path of a submodule, every name, path and address that is given for it."""
    try:
        listed = git_bytes(path, "config", "-z", *where, "--get-regexp", r"^submodule\..*\.(path|url)$")
    except GitError:
        return {}
    sections, found = dict[bytes, list[bytes]](), dict[bytes, list[bytes]]()
    for entry in listed.split(b"\0"):
        sections.setdefault(entry.partition(b"\n")[0].rpartition(b".")[0], []).append(entry)
    for name, entries in sections.items():
        for entry in entries:
            if entry.startswith(name + b".path\n"):
                found.setdefault(entry.partition(b"\n")[2], []).extend(entries)
    return found


def _is_repository(path: Path, name: bytes) -> bool:
    inner = path / os.fsdecode(name)
    return not inner.is_symlink() and os.path.lexists(inner / ".git") and lies_there(path, name)


def lies_there(path: Path, name: bytes) -> bool:
    """Whether no symbolic link is on the way: what one leads to is none of ours."""
    above = (path / os.fsdecode(name)).parent
    return above.resolve() == path.resolve() / above.relative_to(path)
