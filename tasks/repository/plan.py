"""The plan in the repository: read where it is committed, ticked in commits of ours, and kept right through merges.

Loops that tick beside each other change neighbouring lines. Where these meet, the plan of the branch that is merged into counts,
with the loop's own ticks.
"""

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.oversee.advice import advise
from helmsman.parsers.plan_files import read_plan, ticked
from helmsman.parsers.plan_form import PlanError
from helmsman.parsers.plan_order import beginning, gone, in_hand, objection
from helmsman.plain import clean
from helmsman.records.decision import Decision
from helmsman.records.iteration import Evidence
from helmsman.records.plan import InHand, Plan, PlanItem, PlanProgress, PlanTouched, Tick
from helmsman.records.state import LoopState
from tasks.repository.branch_files import Held, held_in, named_in, put_on_branch, tree_with
from tasks.repository.git import Repository, commit_and_tree, git
from tasks.repository.loop_context import LoopContext
from tasks.repository.worktree import recover, stand_on

PUT_BACK = "helmsman: put back the plan"
TRAILER = "Helmsman-Tick"
NAMED = 3


def plan_at(repository: Repository, commit: str, path: str) -> Plan:
    """The plan as a commit has it. Raises OperatorError where it is not there or cannot be followed, with the line."""
    try:
        return read_plan(path, named_in(repository, commit, path, "plan.file").content)
    except PlanError as complaint:
        raise complaint.about(path) from None


def begun_plan(repository: Repository, commit: str, config: LoopConfig) -> PlanProgress:
    """How a new loop stands with its plan, where it has one. Raises OperatorError for a plan that no loop could follow."""
    file = config.plan.file
    return beginning(plan_at(repository, commit, file), config.plan.item, file) if file else PlanProgress()


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
    why = problem or "the loop ticks its items by evidence, and nobody asked for another plan"
    if after and advise(state).anew:
        try:
            why = objection(read_plan(path, before.content), read_plan(path, after.content), state.config.plan.item)
        except PlanError as complaint:
            why = f"the new plan cannot be followed: {clean(str(complaint))}"
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
    date = f"{int(decision.at.timestamp())} +0000"
    said = "-m", subject, "-m", f"Helmsman-Loop: {state.loop}\n{TRAILER}: {proof.item}"
    dated = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    commit = git(context.repository.common, "commit-tree", tree, "-p", start, *said, env=dated).strip()
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


def _with_ticks(path: str, content: bytes, items: list[str]) -> bytes:
    try:
        return ticked(path, content, items)
    except PlanError as complaint:
        raise complaint.about(path) from None


def _stand_on(context: LoopContext, state: LoopState, commit: str) -> None:
    recover(context.repository, context.worktree, state.branch)
    stand_on(context.worktree, state.branch, commit)


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
    left_out = f"{said}; of ours is not in it: {', '.join(lost[:NAMED])}{more}" if lost else ""
    return Held(theirs.mode, theirs.blob, content), left_out


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
