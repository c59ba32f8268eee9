"""Whether the agent's plan in progress.md still matches the repository.

A plan is cheap: an outdated one is discarded and made again, never fixed. There are two signs, each used only without an honest
explanation: the plan names files that do not exist, or it stays the same while the work happens elsewhere without progress.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from helmsman.oversee.cycles import last_iterations
from helmsman.oversee.detector import INSTRUCTIONS
from helmsman.oversee.drift import display_path, paths_in, significant_words
from helmsman.parsers.paths import Paths, is_visible_to_git
from helmsman.parsers.source import language_of
from helmsman.records.control import IterationSummary, Movement
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import WorkingMemory

Exists = Callable[[str], bool]  # whether a file exists at a path, which a plan may shorten to its last parts

MISSING = 2  # missing files that the plan names: one may be a mistake or an idea
MISSING_SHARE = 0.5  # share of all files that it names: the agent can fix a plan that is mostly right
UNTOUCHED = 4
"""Iterations in a row that changed only files the plan does not mention; equal to a session's attempts at one error, and one more
than the threshold of `stuck`."""
GAP_KEPT = 1000  # stored characters of the remaining gap, and as many of the current one are compared
REMEMBERED = 50  # iterations whose files count as handled
SHOWN = 3
_LONGEST = 4000  # characters of a text that are examined


def plan_alert(
    memory: WorkingMemory, exists: Exists, history: Sequence[IterationSummary], earlier_gap: str, item: str = ""
) -> Alert | None:
    """An alert to plan again if plan and repository diverge.

    `history` ends with this iteration; `earlier_gap`: REMAINING_GAP before the last four iterations that count, empty if unknown;
    `item`: the plan file's text about an item that was tried without success.
    """
    recent = last_iterations(history, REMEMBERED)
    if recent and recent[-1].movement is Movement.FORWARD:
        return None  # there is progress, whatever the plan says
    green = bool(recent) and recent[-1].green  # also progress, except for an unproven item
    of_plan = (
        ()
        if green
        else (_describe_missing_files(memory, exists, recent), _describe_unmentioned_work(memory, recent, earlier_gap))
    )
    of_item = _describe_missing_files(WorkingMemory(remaining_gap=item), exists, recent) if item else ""
    reasons = [reason for reason in (*of_plan, f"of the current item, {of_item}" if of_item else "") if reason]
    if not reasons:
        return None
    message = f"the plan no longer matches the repository: {'; '.join(reasons)}"
    order, count = INSTRUCTIONS["plan.diverged"], len(reasons)
    return Alert(rule="plan.diverged", severity=Severity.REDIRECT, message=message, value=count, threshold=1, instruction=order)


def _describe_missing_files(memory: WorkingMemory, exists: Exists, recent: Sequence[IterationSummary]) -> str:
    """Missing files, at least one of them in the remaining gap. Files that the loop changed may have moved."""
    gap = tuple(_assumed_files(memory.remaining_gap))
    named = tuple(dict.fromkeys((*gap, *chain.from_iterable(_assumed_files(choice.chose) for choice in memory.decisions))))
    if len(named) < MISSING:
        return ""
    handled = Paths(path for summary in recent[-REMEMBERED:] for path in summary.files)
    missing = [path for path in named if path not in handled and not exists(path)]
    if len(missing) < MISSING or len(missing) < MISSING_SHARE * len(named) or not set(missing) & set(gap):
        return ""
    listed = ", ".join(display_path(path, 80) for path in missing[:SHOWN])
    return f"{len(missing)} of the {len(named)} files that it names do not exist (threshold {MISSING} and half): {listed}"


_CLAUSE = re.compile(r"[;\n]|[.!?](?=\s)")
_OTHER_TIME = re.compile(
    r"\b(?:add|creat|writ|wrote|mak|made|new|generat|introduc|missing|scaffold|extract|split|mov|renam|delet|remov|drop|replac"
    r"|rewrit|port|implement|build|set up|put|place|need|want|future|later|would|could|maybe|e\.g|such as|like|example"
    r"|(?:not|never|doesn't|does not|no longer) exist|instead of|rather than|into)\w*",
    re.IGNORECASE,
)
"""Words about a file that is planned, removed or an example."""


def _assumed_files(text: str) -> Iterator[str]:
    """Source files that a text assumes to exist: named in a clause that neither creates nor removes anything."""
    for clause in _CLAUSE.split(text[:_LONGEST]):
        if not _OTHER_TIME.search(clause):
            yield from (path for path in paths_in(clause) if language_of(path) and is_visible_to_git(path, ""))


def _describe_unmentioned_work(memory: WorkingMemory, recent: Sequence[IterationSummary], earlier_gap: str) -> str:
    """The same words for four iterations, each of which changed files that the plan does not mention."""
    gap, last = memory.remaining_gap[:_LONGEST], recent[-UNTOUCHED:]
    now, then = (re.findall(r"\w+", text[:GAP_KEPT].casefold()) for text in (gap, earlier_gap))
    if now != then or len(last) < UNTOUCHED or not any(paths_in(gap)):  # a plan without paths allows any file
        return ""
    plan_words, named = significant_words(gap), Paths(paths_in(gap))
    for summary in last:
        # all its changes are known, share no name or significant word with the plan, and made no progress
        is_known = 0 < summary.files_changed <= len(summary.files)
        is_mentioned = any(
            path in named or not plan_words.isdisjoint(significant_words(path.rpartition("/")[2])) for path in summary.files
        )
        if not is_known or is_mentioned or summary.green or summary.movement is Movement.FORWARD:
            return ""
    changed = dict.fromkeys(path for summary in last[::-1] for path in summary.files)
    listed = ", ".join(display_path(path, 80) for path in list(changed)[:SHOWN])
    return (
        f"it describes the same remaining work as {UNTOUCHED} iterations ago, and the last {UNTOUCHED} changed only files that "
        f"it does not mention: {listed}"
    )
