"""The plan's file in the repository: read from commits, put back after the agent, ticked in commits of ours."""

from datetime import datetime

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.orient.research import researching
from helmsman.oversee.advice import advise
from helmsman.plain import clean
from helmsman.plans.anew import objection
from helmsman.plans.complaint import Complaint
from helmsman.plans.files import read_plan, ticked
from helmsman.plans.hand import beginning, gone, in_hand
from helmsman.records.iteration import Evidence
from helmsman.records.plan import InHand, Plan, PlanItem, PlanProgress, PlanTouched, Tick
from helmsman.records.state import LoopState
from helmsman.records.verdict import Decision
from tasks.repository.branch_files import Held, held_in, not_in_commit, put_on_branch, tree_with
from tasks.repository.git import Repository, commit_and_tree, git, tip_of
from tasks.worktrees.workplace import Workplace
from tasks.worktrees.worktree import hold_branch, recover, restore

PUT_BACK = "helmsman: put back the plan"
TRAILER = "Helmsman-Tick"


def plan_at(repository: Repository, commit: str, path: str) -> Plan:
    """The plan as a commit has it. Raises OperatorError where it is not there or cannot be followed, with the line."""
    held = held_in(repository, commit, path)
    if held is None:
        raise not_in_commit(repository, commit, path, "plan.file")
    try:
        return read_plan(path, held.content)
    except Complaint as complaint:
        raise complaint.about(path) from None


def begun_plan(repository: Repository, commit: str, config: LoopConfig) -> PlanProgress:
    """How a new loop stands with its plan, where it has one. Raises OperatorError for a plan that no loop could follow."""
    if not config.plan.file:
        return PlanProgress()
    return beginning(plan_at(repository, commit, config.plan.file), config.plan.item, config.plan.file)


def items_of(place: Workplace, state: LoopState) -> tuple[PlanItem, ...]:
    """What of its plan the loop is for; nothing where it has none."""
    config = state.config.plan
    if not config.file:
        return ()
    return tuple(one for one in plan_at(place.repository, state.head, config.file).items if config.item in {"", one.id})


def plan_in_hand(place: Workplace, state: LoopState, commit: str, *, small: bool = False) -> InHand | None:
    """What of the plan the iteration that is due has before it; None where it has another task. `small`: prefer small items."""
    config = state.config.plan
    if not config.file or researching(state):
        return None
    if state.merging.trouble and held_in(place.repository, commit, config.file) is None:
        return None  # whoever merged before us has taken the plan away; ours was done
    plan = plan_at(place.repository, commit, config.file)
    if config.item and plan.item(config.item) is None and not state.merging.trouble:
        raise gone(plan, config.item, config.file, state.loop)
    begun = state.plan.now if state.plan.tried else ""
    return in_hand(plan, config.item, anew=_makes_anew(state), small=small, begun=begun)


def put_back(place: Workplace, state: LoopState, start: str) -> PlanTouched | None:
    """Undo, in a commit that says so, what the agent did to the plan; a new plan stays where one was asked for. None: nothing."""
    path = state.config.plan.file
    trouble = state.merging.trouble
    met = trouble is not None and any(one.path == path for one in trouble.files)  # to fix it is the agent's task
    before = held_in(place.repository, start, path) if path and not met else None
    if before is None:
        return None
    commit, _ = commit_and_tree(place.worktree)
    after, problem = _held(place.repository, commit, path)
    if after and after.blob == before.blob and after.mode == before.mode:
        return None
    why = problem or _objection(state, path, before, after)
    if not why:
        return PlanTouched(kept=True, why="the plan was made anew")
    tree = tree_with(place.repository, commit, path, before.content, before.mode)
    said = "-m", PUT_BACK, "-m", f"The loop ticks it, not the agent.\n\nHelmsman-Loop: {state.loop}"
    _stand_on(place, state, git(place.repository.common, "commit-tree", tree, "-p", commit, *said).strip())
    return PlanTouched(why=why)


def tick(place: Workplace, state: LoopState, evidence: Evidence, decision: Decision) -> Tick:
    """Tick the item that was proven. The same values make the same commit, so whoever does it again changes nothing."""
    proof, start, path = evidence.item, evidence.execution.change.commit, state.config.plan.file
    held = held_in(place.repository, start, path)
    if proof is None or held is None:
        raise OperatorError("there is nothing to tick", expected=path, found=f"commit {start[:12]} without it")
    tree = tree_with(place.repository, start, path, _with_ticks(path, held.content, [proof.item]), held.mode)
    subject = clean(f"Tick {proof.item}: {proof.title}")[:200]
    commit = tick_commit(place.repository, state, tree, start, subject, [proof.item], decision.at)
    _stand_on(place, state, commit)
    return Tick(item=proof.item, commit=commit, tree=tree)


def tick_by_word(place: Workplace, state: LoopState, who: str) -> None:
    """Tick the item in hand on the loop's branch, as a person says that it is done; once, however often it is asked."""
    path, item, tip = (
        state.config.plan.file,
        state.plan.now,
        commit_and_tree(place.repository.common, f"refs/heads/{state.branch}")[0],
    )
    held = held_in(place.repository, tip, path)
    wanted = plan_at(place.repository, tip, path).item(item)
    if held is None or wanted is None or wanted.done:
        return
    content = _with_ticks(path, held.content, [item])
    put_on_branch(place.repository, state, tip, path, content, clean(f"Tick {item}: {wanted.title}, by the word of {who}")[:200])


def tick_commit(
    repository: Repository, state: LoopState, tree: str, parent: str, subject: str, items: list[str], at: datetime
) -> str:
    """A commit that ticks, on no branch yet."""
    date = f"{int(at.timestamp())} +0000"
    trailers = "\n".join((f"Helmsman-Loop: {state.loop}", *(f"{TRAILER}: {item}" for item in items)))
    dated = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    return git(repository.common, "commit-tree", tree, "-p", parent, "-m", subject, "-m", trailers, env=dated).strip()


def stand_at(place: Workplace, state: LoopState, done: Tick) -> None:
    """Checks that were asked again after a crash leave the branch where they ran."""
    if tip_of(place.worktree, state.branch) != (done.commit, True):
        _stand_on(place, state, done.commit)


def _with_ticks(path: str, content: bytes, items: list[str]) -> bytes:
    try:
        return ticked(path, content, items)
    except Complaint as complaint:
        raise complaint.about(path) from None


def _stand_on(place: Workplace, state: LoopState, commit: str) -> None:
    recover(place.repository, place.worktree, state.branch)
    restore(place.worktree, commit)
    hold_branch(place.worktree, state.branch, commit)


def _held(repository: Repository, commit: str, path: str) -> tuple[Held | None, str]:
    """The file as the agent left it, or what is wrong with it."""
    try:
        held = held_in(repository, commit, path)
    except OperatorError:
        return None, "it was no plain file any more"
    return held, "" if held else "it was gone"


def _objection(state: LoopState, path: str, before: Held, after: Held | None) -> str:
    """Why the agent's change does not count; empty where it does."""
    if after is None or not _makes_anew(state):
        return "the loop ticks its items by evidence, and nobody asked for another plan"
    try:
        return objection(read_plan(path, before.content), read_plan(path, after.content), state.config.plan.item)
    except Complaint as complaint:
        return f"the new plan cannot be followed: {clean(str(complaint))}"


def _makes_anew(state: LoopState) -> bool:
    return advise(state).anew
