"""Read the committed plan, tick its items in our own commits, and merge it.

Parallel loops tick neighbouring lines. On such a conflict, the plan of the target branch applies, with the loop's own ticks.
"""

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.oversee.advice import advise
from helmsman.parsers.plan_files import read_plan, tick_items
from helmsman.parsers.plan_form import PlanError
from helmsman.parsers.plan_order import missing_item_error, pick_item, rejection_reason, start_progress
from helmsman.plain import clean
from helmsman.records.decision import Decision
from helmsman.records.iteration import Evidence
from helmsman.records.plan import CurrentItem, Plan, PlanEdit, PlanItem, PlanProgress, Tick
from helmsman.records.state import LoopState
from tasks.repository.branch_files import CommittedFile, commit_to_branch, file_at, required_file, tree_with
from tasks.repository.git import Repository, commit_and_tree, git, read_ref
from tasks.repository.loop_context import LoopContext
from tasks.repository.worktree import recover, reset_to, save_stray_work

REVERT_SUBJECT = "helmsman: restore the plan"
TRAILER = "Helmsman-Tick"
MOST_LISTED = 3


def plan_at(repository: Repository, commit: str, path: str) -> Plan:
    """Read the plan of a commit. Raises OperatorError with the line if it is missing or invalid."""
    try:
        return read_plan(path, required_file(repository, commit, path, "plan.file").content)
    except PlanError as complaint:
        raise complaint.about(path) from None


def initial_progress(repository: Repository, commit: str, config: LoopConfig) -> PlanProgress:
    """Initial progress of a new loop with its plan, if any. Raises OperatorError for a plan that no loop could follow."""
    file = config.plan.file
    return start_progress(plan_at(repository, commit, file), config.plan.item, file) if file else PlanProgress()


def items_of(context: LoopContext, state: LoopState) -> tuple[PlanItem, ...]:
    """Items of the plan that the loop works on; empty without a plan."""
    config = state.config.plan
    if not config.file:
        return ()
    return tuple(item for item in plan_at(context.repository, state.head, config.file).items if config.item in {"", item.id})


def current_item(context: LoopContext, state: LoopState, commit: str, *, small: bool = False) -> CurrentItem | None:
    """Item of the plan for the due iteration; None if it has another task. `small`: prefer small items."""
    config = state.config.plan
    if not config.file or state.researching:
        return None
    if state.merging.trouble and file_at(context.repository, commit, config.file) is None:
        return None  # an earlier merge has removed the plan; ours was done
    plan = plan_at(context.repository, commit, config.file)
    if config.item and plan.item(config.item) is None and not state.merging.trouble:
        raise missing_item_error(plan, config.item, config.file, state.loop)
    started = state.plan.now if state.plan.tried else ""
    return pick_item(plan, config.item, anew=advise(state).new_plan, small=small, begun=started)


def revert_plan(context: LoopContext, state: LoopState, start: str) -> PlanEdit | None:
    """Revert the agent's changes to the plan in a commit, except a new plan on request. Returns None without changes."""
    path = state.config.plan.file
    trouble = state.merging.trouble
    in_conflict = trouble is not None and any(file.path == path for file in trouble.files)  # the agent's task is to fix it
    before = file_at(context.repository, start, path) if path and not in_conflict else None
    if before is None:
        return None
    commit, _ = commit_and_tree(context.worktree)
    try:
        after = file_at(context.repository, commit, path)
        problem = "" if after else "it was gone"
    except OperatorError:
        after, problem = None, "it was no plain file any more"
    if after and after.blob == before.blob and after.mode == before.mode:
        return None
    why = problem or "the loop ticks its items by evidence, and no new plan was asked for"
    if after and advise(state).new_plan:
        try:
            why = rejection_reason(read_plan(path, before.content), read_plan(path, after.content), state.config.plan.item)
        except PlanError as complaint:
            why = f"the new plan cannot be followed: {clean(str(complaint))}"
    if not why:
        return PlanEdit(kept=True, why="the plan was regenerated")
    tree = tree_with(context.repository, commit, path, before.content, before.mode)
    messages = "-m", REVERT_SUBJECT, "-m", f"The loop ticks it, not the agent.\n\nHelmsman-Loop: {state.loop}"
    reverted = git(context.repository.common, "commit-tree", tree, "-p", commit, *messages).strip()
    _move_worktree(context, state, commit, reverted)
    return PlanEdit(why=why)


def tick(context: LoopContext, state: LoopState, evidence: Evidence, decision: Decision) -> Tick:
    """Tick the proven item. Equal values create the same commit, so a repetition has no effect."""
    proof, start, path = evidence.item, evidence.execution.change.commit, state.config.plan.file
    file = file_at(context.repository, start, path)
    if proof is None or file is None:
        raise OperatorError("there is nothing to tick", expected=path, found=f"commit {start[:12]} without it")
    tree = tree_with(context.repository, start, path, _tick_items(path, file.content, [proof.item]), file.mode)
    subject = clean(f"Tick {proof.item}: {proof.title}")[:200]
    date = f"{int(decision.at.timestamp())} +0000"
    messages = "-m", subject, "-m", f"Helmsman-Loop: {state.loop}\n{TRAILER}: {proof.item}"
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    commit = git(context.repository.common, "commit-tree", tree, "-p", start, *messages, env=dates).strip()
    tip = read_ref(context.repository.common, f"refs/heads/{state.branch}")
    _move_worktree(context, state, commit if tip == commit else start, commit)  # after a crash it is there already
    return Tick(item=proof.item, commit=commit, tree=tree)


def tick_by_person(context: LoopContext, state: LoopState, person: str) -> None:
    """Tick the current item on the loop's branch because a person says that it is done. Idempotent."""
    path, item = state.config.plan.file, state.plan.now
    tip, _ = commit_and_tree(context.repository.common, f"refs/heads/{state.branch}")
    file = file_at(context.repository, tip, path)
    item_in_plan = plan_at(context.repository, tip, path).item(item)
    if file is None or item_in_plan is None or item_in_plan.done:
        return
    content = _tick_items(path, file.content, [item])
    commit_to_branch(
        context.repository, state, tip, path, content, clean(f"Tick {item}: {item_in_plan.title}, by the word of {person}")[:200]
    )


def _tick_items(path: str, content: bytes, items: list[str]) -> bytes:
    try:
        return tick_items(path, content, items)
    except PlanError as complaint:
        raise complaint.about(path) from None


def _move_worktree(context: LoopContext, state: LoopState, start: str, commit: str) -> None:
    recover(context.repository, context.worktree, state.branch)
    save_stray_work(context.repository, context.worktree, state, start)
    reset_to(context.worktree, state.branch, commit)


def resolve_plan(repository: Repository, state: LoopState, base: str) -> tuple[CommittedFile | None, str] | None:
    """Resolve a conflict in the plan: the base's plan with our ticks. None if a side is not a plain file.

    Returns the file, or None if the base has none any more, and a message on what is lost of ours.
    """
    path, into = state.config.plan.file, clean(state.config.merge.into)
    message = f"{clean(path)} was changed on both sides, so the version of {into} applies"
    try:
        theirs, ours = file_at(repository, base, path), file_at(repository, state.head, path)
        fork = file_at(repository, git(repository.common, "merge-base", state.head, base).split()[0], path)
    except OperatorError:
        return None
    if theirs is None or ours is None:
        return theirs, message
    try:
        their_plan, our_plan = read_plan(path, theirs.content), read_plan(path, ours.content)
        ticks, lost = _merge_ticks(their_plan, our_plan, read_plan(path, fork.content) if fork else our_plan)
        content = tick_items(path, theirs.content, ticks)
    except PlanError as complaint:
        return theirs, f"{message} as it is: {clean(str(complaint))}"
    more = f" and {len(lost) - MOST_LISTED} more" if len(lost) > MOST_LISTED else ""
    left_out = f"{message}; it lacks our changes: {', '.join(lost[:MOST_LISTED])}{more}" if lost else ""
    return CommittedFile(theirs.mode, theirs.blob, content), left_out


def _merge_ticks(their_plan: Plan, our_plan: Plan, fork: Plan) -> tuple[list[str], list[str]]:
    """Ids of our ticks that also apply to the base's plan, and descriptions of our changes that are lost."""
    ticks, lost = list[str](), list[str]()
    for item in our_plan.items:
        their_item, before = their_plan.item(item.id), fork.item(item.id)
        same = their_item is not None and _unmarked(their_item) in {_unmarked(item), _unmarked(before)}
        if item.done and not (before and before.done):
            ticks += [item.id] if same else []
            lost += [] if same else [f"the tick of {item.id}"]
        if _unmarked(item) not in {_unmarked(their_item), _unmarked(before)}:
            lost.append(f"{item.id} ({clean(item.title)[:60]})")
    return ticks, lost


def _unmarked(item: PlanItem | None) -> str:
    """Content of an item without its mark."""
    return item.model_copy(update={"line": 0, "done": False}).model_dump_json() if item else ""
