"""The wiki of a project: pages that are partly ours and partly a person's, and an archive of the loops that completed.

In a page only what stands between two markers is ours and is made anew; all else is whoever's wrote it. An archive is written
once: INDEX.md holds its checksum, and one that was changed is told and left.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from helmsman.memory.quoting import block_quote, plain
from helmsman.orient.alignment import own_goal
from helmsman.records.base import Record
from helmsman.records.checks import CheckReport
from helmsman.records.iteration import IterationRecord
from helmsman.records.memory import Choice
from helmsman.records.oversight import Imperative
from helmsman.records.state import LoopState
from helmsman.texts import counted, dollars_told, duration

BEGIN, END = "<!-- helmsman:begin -->", "<!-- helmsman:end -->"
INDEX, SPEC, MAP, CONSTRAINTS = "INDEX.md", "spec.md", "map.md", "constraints.md"
SUMMARY, ITERATIONS = "summary.md", "iterations.md"
ARCHIVED = (SUMMARY, ITERATIONS)
"""Files of one archive."""
MOST_LOOPS = 300
"""Archives that INDEX.md lists and whose checksums are kept."""
MOST_ITERATIONS = 200
"""Iterations that one archive tells of, the last ones."""
MOST_CONSTRAINTS, MOST_FILES = 150, 50
_GOAL, _LINE, _TITLE, _SLUG = 2_000, 300, 80, 50
_OURS = re.compile(rf"^{BEGIN}[ \t]*\r?\n(.*?)^{END}[ \t]*(?=\r?$)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"- \[([a-z0-9-]{1,80})\]\(loops/\1/summary\.md\) (.*) \(uid ([a-z0-9-]{1,50}), sha256 ([0-9a-f]{64})\)")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class Page(Record):
    """A page of which one part is ours."""

    name: str
    """Its file."""
    title: str
    about: str
    """What it is for, in a sentence."""
    body: str
    """Our part."""


class Entry(Record):
    """A completed loop as INDEX.md lists it."""

    loop: str
    """Name of its folder."""
    said: str
    uid: str
    """Of the loop, in letters that are safe in a line."""
    checksum: str


class DecisionPage(Record):
    """Something that a loop decided."""

    slug: str
    key: str
    """The same whenever it is made of the same loop again."""
    text: str


# --- pages --------------------------------------------------------------------------------------------------------


def renewed(page: Page, old: str | None) -> str | None:
    """The file's text with our part of it made anew; None where it has no such part, and so is not ours to write."""
    block = f"{BEGIN}\n{page.body.rstrip()}\n{END}"
    if old is None:
        return f"# {page.title}\n\n{page.about} What stands between the markers is made anew; all else is yours.\n\n{block}\n"
    if len(_OURS.findall(old)) != 1 or old.count(BEGIN) != 1 or old.count(END) != 1:
        return None
    newline = "\r\n" if "\r\n" in old else "\n"
    return _OURS.sub(lambda _: block.replace("\n", newline), old)


def our_part(text: str) -> str:
    """What stands between the markers of a page."""
    found = _OURS.search(text)
    return found[1].replace("\r\n", "\n") if found else ""


def spec_page(state: LoopState) -> Page:
    """What the project was meant to become last: the goal of a loop, and what proves it."""
    config = state.config
    lines = [
        f"Of loop {state.loop}:",
        "",
        *block_quote([plain(line, _LINE) for line in own_goal(config.goal)[:_GOAL].splitlines()]).split("\n"),
        *_listed("What proves it", [f"`{plain(check.command, _LINE)}`" for check in config.checks]),
        *_listed("What a judge looks for", [f"{one.id}: {plain(one.text, _LINE)}" for one in config.judge.criteria]),
    ]
    return Page(name=SPEC, title="What is wanted", about="The goal that was worked toward last.", body="\n".join(lines))


def constraints_page(orders: Sequence[Imperative]) -> Page:
    """What must be and what must not be, by the project's own documents; a loop's goal is none of them."""
    strict = [order for order in orders if order.modality in {"must", "must_not"} and order.source != "goal"]
    body = [line for source, said in groupby(strict[:MOST_CONSTRAINTS], lambda order: order.source) for line in _of(source, said)]
    left = len(strict) - MOST_CONSTRAINTS
    more = ["", f"{left} more are left out."] if left > 0 else []
    about = "What must and must not be done here, with the document and the line that say so."
    return Page(name=CONSTRAINTS, title="Constraints", about=about, body="\n".join([*(body or ["(none found)"]), *more]))


def _of(source: str, orders: Iterable[Imperative]) -> Iterator[str]:
    yield from ("", f"## {plain(source, _TITLE)}", "")
    for order in orders:
        place = f" (line {order.line})" if order.line else ""
        yield f"> - {'MUST NOT' if order.modality == 'must_not' else 'MUST'}: {plain(order.text, _LINE)}{place}"


def index_page(entries: Sequence[Entry], decisions: Sequence[tuple[str, str]]) -> Page:
    """Where everything is. `decisions`: names of files and titles, newest last."""
    loops = [_entry_line(one) for one in entries[-MOST_LOOPS:]]
    decided = [f"- [{plain(title, _TITLE).translate(_BRACKETS)}](decisions/{name})" for name, title in decisions[-MOST_FILES:]]
    lines = [
        f"- [{SPEC}]({SPEC}): what is wanted",
        f"- [{MAP}]({MAP}): modules, and what they do",
        f"- [{CONSTRAINTS}]({CONSTRAINTS}): what must and must not be done",
        *("", "## Decisions", "", *(decided or ["(none yet)"])),
        *("", "## Completed loops", "", *(loops or ["(none yet)"])),
    ]
    about = "What is known of this project. Archives of loops are never changed: each has its checksum here."
    return Page(name=INDEX, title="Wiki", about=about, body="\n".join(lines))


_BRACKETS = str.maketrans("[]", "()")


def _entry_line(one: Entry) -> str:
    return f"- [{one.loop}](loops/{one.loop}/{SUMMARY}) {one.said} (uid {one.uid}, sha256 {one.checksum})"


def read_index(text: str) -> tuple[Entry, ...]:
    """The archives that INDEX.md lists."""
    found = (_ENTRY.fullmatch(line) for line in our_part(text).split("\n"))
    return tuple(Entry(loop=one[1], said=one[2], uid=one[3], checksum=one[4]) for one in found if one)


def _listed(title: str, entries: Sequence[str]) -> list[str]:
    return ["", f"{title}:", "", *(f"- {entry}" for entry in entries)] if entries else []


# --- decisions ----------------------------------------------------------------------------------------------------


def decision_pages(state: LoopState) -> tuple[DecisionPage, ...]:
    """What the agent decided in a completed loop."""
    return tuple(_decision(state, choice, at) for at, choice in enumerate(state.memory.decisions) if plain(choice.chose, _TITLE))


def _decision(state: LoopState, choice: Choice, at: int) -> DecisionPage:
    key = f"{state.uid}-{at}"
    title = plain(choice.chose, _TITLE)
    parts = (("Chose", choice.chose), ("Rejected", choice.rejected), ("Reason", choice.reason), ("Revisit if", choice.revisit_if))
    said = [f"> {name}: {plain(text, 2 * _LINE)}" for name, text in parts if text]
    head = f"<!-- helmsman:decision {plain(key, _TITLE)} -->\n# {title}\n\nOf loop {state.loop}, {_day(_ended(state))}."
    return DecisionPage(slug=slug(choice.chose), key=key, text=f"{head}\n\n" + "\n".join(said) + "\n")


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
    last = records[-MOST_ITERATIONS:]
    return {SUMMARY: "\n".join(_summary(state, last)) + "\n", ITERATIONS: "\n".join(_iterations(state, last)) + "\n"}


def entry_of(state: LoopState, folder: str, checksum: str) -> Entry:
    goal = plain(own_goal(state.config.goal), _TITLE)
    said = f"{_day(_ended(state))}: {state.outcome}, {counted(state.iteration, 'iteration')}: {goal}"
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


def _summary(state: LoopState, records: Sequence[IterationRecord]) -> Iterator[str]:
    spent, memory, ending = state.spending, state.memory, state.ending
    yield from (f"# Loop {state.loop}", "", "> " + plain(own_goal(state.config.goal), _GOAL), "", uid_line(state))
    yield f"- outcome: {state.outcome} on {_day(_ended(state))}: {plain(ending.reason, _LINE) if ending else ''}"
    dollars = dollars_told(spent.cost_usd, state.untold)
    yield f"- spent: {counted(state.iteration, 'iteration')}, {dollars}, {duration(spent.seconds)}"
    yield f"- branch: `{plain(state.branch, _LINE)}` from {state.base_commit} to {state.head}"
    results = state.checks.results if state.checks else ()
    checked = [f"{'passed' if one.passed else 'failed'}: {plain(one.command, _LINE)}" for one in results]
    yield from _listed("Checks at the end", checked)
    yield from _listed("Done, in the agent's words", [plain(one.text, _LINE) for one in memory.completed])
    yield from _listed("Uncertain", [plain(one, _LINE) for one in memory.uncertainties])
    files = dict.fromkeys(name for record in records for name in record.execution.change.files)
    more = [f"… and {len(files) - MOST_FILES} more"] if len(files) > MOST_FILES else []
    yield from _listed("Files that were changed", [*(plain(name, _LINE) for name in list(files)[:MOST_FILES]), *more])


def _iterations(state: LoopState, records: Sequence[IterationRecord]) -> Iterator[str]:
    yield f"# Iterations of loop {state.loop}"
    if records and records[0].iteration > 1:
        yield f"\nThe first {records[0].iteration - 1} are left out."
    for record in records:
        change = record.execution.change
        again = f", attempt {record.attempt}" if record.attempt > 1 else ""
        yield f"\n## Iteration {record.iteration}{again}\n"
        lines = f"{change.insertions} lines more, {change.deletions} less"
        yield f"- changed: {counted(change.files_changed, 'file')}, {lines}, now {change.commit[:12]}"
        yield f"- checks: {_checks(record.checks)}"
        if record.judgement:
            yield f"- judge: {record.judgement.outcome} {plain(record.judgement.cause, _LINE)}".rstrip()
        yield f"- decided: {record.decision.word} ({record.decision.rule}): {plain(record.decision.reason, _LINE)}"


def _checks(report: CheckReport | None) -> str:
    if report is None:
        return "not run"
    failing = sum(not one.passed for one in report.results)
    return f"{failing} of {len(report.results)} failed" if failing else "all passed"


def _ended(state: LoopState) -> datetime:
    return state.ending.at if state.ending else state.updated_at


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
