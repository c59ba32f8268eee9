"""Bring git's index up to date with the work in a worktree: without junk, with submodules and embedded repositories."""

import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from helmsman.errors import OperatorError
from tasks.repository.branch_files import temporary_index
from tasks.repository.git import GitError, commit_and_tree, git, git_bytes, succeeds
from tasks.repository.objects import own_folder
from tasks.system.files import open_up

_FOLDERS = "__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis node_modules .venv"
JUNK = (*(f"**/{name}/**" for name in _FOLDERS.split()), "**/*.pyc", "**/.coverage", "**/.DS_Store")
"""Files that tools create and most repositories ignore; never work, so we never commit them."""

NO_WORK = (*JUNK, ".helmsman/**")
WORK = (".", *(f":(exclude,glob){pattern}" for pattern in NO_WORK))
"""Pathspec of work: everything but junk and the loop's own files."""

GITLINK = b"160000 "
SOME_FAILED = 1  # exit code of an add that skipped a file that it could not add


def stage(path: Path, env: Mapping[str, str] | None = None, *, at_work: bool = False) -> None:
    """Bring the index up to date with the worktree, including files that index flags hide.

    `at_work`: the agent is working, so do not change modes to read a file. Raises GitError if one cannot be read.
    """
    try:
        embedded = _stage(path, env)
    except GitError as error:
        if error.code != SOME_FAILED or at_work:
            raise
        open_up(path)  # more files are readable now
        embedded = _stage(path, env, skip_unreadable=True)
    for name in embedded:
        _add_as_files(path, name, env)


def _stage(path: Path, env: Mapping[str, str] | None, *, skip_unreadable: bool = False) -> list[bytes]:
    """Stage the worktree; return embedded repositories. They are not links while git adds, or git would run in each."""
    # tracked and untracked files: `H 100644 <id> 0<tab>name`, or `? name`
    listed = git_bytes(path, "ls-files", "-z", "-v", "--stage", "--others", "--exclude-standard", "--", *WORK, env=env)
    lines = (line for line in listed.split(b"\0") if line)
    new, entries = list[bytes](), list[tuple[bytes, bytes, bytes]]()
    for tag, rest in ((line[:1], line[2:]) for line in lines):
        if tag != b"?":
            mode, name = rest.split(b"\t", 1)
            entries.append((tag, mode, name))
        elif rest.endswith(b"/"):
            new.append(rest.rstrip(b"/"))
    # assume-unchanged and skip-worktree: a change must not pass the checks and miss the commit
    assumed = [name for tag, _, name in entries if tag.islower()]
    skipped = [name for tag, _, name in entries if tag in b"Ss" and os.path.lexists(path / os.fsdecode(name))]
    links = [name for _, mode, name in entries if mode.startswith(GITLINK)]
    embedded = _find_embedded(path, [*links, *new])
    inner = list(set(links).intersection(embedded))
    for flag, names in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped), ("--force-remove", inner)):
        if names:
            git(path, "update-index", flag, "-z", "--stdin", stdin=b"\0".join(names), env=env)
    try:
        git(path, "add", "--all", "--ignore-errors", "--", *WORK, env=env)
    except GitError as error:
        if error.code != SOME_FAILED or not skip_unreadable:
            raise
    return embedded


def snapshot(path: Path, onto: str, message: str, *, at_work: bool = False) -> str:
    """Commit the current worktree on top of a commit. Returns `onto` if nothing differs from it.

    Does not change branches, HEAD, files or the worktree's index. `at_work` as in `stage`.
    """
    with temporary_index() as index:
        git(path, "read-tree", onto, env=index)
        stage(path, index, at_work=at_work)
        tree = git(path, "write-tree", env=index).strip()
    if tree == commit_and_tree(path, onto)[1]:
        return onto
    return git(path, "commit-tree", tree, "-p", onto, "-m", message).strip()


def has_staged_work(path: Path) -> bool:
    """Unstage junk that an agent's `git add --all` added, and return whether anything is left to commit."""
    # kind and name of every staged change, NUL-terminated
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
    """Folders of submodules that git checked out: the configuration of any other repository may run programs."""
    return [path / os.fsdecode(name) for name in _managed_by_git(path, _list_gitlinks(path))]


def unabsorbed_submodules(path: Path) -> list[str]:
    """Submodules with the repository in their own folder, where the agent can change its configuration."""
    return [os.fsdecode(name) for name in _find_embedded(path, _list_gitlinks(path))]


def add_submodules(path: Path, base: str) -> None:
    """Check out the missing submodules that the commit `base` declares. Raises OperatorError if that fails."""
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
            remedy=allow if local else f"fix what this command reports: {command}",
        ) from error
    for name in missing:
        add_submodules(path / name, "HEAD")


def missing_submodules(path: Path, base: str = "HEAD") -> list[str]:
    """Submodules without a repository that the commit declares with the same address."""
    missing = [name for name in _list_gitlinks(path) if not _is_repository(path, name)]
    if not missing:
        return []
    declared, at_base = _read_declared(path, "--file", ".gitmodules"), _read_declared(path, "--blob", f"{base}:.gitmodules")
    return [os.fsdecode(name) for name in missing if name in declared and declared[name] == at_base.get(name)]


def clean_submodules(path: Path) -> None:
    """Reset submodules one by one: git's recursion enters repositories of the agent. Restores removed ones, adds none."""
    for name in missing_submodules(path):
        succeeds(path, "submodule", "update", "--force", "--checkout", "--quiet", "--", name)
    for inner in submodules(path):
        run_making_writable(path, "submodule", "update", "--force", "--checkout", "--quiet", "--", str(inner.relative_to(path)))
        run_making_writable(inner, "clean", "-ffdq")
        clean_submodules(inner)


def run_making_writable(path: Path, *arguments: str) -> None:
    """Run git; if it fails, make read-only files writable and run it again."""
    try:
        git(path, *arguments)
    except GitError:
        open_up(path)
        git(path, *arguments)


def _find_embedded(path: Path, names: list[bytes]) -> list[bytes]:
    """Repositories that somebody created inside this one. Git would commit only an id that no other repository knows."""
    repositories = [name for name in names if _is_repository(path, name)]
    managed = _managed_by_git(path, repositories)
    return [name for name in repositories if name not in managed]


def _managed_by_git(path: Path, names: list[bytes]) -> list[bytes]:
    """Those whose repository is in git's folder for submodules, where a sandboxed agent cannot write."""
    if not names:
        return []
    modules = (path / os.fsdecode(git_bytes(path, "rev-parse", "--git-path", "modules").removesuffix(b"\n"))).resolve()
    managed = list[bytes]()
    for name in names:
        link = path / os.fsdecode(name) / ".git"
        if _is_repository(path, name) and link.is_file() and not link.is_symlink():
            git_folder = own_folder(link.parent)
            managed += [name] if git_folder.is_dir() and git_folder != modules and git_folder.is_relative_to(modules) else []
    return managed


def _add_as_files(path: Path, name: bytes, env: Mapping[str, str] | None) -> None:
    """Add the files of an embedded repository that are not ignored to our index as plain files.

    Git runs with an empty repository: the embedded one's configuration may name programs.
    """
    inner = path / os.fsdecode(name)
    with tempfile.TemporaryDirectory(prefix="helmsman-") as folder:
        git(Path(folder), "init", "--quiet", "--bare", "--template=", folder)
        command = f"--git-dir={folder}", f"--work-tree={inner}", "ls-files", "-z"
        listed = git_bytes(inner, *command, "--others", "--exclude-standard", "--", *WORK)
    names = {name + b"/" + file.rstrip(b"/") for file in listed.split(b"\0") if file}
    nested = {file for file in names if _is_repository(path, file)}
    files = {file for file in names - nested if has_no_link_above(path, file)}
    git(path, "update-index", "--force-remove", "--", os.fsdecode(name), env=env)
    git(path, "update-index", "-z", "--add", "--remove", "--stdin", stdin=b"\0".join(files), env=env)
    for file in nested:
        _add_as_files(path, file, env)


def _list_gitlinks(path: Path) -> list[bytes]:
    """Gitlinks in the index, if submodules are declared: .gitmodules alone may contain any path, even `../..`."""
    if not (path / ".gitmodules").is_file():
        return []
    listed = git_bytes(path, "ls-files", "-z", "--stage").split(b"\0")
    return [entry.split(b"\t", 1)[1] for entry in listed if entry.startswith(GITLINK)]


def _read_declared(path: Path, *source: str) -> dict[bytes, list[bytes]]:
    """Configuration entries (name, path, address) of each submodule by its path."""
    try:
        listed = git_bytes(path, "config", "-z", *source, "--get-regexp", r"^submodule\..*\.(path|url)$")
    except GitError:
        return {}
    sections, declared = dict[bytes, list[bytes]](), dict[bytes, list[bytes]]()
    for entry in listed.split(b"\0"):
        sections.setdefault(entry.partition(b"\n")[0].rpartition(b".")[0], []).append(entry)
    for name, entries in sections.items():
        for entry in entries:
            if entry.startswith(name + b".path\n"):
                declared.setdefault(entry.partition(b"\n")[2], []).extend(entries)
    return declared


def _is_repository(path: Path, name: bytes) -> bool:
    inner = path / os.fsdecode(name)
    return not inner.is_symlink() and os.path.lexists(inner / ".git") and has_no_link_above(path, name)


def has_no_link_above(path: Path, name: bytes) -> bool:
    """Whether the path contains no symbolic link, which may lead outside of the worktree."""
    above = (path / os.fsdecode(name)).parent
    return above.resolve() == path.resolve() / above.relative_to(path)
