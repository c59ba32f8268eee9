"""The wiki beside the loops: pages that are kept up to date, an archive of every completed loop, a copy for the agent to read.

It only tells: whatever is wrong with it is said in words, and no loop stops for it.

An agent or a person may have put anything there: files are read with bounds, and written in one step. Loops that complete at the
same time need no lock: each page and each archive is written whole, and INDEX.md is made anew of what lies there.
"""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import islice
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.memory import wiki
from helmsman.plain import clean, one_line
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import Repository, git_bytes
from tasks.repository.instructions import read_orders
from tasks.repository.loop_context import LoopContext
from tasks.repository.state_ref import read_records
from tasks.system.files import FOR_ALL, read_within, remove, write_atomic
from tasks.system.paths import helmsman_folder
from tasks.system.secrets import redact

LARGEST = 256_000  # bytes of a page
READ_ONLY = 0o444
MOST_DECISIONS, MOST_ARCHIVES = 500, 2_000
"""Pages of decisions; what comes after them is reported and not written. Archives that are looked at."""
LAID_DECISIONS, LAID_LOOPS, LAID_PAGES = 50, 20, 20
LAID_BYTES = 1_000_000  # of all that is laid out for an agent
_Work = Callable[[Path, LoopContext, LoopState], Iterator[str]]


def wiki_folder(repository: Repository) -> Path:
    """Beside the loops, so that all of them have the same one."""
    return helmsman_folder(repository.common) / "wiki"


def _telling(work: _Work) -> Callable[[LoopContext, LoopState], tuple[str, ...]]:
    """Work in the wiki's folder that returns what is wrong, in words; where no wiki is wanted, nothing is done."""

    @wraps(work)
    def done(context: LoopContext, state: LoopState) -> tuple[str, ...]:
        if not state.config.memory.wiki:
            return ()
        try:
            return tuple(work(_real(wiki_folder(context.repository)), context, state))
        except (HelmsmanError, OSError, ValueError) as error:
            return (one_line(str(error))[:500],)

    return done


@_telling
def keep_up(folder: Path, context: LoopContext, state: LoopState) -> Iterator[str]:
    """Make the pages that are missing, and renew our parts of the others."""
    orders = read_orders(context.worktree, state.config) if context.worktree.is_dir() else ()
    listed = git_bytes(context.repository.common, "ls-tree", "-r", "-z", "--name-only", "--full-tree", state.head).split(b"\0")
    yield from _renew(folder, wiki.SPEC, wiki.spec_page(state))
    yield from _renew(folder, wiki.MAP, wiki.map_page([os.fsdecode(name) for name in listed if name]))
    yield from _renew(folder, wiki.CONSTRAINTS, wiki.constraints_page(orders))
    yield from _renew(folder, wiki.INDEX, _index(folder))


def _renew(folder: Path, name: str, body: str) -> Iterator[str]:
    """Our part of a page, and nothing else of it."""
    try:
        old = _page(folder, name)
        new = wiki.renewed(name, body, old)
        if new is None:
            yield f"{name} of the wiki has no part between the two markers any more, so it is left as it is"
        elif new != old:
            _write(folder / name, new)
    except HelmsmanError as error:
        yield one_line(str(error))[:500]


def _index(folder: Path) -> str:
    decisions = [(name, wiki.title_of(text)) for name, text in _decisions(folder)]
    return wiki.index_page(_archives(folder), decisions)


def archive(context: LoopContext, state: LoopState) -> tuple[str, ...]:
    """Write down a completed loop for ever, its decisions and what happened, unless that was done already."""
    return _archived(context, state) if state.outcome is Outcome.COMPLETED else ()


@_telling
def _archived(folder: Path, context: LoopContext, state: LoopState) -> Iterator[str]:
    """Under the loop's own name, unless an earlier loop of that name has it."""
    names = state.loop, f"{state.loop}-{wiki.slug(state.uid)[:16]}"
    free = next((name for name in names if not os.path.lexists(folder / "loops" / name / wiki.SUMMARY)), "")
    if not any(wiki.uid_line(state) in _quietly(folder, f"loops/{name}/{wiki.SUMMARY}").split("\n") for name in names):
        if not free:
            raise OperatorError(f"loops/{names[1]} of the wiki is unchanged", expected="this loop's archive, or nothing")
        yield from _write_decisions(folder, state)
        records = list(islice(read_records(context.repository, state.loop), wiki.MOST_ITERATIONS))
        files = wiki.archive_files(state, records[::-1])
        for name in sorted(files, key=lambda name: name == wiki.SUMMARY):  # the last one shows that all of them are there
            _write(folder / "loops" / free / name, files[name], READ_ONLY)
    yield from _renew(folder, wiki.INDEX, _index(folder))


def _archives(folder: Path) -> list[tuple[str, str]]:
    """Folders and titles of the archives, the oldest first: their titles begin with a day."""
    names = _names(folder / "loops", MOST_ARCHIVES)
    titled = [(name, wiki.title_of(_quietly(folder, f"loops/{name}/{wiki.SUMMARY}")) or name) for name in names]
    return sorted(titled, key=lambda one: one[1] if one[1][:1].isdigit() else "")


def _decisions(folder: Path) -> list[tuple[str, str]]:
    """Names and texts of the pages of decisions, the oldest first."""
    names = (name for name in _names(folder / "decisions", 2 * MOST_DECISIONS) if name.endswith(".md"))
    return [(name, _quietly(folder, f"decisions/{name}")) for name in names]


def _write_decisions(folder: Path, state: LoopState) -> Iterator[str]:
    """Each once, under the next number. What a person made of an earlier one stays."""
    known = _decisions(folder)
    keys, slugs = {wiki.key_of(text) for _, text in known}, {name.partition("-")[2] for name, _ in known}
    numbers = (name.partition("-")[0] for name, _ in known)
    number = max((int(one) for one in numbers if one.isdecimal()), default=0)
    pages = wiki.decision_pages(state).items()
    new = [page for key, page in pages if key not in keys and f"{page[0]}.md" not in slugs]
    room = max(0, MOST_DECISIONS - len(known))
    for at, (slug, text) in enumerate(new[:room], number + 1):
        _write(folder / "decisions" / f"{at:03d}-{slug}.md", text)
    if len(new) > room:
        yield f"decisions/ of the wiki is full: {len(new) - room} more were not written; remove what is of no use any more"


@_telling
def lay_out(source: Path, context: LoopContext, _: LoopState) -> Iterator[str]:
    """A read-only copy in the worktree, bounded: INDEX first, then the other pages, decisions and archives, the newest first.

    Whatever was in its place is gone. Helmsman's own folder in the worktree is there already, and can be written to.
    """
    laid = context.worktree / ".helmsman" / "wiki"
    remove(laid)
    laid.mkdir()
    (laid / ".gitignore").write_text("*\n")
    names = [wiki.INDEX, *[name for name in _names(source, 1000) if name.endswith(".md") and name != wiki.INDEX][:LAID_PAGES]]
    names += [f"decisions/{name}" for name, _ in _decisions(source)[-LAID_DECISIONS:][::-1]]
    names += [f"loops/{loop}/{name}" for loop, _ in _archives(source)[-LAID_LOOPS:][::-1] for name in wiki.ARCHIVED]
    room = LAID_BYTES
    for name in names:
        content = _quietly(source, name).encode(errors="replace")
        room -= len(content)
        if room < 0:
            yield f"the wiki is larger than {LAID_BYTES:,} bytes, so its oldest pages are not laid out"
            return
        if content:
            (laid / name).parent.mkdir(parents=True, exist_ok=True)
            (laid / name).write_bytes(content)
            (laid / name).chmod(READ_ONLY)


def _page(folder: Path, name: str) -> str | None:
    """A plain file's text; None where nothing lies there. Raises OperatorError for anything else, or too large."""
    if not os.path.lexists(folder / name):
        return None
    content = None if (folder / name).is_symlink() else read_within(folder, name, LARGEST + 1)
    try:
        if content is not None and len(content) <= LARGEST:
            return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise OperatorError(f"{name} of the wiki is unchanged", expected=f"a file of UTF-8, {LARGEST:,} bytes at most")


def _quietly(folder: Path, name: str) -> str:
    """The same, empty where there is nothing to read."""
    try:
        return _page(folder, name) or ""
    except HelmsmanError:
        return ""


def _write(path: Path, text: str, mode: int = FOR_ALL) -> None:
    _real(path.parent)
    write_atomic(path, redact(text).encode(errors="replace"), mode=mode)


def _real(folder: Path) -> Path:
    """A folder that is made where none is. Raises OperatorError where a link or a file is in its place."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OperatorError(f"{clean(folder.name)} of the wiki is unchanged", expected="a folder", found="something else")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _names(folder: Path, most: int) -> list[str]:
    """Names of what lies in a folder, sorted, so many at most; none where it is no folder of ours."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if not entry.name.startswith("."))[:most]
