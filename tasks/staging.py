"""What of a worktree counts as work, and bringing git's index up to it: junk, submodules, repositories inside repositories."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from tasks.git import GitError, git, git_bytes

JUNK = (
    "**/__pycache__/**",
    "**/*.pyc",
    "**/.pytest_cache/**",
    "**/.mypy_cache/**",
    "**/.ruff_cache/**",
    "**/.hypothesis/**",
    "**/node_modules/**",
    "**/.venv/**",
    "**/.coverage",
    "**/.DS_Store",
)
"""Left lying about by tools and ignored by most repositories; never work, so never committed by us."""

NO_WORK = (*JUNK, ".helmsman/**")
WORK = (".", *(f":(exclude,glob){pattern}" for pattern in NO_WORK))
"""Paths that count: everything but junk and the loop's own files."""

GITLINK = b"160000 "
SOME_FAILED = 1
"""Exit code of an add that went on after a file that it could not add."""


def stage(path: Path, env: Mapping[str, str] | None = None) -> None:
    """Bring the index up to the worktree: what is there is in it, whatever was done to hide it."""
    _show_hidden(path, env)
    try:
        _add(path, env)
    except GitError as error:
        if error.code != SOME_FAILED:
            raise
        open_up(path)
        _add_what_can_be(path, env)
    for name in _embedded(path, env):
        _absorb(path, name, env)


def unstage_junk(path: Path) -> None:
    """Take out what an agent's own `git add --all` swept in. Junk that is in the repository already stays in it."""
    junk = (f":(glob){pattern}" for pattern in NO_WORK)
    added = git_bytes(path, "diff", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=A", "--", *junk)
    if added:
        git(path, "update-index", "-z", "--force-remove", "--stdin", stdin=added)


def open_up(path: Path) -> None:
    """Give ourselves the rights that git needs: tools write read-only caches, and agents play with modes."""
    _permit(path)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            _permit(Path(folder, name))


def submodules(path: Path) -> list[Path]:
    """Folders of the submodules that are checked out."""
    return [path / os.fsdecode(name) for name in _declared_links(path) if _is_repository(path, name)]


def missing_submodules(path: Path) -> list[str]:
    return [os.fsdecode(name) for name in _declared_links(path) if not _is_repository(path, name)]


def _permit(path: Path) -> None:
    if path.is_symlink():
        return
    with contextlib.suppress(OSError):  # somebody else's: git will say so
        path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))


def _add(path: Path, env: Mapping[str, str] | None) -> None:
    git(path, "add", "--all", "--ignore-errors", "--", *WORK, env=env)


def _add_what_can_be(path: Path, env: Mapping[str, str] | None) -> None:
    try:
        _add(path, env)
    except GitError as error:
        if error.code != SOME_FAILED:
            raise


def _show_hidden(path: Path, env: Mapping[str, str] | None) -> None:
    """Undo assume-unchanged, and skip-worktree on files that are there: a change must not pass the checks and miss the commit."""
    listed = [entry for entry in git_bytes(path, "ls-files", "-z", "-v", env=env).split(b"\0") if entry]
    assumed = [entry[2:] for entry in listed if entry[:1].islower()]
    skipped = [entry[2:] for entry in listed if entry[:1] in b"Ss" and os.path.lexists(path / os.fsdecode(entry[2:]))]
    for flag, names in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
        if names:
            git(path, "update-index", flag, "-z", "--stdin", stdin=b"\0".join(names), env=env)


def _embedded(path: Path, env: Mapping[str, str] | None) -> list[bytes]:
    """Repositories that somebody made inside this one. Git keeps no more of them than a commit id that nobody else has."""
    listed = git_bytes(path, "ls-files", "-z", "--stage", "--others", "--exclude-standard", "--", *WORK, env=env).split(b"\0")
    links = [entry.split(b"\t", 1)[1] for entry in listed if entry.startswith(GITLINK)]
    without_commit = [entry.rstrip(b"/") for entry in listed if entry.endswith(b"/")]
    declared = _declared(path)
    return [name for name in (*links, *without_commit) if name not in declared and _is_repository(path, name)]


def _absorb(path: Path, name: bytes, env: Mapping[str, str] | None) -> None:
    """Put the files of a repository inside ours into our index as what they are: files."""
    inner = path / os.fsdecode(name)
    listed = git_bytes(inner, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *WORK)
    names = {name + b"/" + found.rstrip(b"/") for found in listed.split(b"\0") if found}
    deeper = {found for found in names if _is_repository(path, found)}
    files = {found for found in names - deeper if _lies_there(path, found)}
    git(path, "update-index", "--force-remove", "--", os.fsdecode(name), env=env)
    git(path, "update-index", "-z", "--add", "--remove", "--stdin", stdin=b"\0".join(files), env=env)
    for found in deeper:
        _absorb(path, found, env)


def _declared_links(path: Path) -> list[bytes]:
    """Only what the index links to: .gitmodules alone may say anything, `../..` too."""
    declared = _declared(path)
    if not declared:
        return []
    listed = git_bytes(path, "ls-files", "-z", "--stage").split(b"\0")
    links = (entry.split(b"\t", 1)[1] for entry in listed if entry.startswith(GITLINK))
    return [name for name in links if name in declared]


def _declared(path: Path) -> set[bytes]:
    if not (path / ".gitmodules").is_file():
        return set()
    try:
        listed = git_bytes(path, "config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    except GitError:
        return set()
    return {entry.split(b"\n", 1)[1] for entry in listed.split(b"\0") if b"\n" in entry}


def _is_repository(path: Path, name: bytes) -> bool:
    inner = path / os.fsdecode(name)
    return not inner.is_symlink() and (inner / ".git").exists() and _lies_there(path, name)


def _lies_there(path: Path, name: bytes) -> bool:
    """Whether no symbolic link is on the way: what one leads to is none of ours."""
    above = (path / os.fsdecode(name)).parent
    return above.resolve() == path.resolve() / above.relative_to(path)
