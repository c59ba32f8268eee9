"""What lies in a commit, folder by folder, read from its tree objects. For all of a commit `ls-tree -r` is quicker."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tasks.repository.objects import missing_object, read_headers, read_object, read_objects

FOLDER = "040000"
LINK = "120000"
FILE_MODES = frozenset({"100644", "100755"})
"""Neither a symbolic link, which may lead anywhere, nor a submodule."""


@dataclass(frozen=True)
class Entry:
    """One name in a folder of a commit."""

    mode: str
    id: str
    path: str
    """From the root; bytes that are no text as `os.fsdecode` has them."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def root_entries(cwd: Path, commit: str) -> list[Entry]:
    """What lies at the root of a commit, or of a tree. Raises OperatorError where there is none."""
    found = read_objects(cwd, [f"{commit}^{{tree}}"])[0]
    if found is None:
        raise missing_object(cwd, f"{commit}^{{tree}}")
    return list(_entries(found, ""))


def folder_entries(cwd: Path, folder: Entry) -> list[Entry]:
    """What lies in a folder."""
    return list(_entries((folder.id, read_object(cwd, folder.id)), f"{folder.path}/"))


def entry_at(cwd: Path, commit: str, path: str) -> Entry | None:
    """What a commit has under exactly that path; None where there is nothing."""
    entries, found = root_entries(cwd, commit), None
    for part in path.split("/"):
        if found is not None:
            if found.mode != FOLDER:
                return None
            entries = folder_entries(cwd, found)
        found = next((entry for entry in entries if entry.name == part), None)
        if found is None:
            return None
    return found


def entries_in(cwd: Path, commit: str, path: str) -> list[Entry]:
    """What lies in the folder of that path; nothing where there is no such folder."""
    found = entry_at(cwd, commit, path)
    return folder_entries(cwd, found) if found is not None and found.mode == FOLDER else []


def size_of(cwd: Path, entry: Entry) -> int:
    """Bytes of a file that has to be there. Raises OperatorError where it is not."""
    header = read_headers(cwd, [entry.id])[0]
    if header is None:
        raise missing_object(cwd, f"{entry.id} ({entry.path})")
    return header.size


def sizes(cwd: Path, entries: Iterable[Entry]) -> dict[str, int]:
    """Bytes of those files, by id; what is missing from the repository is left out."""
    names = list(dict.fromkeys(entry.id for entry in entries))
    return {header.id: header.size for header in read_headers(cwd, names) if header is not None}


def _entries(tree: tuple[str, bytes], prefix: str) -> Iterator[Entry]:
    """`MODE NAME<nul>ID` one after the other; ids are bytes, as many as half of the digits of any other id."""
    name, content = tree
    length, start = len(name) // 2, 0
    while start < len(content):
        blank, end = content.index(b" ", start), content.index(b"\0", start)
        mode, path = content[start:blank].decode().zfill(6), prefix + os.fsdecode(content[blank + 1 : end])
        start = end + 1 + length
        yield Entry(mode, content[end + 1 : start].hex(), path)
