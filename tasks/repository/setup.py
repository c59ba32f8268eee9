"""Set up a checkout: `[workspace] setup`, `.worktreeinclude`, and commands to propose if there is neither.

A copy of the files that set-up created is kept, and restored when they change: if not, a build in its folders would make set-up
run again each time. Files are compared by inode, size and times; every write changes the ctime.
"""

import hashlib
import json
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from posixpath import basename

from helmsman.errors import OperatorError
from helmsman.verify.touched import files_run
from tasks.repository.git import Repository, git_bytes
from tasks.repository.objects import read_objects
from tasks.system.files import is_below_link, read_json, remove, write_atomic

INCLUDE = ".worktreeinclude"
"""Patterns as in `.gitignore` for ignored files that a checkout needs nevertheless, such as `.env.test`."""
SETUP_SECONDS = 1800  # for one set-up command; a full installation takes minutes
LARGEST_SCRIPT = 200_000  # bytes of a file that is searched for further commands
TAIL_CHARACTERS = 2000  # characters of a failed command's output in the error

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
"""Command that installs exactly the content of each lock file. Go, Cargo, Gradle and Maven fetch packages by themselves."""
MANIFESTS = frozenset({
    *PROPOSED, "package.json", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "Gemfile", "composer.json", "mix.exs",
    "pubspec.yaml", "go.mod", "go.sum", "Cargo.toml", "Cargo.lock", "requirements-dev.txt", "dev-requirements.txt",
    "pom.xml", "build.gradle", "build.gradle.kts", "gradle.lockfile", ".tool-versions", ".python-version", ".nvmrc",
})  # fmt: skip
"""Names of files that determine what is installed: set-up runs again if one of them changes."""
INSTALLED = ("node_modules", ".venv", "venv", "env", "vendor", ".tox", "target", "build", "dist")
"""Folders that git usually ignores and that checks need; errors name those that exist only in the user's checkout."""

Stamp = list[int]  # mode, inode, size and times of a path; of a folder only the mode
OWN_FOLDERS = "home", "cache"  # folders of a checkout next to the tree, which set-up may also fill


class SetupFailed(OperatorError):  # noqa: N818 - the outcome of a command
    """A set-up command failed."""

    def __init__(self, command: str, outcome: str, output: str) -> None:
        """Include the end of the output."""
        super().__init__(
            f"set-up failed: {command}",
            expected="every command of [workspace] setup to exit with 0 in a fresh checkout of the commit",
            found=f"{outcome}: {output.strip()[-TAIL_CHARACTERS:]}",
            remedy="try it in a fresh clone and correct [workspace] setup in helmsman.toml",
        )


def fingerprint(commands: Sequence[str], listed: bytes, included: Path, tree: Path) -> str:
    """Hash of the set-up commands, lock files and manifests, the scripts and recipes that set-up runs, and included files.

    `listed`: the tree as printed by `git ls-tree -r -z`; `tree`: the folder with its files.
    """

    def read(name: str) -> str:
        path = tree / name
        # not `path.is_file()`: the code in `python -c` is no path, and may be longer than one
        is_file = os.path.isfile(path) and not path.is_symlink() and not is_below_link(tree, path)  # noqa: PTH113
        return path.read_text(encoding="utf-8", errors="replace") if is_file and path.stat().st_size <= LARGEST_SCRIPT else ""

    entries, run = (line.partition("\t") for line in listed.decode(errors="replace").split("\0")), {*files_run(commands, read)}
    manifests = [entry for entry in entries if basename(entry[2]) in MANIFESTS or entry[2] in run]
    included_files = [f"{path.relative_to(included)} {path.stat().st_mtime_ns}" for path in sorted(included.rglob("*"))]
    return hashlib.sha256(json.dumps([commands, manifests, included_files]).encode()).hexdigest()[:16]


def propose_setup(names: Iterable[str], folder: str = "") -> list[str]:
    """Commands to propose for the lock files in a folder with these names; the root by default."""
    existing, change = frozenset(names), f"cd {shlex.quote(folder)} && " if folder else ""
    return list(dict.fromkeys(f"{change}{command}" for lock, command in PROPOSED.items() if lock in existing))


def copy_included(repository: Repository, base: str, folder: Path) -> None:
    """Copy the files of the operator's checkout that git ignores and the commit's `.worktreeinclude` matches.

    Skips links, and files below linked folders.
    """
    folder.mkdir(parents=True, exist_ok=True)
    patterns = None if repository.bare else read_objects(repository.common, [f"{base}:{INCLUDE}"])[0]
    if patterns is None:
        return
    top, rules = repository.top, folder.with_name("included.patterns")
    rules.write_bytes(patterns[1])
    for name in sorted(_list_ignored(top, f"--exclude-from={rules}") & _list_ignored(top, "--exclude-standard")):
        source, target = top / os.fsdecode(name), folder / os.fsdecode(name)
        if source.is_file() and not source.is_symlink() and source.resolve().is_relative_to(top.resolve()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def place_included(folder: Path, tree: Path) -> None:
    """Copy the included files into a checkout, unless the commit has a file or a link at that path."""
    for source in folder.rglob("*"):
        target = tree / source.relative_to(folder)
        if source.is_file() and not os.path.lexists(target) and not is_below_link(tree, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _list_ignored(top: Path, rule: str) -> set[bytes]:
    return set(git_bytes(top, "ls-files", "-z", "--others", "--ignored", rule).split(b"\0")) - {b""}


class Products:
    """Files in a checkout's folder besides the committed ones. Paths are relative to that folder."""

    def __init__(self, folder: Path) -> None:
        """Store the paths; read nothing yet."""
        self._folder, self._copy, self._list = folder, folder / "kept", folder / "kept.json"

    def stored_fingerprint(self) -> str:
        """Fingerprint of the set-up that created the kept files; empty if none has finished."""
        return str(read_json(self._list).get("by", ""))

    def forget(self, untracked: Iterable[str]) -> None:
        """Remove everything but the committed files."""
        self._list.unlink(missing_ok=True)
        for path in (self._copy, *(self._folder / name for name in (*untracked, *OWN_FOLDERS))):
            remove(path)
        for name in OWN_FOLDERS:
            (self._folder / name).mkdir(mode=0o700)

    def keep(self, by: str, untracked: Iterable[str]) -> None:
        """Record the current files as those that set-up created."""
        remove(self._copy)
        stamps = dict(self._walk([*untracked, *OWN_FOLDERS], lambda _: True))
        for name, stamp in stamps.items():
            self._copy_entry(self._folder / name, self._copy / name, stamp[0])
        self._write(by, stamps)

    def restore(self, untracked: Iterable[str]) -> None:
        """Remove files that set-up did not create, and restore those that it did."""
        recorded = read_json(self._list)
        created: dict[str, Stamp] = recorded.get("made", {})
        present = dict(self._walk([*untracked, *OWN_FOLDERS], created.__contains__))
        for name in reversed(present):  # the content of a folder before the folder
            if name not in created or stat.S_IFMT(created[name][0]) != stat.S_IFMT(present[name][0]):
                remove(self._folder / name)
        # a commit may have a file or a link at a path of set-up: the commit's stays
        to_restore = [
            name
            for name, stamp in created.items()
            if present.get(name) != stamp and (name in present or not os.path.lexists(self._folder / name))
        ]
        for name in to_restore:
            target, mode = self._folder / name, created[name][0]
            if is_below_link(self._folder, target):
                continue
            if not stat.S_ISDIR(mode):
                remove(target)
            with suppress(NotADirectoryError, FileExistsError):  # a commit has a file where set-up created a folder
                self._copy_entry(self._copy / name, target, mode)
                created[name] = _stamp_of(target.lstat())
        if to_restore:
            self._write(str(recorded["by"]), created)

    @staticmethod
    def _copy_entry(source: Path, target: Path, mode: int) -> None:
        if stat.S_ISDIR(mode):
            target.mkdir(parents=True, exist_ok=True)
            target.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
        elif stat.S_ISLNK(mode) or stat.S_ISREG(mode):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)

    def _walk(self, tops: Iterable[str], enter: Callable[[str], bool]) -> Iterator[tuple[str, Stamp]]:
        """Yield paths with their stamps, folders before their content. Descends only into folders for which `enter` is true."""
        names = list(reversed([top.rstrip("/") for top in tops]))
        while names:
            name = names.pop()
            try:
                status = (self._folder / name).lstat()
            except FileNotFoundError:
                continue
            yield name, _stamp_of(status)
            if stat.S_ISDIR(status.st_mode) and enter(name):
                folder = self._folder / name
                if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                    folder.chmod(stat.S_IRWXU)  # make it readable and writable for us
                names += [f"{name}/{inner}" for inner in os.listdir(folder)]  # noqa: PTH208 - names are enough

    def _write(self, by: str, made: dict[str, Stamp]) -> None:
        write_atomic(self._list, json.dumps({"by": by, "made": made}).encode(errors="surrogateescape"))


def _stamp_of(status: os.stat_result) -> Stamp:
    if stat.S_ISDIR(status.st_mode):
        return [status.st_mode]
    return [status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
