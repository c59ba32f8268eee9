"""The wiki beside the loops: pages that are kept up to date, an archive of every completed loop, a copy for the agent to read.

It only tells: whatever is wrong with it is said in words, and no loop stops for it. Loops that complete at the same time need no
lock: each page and each archive is written whole, and INDEX.md is made anew of what lies there.
"""

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from helmsman.memory import wiki
from helmsman.records.state import LoopState
from tasks.repository.git import Repository, git_bytes
from tasks.repository.instructions import read_orders
from tasks.repository.loop_context import LoopContext
from tasks.repository.state_ref import read_records
from tasks.system.files import FOR_ALL, read_text, read_within, remove, write_atomic
from tasks.system.paths import helmsman_folder
from tasks.system.secrets import redact

READ_ONLY = 0o444
LAID_BYTES = 1_000_000  # of all that is laid out for an agent


def wiki_folder(repository: Repository) -> Path:
    """Beside the loops, so that all of them have the same one."""
    return helmsman_folder(repository.common) / "wiki"


def keep_up(context: LoopContext, state: LoopState) -> None:
    """Archive a completed loop for ever, unless that was done already, and renew our parts of the pages."""
    if not state.config.memory.wiki:
        return
    folder = wiki_folder(context.repository)
    # of an archive's files the summary comes last
    if not (folder / "loops" / wiki.archive_name(state) / wiki.SUMMARY).exists():
        records = list(islice(read_records(context.repository, state.loop), wiki.MOST_ITERATIONS))
        for name, text in wiki.archive_files(state, records[::-1]).items():
            _write(folder / name, text, READ_ONLY)
    for name, body in _pages(folder, context, state).items():
        page = folder / name
        _write(page, wiki.renewed(name, body, read_text(page, "a Markdown file") if os.path.lexists(page) else ""))


def _pages(folder: Path, context: LoopContext, state: LoopState) -> Mapping[str, str]:
    listed = git_bytes(context.repository.common, "ls-tree", "-r", "-z", "--name-only", "--full-tree", state.head).split(b"\0")
    loops, decisions = (sorted((folder / name).glob("*"), key=os.path.getmtime) for name in ("loops", "decisions"))
    pages = {
        wiki.SPEC: wiki.spec_page(state),
        wiki.MAP: wiki.map_page([os.fsdecode(name) for name in listed if name]),
        wiki.INDEX: wiki.index_page([one.name for one in loops], [one.stem for one in decisions]),
    }
    if context.worktree.exists():  # else it was tidied away at the end before this one, and the documents in it
        pages[wiki.CONSTRAINTS] = wiki.constraints_page(read_orders(context.worktree, state.config))
    return pages


def lay_out(context: LoopContext, state: LoopState) -> None:
    """A read-only copy in the worktree, bounded: INDEX first, then what was written last, in the place of whatever lies there.

    Helmsman's own folder in the worktree is there already, and can be written to.
    """
    if not state.config.memory.wiki:
        return
    source, laid, room = wiki_folder(context.repository), context.worktree / ".helmsman" / "wiki", LAID_BYTES
    remove(laid)
    laid.mkdir()
    (laid / ".gitignore").write_text("*\n")
    pages = sorted(source.rglob("*.md"), key=lambda page: (page.name == wiki.INDEX, os.lstat(page).st_mtime), reverse=True)
    for page in pages:
        name = page.relative_to(source)
        content = read_within(source, str(name), room + 1) or b""
        room -= len(content)
        if room < 0:
            return
        if content:
            (laid / name).parent.mkdir(parents=True, exist_ok=True)
            (laid / name).write_bytes(content)
            (laid / name).chmod(READ_ONLY)


def _write(path: Path, text: str, mode: int = FOR_ALL) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, redact(text).encode(errors="replace"), mode=mode)
