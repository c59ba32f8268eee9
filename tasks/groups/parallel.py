"""A group of loops, side by side or in a row: which are due, what each may spend, and what became of them.

All of it is read from the states of its loops, and nothing else is kept, so nothing else can be lost.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

from helmsman.config import LimitsConfig, LoopConfig
from helmsman.config.layers import merged
from helmsman.errors import OperatorError
from helmsman.oversee.group import MOST_DRIVES, Account, Member, due, edges, share, unreached
from helmsman.oversee.merging import landing_due
from helmsman.parsers.alignment_file import own_goal
from helmsman.plain import clean
from helmsman.records.decision import Outcome
from helmsman.records.plan import PlanItem
from helmsman.records.request import Choice, Link, LoopRequest, ParallelLoop, ParallelRequest, ParallelResult
from helmsman.records.result import OPERATOR_EXIT_CODE
from helmsman.records.state import LoopState
from tasks.groups.group_plan import done_items, item_link, item_names, planned_items, tip
from tasks.loop.configure import configure
from tasks.loop.merge_target import require_target
from tasks.repository.git import Repository
from tasks.repository.loop_context import group_folder, is_finished, loop_folder
from tasks.repository.state_ref import known_state, replace_state
from tasks.system.files import write_atomic
from tasks.system.keys import authentic, signed
from tasks.system.lock import exclusive_driver
from tasks.system.paths import GroupFolder
from tasks.system.secrets import redact
from tasks.system.trust import consent_of

PURPOSE = "helmsman choice 1"
GOAL_SHOWN = 200
LEAST_DOLLARS = 0.0001
"""No limit may be nothing; with so little a loop ends after its first call at the latest."""


SHARED = ("cost_usd", "tokens")
"""Limits that bind all loops together, by their names in the configuration and in what a loop has spent."""
Shares = Mapping[str, float]


@dataclass
class GroupBudget:
    """Loops are told by their place in the group."""

    limits: LimitsConfig
    promised: dict[int, Shares] = field(default_factory=dict[int, Shares])
    """To those that are at work: their state tells only a moment later."""

    def grant(self, places: Sequence[int], waiting: int, states: Sequence[LoopState | None], at_work: Collection[int]) -> None:
        """Promise each of these loops a share. `waiting` counts them and those that begin later."""
        for name in SHARED:
            accounts = [self._account(name, place, state, at_work=place in at_work) for place, state in enumerate(states)]
            for passed, place in enumerate(places):
                limit = self._limit(name, accounts, place, waiting - passed)
                known = {key: value for key, value in self.promised.get(place, {}).items() if key != name}
                self.promised[place] = {**known, **({} if limit is None else {name: limit})}

    def _account(self, name: str, place: int, state: LoopState | None, *, at_work: bool) -> Account:
        spent = getattr(state.spending, name) if state else 0.0
        if at_work:
            return Account(spent, self.promised.get(place, {}).get(name, 0.0), at_work=True)
        goes_on = state is not None and state.ending is None
        return Account(spent, (getattr(state.config.limits, name) or 0.0) if state and goes_on else 0.0, at_work=goes_on)

    def _limit(self, name: str, accounts: list[Account], place: int, waiting: int) -> float | None:
        """What a loop may spend in all, its account changed for the next one; None where nothing is limited."""
        budget, mine = getattr(self.limits, name), accounts[place]
        if budget is None:
            return None
        if not mine.at_work:  # one that died goes on with what it had
            accounts[place] = Account(mine.spent, mine.spent + share(budget, accounts, waiting), at_work=True)
        return accounts[place].held


@dataclass(frozen=True)
class WorkerExit:
    """How the process of a loop ended. What the loop came to is in its state."""

    loop: str
    exit_code: int | None
    words: str
    """The end of what it complained of."""


@dataclass
class Group:
    """What one run knows of its loops."""

    request: ParallelRequest
    repository: Repository
    links: tuple[Link, ...]
    purse: GroupBudget
    config: LoopConfig
    """What is the same for all of them."""
    names: tuple[str, ...]
    """Ids of the loops."""
    items: tuple[PlanItem, ...] = ()
    """The items of a plan that they are for, in the order of work; empty: they are for none."""
    at_work: set[str] = field(default_factory=set[str])
    driven: Counter[str] = field(default_factory=Counter[str])
    futures: dict[str, Future[Any]] = field(default_factory=dict[str, Future[Any]])
    """Of the loops that were begun, what the engine runs."""
    departures: SimpleQueue[WorkerExit] = field(default_factory=SimpleQueue[WorkerExit])
    left: set[str] = field(default_factory=set[str])
    """Loops whose process ended well: they have left what they leave, or cannot."""
    problems: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def into(self) -> str:
        """Branch that proven work goes into."""
        return self.config.merge.into

    @property
    def folder(self) -> GroupFolder:
        return group_folder(self.repository, self.request.group)

    @property
    def chosen(self) -> Choice | None:
        """The best of them, once it is known. What Helmsman did not write there chooses nothing."""
        path = self.folder.choice
        text = authentic(self.identity, PURPOSE, path.read_bytes()) if self.request.best and path.exists() else None
        return None if text is None else Choice.model_validate_json(text)

    @property
    def identity(self) -> str:
        """Whose key signs its choice."""
        return f"group {self.request.group}"

    def cancelled(self) -> bool:
        return self.folder.cancel.exists()

    def states(self) -> list[LoopState | None]:
        return [known_state(self.repository, name) for name in self.names]


def in_a_line(link: Link) -> str:
    return clean(link.goal.strip().splitlines()[0])[:GOAL_SHOWN]


def _require_same_goal(name: str, state: LoopState, link: Link) -> None:
    """Raises OperatorError where a loop was begun with another goal: whoever goes on would go on from work for something else."""
    begun = own_goal(state.config.goal)
    if begun.strip() != redact(link.goal).strip():
        raise OperatorError(
            f"group {name} was begun with other goals",
            expected=f"for {state.loop}: {clean(begun)[:GOAL_SHOWN]}",
            found=clean(link.goal)[:GOAL_SHOWN],
            remedy="give the goals that it was begun with, or begin another group: --name NAME",
        )


def opened(request: ParallelRequest, repository: Repository) -> Group:
    """Raises OperatorError where the group cannot be driven, or was begun with other goals."""
    said = LoopRequest(repository=request.repository, goal="any", settings=request.settings)
    config = configure(repository.top, said, consent=consent_of(repository.common)).config
    if config.workspace.in_place and not request.in_a_row:
        raise OperatorError(
            "loops side by side need a worktree each", found="workspace.in_place = true", remedy="leave it out for them"
        )
    if request.in_a_row and (request.best or not request.loops):
        raise OperatorError(
            "loops in a row have a goal each, and all are kept",
            expected="goals",
            remedy="leave --in-a-row out for several attempts at one goal, or for a plan",
        )
    plan = "" if request.loops else config.plan.file
    if plan:
        require_target(repository, config)
    items = planned_items(repository, config, request.group) if plan else ()
    links = request.loops or tuple(item_link(plan, item) for item in items)
    if not links:
        raise OperatorError("there is nothing to do", expected="goals, or a plan", remedy="give --goal TEXT, or --plan FILE")
    names = item_names(request.group, items) or tuple(f"{request.group}-{number}" for number in range(1, len(links) + 1))
    # in a row each loop is a step of its own, which may spend what the configuration allows any loop
    limits = config.limits.model_copy(update=dict.fromkeys(SHARED)) if request.in_a_row else config.limits
    group = Group(request, repository, links, GroupBudget(limits), config, names, items)
    for link, state in zip(group.links, group.states(), strict=True):
        item: Any = link.settings.get("plan", {}).get("item", "")
        if state is not None and not (item and state.config.plan.item == item):  # it may be worded anew, and stays the same item
            _require_same_goal(request.group, state, link)
    return group


def due_loops(group: Group) -> list[LoopRequest]:
    """The loops that are to be driven now, each with what it may spend."""
    if group.cancelled():
        return []
    states = group.states()
    members = _members(group, states)
    if (chosen := group.chosen) is not None:
        known = zip(members, group.names, strict=True)  # whatever the others came to, nobody needs them any more
        members = [member if name == chosen.loop else replace(member, settled=True) for member, name in known]
    workers, reopen = group.request.workers, group.request.reopen
    places = due(members, workers, reopen=reopen)
    idle = [place for place, one in enumerate(members) if not (one.begun or one.at_work or one.settled)]
    later = [place for place in idle if place not in places and members[place].driven < MOST_DRIVES]
    at_work = [place for place, member in enumerate(members) if member.at_work]
    group.purse.grant(places, len(places) + len(later), states, at_work)
    return [_request(group, place, states) for place in places]


def departed(group: Group, gone: WorkerExit) -> None:
    """Note how a loop's process ended. What an operator has to fix first is not tried again."""
    group.at_work.discard(gone.loop)
    group.left |= {gone.loop} if gone.exit_code == 0 else set()
    state = known_state(group.repository, gone.loop)
    if state is not None and state.ending is not None:
        group.problems.pop(gone.loop, None)
        return
    if gone.exit_code == OPERATOR_EXIT_CODE:
        group.driven[gone.loop] = MOST_DRIVES
    group.problems[gone.loop] = gone.words or f"its process ended with status {gone.exit_code}"


def candidates(group: Group) -> list[LoopState]:
    """Loops of which the best is to be chosen: nobody is at work any more, and these have completed."""
    done = [state for state in group.states() if state is not None and state.outcome is Outcome.COMPLETED]
    return done if group.request.best and not group.at_work and not group.cancelled() else []


def keep(group: Group, choice: Choice) -> bool:
    """Have the work of the chosen loop merged, where something is to be merged. Returns whether that is due now.

    Done again, it goes on where it was cut off.
    """
    group.folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(group.folder.choice, signed(group.identity, PURPOSE, choice.model_dump_json()))
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
    except OperatorError as error:  # somebody drives it in another terminal
        group.problems[choice.loop] = clean(str(error))
        return False
    return group.driven[choice.loop] < MOST_DRIVES


def group_result(group: Group) -> ParallelResult:
    """How it stands."""
    states = group.states()
    members = _members(group, states)
    done = done_items(group.repository, group.config, group.request.group) if group.items else frozenset[str]()
    never = {group.names[place]: "what it needs was not completed" for place in unreached(members)}
    loops = tuple(_stands(group, place, states[place], done) for place in range(len(states)))
    problems = tuple(f"{loop}: {words}" for loop, words in {**never, **group.problems}.items())
    completed = sum(one.outcome is Outcome.COMPLETED for one in loops)
    return ParallelResult(
        group=group.request.group,
        completed=completed,
        loops=loops,
        chosen=group.chosen,
        into=group.into,
        problems=problems,
    )


def _members(group: Group, states: Sequence[LoopState | None]) -> list[Member]:
    """As they stand. An item that the plan says is done needs no loop any more, whoever did it."""
    members = [_member(group, place, states) for place in range(len(states))]
    if group.request.in_a_row:
        return [replace(member, needs=frozenset(range(place))) for place, member in enumerate(members)]
    if not group.items:
        return members
    done = done_items(group.repository, group.config, group.request.group)
    return [
        replace(member, needs=needs, alone=not item.parallel, settled=member.settled or (item.id in done and member.through))
        for member, item, needs in zip(members, group.items, edges(group.items), strict=True)
    ]


def _member(group: Group, place: int, states: Sequence[LoopState | None]) -> Member:
    name, state = group.names[place], states[place]
    driven, at_work = group.driven[name], name in group.at_work
    if state is None:
        return Member(at_work=at_work, driven=driven)
    completed = state.outcome is Outcome.COMPLETED
    interrupted = state.outcome is Outcome.CANCELLED and not driven  # in an earlier run: a driver that is told to end says so
    return Member(
        begun=True,
        at_work=at_work,
        through=not at_work and not completed,
        settled=completed and not landing_due(state) and (name in group.left or is_finished(group.request.repository, state)),
        ended=state.ending is not None and not completed and not interrupted,
        driven=driven,
    )


def _request(group: Group, place: int, states: Sequence[LoopState | None]) -> LoopRequest:
    request, link, name, state = group.request, group.links[place], group.names[place], states[place]
    limits = _limits(group.purse.promised[place], link)
    attempt = request.best and (group.chosen is None or group.chosen.loop != name)
    apart = {"limits": limits, "merge": {"into": ""}} if attempt else {"limits": limits}  # of attempts only the best is merged
    own = merged(merged(request.settings, link.settings), apart)
    if state is None:
        new = LoopRequest(repository=request.repository, goal=link.goal, checks=link.checks, loop=name, settings=own)
        return new.model_copy(update={"base": _base(group, states[place - 1] if place and request.in_a_row else None)})
    if state.ending is None or state.outcome is Outcome.COMPLETED:  # it has its limits, or needs none any more
        return LoopRequest(repository=request.repository, loop=name)
    settings = own if request.reopen else {"limits": limits}
    return LoopRequest(repository=request.repository, loop=name, settings=settings, reopen=True)


def _base(group: Group, before: LoopState | None) -> str:
    """What a new loop begins with that is not what is checked out: the work of the one before it, or of those that it needs."""
    if before is not None:  # in place its work is what is checked out
        return "" if before.config.workspace.in_place else before.branch
    return tip(group.repository, group.config, group.request.group) if group.items and group.into else ""


def _limits(shares: Shares, link: Link) -> dict[str, Any]:
    """A loop's own limit counts where it is lower than its share."""
    limits: Any = link.settings.get("limits", {})
    own = {name: limits[name] for name in SHARED if isinstance(limits.get(name), int | float)}
    lower = {name: min(value, own.get(name, value)) for name, value in shares.items()}
    return {name: max(int(value), 1) if name == "tokens" else max(value, LEAST_DOLLARS) for name, value in lower.items()}


def _stands(group: Group, place: int, state: LoopState | None, done: frozenset[str]) -> ParallelLoop:
    link = group.links[place]
    one = ParallelLoop(loop=group.names[place], goal=in_a_line(link), approach=clean(_approach(link))[:GOAL_SHOWN])
    if state is not None:
        why = state.ending or state.waiting
        told = {
            "outcome": state.outcome,
            "reason": f"{why.rule}: {clean(why.reason)}" if why else "",
            "branch": state.branch,
            "cost_usd": round(state.spending.cost_usd, 6),
            "untold": state.untold,
            "merged": state.merged.commit if state.merged else "",
        }
        one = one.model_copy(update=told)
    if one.outcome is not Outcome.COMPLETED and group.items and group.items[place].id in done:
        return one.model_copy(update={"outcome": Outcome.COMPLETED, "reason": "it is ticked in the plan"})
    return one


def _approach(link: Link) -> str:
    said: Any = link.settings.get("prompt", {})
    return str(said.get("approach", "")) if isinstance(said, dict) else ""  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
