"""What set-up made in a checkout: kept as a copy, and put back whenever something was done to it.

Files are compared by inode, size and times; nothing can be written without a new time of change. What set-up did not make is
removed. A copy, because a build that goes on in set-up's folders would else have it run again each time.
"""

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tasks.repository.staging import open_up
from tasks.system.files import write_atomic

Seen = list[int]  # mode, inode, size and times of what lies at a path; of a folder the mode alone
OWN = "home", "cache"  # folders of a checkout beside the tree, which set-up may fill as well


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


def remove(path: Path) -> None:
    """Remove what lies there, whatever it is; a folder that was made read-only too, as Go makes those of its modules."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        open_up(path)
        shutil.rmtree(path)


def _seen(found: os.stat_result) -> Seen:
    if stat.S_ISDIR(found.st_mode):
        return [found.st_mode]
    return [found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
