"""The plan in the repository: read where it is committed, ticked in commits of ours, and kept right through merges.

Ticks on the way into another branch are made afresh on what it holds, so that loops that tick beside each other agree. The
loop's own commits are replayed as if the plan had never changed. A plan that was made anew is a change like any other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.oversee.advice import advise
from helmsman.parsers.plan_files import read_plan, same_work, ticked
from helmsman.parsers.plan_form import PlanError
from helmsman.parsers.plan_order import beginning, gone, in_hand, objection
from helmsman.plain import clean
from helmsman.records.decision import Decision
from helmsman.records.iteration import Evidence
from helmsman.records.plan import InHand, Plan, PlanItem, PlanProgress, PlanTouched, Tick
from helmsman.records.state import LoopState
from tasks.repository.branch_files import Held, held_in, not_in_commit, put_on_branch, tree_with
from tasks.repository.git import Repository, commit_and_tree, git, tip_of
from tasks.repository.loop_context import LoopContext
from tasks.repository.objects import read_object
from tasks.repository.worktree import hold_branch, recover, restore
from tasks.system.clock import now_utc

PUT_BACK = "helmsman: put back the plan"
TRAILER = "Helmsman-Tick"
NAMED = 3
_HEADER = re.compile(rb"(?:tree|parent) [0-9a-f]+\n|gpgsig(?:-sha256)? [^\n]*\n(?: [^\n]*\n)*")


def plan_at(repository: Repository, commit: str, path: str) -> Plan:
    """The plan as a commit has it. Raises OperatorError where it is not there or cannot be followed, with the line."""
    held = held_in(repository, commit, path)
    if held is None:
        raise not_in_commit(repository, commit, path, "plan.file")
    try:
        return read_plan(path, held.content)
    except PlanError as complaint:
        raise complaint.about(path) from None


def begun_plan(repository: Repository, commit: str, config: LoopConfig) -> PlanProgress:
    """How a new loop stands with its plan, where it has one. Raises OperatorError for a plan that no loop could follow."""
    if not config.plan.file:
        return PlanProgress()
    return beginning(plan_at(repository, commit, config.plan.file), config.plan.item, config.plan.file)


def items_of(context: LoopContext, state: LoopState) -> tuple[PlanItem, ...]:
    """What of its plan the loop is for; nothing where it has none."""
    config = state.config.plan
    if not config.file:
        return ()
    return tuple(one for one in plan_at(context.repository, state.head, config.file).items if config.item in {"", one.id})


def plan_in_hand(context: LoopContext, state: LoopState, commit: str, *, small: bool = False) -> InHand | None:
    """What of the plan the iteration that is due has before it; None where it has another task. `small`: prefer small items."""
    config = state.config.plan
    if not config.file or state.researching:
        return None
    if state.merging.trouble and held_in(context.repository, commit, config.file) is None:
        return None  # whoever merged before us has taken the plan away; ours was done
    plan = plan_at(context.repository, commit, config.file)
    if config.item and plan.item(config.item) is None and not state.merging.trouble:
        raise gone(plan, config.item, config.file, state.loop)
    begun = state.plan.now if state.plan.tried else ""
    return in_hand(plan, config.item, anew=advise(state).anew, small=small, begun=begun)


def put_back(context: LoopContext, state: LoopState, start: str) -> PlanTouched | None:
    """Undo, in a commit that says so, what the agent did to the plan; a new plan stays where one was asked for. None: nothing."""
    path = state.config.plan.file
    trouble = state.merging.trouble
    met = trouble is not None and any(one.path == path for one in trouble.files)  # to fix it is the agent's task
    before = held_in(context.repository, start, path) if path and not met else None
    if before is None:
        return None
    commit, _ = commit_and_tree(context.worktree)
    try:
        after = held_in(context.repository, commit, path)
        problem = "" if after else "it was gone"
    except OperatorError:
        after, problem = None, "it was no plain file any more"
    if after and after.blob == before.blob and after.mode == before.mode:
        return None
    why = problem or _objection(state, path, before, after)
    if not why:
        return PlanTouched(kept=True, why="the plan was made anew")
    tree = tree_with(context.repository, commit, path, before.content, before.mode)
    said = "-m", PUT_BACK, "-m", f"The loop ticks it, not the agent.\n\nHelmsman-Loop: {state.loop}"
    _stand_on(context, state, git(context.repository.common, "commit-tree", tree, "-p", commit, *said).strip())
    return PlanTouched(why=why)


def tick(context: LoopContext, state: LoopState, evidence: Evidence, decision: Decision) -> Tick:
    """Tick the item that was proven. The same values make the same commit, so whoever does it again changes nothing."""
    proof, start, path = evidence.item, evidence.execution.change.commit, state.config.plan.file
    held = held_in(context.repository, start, path)
    if proof is None or held is None:
        raise OperatorError("there is nothing to tick", expected=path, found=f"commit {start[:12]} without it")
    tree = tree_with(context.repository, start, path, _with_ticks(path, held.content, [proof.item]), held.mode)
    subject = clean(f"Tick {proof.item}: {proof.title}")[:200]
    commit = tick_commit(context.repository, state, tree, start, subject, [proof.item], decision.at)
    _stand_on(context, state, commit)
    return Tick(item=proof.item, commit=commit, tree=tree)


def tick_by_word(context: LoopContext, state: LoopState, who: str) -> None:
    """Tick the item in hand on the loop's branch, as a person says that it is done; once, however often it is asked."""
    path, item = state.config.plan.file, state.plan.now
    tip, _ = commit_and_tree(context.repository.common, f"refs/heads/{state.branch}")
    held = held_in(context.repository, tip, path)
    wanted = plan_at(context.repository, tip, path).item(item)
    if held is None or wanted is None or wanted.done:
        return
    content = _with_ticks(path, held.content, [item])
    put_on_branch(
        context.repository, state, tip, path, content, clean(f"Tick {item}: {wanted.title}, by the word of {who}")[:200]
    )


def tick_commit(
    repository: Repository, state: LoopState, tree: str, parent: str, subject: str, items: list[str], at: datetime
) -> str:
    """A commit that ticks, on no branch yet."""
    date = f"{int(at.timestamp())} +0000"
    trailers = "\n".join((f"Helmsman-Loop: {state.loop}", *(f"{TRAILER}: {item}" for item in items)))
    dated = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    return git(repository.common, "commit-tree", tree, "-p", parent, "-m", subject, "-m", trailers, env=dated).strip()


def stand_at(context: LoopContext, state: LoopState, done: Tick) -> None:
    """Checks that were asked again after a crash leave the branch where they ran."""
    if tip_of(context.worktree, state.branch) != (done.commit, True):
        _stand_on(context, state, done.commit)


def _with_ticks(path: str, content: bytes, items: list[str]) -> bytes:
    try:
        return ticked(path, content, items)
    except PlanError as complaint:
        raise complaint.about(path) from None


def _stand_on(context: LoopContext, state: LoopState, commit: str) -> None:
    recover(context.repository, context.worktree, state.branch)
    restore(context.worktree, commit)
    hold_branch(context.worktree, state.branch, commit)


def _objection(state: LoopState, path: str, before: Held, after: Held | None) -> str:
    """Why the agent's change does not count; empty where it does."""
    if after is None or not advise(state).anew:
        return "the loop ticks its items by evidence, and nobody asked for another plan"
    try:
        return objection(read_plan(path, before.content), read_plan(path, after.content), state.config.plan.item)
    except PlanError as complaint:
        return f"the new plan cannot be followed: {clean(str(complaint))}"


@dataclass(frozen=True)
class PlanChanges:
    """What a loop did to its plan, taken apart from its other work."""

    path: str
    before: Held
    """The plan where both branches still were one."""
    items: tuple[str, ...]
    """What it has ticked since."""


def plan_apart(repository: Repository, state: LoopState, base: str) -> PlanChanges | None:
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
    except (OperatorError, PlanError):
        return None
    done = {item.id for item in old.items if item.done}
    items = tuple(item.id for item in new.items if item.done and item.id not in done)
    return PlanChanges(path, before, items) if same_work(old, new) and items else None


def without_ticks(repository: Repository, apart: PlanChanges, line: Sequence[tuple[str, str]]) -> str:
    """The same commits with the plan as it was, without those that are empty then. `line`: each with its parent, newest first."""
    made: dict[str, str] = {}
    for commit, parent in reversed(line):
        onto = made.get(parent, parent)
        made[commit] = _replayed(repository, apart, commit, onto)
    return made[line[0][0]]


def _replayed(repository: Repository, apart: PlanChanges, commit: str, onto: str) -> str:
    tree = plan_back(repository, apart, commit)
    if tree == commit_and_tree(repository.common, onto)[1]:
        return onto
    raw = read_object(repository.common, commit)
    head, _, message = raw.partition(b"\n\n")
    headers = f"tree {tree}\nparent {onto}\n".encode() + _HEADER.sub(b"", head + b"\n")
    return git(repository.common, "hash-object", "-t", "commit", "-w", "--stdin", stdin=headers + b"\n" + message).strip()


def plan_back(repository: Repository, apart: PlanChanges, commit: str) -> str:
    """The commit's tree with the plan as it was."""
    return tree_with(repository, commit, apart.path, apart.before.content, apart.before.mode)


def ticked_tree(repository: Repository, apart: PlanChanges, tree: str) -> str:
    """A tree with the ticks in the plan that it holds; as it is where that plan cannot take them."""
    try:
        held = held_in(repository, tree, apart.path)
        after = ticked(apart.path, held.content, apart.items) if held else b""
    except (OperatorError, PlanError):
        return tree
    return tree_with(repository, tree, apart.path, after, held.mode) if held and after != held.content else tree


def plan_taken(repository: Repository, state: LoopState, base: str) -> tuple[Held | None, str] | None:
    """A plan with conflict markers is no plan, so the base's counts, with our ticks. None where that is no plain file.

    With it comes what of ours is not in it; there is none where the base has none any more.
    """
    path, into = state.config.plan.file, clean(state.config.merge.into)
    said = f"{clean(path)} was changed on both sides, so that of {into} counts"
    try:
        theirs, ours = held_in(repository, base, path), held_in(repository, state.head, path)
        fork = held_in(repository, git(repository.common, "merge-base", state.head, base).split()[0], path)
    except OperatorError:
        return None
    if theirs is None or ours is None:
        return theirs, said
    try:
        there, here = read_plan(path, theirs.content), read_plan(path, ours.content)
        won, lost = _ours_on(there, here, read_plan(path, fork.content) if fork else here)
        content = ticked(path, theirs.content, won)
    except PlanError as complaint:
        return theirs, f"{said} as it is: {clean(str(complaint))}"
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    left_out = f"; of ours is not in it: {', '.join(lost[:NAMED])}{more}" if lost else ""
    return Held(theirs.mode, theirs.blob, content), f"{said}{left_out}"


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


def ticked_afresh(context: LoopContext, state: LoopState, apart: PlanChanges, commit: str) -> str:
    """A commit on top that ticks what the loop has proven; the same commit where all of it is ticked there."""
    _, before = commit_and_tree(context.repository.common, commit)
    tree = ticked_tree(context.repository, apart, before)
    if tree == before:
        return commit
    more = f" and {len(apart.items) - NAMED} more" if len(apart.items) > NAMED else ""
    subject = clean(f"Tick {', '.join(apart.items[:NAMED])}{more} on top of {state.config.merge.into}")
    return tick_commit(context.repository, state, tree, commit, subject, list(apart.items), now_utc())
