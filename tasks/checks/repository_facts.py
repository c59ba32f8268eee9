"""What there is to know of a repository before anybody works in it: read from its last commit, bounded, and nothing is run."""

from collections.abc import Sequence

from helmsman.config import LoopConfig
from helmsman.parsers.project import find_commands
from helmsman.plain import clean, clean_lines
from helmsman.records.alignment import RepositoryFacts
from tasks.checks.project_commands import LARGEST_TEXT, read_project
from tasks.repository.git import Repository, commit_and_tree, git
from tasks.repository.objects import FILE_MODES, FOLDER, Entry, folder_entries, read_objects, read_sizes, root_entries
from tasks.system.secrets import redact

MOST_NAMES = 300
MOST_FOLDERS = 40
"""Folders of the root that are looked into."""
COMMITS = 15
LONGEST_NAME, LONGEST_SUBJECT, LONGEST_TEXT = 200, 200, 6_000
"""Characters."""
GUIDES = ("agents.md", "claude.md")


def gather_facts(repository: Repository, config: LoopConfig) -> RepositoryFacts:
    """Names, README, what agents are told, commands that the files name, subjects of commits; free of our secrets."""
    commit, _ = commit_and_tree(repository.top)
    root = root_entries(repository.common, commit)
    folders = [entry for entry in root if entry.mode == FOLDER][:MOST_FOLDERS]
    below = [entry for folder in folders for entry in folder_entries(repository.common, folder)]
    names = [clean(one.path)[:LONGEST_NAME] + ("/" if one.mode == FOLDER else "") for one in (*root, *below)]
    subjects = git(repository.top, "log", "-z", f"--max-count={COMMITS}", "--format=%s", commit).split("\0")
    found = find_commands(read_project(repository)).candidates
    return RepositoryFacts(
        commit=commit,
        files=tuple(redact(name) for name in sorted(names[:MOST_NAMES])),
        left_out=max(0, len(names) - MOST_NAMES),
        readme=_text(repository, root, "readme"),
        guides="\n\n".join(filter(None, (_text(repository, root, guide) for guide in GUIDES))),
        commands={one.command: f"{one.kind}; {one.where}" for one in found},
        commits=tuple(redact(clean(subject)[:LONGEST_SUBJECT]) for subject in subjects if subject.strip()),
        checks=tuple(redact(check.command) for check in config.checks),
        criteria=tuple(redact(criterion.text) for criterion in config.judge.criteria),
    )


def _text(repository: Repository, root: Sequence[Entry], beginning: str) -> str:
    """The beginning of the root's first file whose name begins so."""
    wanted = [entry for entry in root if entry.path.lower().startswith(beginning) and entry.mode in FILE_MODES]
    sizes = zip(wanted, read_sizes(repository.common, [entry.id for entry in wanted]), strict=True)
    entry = next((entry for entry, size in sizes if size and size <= LARGEST_TEXT), None)
    found = read_objects(repository.common, [entry.id])[0] if entry else None
    if found is None:
        return ""
    return redact(clean_lines(found[1].decode("utf-8-sig", errors="replace")).strip())[:LONGEST_TEXT]
