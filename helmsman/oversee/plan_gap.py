"""Whether the plan that the agent keeps in progress.md still has to do with what is there.

A plan is cheap: one that has come apart from reality is thrown away and made anew, never fixed. Two things tell it, and
each is asked for only where nothing honest explains it: the plan rests on files that are not there, or it stays as it is while
the work goes elsewhere and gets nowhere.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from helmsman.oversee.cycles import worked as worked_in
from helmsman.oversee.detector import Detector, Found
from helmsman.oversee.drift import display, paths_in, telling
from helmsman.parsers.paths import Paths, git_would_show
from helmsman.parsers.test_files import language_of
from helmsman.records.control import IterationSummary, Movement
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import WorkingMemory

Exists = Callable[[str], bool]  # whether there is a file at a path, which a plan may name without its folders

MISSING = 2  # files that the plan names and that are not there: one may be a slip, or an idea
MISSING_SHARE = 0.5  # of all files that it names: a plan that is mostly right is fixed by whoever follows it
UNTOUCHED = 4
"""Iterations in a row that changed files and touched nothing of the plan; the same number as a session's attempts at one error,
and one more than what counts as stuck."""
GAP_KEPT = 1000  # characters of what remains that are remembered, so of what remains now as many are compared
REMEMBERED = 50  # iterations whose files count as had in hand
SHOWN = 3
_LONGEST = 4000  # characters of a text that are read


def divergence(
    memory: WorkingMemory, exists: Exists, history: Sequence[IterationSummary], earlier_gap: str, item: str = ""
) -> Alert | None:
    """An order to plan anew where plan and reality drift apart.

    `history` ends with this iteration, and `earlier_gap` is REMAINING_GAP as it was before the last four iterations that count,
    empty where that is not known. `item`: what the plan's file says of one that was tried
    in vain.
    """
    worked = worked_in(history, REMEMBERED)
    if worked and worked[-1].movement is Movement.FORWARD:
        return None  # whatever the plan says, the work gets on
    green = bool(worked) and worked[-1].green  # which says as much, of everything but an item that is not proven
    own = () if green else (_missing(memory, exists, worked), _untouched(memory, worked, earlier_gap))
    of_item = _missing(WorkingMemory(remaining_gap=item), exists, worked) if item else ""
    reasons = [reason for reason in (*own, f"of the item in hand, {of_item}" if of_item else "") if reason]
    found = (Found(f"the plan no longer matches the repository: {'; '.join(reasons)}", len(reasons), 1),) if reasons else ()
    return next(Detector("plan.diverged", Severity.REDIRECT, lambda: found).alerts(), None)


def _missing(memory: WorkingMemory, exists: Exists, worked: Sequence[IterationSummary]) -> str:
    """Files that are not there, at least one of them in what remains. Those that the loop had in its hands may have moved."""
    gap = tuple(_named(memory.remaining_gap))
    named = tuple(dict.fromkeys((*gap, *chain.from_iterable(_named(choice.chose) for choice in memory.decisions))))
    if len(named) < MISSING:
        return ""
    had = Paths(path for summary in worked[-REMEMBERED:] for path in summary.files)
    missing = [path for path in named if path not in had and not exists(path)]
    if len(missing) < MISSING or len(missing) < MISSING_SHARE * len(named) or not set(missing) & set(gap):
        return ""
    listed = ", ".join(display(path, 80) for path in missing[:SHOWN])
    return f"{len(missing)} of the {len(named)} files that it names do not exist ({MISSING} and half are enough): {listed}"


_CLAUSE = re.compile(r"[;\n]|[.!?](?=\s)")
_OTHER_TIME = re.compile(
    r"\b(?:add|creat|writ|wrote|mak|made|new|generat|introduc|missing|scaffold|extract|split|mov|renam|delet|remov|drop|replac"
    r"|rewrit|port|implement|build|set up|put|place|need|want|future|later|would|could|maybe|e\.g|such as|like|example"
    r"|(?:not|never|doesn't|does not|no longer) exist|instead of|rather than|into)\w*",
    re.IGNORECASE,
)
"""What is said of a file that is to come, that is gone, or that serves as an example."""


def _named(text: str) -> Iterator[str]:
    """Source files that a text takes for granted: named in a clause that neither makes nor removes anything."""
    for clause in _CLAUSE.split(text[:_LONGEST]):
        if not _OTHER_TIME.search(clause):
            yield from (path for path in paths_in(clause) if language_of(path) and git_would_show(path, ""))


def _untouched(memory: WorkingMemory, worked: Sequence[IterationSummary], earlier_gap: str) -> str:
    """The same words for four iterations, each of which changed files of which the plan says nothing."""
    gap, last = memory.remaining_gap[:_LONGEST], worked[-UNTOUCHED:]
    now, then = (re.findall(r"\w+", text[:GAP_KEPT].casefold()) for text in (gap, earlier_gap))
    if now != then or len(last) < UNTOUCHED or not any(paths_in(gap)):  # else it can be followed in any file
        return ""
    spoken, named = telling(gap), Paths(paths_in(gap))
    for summary in last:
        # whether all that it changed is known and shares neither a name nor a telling word with the plan, and it got nowhere
        known = 0 < summary.files_changed <= len(summary.files)
        spoken_of = any(path in named or not spoken.isdisjoint(telling(path.rpartition("/")[2])) for path in summary.files)
        if not known or spoken_of or summary.green or summary.movement is Movement.FORWARD:
            return ""
    changed = dict.fromkeys(path for summary in last[::-1] for path in summary.files)
    listed = ", ".join(display(path, 80) for path in list(changed)[:SHOWN])
    return (
        f"what remains is worded as {UNTOUCHED} iterations ago, and each of the last {UNTOUCHED} changed only files that it does "
        f"not speak of: {listed}"
    )
