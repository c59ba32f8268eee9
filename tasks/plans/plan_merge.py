"""Ticks on the way into another branch: they are made afresh on what it holds, so that loops that tick beside each other agree.

The loop's own commits are replayed as if the plan had never changed. A plan that was made anew is a change like any other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.plans.complaint import Complaint
from helmsman.plans.files import read_plan, same_work, ticked
from helmsman.records.plan import Plan, PlanItem
from helmsman.records.state import LoopState
from tasks.loops.opening import now_utc
from tasks.plans.plan_file import tick_commit
from tasks.repository.branch_files import Held, held_in, tree_with
from tasks.repository.git import Repository, commit_and_tree, git
from tasks.repository.objects import read_object
from tasks.worktrees.workplace import Workplace

NAMED = 3
_HEADER = re.compile(rb"(?:tree|parent) [0-9a-f]+\n|gpgsig(?:-sha256)? [^\n]*\n(?: [^\n]*\n)*")


@dataclass(frozen=True)
class Apart:
    """What a loop did to its plan, taken apart from its other work."""

    path: str
    before: Held
    """The plan where both branches still were one."""
    items: tuple[str, ...]
    """What it has ticked since."""


def plan_apart(repository: Repository, state: LoopState, base: str) -> Apart | None:
    """None where the plan is as it was, or differs in more than ticks."""
    path = state.config.plan.file
    if not path:
        return None
    fork = git(repository.common, "merge-base", state.head, base).split()[0]
    try:
        before, after = held_in(repository, fork, path), held_in(repository, state.head, path)
        if before is None or after is None or before.blob == after.blob:
            return None
        old, new = read_plan(path, before.content), read_plan(path, after.content)
    except (OperatorError, Complaint):
        return None
    done = {item.id for item in old.items if item.done}
    items = tuple(item.id for item in new.items if item.done and item.id not in done)
    return Apart(path, before, items) if same_work(old, new) and items else None


def without_ticks(repository: Repository, apart: Apart, line: Sequence[tuple[str, str]]) -> str:
    """The same commits with the plan as it was, without those that are empty then. `line`: each with its parent, newest first."""
    made: dict[str, str] = {}
    for commit, parent in reversed(line):
        onto = made.get(parent, parent)
        made[commit] = _replayed(repository, apart, commit, onto)
    return made[line[0][0]]


def _replayed(repository: Repository, apart: Apart, commit: str, onto: str) -> str:
    tree = plan_back(repository, apart, commit)
    if tree == commit_and_tree(repository.common, onto)[1]:
        return onto
    raw = read_object(repository.common, commit)
    head, _, message = raw.partition(b"\n\n")
    headers = f"tree {tree}\nparent {onto}\n".encode() + _HEADER.sub(b"", head + b"\n")
    return git(repository.common, "hash-object", "-t", "commit", "-w", "--stdin", stdin=headers + b"\n" + message).strip()


def plan_back(repository: Repository, apart: Apart, commit: str) -> str:
    """The commit's tree with the plan as it was."""
    return tree_with(repository, commit, apart.path, apart.before.content, apart.before.mode)


def ticked_tree(repository: Repository, apart: Apart, tree: str) -> str:
    """A tree with the ticks in the plan that it holds; as it is where that plan cannot take them."""
    try:
        held = held_in(repository, tree, apart.path)
        after = ticked(apart.path, held.content, apart.items) if held else b""
    except (OperatorError, Complaint):
        return tree
    return tree_with(repository, tree, apart.path, after, held.mode) if held and after != held.content else tree


@dataclass(frozen=True)
class Taken:
    """The base's plan, for one that both sides have changed in the same places, and what of ours is not in it."""

    held: Held | None
    """None: the base has none any more."""
    note: str


def plan_taken(repository: Repository, state: LoopState, base: str) -> Taken | None:
    """A plan with conflict markers is no plan, so the base's counts, with our ticks. None where that is no plain file."""
    path, into = state.config.plan.file, clean(state.config.merge.into)
    said = f"{clean(path)} was changed on both sides, so that of {into} counts"
    try:
        theirs, ours = held_in(repository, base, path), held_in(repository, state.head, path)
        fork = held_in(repository, git(repository.common, "merge-base", state.head, base).split()[0], path)
    except OperatorError:
        return None
    if theirs is None or ours is None:
        return Taken(theirs, said)
    try:
        there, here = read_plan(path, theirs.content), read_plan(path, ours.content)
        won, lost = _ours_on(there, here, read_plan(path, fork.content) if fork else here)
        content = ticked(path, theirs.content, won)
    except Complaint as complaint:
        return Taken(theirs, f"{said} as it is: {clean(str(complaint))}")
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    left_out = f"; of ours is not in it: {', '.join(lost[:NAMED])}{more}" if lost else ""
    return Taken(Held(theirs.mode, theirs.blob, content), f"{said}{left_out}")


def _ours_on(there: Plan, here: Plan, fork: Plan) -> tuple[list[str], list[str]]:
    """Ids of what we have ticked and may be ticked there, and in words what of ours gets lost."""
    won, lost = list[str](), list[str]()
    for item in here.items:
        theirs, before = there.item(item.id), fork.item(item.id)
        same = theirs is not None and _bare(theirs) in {_bare(item), _bare(before)}
        if item.done and not (before and before.done):
            won += [item.id] if same else []
            lost += [] if same else [f"the tick of {item.id}"]
        if _bare(item) not in {_bare(theirs), _bare(before)}:
            lost.append(f"{item.id} ({clean(item.title)[:60]})")
    return won, lost


def _bare(item: PlanItem | None) -> str:
    """What an item says beside its mark."""
    return item.model_copy(update={"line": 0, "done": False}).model_dump_json() if item else ""


def ticked_afresh(place: Workplace, state: LoopState, apart: Apart, commit: str) -> str:
    """A commit on top that ticks what the loop has proven; the same commit where all of it is ticked there."""
    _, before = commit_and_tree(place.repository.common, commit)
    tree = ticked_tree(place.repository, apart, before)
    if tree == before:
        return commit
    more = f" and {len(apart.items) - NAMED} more" if len(apart.items) > NAMED else ""
    subject = clean(f"Tick {', '.join(apart.items[:NAMED])}{more} on top of {state.config.merge.into}")
    return tick_commit(place.repository, state, tree, commit, subject, list(apart.items), now_utc())
