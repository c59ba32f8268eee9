"""The wiki beside the loops: pages that are kept up to date, an archive of every completed loop, a copy for the agent to read.

It only tells: whatever is wrong with it is said in words, and no loop stops for it.

An agent or a person may have put anything there: files are read with bounds, and written in one step.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError, WorldError
from helmsman.memory import wiki
from helmsman.memory.wiki import Entry, Tree
from helmsman.plain import clean
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from tasks.lock import locked_within
from tasks.loop.instructions import read_orders
from tasks.places import helmsman_folder
from tasks.repository.git import Repository, git_bytes
from tasks.repository.objects import read_objects
from tasks.repository.state_ref import read_records
from tasks.system.files import FOR_ALL, write_atomic
from tasks.system.secrets import redact
from tasks.worktrees.staging import open_up
from tasks.worktrees.workplace import Workplace

LARGEST = 256_000
"""Bytes of a page."""
READ_ONLY = 0o444
PATIENCE_SECONDS = 5.0
"""For another process of ours that holds it. One that was suspended holds it for as long as that lasts."""
MOST_FILES_READ = 50_000
"""Paths of a tree that the map is made of."""
MOST_TEXTS = 60
MOST_DECISIONS = 500
"""Pages of decisions; what comes after them is told and not written."""
LAID_DECISIONS, LAID_LOOPS, LAID_PAGES = 50, 20, 20
LAID_BYTES = 1_000_000
"""Of all that is laid out for an agent."""
_FOLDER = ".helmsman"


def read_bytes(path: Path) -> bytes | None:
    """A plain file's content; None where nothing lies there. Raises OperatorError for anything else, or too large."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would block for ever
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _odd(path, str(error.strerror)) from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise _odd(path, f"{found.st_size:,} bytes" if stat.S_ISREG(found.st_mode) else "something else than a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(LARGEST)
    finally:
        os.close(handle)


def read_page(path: Path) -> str | None:
    """Its text; None where nothing lies there. Raises OperatorError."""
    content = read_bytes(path)
    try:
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _odd(path, "bytes that are no UTF-8") from error


def write_page(path: Path, text: str) -> None:
    real_folder(path.parent)
    write_atomic(path, redact(text).encode(errors="replace"), mode=FOR_ALL)


def put_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder with these read-only files, whole or not at all. Raises OSError where it is there."""
    real_folder(folder.parent)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, content in files.items():
            write_atomic(made / name, content, mode=READ_ONLY)
        made.chmod(0o755)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def real_folder(folder: Path) -> None:
    """Make a folder where none is. Raises OperatorError where a link or a file is in its place."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise _odd(folder, "no folder")
    folder.mkdir(parents=True, exist_ok=True)


def fresh_folder(folder: Path) -> None:
    """An empty folder in the place of whatever is there."""
    if folder.is_dir() and not folder.is_symlink():
        open_up(folder)
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)
    folder.mkdir()


def names_in(folder: Path, most: int) -> list[str]:
    """Names of what lies in a folder, sorted, so many at most; none where it is no folder of ours."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(_names(folder))[:most]


def _names(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        yield from (entry.name for entry in entries if not entry.name.startswith("."))


def _odd(path: Path, found: str) -> OperatorError:
    where = clean(f"{path.parent.name}/{path.name}")
    return OperatorError(f"{where} of the wiki is left as it is", expected="a file of UTF-8, a folder", found=found)


def wiki_folder(repository: Repository) -> Path:
    """Beside the loops, so that all of them have the same one."""
    return helmsman_folder(repository.common) / "wiki"


def keep_up(place: Workplace, state: LoopState) -> tuple[str, ...]:
    """Make the pages that are missing, and renew our parts of the others. Returns what is wrong, in words."""
    if not state.config.memory.wiki:
        return ()
    return _told(lambda: _kept_up(place, state), place)


def archive(place: Workplace, state: LoopState) -> tuple[str, ...]:
    """Write down a completed loop for ever: its decisions and what happened. Done already: nothing is written."""
    if not state.config.memory.wiki or state.outcome is not Outcome.COMPLETED:
        return ()
    return _told(lambda: _archived(place, state), place)


def lay_out(place: Workplace, state: LoopState) -> tuple[str, ...]:
    """A read-only copy in the worktree, bounded, the newest first. Whatever was in its place is gone."""
    if not state.config.memory.wiki:
        return ()
    return _told(lambda: _laid_out(place), place)


def _told(work: Callable[[], Sequence[str]], place: Workplace) -> tuple[str, ...]:
    try:
        with _alone(wiki_folder(place.repository)):
            return tuple(work())
    except (HelmsmanError, OSError, ValueError) as error:
        return (clean(" ".join(str(error).split()))[:500],)


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Loops that complete at the same time write one after the other."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder.with_name("wiki.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        if not locked_within(handle, PATIENCE_SECONDS):
            raise WorldError("the wiki is left as it is: another process holds it", found=str(folder))
        real_folder(folder)
        yield
    finally:
        os.close(handle)


# --- pages --------------------------------------------------------------------------------------------------------


def _kept_up(place: Workplace, state: LoopState) -> list[str]:
    folder = wiki_folder(place.repository)
    tree = _tree(place.repository, state.head)
    orders = read_orders(place.worktree, state.config) if place.worktree.is_dir() else ()
    entries, problems = _entries(folder)
    pages = {
        wiki.SPEC: wiki.spec_page(state),
        wiki.MAP: wiki.map_page(tree),
        wiki.CONSTRAINTS: wiki.constraints_page(orders),
        wiki.INDEX: _index(folder, entries),
    }
    return [*(problem for name, body in pages.items() for problem in _renew(folder, name, body)), *problems]


def _renew(folder: Path, name: str, body: str) -> Iterator[str]:
    """Our part of a page, and nothing else of it."""
    try:
        old = read_page(folder / name)
        new = wiki.renewed(name, body, old)
        if new is None:
            yield f"{name} of the wiki has no part between the two markers any more, so it is left as it is"
        elif new != old:
            write_page(folder / name, new)
    except HelmsmanError as error:
        yield clean(" ".join(str(error).split()))[:500]


def _index(folder: Path, entries: Sequence[Entry]) -> str:
    return wiki.index_page(entries, [(name, wiki.title_of(text)) for name, text in _decisions(folder)])


def _tree(repository: Repository, commit: str) -> Tree:
    listed = git_bytes(repository.common, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split(b"\0")
    names = [os.fsdecode(name) for name in listed if name]
    files = tuple(names[:MOST_FILES_READ])
    told = [name for name in wiki.wanted(files, MOST_TEXTS) if name.isprintable()]
    found = read_objects(repository.common, [f"{commit}:{name}" for name in told])
    texts = {name: one[1].decode("utf-8-sig", "replace") for name, one in zip(told, found, strict=True) if one}
    return Tree(files=files, left_out=len(names) - len(files), texts=texts)


# --- archives -----------------------------------------------------------------------------------------------------


def _archived(place: Workplace, state: LoopState) -> list[str]:
    folder = wiki_folder(place.repository)
    entries, problems = _entries(folder)
    if wiki.slug(state.uid) in {entry.uid for entry in entries}:
        return problems
    name = _archive_name(folder, state)
    files = _files(place, state)
    if not (folder / "loops" / name).exists():
        problems += _write_decisions(folder, state)
        put_folder(folder / "loops" / name, files)
    elif _found(folder, name) != files:
        return [*problems, f"loops/{name} of the wiki is not what this loop left, so INDEX.md does not list it"]
    entry = wiki.entry_of(state, name, wiki.checksum(files))
    return [*problems, *_renew(folder, wiki.INDEX, _index(folder, [*entries, entry]))]


def _files(place: Workplace, state: LoopState) -> dict[str, bytes]:
    records = list(islice(read_records(place.repository, state.loop), wiki.MOST_ITERATIONS))
    return {name: redact(text).encode(errors="replace") for name, text in wiki.archive_files(state, records[::-1]).items()}


def _archive_name(folder: Path, state: LoopState) -> str:
    """The loop's own name, unless an earlier loop of that name has it."""
    there = folder / "loops" / state.loop
    if not os.path.lexists(there):
        return state.loop
    summary = _quietly(there / wiki.SUMMARY).decode(errors="replace")
    return state.loop if wiki.uid_line(state) in summary.split("\n") else f"{state.loop}-{wiki.slug(state.uid)[:16]}"


def _entries(folder: Path) -> tuple[list[Entry], list[str]]:
    """The archives that INDEX.md lists, and which of them are not what they were."""
    text = read_page(folder / wiki.INDEX) or ""
    entries = list(wiki.read_index(text))
    changed = [one.loop for one in entries if wiki.checksum(_found(folder, one.loop)) != one.checksum]
    return entries, [f"loops/{name} of the wiki is not what it was when it was archived; it is left as it is" for name in changed]


def _found(folder: Path, loop: str) -> dict[str, bytes]:
    """All that lies in an archive: a file that was added changes it as well."""
    names = names_in(folder / "loops" / loop, 2 * len(wiki.ARCHIVED))
    return {name: _quietly(folder / "loops" / loop / name) for name in names}


def _quietly(path: Path) -> bytes:
    try:
        return read_bytes(path) or b""
    except HelmsmanError:
        return b""


def _decisions(folder: Path) -> list[tuple[str, str]]:
    """Names and texts of the pages of decisions, the oldest first."""
    names = (name for name in names_in(folder / "decisions", 2 * MOST_DECISIONS) if name.endswith(".md"))
    return [(name, _quietly(folder / "decisions" / name).decode(errors="replace")) for name in names]


def _write_decisions(folder: Path, state: LoopState) -> list[str]:
    """Each once, under the next number. What a person made of an earlier one stays."""
    known = _decisions(folder)
    keys, slugs = {wiki.key_of(text) for _, text in known}, {name.partition("-")[2] for name, _ in known}
    numbers = (name.partition("-")[0] for name, _ in known)
    number = max((int(one) for one in numbers if one.isdecimal()), default=0)
    new = [page for page in wiki.decision_pages(state) if page.key not in keys and f"{page.slug}.md" not in slugs]
    room = max(0, MOST_DECISIONS - len(known))
    for at, page in enumerate(new[:room], number + 1):
        write_page(folder / "decisions" / f"{at:03d}-{page.slug}.md", page.text)
    left = len(new) - room
    return (
        [f"decisions/ of the wiki is full: {left} more were not written; remove what is of no use any more"] if left > 0 else []
    )


# --- for an agent -------------------------------------------------------------------------------------------------


def _laid_out(place: Workplace) -> list[str]:
    source, own = wiki_folder(place.repository), place.worktree / _FOLDER
    if own.is_symlink() or not own.is_dir():
        own.unlink(missing_ok=True)
        own.mkdir()
    open_up(own)
    fresh_folder(own / "wiki")
    (own / "wiki" / ".gitignore").write_text("*\n")
    room = LAID_BYTES
    for name in _chosen(source):
        content = _quietly(source / name)
        room -= len(content)
        if not content:
            continue
        if room < 0:
            return [f"the wiki is larger than {LAID_BYTES:,} bytes, so its oldest pages are not laid out"]
        target = own / "wiki" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(READ_ONLY)
    return []


def _chosen(source: Path) -> Iterator[str]:
    """INDEX first, then the other pages, decisions and archives, the newest first."""
    pages = [name for name in names_in(source, 1000) if name.endswith(".md") and name != wiki.INDEX]
    yield from (wiki.INDEX, *pages[:LAID_PAGES])
    yield from (f"decisions/{name}" for name, _ in _decisions(source)[-LAID_DECISIONS:][::-1])
    for entry in wiki.read_index(_quietly(source / wiki.INDEX).decode(errors="replace"))[-LAID_LOOPS:][::-1]:
        yield from (f"loops/{entry.loop}/{name}" for name in wiki.ARCHIVED)
