"""The wiki of a project: pages that are partly ours and partly a person's, and an archive of the loops that completed.

In a page only what stands between two markers is ours and is made anew; all else is whoever's wrote it. An archive is written
once: INDEX.md holds its checksum, and one that was changed is told and left.
"""

import hashlib
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from helmsman.memory.quoting import block_quote
from helmsman.orient.alignment import own_goal
from helmsman.plain import inert
from helmsman.prompts import render
from helmsman.records.base import Record
from helmsman.records.iteration import IterationRecord
from helmsman.records.oversight import Imperative
from helmsman.records.state import LoopState
from helmsman.texts import counted, dollars_told, duration

BEGIN, END = "<!-- helmsman:begin -->", "<!-- helmsman:end -->"
INDEX, SPEC, MAP, CONSTRAINTS = "INDEX.md", "spec.md", "map.md", "constraints.md"
PAGES = {
    INDEX: ("Wiki", "What is known of this project. Archives of loops are never changed: each has its checksum here."),
    SPEC: ("What is wanted", "The goal that was worked toward last."),
    MAP: ("Map", "Folders of this project, and what they do."),
    CONSTRAINTS: ("Constraints", "What must and must not be done here, with the document and the line that say so."),
}
"""Title, and what it is for, in a sentence."""
SUMMARY, ITERATIONS = "summary.md", "iterations.md"
ARCHIVED = (SUMMARY, ITERATIONS)
"""Files of one archive."""
MOST_LOOPS = 300
"""Archives that INDEX.md lists and whose checksums are kept."""
MOST_ITERATIONS = 200
"""Iterations that one archive tells of, the last ones."""
MOST_CONSTRAINTS, MOST_FILES = 150, 50
MOST_FOLDERS, MOST_AT_THE_TOP = 80, 40
"""Folders of the two upper levels that the map shows, and files of the top that it names."""
TELLING = ("README.md", "README.rst", "README", "__init__.py", "package.json", "mod.rs", "lib.rs", "doc.go")
"""Files of a folder that say what it does; the first that says something counts."""
_GOAL, _TITLE, _SLUG = 2_000, 80, 50
_SAYS, _NAME, _KINDS = 160, 100, 3
_LONGEST, _LONGEST_LINE = 10_000, 1_000
"""Characters of a file that are looked at for the map."""
_OURS = re.compile(rf"^{BEGIN}[ \t]*\r?\n(.*?)^{END}[ \t]*(?=\r?$)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"- \[([a-z0-9-]{1,80})\]\(loops/\1/summary\.md\) (.*) \(uid ([a-z0-9-]{1,50}), sha256 ([0-9a-f]{64})\)")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_BRACKETS = str.maketrans("[]", "()")
_SENTENCE = re.compile(r'\s*\{?\s*(?:r?"""|//!|//|"description": *")?\s*((?!``)[A-Z`][^<>{}=|"]*?)(?:[.!?](?:\s|"|$)|"|$)')
"""Prose, in a document, a docstring, a comment or a manifest."""


class Entry(NamedTuple):
    """A completed loop as INDEX.md lists it."""

    loop: str
    """Name of its folder."""
    said: str
    uid: str
    """Of the loop, in letters that are safe in a line."""
    checksum: str


class Decision(NamedTuple):
    """A page on something that a loop decided."""

    slug: str
    key: str
    """The same whenever it is made of the same loop again."""
    text: str


class Tree(Record):
    """A project as it lies in a commit."""

    files: tuple[str, ...] = ()
    """Paths from the top, as many as were read."""
    left_out: int = 0
    texts: Mapping[str, str] = {}
    """Beginnings of those files that tell something, by path."""


# --- pages --------------------------------------------------------------------------------------------------------


def renewed(name: str, body: str, old: str | None) -> str | None:
    """A page's text with our part of it made anew; None where it has no such part, and so is not ours to write."""
    block = f"{BEGIN}\n{body.rstrip()}\n{END}"
    if old is None:
        title, about = PAGES[name]
        return f"# {title}\n\n{about} What stands between the markers is made anew; all else is yours.\n\n{block}\n"
    if len(_OURS.findall(old)) != 1 or old.count(BEGIN) != 1 or old.count(END) != 1:
        return None
    newline = "\r\n" if "\r\n" in old else "\n"
    return _OURS.sub(lambda _: block.replace("\n", newline), old)


def spec_page(state: LoopState) -> str:
    """What the project was meant to become last: the goal of a loop, and what proves it."""
    goal = block_quote([inert(line) for line in own_goal(state.config.goal)[:_GOAL].splitlines()])
    return render("wiki_spec", loop=state.loop, goal=goal, config=state.config)


def constraints_page(orders: Sequence[Imperative]) -> str:
    """What must be and what must not be, by the project's own documents; a loop's goal is none of them."""
    strict = [order for order in orders if order.modality in {"must", "must_not"} and order.source != "goal"]
    documents = [(source, list(said)) for source, said in groupby(strict[:MOST_CONSTRAINTS], lambda order: order.source)]
    return render("wiki_constraints", documents=documents, left=len(strict) - MOST_CONSTRAINTS)


def index_page(entries: Sequence[Entry], decisions: Sequence[tuple[str, str]]) -> str:
    """Where everything is. `decisions`: names of files and titles, newest last."""
    titled = [(name, inert(title, _TITLE).translate(_BRACKETS)) for name, title in decisions[-MOST_FILES:]]
    return render("wiki_index", decisions=titled, loops=entries[-MOST_LOOPS:])


def read_index(text: str) -> tuple[Entry, ...]:
    """The archives that INDEX.md lists."""
    ours = _OURS.search(text)
    found = (_ENTRY.fullmatch(line) for line in (ours[1].replace("\r\n", "\n") if ours else "").split("\n"))
    return tuple(Entry(loop=one[1], said=one[2], uid=one[3], checksum=one[4]) for one in found if one)


# --- decisions ----------------------------------------------------------------------------------------------------


def decision_pages(state: LoopState) -> tuple[Decision, ...]:
    """What the agent decided in a completed loop."""
    pages = list[Decision]()
    for at, choice in enumerate(state.memory.decisions):
        if inert(choice.chose, _TITLE):
            key = f"{state.uid}-{at}"
            text = render("wiki_decision", key=key, choice=choice, loop=state.loop, day=_day(state))
            pages.append(Decision(slug=slug(choice.chose), key=key, text=f"{text}\n"))
    return tuple(pages)


def key_of(text: str) -> str:
    """The key of a decision's page."""
    found = re.match(r"<!-- helmsman:decision (\S+) -->", text)
    return found[1] if found else ""


def title_of(text: str) -> str:
    found = re.search(r"^# (.*\S)", text, re.MULTILINE)
    return found[1] if found else ""


def slug(text: str) -> str:
    """Words that are safe in the name of a file; where none of them is, a fingerprint, so that two texts are still two."""
    words = _NOT_IN_NAMES.sub("-", text.lower()[: 4 * _SLUG]).strip("-")[:_SLUG].strip("-")
    return words or f"decision-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"


# --- archives -----------------------------------------------------------------------------------------------------


def archive_files(state: LoopState, records: Sequence[IterationRecord]) -> Mapping[str, str]:
    """What happened in a loop, for ever. `records`: its iterations, oldest first; of many the last ones."""
    last, spending = records[-MOST_ITERATIONS:], state.spending
    dollars, iterations = dollars_told(spending.cost_usd, state.untold), counted(state.iteration, "iteration")
    summary = render(
        "wiki_summary",
        state=state,
        goal=own_goal(state.config.goal),
        uid=uid_line(state),
        day=_day(state),
        spent=f"{iterations}, {dollars}, {duration(spending.seconds)}",
        files=[*dict.fromkeys(name for record in last for name in record.execution.change.files)],
        most=MOST_FILES,
    )
    return {SUMMARY: f"{summary}\n", ITERATIONS: render("wiki_iterations", loop=state.loop, records=last) + "\n"}


def entry_of(state: LoopState, folder: str, checksum: str) -> Entry:
    goal = inert(own_goal(state.config.goal), _TITLE)
    said = f"{_day(state)}: {state.outcome}, {counted(state.iteration, 'iteration')}: {goal}"
    return Entry(loop=folder, said=said, uid=slug(state.uid), checksum=checksum)


def checksum(files: Mapping[str, bytes]) -> str:
    """Of an archive: names and contents of its files."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name} {hashlib.sha256(files[name]).hexdigest()}\n".encode())
    return digest.hexdigest()


def uid_line(state: LoopState) -> str:
    """By which an archive is known as this loop's."""
    return f"- uid: {state.uid}"


def _day(state: LoopState) -> str:
    ended: datetime = state.ending.at if state.ending else state.updated_at
    return ended.date().isoformat()


# --- the map: folders, and what the first sentence of their own README or package says ----------------------------


def map_page(tree: Tree) -> str:
    """Folders of the two upper levels, and what they do."""
    below = _below(tree.files)
    folders = _upper(below)
    lines = [_folder(name, below[name], _what(name, tree.texts)) for name in sorted(folders)]
    top = [f"`{inert(name, _NAME)}`" for name in sorted(tree.files) if "/" not in name]
    more = f", and {len(top) - MOST_AT_THE_TOP} more" if len(top) > MOST_AT_THE_TOP else ""
    left = [len(below) - len(folders), tree.left_out]
    body = [
        *(lines or ["(no folders)"]),
        *(["", f"At the top: {', '.join(top[:MOST_AT_THE_TOP])}{more}"] if top else []),
        *(["", f"Left out: {counted(left[0], 'folder')} and {counted(left[1], 'file')}."] if any(left) else []),
    ]
    return "\n".join(body)


def wanted(files: Sequence[str], most: int) -> tuple[str, ...]:
    """Files whose beginnings are worth reading for the map, those of large folders first."""
    known = set(files)
    inside = (f"{folder}/{name}" for folder in _upper(_below(files)) for name in TELLING)
    return tuple(path for path in inside if path in known)[:most]


def _upper(below: Mapping[str, Sequence[str]]) -> list[str]:
    return sorted(below, key=lambda name: (name.count("/"), -len(below[name]), name))[:MOST_FOLDERS]


def _below(files: Sequence[str]) -> Mapping[str, list[str]]:
    """What lies in the folders of the two upper levels."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in files:
        parts = path.split("/")
        for depth in range(1, min(len(parts), 3)):
            found["/".join(parts[:depth])].append(path)
    return found


def _folder(name: str, files: Sequence[str], says: str) -> str:
    kinds = Counter(posixpath.splitext(path)[1] for path in files)
    most = ", ".join(inert(kind, 12) for kind, _ in kinds.most_common(_KINDS) if kind)
    about = f": {says}" if says else ""
    return f"- `{inert(name, _NAME)}/` ({counted(len(files), 'file')}{f', {most}' if most else ''}){about}"


def _what(folder: str, texts: Mapping[str, str]) -> str:
    """The first sentence in which one of its files says what it is for."""
    heads = (texts.get(f"{folder}/{name}", "")[:_LONGEST] for name in TELLING)
    lines = (line for head in heads for line in re.sub(r"(?<=\w)\r?\n(?=\w)", " ", head).split("\n"))
    found = (_SENTENCE.match(line[:_LONGEST_LINE]) for line in lines)
    return next((inert(f"{one[1]}.", _SAYS) for one in found if one), "")
