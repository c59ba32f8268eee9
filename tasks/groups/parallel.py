"""A group of loops, in parallel or in sequence, for goals or a plan: which loops are due, their budgets, and their results.

Everything is read from the states of the loops; nothing else is stored, so nothing else can be lost.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, cast

from helmsman.config import LimitsConfig, LoopConfig
from helmsman.config.layers import merge_tables
from helmsman.errors import OperatorError, TransientError
from helmsman.oversee.group import MOST_RUNS, Member, due_members, prerequisites, share, unreachable_members
from helmsman.oversee.merging import NOT_MERGED, is_merge_due
from helmsman.parsers.plan_order import in_order
from helmsman.plain import clean
from helmsman.records.decision import Outcome
from helmsman.records.plan import PlanItem
from helmsman.records.request import (
    LONGEST_LOOP_ID,
    MOST_ITEMS,
    Choice,
    Link,
    LoopRequest,
    ParallelLoop,
    ParallelRequest,
    ParallelResult,
)
from helmsman.records.result import OPERATOR_EXIT_CODE
from helmsman.records.state import LoopState
from tasks.groups.same_start import require_same_goal, require_same_verification
from tasks.loop.configure import configure
from tasks.loop.merge import find_target, require_target
from tasks.loop.start import require_checks, require_no_secret
from tasks.repository.git import Repository, commit_and_tree, read_ref
from tasks.repository.loop_context import group_folder, is_finished, loop_folder
from tasks.repository.plan import plan_at
from tasks.repository.state_ref import known_state, replace_state
from tasks.system.files import write_atomic
from tasks.system.keys import verified_text, with_signature
from tasks.system.lock import exclusive_driver
from tasks.system.paths import GroupFolder
from tasks.system.trust import consent_of

MARK = 6  # hash characters that tell apart two ids which become equal as part of a loop's name

PURPOSE = "helmsman choice 1"
GOAL_SHOWN = 200
LEAST_DOLLARS = 0.0001  # a limit must not be zero; with this one a loop ends after its first call at the latest
SHARED_LIMITS = ("cost_usd", "tokens")
"""Limits shared by all loops of a group, by their names in the configuration and in a loop's spending."""


@dataclass(frozen=True)
class WorkerExit:
    """How the process of a loop ended. The loop's outcome is in its state."""

    loop: str
    exit_code: int | None
    words: str  # end of its error output


@dataclass
class Group:
    """What one run knows about its loops."""

    request: ParallelRequest
    repository: Repository
    links: tuple[Link, ...]
    limits: LimitsConfig
    config: LoopConfig  # shared by all loops
    names: tuple[str, ...]  # ids of the loops
    items: tuple[PlanItem, ...] = ()
    """The plan items of the loops, in working order; empty without a plan."""
    allocated: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    """Budget of each running loop: its state shows it only a moment later."""
    runs: Counter[str] = field(default_factory=Counter[str])
    futures: dict[str, Future[Any]] = field(default_factory=dict[str, Future[Any]])
    """The engine's future for each running loop."""
    exits: dict[str, WorkerExit] = field(default_factory=dict[str, WorkerExit])
    """How the processes ended whose tasks end next."""
    exited: set[str] = field(default_factory=set[str])
    """Loops whose process exited with status 0: whatever they hand over is handed over, or cannot be."""
    problems: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def into(self) -> str:
        """Branch that proven work is merged into."""
        return self.config.merge.into

    @property
    def folder(self) -> GroupFolder:
        return group_folder(self.repository, self.request.group)

    @property
    def chosen(self) -> Choice | None:
        """The best loop, once it is known. A choice that Helmsman did not sign is ignored."""
        path = self.folder.choice
        text = verified_text(self.identity, PURPOSE, path.read_bytes()) if self.request.best and path.exists() else None
        return None if text is None else Choice.model_validate_json(text)

    @property
    def identity(self) -> str:
        """Identity whose key signs the group's choice."""
        return f"group {self.request.group}"

    def cancelled(self) -> bool:
        return self.folder.cancel.exists()

    def states(self) -> list[LoopState | None]:
        return [known_state(self.repository, name) for name in self.names]


def open_group(request: ParallelRequest, repository: Repository) -> Group:
    """Open a group. Raises OperatorError where it cannot be run, or was started with other goals, checks or similar settings."""
    shared = LoopRequest(repository=request.repository, goal="any", settings=request.settings)
    config = configure(repository.top, shared, consent=consent_of(repository.consent_key)).config
    if config.workspace.in_place and not request.in_a_row:
        raise OperatorError("parallel loops need a worktree each", found="workspace.in_place = true", remedy="omit it")
    if request.in_a_row and (request.best or not request.loops):
        raise OperatorError(
            "loops in a row need a goal each, and all are kept",
            expected="goals",
            remedy="omit --in-a-row for several attempts at one goal, or for a plan",
        )
    plan = "" if request.loops else config.plan.file
    if plan:
        require_target(repository, config)
    items = planned_items(repository, config, request.group) if plan else ()
    links = request.loops or tuple(
        Link(
            goal="\n\n".join(part for part in (f"{item.id}: {item.title}", item.details) if part.strip()),
            settings={"plan": {"file": plan, "item": item.id}},
        )
        for item in items
    )
    if not links:
        raise OperatorError("the group has no loops", expected="goals, or a plan", remedy="add --goal TEXT, or --plan FILE")
    names = item_names(request.group, items) or tuple(f"{request.group}-{number}" for number in range(1, len(links) + 1))
    # in sequence each loop is a separate step, which may spend what the configuration allows any loop
    limits = config.limits.model_copy(update=dict.fromkeys(SHARED_LIMITS)) if request.in_a_row else config.limits
    group = Group(request, repository, links, limits, config, names, items)
    for link, state in zip(group.links, group.states(), strict=True):
        item: Any = link.settings.get("plan", {}).get("item", "")
        if state is None:
            _require_startable(group, link)
            continue
        if not (item and state.config.plan.item == item):  # reworded, it is still the same item
            require_same_goal(request.group, state, link)
        require_same_verification(repository, request, state, link)
    return group


def _require_startable(group: Group, link: Link) -> None:
    """Raise OperatorError if a new loop cannot start as configured. Then none starts, and the run gives the reason once."""
    settings = merge_tables(group.request.settings, link.settings)
    request = LoopRequest(repository=group.request.repository, goal=link.goal, checks=link.checks, settings=settings)
    config = configure(group.repository.top, request, consent=consent_of(group.repository.consent_key)).config
    require_no_secret(config)
    require_checks(config)
    require_target(group.repository, config)


def due_loops(group: Group) -> list[LoopRequest]:
    """Requests for the loops to run now, each with its budget."""
    if group.cancelled():
        return []
    states = group.states()
    members = _members(group, states)
    if (chosen := group.chosen) is not None:
        member_names = zip(members, group.names, strict=True)  # the other loops are no longer needed
        members = [member if name == chosen.loop else replace(member, settled=True) for member, name in member_names]
    workers, reopen = group.request.workers, group.request.reopen
    due_places = due_members(members, workers, reopen=reopen)
    idle = [place for place, member in enumerate(members) if not (member.started or member.running or member.settled)]
    later = [place for place in idle if place not in due_places and members[place].runs < MOST_RUNS]
    _allocate(group, due_places, len(due_places) + len(later), states)
    return [_loop_request(group, place, states) for place in due_places]


def record_exit(group: Group, ended: WorkerExit) -> None:
    """Record how a loop's process ended. What an operator has to fix first is not retried."""
    group.futures.pop(ended.loop, None)
    group.exited |= {ended.loop} if ended.exit_code == 0 else set()
    state = known_state(group.repository, ended.loop)
    if state is not None and state.ending is not None and not is_merge_due(state):
        group.problems.pop(ended.loop, None)
        return
    if ended.exit_code == OPERATOR_EXIT_CODE:
        group.runs[ended.loop] = MOST_RUNS
    group.problems[ended.loop] = ended.words or f"its process ended with status {ended.exit_code}"


def store_choice(group: Group, choice: Choice) -> bool:
    """Store the choice and configure the chosen loop to merge its work. Return whether a merge is due now.

    Idempotent: a second call continues where the first was interrupted.
    """
    write_atomic(group.folder.choice, with_signature(group.identity, PURPOSE, choice.model_dump_json()))
    state = known_state(group.repository, choice.loop)
    if state is None or not group.into or state.merged or state.outcome is not Outcome.COMPLETED:
        return False
    merge = state.config.merge.model_copy(update={"into": group.into, "push": group.config.merge.push})
    config = state.config.model_copy(update={"merge": merge})
    try:
        with exclusive_driver(loop_folder(group.repository, state.loop).lock, state.loop):
            if config != state.config:
                changed = state.model_copy(update={"config": config})
                replace_state(group.repository, state, changed, f"chosen: {choice.reason[:60]}")
    except OperatorError as error:  # it runs in another terminal
        group.problems[choice.loop] = clean(str(error))
        return False
    return group.runs[choice.loop] < MOST_RUNS


def group_result(group: Group) -> ParallelResult:
    """The result of the group so far."""
    states = group.states()
    done = done_items(group.repository, group.config, group.request.group) if group.items else frozenset[str]()
    loops = list[ParallelLoop]()
    for place, (name, link, state) in enumerate(zip(group.names, group.links, states, strict=True)):
        prompt: Any = link.settings.get("prompt", {})
        approach = str(cast("Mapping[str, Any]", prompt).get("approach", "")) if isinstance(prompt, Mapping) else ""
        goal = clean(link.goal.strip().splitlines()[0])[:GOAL_SHOWN]
        entry = ParallelLoop(loop=name, goal=goal, approach=clean(approach)[:GOAL_SHOWN])
        if state is not None:
            decision = state.ending or state.waiting
            fields = {
                "outcome": state.outcome,
                "reason": f"{decision.rule}: {clean(decision.reason)}" if decision else "",
                "branch": state.branch,
                "cost_usd": round(state.spending.cost_usd, 6),
                "untold": state.untold,
                "merged": state.merged.commit if state.merged else "",
            }
            if is_merge_due(state):  # its process ended before the merge: what was requested is not reached
                fields |= {"outcome": None, "reason": f"{NOT_MERGED}; {fields['reason']}"}
            entry = entry.model_copy(update=fields)
        if entry.outcome is not Outcome.COMPLETED and group.items and group.items[place].id in done:
            entry = entry.model_copy(update={"outcome": Outcome.COMPLETED, "reason": "ticked in the plan"})
        loops.append(entry)
    not_started = {
        group.names[place]: "its prerequisites were not completed" for place in unreachable_members(_members(group, states))
    }
    return ParallelResult(
        group=group.request.group,
        completed=sum(entry.outcome is Outcome.COMPLETED for entry in loops),
        loops=tuple(loops),
        chosen=group.chosen,
        into=group.into,
        problems=tuple(f"{loop}: {problem}" for loop, problem in {**not_started, **group.problems}.items()),
    )


def _members(group: Group, states: Sequence[LoopState | None]) -> list[Member]:
    """The loops of the group as they are now. An item that is ticked in the plan needs no loop, whoever did it."""
    done = done_items(group.repository, group.config, group.request.group) if group.items else frozenset[str]()
    in_a_row = [frozenset(range(place)) if group.request.in_a_row else frozenset[int]() for place in range(len(states))]
    needs, members = prerequisites(group.items) if group.items else in_a_row, list[Member]()
    for place, (name, state) in enumerate(zip(group.names, states, strict=True)):
        item, runs, running = group.items[place] if group.items else None, group.runs[name], name in group.futures
        completed = state is not None and state.outcome is Outcome.COMPLETED
        # in an earlier run: a stopped driver records this
        interrupted = state is not None and state.outcome is Outcome.CANCELLED and not runs
        settled = item is not None and item.id in done and not running
        if state is not None and completed:  # then it must have handed over its work, ticked or not
            settled = not is_merge_due(state) and (name in group.exited or is_finished(group.request.repository, state))
        member = Member(
            started=state is not None,
            running=running,
            settled=settled,
            ended=state is not None and state.ending is not None and not completed and not interrupted,
            runs=runs,
            needs=needs[place],
            alone=item is not None and not item.parallel,
        )
        members.append(member)
    return members


def _allocate(group: Group, places: Sequence[int], waiting: int, states: Sequence[LoopState | None]) -> None:
    """Allocate each of these loops a share of the group budget. `waiting` counts these and the loops that start later."""
    for name in SHARED_LIMITS:
        if (budget := getattr(group.limits, name)) is None:
            continue
        allocated, under_way = list[float](), set[int]()
        for place, (loop, state) in enumerate(zip(group.names, states, strict=True)):
            spent, limit = getattr(state.spending, name) if state else 0.0, 0.0
            if loop in group.futures:
                limit = group.allocated.get(loop, {}).get(name, 0.0)
            elif state is not None and state.ending is None:  # a loop whose driver died keeps its budget
                limit = getattr(state.config.limits, name) or 0.0
                under_way.add(place)
            allocated.append(max(limit, spent))
        for position, place in enumerate(places):
            if place not in under_way:
                allocated[place] += share(budget, allocated, waiting - position)
            group.allocated.setdefault(group.names[place], {})[name] = allocated[place]


def _loop_request(group: Group, place: int, states: Sequence[LoopState | None]) -> LoopRequest:
    """The request that starts or continues the loop at this place."""
    request, link, name, state = group.request, group.links[place], group.names[place], states[place]
    own: Any = link.settings.get("limits", {})
    limits = dict[str, float]()
    for key, promised in group.allocated.get(name, {}).items():  # the lower of its own limit and its share
        least = min(promised, own[key]) if isinstance(own.get(key), int | float) else promised
        limits[key] = max(int(least), 1) if key == "tokens" else max(least, LEAST_DOLLARS)
    attempt = request.best and (group.chosen is None or group.chosen.loop != name)
    overrides = {"limits": limits, "merge": {"into": ""}} if attempt else {"limits": limits}  # only the best attempt is merged
    settings = merge_tables(merge_tables(request.settings, link.settings), overrides)
    if state is None:  # the base, where it is not the checkout; in place, the checkout holds the earlier work
        before, base = states[place - 1] if place and request.in_a_row else None, ""
        if before is not None:
            base = "" if before.config.workspace.in_place else before.branch
        elif group.items and group.into:
            base = start_commit(group.repository, group.config, request.group)
        return LoopRequest(
            repository=request.repository, goal=link.goal, checks=link.checks, loop=name, settings=settings, base=base
        )
    if state.ending is None or state.outcome is Outcome.COMPLETED:  # it has its limits, or no longer needs any
        return LoopRequest(repository=request.repository, loop=name)
    settings = settings if request.reopen else {"limits": limits}
    return LoopRequest(repository=request.repository, loop=name, settings=settings, reopen=True)


def planned_items(repository: Repository, config: LoopConfig, group: str) -> tuple[PlanItem, ...]:
    """All plan items in working order. Raises OperatorError where parallel loops cannot do them."""
    file, into = config.plan.file, config.merge.into
    items = tuple(in_order(plan_at(repository, start_commit(repository, config, group), file)))
    if len(items) > MOST_ITEMS:
        raise OperatorError(
            "the plan is too long for a group", expected=f"{MOST_ITEMS} items at most", found=f"{len(items)} in {file}",
            remedy="use one loop for it: helmsman run --plan; or split it",
        )  # fmt: skip
    dependent = next((items[place] for place, needs in enumerate(prerequisites(items)) if needs and not items[place].done), None)
    if dependent is not None and not into:
        raise OperatorError(
            f"item {dependent.id} of {file} depends on others, whose work its loop would not have",
            expected="a branch into which the work of each is merged",
            remedy="name one: --merge BRANCH; or mark independent items with [P]",
        )
    return items


def done_items(repository: Repository, config: LoopConfig, group: str) -> frozenset[str]:
    """Ids of the items that are done; empty where the plan can no longer be read."""
    try:
        plan = plan_at(repository, start_commit(repository, config, group), config.plan.file)
    except OperatorError:
        return frozenset()
    return frozenset(item.id for item in plan.items if item.done)


def item_names(group: str, items: Sequence[PlanItem]) -> tuple[str, ...]:
    """Loop ids of the items, independent of an item's position in the plan."""
    names: dict[str, None] = {}
    for item in items:
        name = f"{group}-{re.sub(r'[^a-z0-9]+', '-', item.id.lower()).strip('-')}".strip("-")
        if len(name) > LONGEST_LOOP_ID or name in names or name == group:
            mark = hashlib.sha256(item.id.encode()).hexdigest()[:MARK]
            name = f"{name[: LONGEST_LOOP_ID - MARK - 1].strip('-')}-{mark}"
        names[name] = None
    return tuple(names)


def start_commit(repository: Repository, config: LoopConfig, group: str) -> str:
    """The commit that a new loop starts from: the tip of the merge branch, or HEAD where nothing is merged."""
    into, remote = config.merge.into, config.remote.name
    if not into:
        return commit_and_tree(repository.top, "HEAD")[0]
    try:
        return find_target(repository, config, group).base
    except TransientError:  # the last known state of the remote is enough: a merge asks the remote again
        refs = (f"refs/remotes/{remote}/{into}", f"refs/heads/{into}")
        last_known = next((commit for ref in refs if (commit := read_ref(repository.common, ref))), None)
        if last_known is None:
            raise
        return last_known
