"""Drift: the changes compared with the task, as the share of files that goal, item and checks name by path or word.

A report describes symptoms, while the fix belongs at the cause. So nothing is judged if no name or word of the task matched, nor
a file that was read before its change; and an agent that changed what was asked may need other files for it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from helmsman.parsers.paths import JUNK, Paths, as_path, parts
from helmsman.plain import short_line, word_set
from helmsman.records.agent import Drift, Execution
from helmsman.records.state import LoopState

UNRELATED_KEPT = 10
LEAST_UNRELATED = 3  # one odd file is a helper, two are a helper and its test
_SHOWN = 160
_LONGEST_TEXT = 40_000
_LONGEST_PATH = 600
_PREFIX = 4  # compared letters of a word: `parser` and `parsing` are equal
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_COMMON = frozenset(
    word[:_PREFIX]
    for word in word_set(
        "test spec index main init utils helper common core base module file code class function source this that with from must "
        "have should when then they into make only also each every after before pass fail work"
    )
)
_SOURCE = word_set(
    "py pyi js jsx ts tsx mjs cjs go rs java kt rb php c h cc cpp hpp cs swift scala ex exs erl hs ml clj dart lua pl jl gd vue "
    "svelte astro sql sh css scss less html erb tpl tf"
)
_APART = JUNK | word_set("fixtures snapshots __snapshots__ testdata generated gen migrations")


@dataclass(frozen=True)
class Task:
    """What the agent must do."""

    texts: tuple[str, ...]
    commands: tuple[str, ...] = ()  # of the checks: their paths belong to the task, their words do not


def task_of(state: LoopState) -> Task:
    """The task of the due iteration, with all that was said of it: objections, the agent's own notes, and failing tests."""
    config, memory, results = state.config, state.memory, state.checks.results if state.checks else ()
    texts = (
        config.goal,
        *(criterion.text for criterion in config.judge.criteria),
        *(item.title for item in state.plan.sketch if item.id == state.plan.now),
        *(rejection.reason for rejection in state.judge.feedback),
        *(f"{finding.where} {finding.message} {finding.honest}" for finding in state.findings),
        memory.remaining_gap,
        *memory.uncertainties,
        *(f"{decision.chose} {decision.reason}" for decision in memory.decisions),
        *(name for result in results if result.counts for name in result.counts.failing),
    )
    return Task(texts, tuple(check.command for check in config.checks))


def measure_drift(task: Task, execution: Execution, worktree: str) -> Drift:
    """Compare the files that a call read and changed with its task."""
    changed, read = (_inside_worktree(paths, worktree) for paths in (execution.change.files, execution.call.looked))
    named = tuple(chain.from_iterable(map(paths_in, (*task.texts, *task.commands))))
    task_words = significant_words(" ".join((*task.texts, *named)))
    places, folders = Paths(named), {parts(name)[:-1] for name in named}
    related = {path for path in (*changed, *read) if path in places or not task_words.isdisjoint(significant_words(path))}
    # files in one of the folders, however it is named; a file at the root only if another at the root is named
    folder_of = {path: parts(path)[:-1] for path in (*changed, *read)}
    related |= {path for path, folder in folder_of.items() if any(folder[at:] in folders for at in range(len(folder) or 1))}
    unrelated: list[str] = []
    for path in changed if named or related else ():
        *above, name = parts(path) or ("",)
        # judge only source files with a meaningful name
        is_judged = name.rpartition(".")[2] in _SOURCE and _APART.isdisjoint(above) and significant_words(path)
        unrelated += [path] if is_judged and path not in {*related, *read} else []
    did_task = not related.isdisjoint(changed)
    return Drift(
        deeds=len(related) + len(unrelated),
        related=len(related),
        strangers=() if did_task else tuple(map(display_path, unrelated[:UNRELATED_KEPT])),
    )


def paths_in(text: str) -> Iterator[str]:
    """Paths of files in a text; for names of tests the file."""
    words = (word.partition("::")[0].strip("()[]{}<>,;:.\"'*=") for word in text[:_LONGEST_TEXT].split())
    return filter(None, map(as_path, words))


def significant_words(text: str) -> frozenset[str]:
    """Prefixes of the significant words in a text or path."""
    prefixes = (prefix.lower()[:_PREFIX] for prefix in _PIECE.findall(text[:_LONGEST_TEXT]))
    return frozenset(prefix for prefix in prefixes if len(prefix) == _PREFIX) - _COMMON


def _inside_worktree(paths: Iterable[str], worktree: str) -> list[str]:
    """Unique paths relative to the worktree, without those outside of it."""
    root = f"{worktree.rstrip('/')}/"
    short = dict.fromkeys(path.removeprefix(root).removeprefix("./") for path in paths)
    inside = (path for path in short if path and not path.startswith(("/", "~")) and ".." not in path.split("/"))
    return [path[-_LONGEST_PATH:] for path in inside]


def display_path(path: str, longest: int = _SHOWN) -> str:
    """Format a path on one line and without backticks, because it is shown between them."""
    return short_line(path, longest).replace("`", "'")


def is_off_task(drift: Drift) -> bool:
    """Whether the drift is worth reporting."""
    return len(drift.strangers) >= LEAST_UNRELATED


def describe_drift(drift: Drift) -> str:
    """One line for an alert."""
    number = f"{UNRELATED_KEPT} or more" if len(drift.strangers) >= UNRELATED_KEPT else str(len(drift.strangers))
    verb = "file has" if len(drift.strangers) == 1 else "files have"
    return f"{number} changed {verb} no relation to the task by path or word: {', '.join(drift.strangers)}"
