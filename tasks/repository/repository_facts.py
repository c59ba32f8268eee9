"""What there is to know of a repository before anybody works in it: read from its last commit, bounded, and nothing is run."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from helmsman.config import LoopConfig
from helmsman.orient.commands import find_commands
from helmsman.plain import clean, clean_lines
from helmsman.records.alignment import FoundCommand, RepositoryFacts
from tasks.checking.detecting import FILE_MODES, LARGEST_TEXT, read_project
from tasks.repository.git import Repository, commit_and_tree, git, git_bytes, read_objects
from tasks.system.secrets import redact

MOST_NAMES = 300
MOST_FOLDERS = 40
"""Folders of the root that are looked into."""
COMMITS = 15
LONGEST_NAME, LONGEST_SUBJECT, LONGEST_TEXT = 200, 200, 6_000
"""Characters."""
GUIDES = ("agents.md", "claude.md")


@dataclass(frozen=True)
class _Entry:
    mode: str
    kind: str
    oid: str
    size: int
    path: str

    @property
    def shown(self) -> str:
        return clean(self.path)[:LONGEST_NAME] + ("/" if self.kind == "tree" else "")


def gather_facts(repository: Repository, config: LoopConfig) -> RepositoryFacts:
    """Names, README, what agents are told, commands that the files name, subjects of commits; free of our secrets."""
    commit, _ = commit_and_tree(repository.top)
    root = _listed(repository, commit)
    names = [entry.shown for entry in (*root, *_below(repository, commit, root))]
    found = find_commands(read_project(repository)).candidates
    return RepositoryFacts(
        commit=commit,
        files=tuple(_safe(name) for name in sorted(names[:MOST_NAMES])),
        left_out=max(0, len(names) - MOST_NAMES),
        readme=_text(repository, root, "readme"),
        guides="\n\n".join(filter(None, (_text(repository, root, guide) for guide in GUIDES))),
        commands=tuple(FoundCommand(command=one.command, kind=one.kind, where=one.where) for one in found),
        commits=tuple(_subjects(repository, commit)),
        checks=tuple(_safe(check.command) for check in config.checks),
        criteria=tuple(_safe(criterion.text) for criterion in config.judge.criteria),
    )


def _below(repository: Repository, commit: str, root: Sequence[_Entry]) -> list[_Entry]:
    """What lies in the folders of the root. A name that git could take for an option is not asked for."""
    folders = [entry.path for entry in root if entry.kind == "tree" and not entry.path.startswith("-")]
    return _listed(repository, commit, *(f"{name}/" for name in folders[:MOST_FOLDERS])) if folders else []


def _listed(repository: Repository, commit: str, *paths: str) -> list[_Entry]:
    listed = git_bytes(repository.top, "ls-tree", "-z", "-l", "--full-tree", commit, *paths)
    return [_entry(os.fsdecode(line)) for line in listed.split(b"\0") if line]


def _entry(line: str) -> _Entry:
    """From `100644 blob ID SIZE<tab>path`; folders have a dash for a size."""
    head, _, path = line.partition("\t")
    mode, kind, oid, size = head.split()
    return _Entry(mode, kind, oid, int(size) if size.isdigit() else 0, path)


def _text(repository: Repository, root: Sequence[_Entry], beginning: str) -> str:
    """The beginning of the root's first file whose name begins so."""
    wanted = (entry for entry in root if entry.path.lower().startswith(beginning) and entry.mode in FILE_MODES)
    entry = next((entry for entry in wanted if 0 < entry.size <= LARGEST_TEXT), None)
    found = read_objects(repository.common, [entry.oid])[0] if entry else None
    if found is None:
        return ""
    return _safe(clean_lines(found[1].decode("utf-8-sig", errors="replace")).strip())[:LONGEST_TEXT]


def _subjects(repository: Repository, commit: str) -> Iterator[str]:
    printed = git(repository.top, "log", "-z", f"--max-count={COMMITS}", "--format=%s", commit)
    yield from (_safe(clean(subject)[:LONGEST_SUBJECT]) for subject in printed.split("\0") if subject.strip())


def _safe(text: str) -> str:
    return redact(text)
