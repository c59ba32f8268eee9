"""The wiki of a repository's loops: current pages, an archive of every completed loop, and a read-only copy for the agent.

It is informational: its errors are reported, and no loop stops for them. Loops that complete at the same time need no lock:
each page and each archive file is written atomically, and INDEX.md is generated from the files present.
"""

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from helmsman.memory import wiki
from helmsman.records.state import LoopState
from tasks.loop.oversee import read_instructions
from tasks.repository.git import Repository, git_bytes
from tasks.repository.loop_context import LoopContext
from tasks.repository.state_ref import read_records
from tasks.system.files import FOR_ALL, read_text, read_within, remove, write_atomic
from tasks.system.paths import helmsman_folder
from tasks.system.secrets import redact

READ_ONLY = 0o444
COPY_BYTES = 1_000_000  # total size of an agent's copy


def wiki_folder(repository: Repository) -> Path:
    """Next to the loops' folders, so that all loops share it."""
    return helmsman_folder(repository.common) / "wiki"


def update_wiki(context: LoopContext, state: LoopState) -> None:
    """Archive a completed loop, once, and update the generated parts of the pages."""
    if not state.config.memory.wiki:
        return
    folder = wiki_folder(context.repository)
    # the summary is written last
    if not (folder / "loops" / wiki.archive_name(state) / wiki.SUMMARY).exists():
        records = list(islice(read_records(context.repository, state.loop), wiki.MOST_ITERATIONS))
        for name, text in wiki.archive_files(state, records[::-1]).items():
            _write(folder / name, text, READ_ONLY)
    for name, body in _pages(folder, context, state).items():
        page = folder / name
        _write(page, wiki.update_page(name, body, read_text(page, "a Markdown file") if os.path.lexists(page) else ""))


def _pages(folder: Path, context: LoopContext, state: LoopState) -> Mapping[str, str]:
    listed = git_bytes(context.repository.common, "ls-tree", "-r", "-z", "--name-only", "--full-tree", state.head).split(b"\0")
    loops, decisions = (sorted((folder / name).glob("*"), key=os.path.getmtime) for name in ("loops", "decisions"))
    pages = {
        wiki.SPEC: wiki.spec_page(state),
        wiki.MAP: wiki.map_page([os.fsdecode(name) for name in listed if name]),
        wiki.INDEX: wiki.index_page([path.name for path in loops], [path.stem for path in decisions]),
    }
    if context.worktree.exists():  # removed with its documents after an earlier end of the loop
        pages[wiki.CONSTRAINTS] = wiki.constraints_page(read_instructions(context.worktree, state.config))
    return pages


def copy_wiki(context: LoopContext, state: LoopState) -> None:
    """Replace the worktree's read-only copy, of limited size: INDEX first, then the newest pages.

    Helmsman's own folder in the worktree already exists and is writable.
    """
    if not state.config.memory.wiki:
        return
    source, copy, room = wiki_folder(context.repository), context.worktree / ".helmsman" / "wiki", COPY_BYTES
    remove(copy)
    copy.mkdir()
    (copy / ".gitignore").write_text("*\n")
    pages = sorted(source.rglob("*.md"), key=lambda page: (page.name == wiki.INDEX, os.lstat(page).st_mtime), reverse=True)
    for page in pages:
        name = page.relative_to(source)
        content = read_within(source, str(name), room + 1) or b""
        room -= len(content)
        if room < 0:
            return
        if content:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes(content)
            (copy / name).chmod(READ_ONLY)


def _write(path: Path, text: str, mode: int = FOR_ALL) -> None:
    write_atomic(path, redact(text).encode(errors="replace"), mode=mode)
