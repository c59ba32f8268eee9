"""What makes a checkout ready: `[workspace] setup`, `.worktreeinclude`, and what to propose where there is neither."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from posixpath import basename

from helmsman.errors import OperatorError
from tasks.repository.git import Repository, git_bytes
from tasks.repository.objects import read_objects

INCLUDE = ".worktreeinclude"
"""Patterns as in `.gitignore`: files that git ignores and that a checkout needs all the same, such as `.env.test`."""
SECONDS = 1800  # for one command of set-up; installing everything anew takes minutes
TAIL = 2000  # characters of a failed command's output that its error shows

PROPOSED = {
    "package-lock.json": "npm ci",
    "npm-shrinkwrap.json": "npm ci",
    "pnpm-lock.yaml": "pnpm install --frozen-lockfile",
    "yarn.lock": "yarn install --frozen-lockfile",
    "bun.lock": "bun install --frozen-lockfile",
    "bun.lockb": "bun install --frozen-lockfile",
    "uv.lock": "uv sync --frozen",
    "poetry.lock": "poetry install --no-interaction",
    "Pipfile.lock": "pipenv sync --dev",
    "requirements.txt": "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
    "Gemfile.lock": "bundle install",
    "composer.lock": "composer install --no-interaction",
    "mix.lock": "mix deps.get",
    "pubspec.lock": "dart pub get --enforce-lockfile",
}
"""By lock file the command that installs exactly what it says. Go, Cargo, Gradle and Maven fetch what they need by themselves."""
MANIFESTS = frozenset({
    *PROPOSED, "package.json", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "Gemfile", "composer.json", "mix.exs",
    "pubspec.yaml", "go.mod", "go.sum", "Cargo.toml", "Cargo.lock", "requirements-dev.txt", "dev-requirements.txt",
    "pom.xml", "build.gradle", "build.gradle.kts", "gradle.lockfile", ".tool-versions", ".python-version", ".nvmrc",
})  # fmt: skip
"""Names of files that say what is installed: set-up runs again where one of them has changed."""
INSTALLED = ("node_modules", ".venv", "venv", "env", "vendor", ".tox", "target", "build", "dist")
"""Folders that git usually ignores and that checks need: which exist only in somebody's checkout is said by name."""


class SetupFailed(OperatorError):  # noqa: N818 - what happened to a command
    """A command of set-up failed."""

    def __init__(self, command: str, how: str, output: str) -> None:
        """Show the end of what it printed."""
        super().__init__(
            f"set-up failed: {command}",
            expected="every command of [workspace] setup to exit with 0 in a fresh checkout of the commit",
            found=f"{how}: {output.strip()[-TAIL:]}",
            remedy="try it in a fresh clone and correct [workspace] setup in helmsman.toml",
        )


def fingerprint(commands: Sequence[str], listed: bytes, included: Path) -> str:
    """Changes when the commands of set-up do, a lock file or manifest does, or a file that is included does.

    `listed`: the tree as `git ls-tree -r -z` prints it.
    """
    entries = (line.partition("\t") for line in listed.decode(errors="replace").split("\0"))
    manifests = [entry for entry in entries if basename(entry[2]) in MANIFESTS]
    kept = [f"{path.relative_to(included)} {path.stat().st_mtime_ns}" for path in sorted(included.rglob("*"))]
    return hashlib.sha256(json.dumps([commands, manifests, kept]).encode()).hexdigest()[:16]


def proposed(names: Iterable[str]) -> list[str]:
    """Commands to propose for the lock files in the root of a repository."""
    there = frozenset(names)
    return list(dict.fromkeys(command for lock, command in PROPOSED.items() if lock in there))


def copy_included(repository: Repository, base: str, folder: Path) -> None:
    """Copy what git ignores in the operator's checkout and what the commit's `.worktreeinclude` names.

    Links, and what lies behind one, are left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    patterns = None if repository.bare else read_objects(repository.common, [f"{base}:{INCLUDE}"])[0]
    if patterns is None:
        return
    top, rules = repository.top, folder.with_name("included.patterns")
    rules.write_bytes(patterns[1])
    for name in sorted(_listed(top, f"--exclude-from={rules}") & _listed(top, "--exclude-standard")):
        source, target = top / os.fsdecode(name), folder / os.fsdecode(name)
        if source.is_file() and not source.is_symlink() and source.resolve().is_relative_to(top.resolve()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def lay_included(folder: Path, tree: Path) -> None:
    """Put copies of the included files into a checkout, where it has nothing of that name."""
    for source in folder.rglob("*"):
        target = tree / source.relative_to(folder)
        if source.is_file() and not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _listed(top: Path, rule: str) -> set[bytes]:
    return set(git_bytes(top, "ls-files", "-z", "--others", "--ignored", rule).split(b"\0")) - {b""}
