"""The wiki of a project: what its pages say of a loop, of the project's own documents, and of its folders.

Most of it was written by an agent or stands in a repository: it is quoted, one line at a time, so that it can open nothing and
orders nobody anything. What stands between the two markers of a page is made anew each time; the rest is a person's.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from helmsman.parsers.alignment_file import own_goal
from helmsman.plain import block_quote, inert
from helmsman.prompts import render
from helmsman.records.control import Imperative
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.texts import duration, format_dollars, plural

BEGIN, END = "<!-- helmsman:begin -->", "<!-- helmsman:end -->"
INDEX, SPEC, MAP, CONSTRAINTS = "INDEX.md", "spec.md", "map.md", "constraints.md"
PAGES = {
    INDEX: ("Wiki", "What is known of this project. Archives of loops are never changed."),
    SPEC: ("What is wanted", "The goal that was worked toward last."),
    MAP: ("Map", "Folders of this project, by their number of files."),
    CONSTRAINTS: ("Constraints", "What must and must not be done here, with the document and the line that say so."),
}
"""Title, and what it is for, in a sentence."""
SUMMARY, ITERATIONS = "summary.md", "iterations.md"
ARCHIVED = (SUMMARY, ITERATIONS)  # files of one archive
MOST_ITERATIONS = 200  # iterations that one archive tells of, the last ones
MOST_LOOPS, MOST_CONSTRAINTS, MOST_FILES, MOST_FOLDERS = 300, 150, 50, 80
"""What a page lists; folders are those of the two upper levels."""
_GOAL, _TITLE, _SLUG, _NAME = 2_000, 80, 50, 100
_OURS = re.compile(rf"^{BEGIN}[ \t]*\r?\n(.*?)^{END}[ \t]*(?=\r?$)", re.MULTILINE | re.DOTALL)


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


def index_page(loops: Sequence[tuple[str, str]], decisions: Sequence[tuple[str, str]]) -> str:
    """Where everything is, by names and titles, newest last: folders of archived loops, files of decisions."""
    return render("wiki_index", decisions=_links(decisions[-MOST_FILES:]), loops=_links(loops[-MOST_LOOPS:]))


def _links(titled: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    brackets = str.maketrans("[]", "()")
    return [(name, inert(title, 2 * _TITLE).translate(brackets)) for name, title in titled]


def map_page(files: Sequence[str]) -> str:
    """Folders of the two upper levels, the largest where there is no room for all."""
    every = ((path.split("/"), depth) for path in files for depth in (1, 2))
    sizes = Counter("/".join(parts[:depth]) for parts, depth in every if depth < len(parts))
    shown = sorted(sizes, key=lambda name: (name.count("/"), -sizes[name], name))[:MOST_FOLDERS]
    folders = [(inert(name, _NAME), plural(sizes[name], "file")) for name in sorted(shown)]
    return render("wiki_map", folders=folders, left=len(sizes) - len(shown))


def decision_pages(state: LoopState) -> dict[str, tuple[str, str]]:
    """What the agent decided in a completed loop: name and text of each page, by a key that stays the same."""
    chosen = {f"{state.uid}-{at}": one for at, one in enumerate(state.memory.decisions) if inert(one.chose, _TITLE)}
    return {
        key: (slug(one.chose), render("wiki_decision", key=key, choice=one, loop=state.loop, day=_day(state)) + "\n")
        for key, one in chosen.items()
    }


def key_of(text: str) -> str:
    """The key of a decision's page."""
    found = re.match(r"<!-- helmsman:decision (\S+) -->", text)
    return found[1] if found else ""


def title_of(text: str) -> str:
    found = re.search(r"^# (.*\S)", text, re.MULTILINE)
    return found[1] if found else ""


def slug(text: str) -> str:
    """Words that are safe in the name of a file; where none of them is, a fingerprint, so that two texts are still two."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()[: 4 * _SLUG]).strip("-")[:_SLUG].strip("-")
    return words or f"decision-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"


def archive_files(state: LoopState, records: Sequence[IterationRecord]) -> Mapping[str, str]:
    """What happened in a loop, for ever. `records`: its iterations, oldest first; of many the last ones."""
    last, spending, goal = records[-MOST_ITERATIONS:], state.spending, own_goal(state.config.goal)
    dollars, iterations = format_dollars(spending.cost_usd, state.untold), plural(state.iteration, "iteration")
    summary = render(
        "wiki_summary",
        state=state,
        title=f"{_day(state)}, loop {state.loop}: {state.outcome}, {iterations}: {inert(goal, _TITLE)}",
        goal=goal,
        uid=uid_line(state),
        day=_day(state),
        spent=f"{iterations}, {dollars}, {duration(spending.seconds)}",
        files=[*dict.fromkeys(name for record in last for name in record.execution.change.files)],
        most=MOST_FILES,
    )
    return {SUMMARY: f"{summary}\n", ITERATIONS: render("wiki_iterations", loop=state.loop, records=last) + "\n"}


def uid_line(state: LoopState) -> str:
    """By which an archive is known as this loop's."""
    return f"- uid: {state.uid}"


def _day(state: LoopState) -> str:
    return (state.ending.at if state.ending else state.updated_at).date().isoformat()
