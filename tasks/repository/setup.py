"""What makes a checkout ready: `[workspace] setup`, `.worktreeinclude`, and what to propose where there is neither.

What set-up made is kept as a copy, and put back whenever something was done to it: a build that goes on in its folders would else
have it run again each time. Files are compared by inode, size and times; nothing can be written without a new time of change.
"""

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from posixpath import basename
from typing import Any

from helmsman.errors import OperatorError
from tasks.repository.git import Repository, git_bytes
from tasks.repository.objects import read_objects
from tasks.system.files import remove, write_atomic

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

Seen = list[int]  # mode, inode, size and times of what lies at a path; of a folder the mode alone
OWN = "home", "cache"  # folders of a checkout beside the tree, which set-up may fill as well


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


class Products:
    """What lies in a checkout's folder beside the committed files. Paths are relative to that folder."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet."""
        self._folder, self._copy, self._list = folder, folder / "kept", folder / "kept.json"

    def made_by(self) -> str:
        """Fingerprint of the set-up that made what is kept; empty where none has come to its end."""
        return str(self._read().get("by", ""))

    def forget(self, untracked: Iterable[str]) -> None:
        """Back to nothing but the committed files."""
        self._list.unlink(missing_ok=True)
        for path in (self._copy, *(self._folder / name for name in (*untracked, *OWN))):
            remove(path)
        for name in OWN:
            (self._folder / name).mkdir(mode=0o700)

    def keep(self, by: str, untracked: Iterable[str]) -> None:
        """What lies there now is what set-up made."""
        remove(self._copy)
        seen = dict(self._walk([*untracked, *OWN], lambda _: True))
        for name, one in seen.items():
            self._copied(self._folder / name, self._copy / name, one[0])
        self._write(by, seen)

    def restore(self, untracked: Iterable[str]) -> None:
        """Remove what set-up did not make, and put back what it did."""
        known = self._read()
        made: dict[str, Seen] = known.get("made", {})
        found = dict(self._walk([*untracked, *OWN], made.__contains__))
        for name in reversed(found):  # what is in a folder before the folder
            if name not in made or stat.S_IFMT(made[name][0]) != stat.S_IFMT(found[name][0]):
                remove(self._folder / name)
        # a commit may have a file where set-up made its own: that one stays
        again = [
            name
            for name, one in made.items()
            if found.get(name) != one and (name in found or not os.path.lexists(self._folder / name))
        ]
        for name in again:
            target, mode = self._folder / name, made[name][0]
            if not stat.S_ISDIR(mode):
                remove(target)
            with suppress(NotADirectoryError, FileExistsError):  # a commit has a file where set-up made a folder
                self._copied(self._copy / name, target, mode)
                made[name] = _seen(target.lstat())
        if again:
            self._write(str(known["by"]), made)

    @staticmethod
    def _copied(source: Path, target: Path, mode: int) -> None:
        if stat.S_ISDIR(mode):
            target.mkdir(parents=True, exist_ok=True)
            target.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
        elif stat.S_ISLNK(mode) or stat.S_ISREG(mode):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)

    def _walk(self, tops: Iterable[str], enter: Callable[[str], bool]) -> Iterator[tuple[str, Seen]]:
        """What lies there, folders before what is in them. Of a folder that is not to be entered only itself."""
        names = list(reversed([top.rstrip("/") for top in tops]))
        while names:
            name = names.pop()
            try:
                found = (self._folder / name).lstat()
            except FileNotFoundError:
                continue
            yield name, _seen(found)
            if stat.S_ISDIR(found.st_mode) and enter(name):
                folder = self._folder / name
                if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                    folder.chmod(stat.S_IRWXU)  # we can read and write it from now on
                names += [f"{name}/{inner}" for inner in os.listdir(folder)]  # noqa: PTH208 - names are enough

    def _read(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._list.read_text(encoding="utf-8", errors="surrogateescape")))
        except (OSError, ValueError, TypeError):
            return {}

    def _write(self, by: str, made: dict[str, Seen]) -> None:
        write_atomic(self._list, json.dumps({"by": by, "made": made}).encode(errors="surrogateescape"))


def _seen(found: os.stat_result) -> Seen:
    if stat.S_ISDIR(found.st_mode):
        return [found.st_mode]
    return [found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
