"""The wiki of a project: pages about loops, the project's own documents, and its folders.

Most of its text comes from an agent or a repository: it is quoted line by line, so that it opens no markup and instructs
nobody. The text between the two markers of a page is regenerated each time; the rest belongs to a person.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from helmsman.parsers.alignment_file import own_goal
from helmsman.plain import block_quote, inert
from helmsman.prompts import render
from helmsman.records.control import Imperative
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.texts import format_dollars, format_duration, plural

BEGIN, END = "<!-- helmsman:begin -->", "<!-- helmsman:end -->"
INDEX, SPEC, MAP, CONSTRAINTS = "INDEX.md", "spec.md", "map.md", "constraints.md"
PAGES = {
    INDEX: ("Wiki", "What is known about this project. Archives of loops never change."),
    SPEC: ("Goal", "The latest goal."),
    MAP: ("Map", "Folders of this project, with their number of files."),
    CONSTRAINTS: ("Constraints", "Requirements and prohibitions, each with its document and line."),
}
"""Title and purpose of each page."""
SUMMARY, ITERATIONS = "summary.md", "iterations.md"
MOST_ITERATIONS = 200  # last iterations in an archive
MOST_LOOPS, MOST_CONSTRAINTS, MOST_FILES, MOST_FOLDERS = 300, 150, 50, 80
"""Entries of a page; folders of the two upper levels."""
_GOAL, _TITLE, _NAME = 2_000, 80, 100


def update_page(name: str, body: str, old: str) -> str:
    """Replace Helmsman's part of a page; a page without one belongs to a person and stays unchanged."""
    block = f"{BEGIN}\n{body.rstrip()}\n{END}"
    if not old:
        title, about = PAGES[name]
        return f"# {title}\n\n{about} The text between the markers is regenerated; all else is yours.\n\n{block}\n"
    before, _, remainder = old.partition(BEGIN)
    _, closed, after = remainder.partition(END)
    return f"{before}{block}{after}" if closed else old


def spec_page(state: LoopState) -> str:
    """The latest goal: that of a loop, with its proof."""
    goal = block_quote([inert(line) for line in own_goal(state.config.goal)[:_GOAL].splitlines()])
    return render("wiki_spec", loop=state.loop, goal=goal, config=state.config)


def constraints_page(orders: Sequence[Imperative]) -> str:
    """Requirements and prohibitions of the project's own documents, which do not include a loop's goal."""
    strict = [order for order in orders if order.modality in {"must", "must_not"} and order.source != "goal"]
    documents = [(source, list(said)) for source, said in groupby(strict[:MOST_CONSTRAINTS], lambda order: order.source)]
    return render("wiki_constraints", documents=documents, left=len(strict) - MOST_CONSTRAINTS)


def index_page(loops: Sequence[str], decisions: Sequence[str]) -> str:
    """Index of archived loops and of files with their decisions, newest last."""
    return render("wiki_index", decisions=decisions[-MOST_FILES:], loops=loops[-MOST_LOOPS:])


def map_page(files: Sequence[str]) -> str:
    """Folders of the two upper levels; the largest ones if there are too many."""
    prefixes = ((path.split("/"), depth) for path in files for depth in (1, 2))
    sizes = Counter("/".join(parts[:depth]) for parts, depth in prefixes if depth < len(parts))
    shown = sorted(sizes, key=lambda name: (name.count("/"), -sizes[name], name))[:MOST_FOLDERS]
    folders = [(inert(name, _NAME), plural(sizes[name], "file")) for name in sorted(shown)]
    return render("wiki_map", folders=folders, left=len(sizes) - len(shown))


def archive_name(state: LoopState) -> str:
    """Name of a loop's archive, unique among loops of the same name."""
    return f"{state.loop}-{state.uid[:8]}"


def archive_files(state: LoopState, records: Sequence[IterationRecord]) -> Mapping[str, str]:
    """Permanent archive of a loop, the summary last. `records`: its iterations, oldest first; the last ones are used."""
    last, spending, goal = records[-MOST_ITERATIONS:], state.spending, own_goal(state.config.goal)
    dollars, iterations = format_dollars(spending.cost_usd, state.untold), plural(state.iteration, "iteration")
    summary = render(
        "wiki_summary",
        state=state,
        title=f"{_day(state)}, loop {state.loop}: {state.outcome}, {iterations}: {inert(goal, _TITLE)}",
        goal=goal,
        day=_day(state),
        spent=f"{iterations}, {dollars}, {format_duration(spending.seconds)}",
        files=[*dict.fromkeys(name for record in last for name in record.execution.change.files)],
        most=MOST_FILES,
    )
    name, decisions = archive_name(state), [one for one in state.memory.decisions if inert(one.chose, _TITLE)]
    decisions_text = render("wiki_decisions", decisions=decisions, loop=state.loop, day=_day(state))
    iterations_text = render("wiki_iterations", loop=state.loop, records=last)
    files = {f"loops/{name}/{ITERATIONS}": iterations_text, f"loops/{name}/{SUMMARY}": summary}
    return {**({f"decisions/{name}.md": decisions_text} if decisions else {}), **files}


def _day(state: LoopState) -> str:
    return (state.ending.at if state.ending else state.updated_at).date().isoformat()
