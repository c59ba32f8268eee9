"""Trying to merge proven work: the branch that it is for never holds a tree that was not checked.

Whoever dies at any point leaves a branch that is right and a loop that goes on: what is ready is written down before the branch
moves, and a branch that holds it has been merged.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from helmsman.errors import Cancelled, HelmsmanError, WorldError
from helmsman.oversee.merging import arrived, hindered, landing, landing_due, ready, still_proven, to_be_proven, troubled
from helmsman.plain import clean
from helmsman.records.checks import CheckReport
from helmsman.records.events import LoopMerged, MergeFailed
from helmsman.records.merging import Conflicted, Merged, Prepared, Trouble
from helmsman.records.state import LoopState
from helmsman.texts import counted
from helmsman.verify.completion import unseen_tests
from tasks.loop.handoff import handed_on
from tasks.loop.merge_target import Target, bring_along, contains, find_target, move_on
from tasks.loop.merge_work import FILES_TOLD, Joined, intents, join, merge_commit, place_on, settled
from tasks.observers.journal import publish
from tasks.repository.git import commit_and_tree, current_branch, read_ref
from tasks.repository.state_ref import Fenced, read_state, replace_state
from tasks.system.clock import now_utc
from tasks.system.secrets import redact
from tasks.worktrees.workplace import Workplace
from tasks.worktrees.worktree import hold_branch, restore

T = TypeVar("T")
Check = Callable[[str, str], CheckReport]
"""Every check on a commit and its tree."""
RACES = 20
"""Times that somebody else may move the branch first."""
NAMED = 3
"""Files, checks or tests that a clause names."""
_WHERE = ", verified in the agent's folder"
NAP_SECONDS = 0.5
"""Until the next look at a branch that is being moved."""


@dataclass(frozen=True)
class _Verified:
    """A commit that holds both sides and passes every check, or why it does not."""

    commit: str
    report: CheckReport
    problem: str


def begin_landing(place: Workplace, state: LoopState) -> LoopState:
    """Write down that the work is proven, so that it stays so, whoever cancels or kills us while it waits to be merged."""
    return _written(place, state, landing(state), f"merge into {state.config.merge.into}")


def land(place: Workplace, state: LoopState, check: Check) -> LoopState:
    """Merge the work of a loop whose landing has begun. Returns it merged, with a task, or waiting for a person.

    Raises Cancelled, and Fenced where another process drives the loop.
    """
    try:
        return _until_nobody_is_faster(place, state, check)
    except (Fenced, Cancelled):
        raise
    except HelmsmanError as error:
        rule = "world" if isinstance(error, WorldError) else "hindered"
        before, _ = read_state(place.repository, state.loop)
        return _failed(place, before, hindered(before, rule, _in_a_line(error), now_utc()))


def _in_a_line(error: HelmsmanError) -> str:
    return "; ".join(" ".join(line.split()) for line in str(error).splitlines() if line.strip())


def catch_up(place: Workplace, state: LoopState) -> LoopState:
    """The branch where the state says that it goes on, if the driver that found the trouble died before it moved it."""
    trouble = state.merging.trouble
    if trouble and state.head == trouble.head:
        place_on(place, state, trouble.head, trouble.work)
    return state


def _until_nobody_is_faster(place: Workplace, state: LoopState, check: Check) -> LoopState:
    for _ in range(RACES):
        state = _tried(place, state, check)
        if not landing_due(state):
            return state
        _nap(place, NAP_SECONDS)
    raise WorldError(f"{state.config.merge.into} was moved by somebody else {RACES} times in a row before the merge was through")


def _tried(place: Workplace, state: LoopState, check: Check) -> LoopState:
    """One attempt. It is still due afterwards where somebody else has moved the branch meanwhile."""
    target = _patiently(place, state, lambda: find_target(place.repository, state.config, state.loop))
    known = _decided(place, state, target)
    if known is not None:
        return known
    settled(place, state)
    joined = join(place, state, target.base)
    if joined.conflicts:
        return _conflict(place, state, target, joined)
    if target.holds(joined.commit):
        return _arrived(place, state, target, Prepared(base=target.base, head=joined.commit, commit=target.base))
    verified = _verified(place, state, joined.commit, check)
    if not still_proven(state, read_ref(place.repository.common, f"refs/heads/{state.branch}")):
        return state
    if verified.problem:
        return _unverified(place, state, target, verified, joined.notes)
    return _moved(place, state, target, verified, joined.notes)


def _decided(place: Workplace, state: LoopState, target: Target) -> LoopState | None:
    """What needs no work: the branch holds it, be it by a driver that died, or what was proven is not what is there."""
    prepared = state.merging.prepared
    if prepared and target.holds(prepared.commit):
        return _arrived(place, state, target, prepared)
    tip = read_ref(place.repository.common, f"refs/heads/{state.branch}")
    if not still_proven(state, tip):
        _follow(place, state, tip)
        return _written(place, state, to_be_proven(state, now_utc()), "its branch moved on before it was merged")
    if target.holds(state.head):
        return _arrived(place, state, target, Prepared(base=target.base, head=state.head, commit=target.base))
    return None


def _follow(place: Workplace, state: LoopState, tip: str | None) -> None:
    """The worktree goes along with whoever committed on the branch while it was on no branch, for the checks."""
    if tip and place.worktree.exists() and not current_branch(place.worktree):
        restore(place.worktree, tip)
        hold_branch(place.worktree, state.branch, tip)


def _verified(place: Workplace, state: LoopState, commit: str, check: Check) -> _Verified:
    """With what the loop hands over, where that passes as well."""
    handed = handed_on(place, state, commit)
    if handed != commit:
        with_it = _checked(place, state, handed, check)
        if not with_it.problem:
            return with_it
    return _checked(place, state, commit, check)


def _checked(place: Workplace, state: LoopState, commit: str, check: Check) -> _Verified:
    _, tree = commit_and_tree(place.worktree, commit)
    report = check(commit, tree)
    return _Verified(commit, report, _problem(state, report))


def _problem(state: LoopState, report: CheckReport) -> str:
    missing = unseen_tests(state.config, report)
    if missing:
        return f"required tests were not seen to run: {', '.join(map(clean, missing[:NAMED]))}"
    if report.passed:
        return ""
    names = ", ".join(clean(result.name) for result in report.failures[:NAMED])
    return f"{len(report.failures)} of {counted(len(report.results), 'check')} failed on both sides together: {names}"


def _moved(place: Workplace, state: LoopState, target: Target, verified: _Verified, notes: tuple[str, ...]) -> LoopState:
    """What is ready is written down first: whoever dies after the branch has moved finds it there."""
    commit = merge_commit(place, state, target.base, verified.commit, _told(state, verified.report, notes))
    prepared = Prepared(base=target.base, head=verified.commit, commit=commit)
    state = _written(place, state, ready(state, prepared), f"ready to be merged into {target.branch} as {commit[:12]}")
    if not _patiently(place, state, lambda: move_on(target, commit)):
        return state
    return _arrived(place, state, target, prepared, notes)


def _told(state: LoopState, report: CheckReport, notes: tuple[str, ...]) -> list[str]:
    """What the merge commit says."""
    proven = state.merging.proven
    lines = (
        f"Loop {state.loop}, {counted(state.iteration, 'iteration')}.",
        *((f"Proven by {proven.rule}: {clean(proven.reason)[:500]}",) if proven else ()),
        f"Every check passes on exactly this tree{_WHERE if report.clean is False else ''}:",
        *(f"  {clean(result.command)[:200]}" for result in report.results),
        *notes,
    )
    return [redact(line) for line in lines]


def _arrived(place: Workplace, state: LoopState, target: Target, prepared: Prepared, known: tuple[str, ...] = ()) -> LoopState:
    """The branch holds it. The loop's own branch comes to where it was merged, and so does the checkout of a remote's branch."""
    notes = [*known, bring_along(target, prepared.commit), _own_branch(place, state, prepared.head)]
    merged = Merged(
        into=target.branch,
        base=prepared.base,
        head=prepared.head,
        commit=prepared.commit,
        at=now_utc(),
        remote=target.remote if prepared.commit != prepared.base else "",
    )
    stays = prepared.head == state.head or contains(place.repository, state.head, prepared.base)
    began = state.base_commit if stays else prepared.base
    after = _written(place, state, arrived(state, merged, began), f"merged into {target.branch} as {prepared.commit[:12]}")
    publish(LoopMerged(merged=merged, notes=tuple(filter(None, notes))))
    return after


def _own_branch(place: Workplace, state: LoopState, commit: str) -> str:
    """Why the loop's branch stays behind; what is merged stays merged."""
    try:
        return "" if place_on(place, state, commit, state.head) else f"{state.branch} has moved since, so it was left as it is"
    except HelmsmanError as error:
        return f"{state.branch} was left as it is: {error.problem}"


def _conflict(place: Workplace, state: LoopState, target: Target, joined: Joined) -> LoopState:
    files = joined.conflicts[:FILES_TOLD]
    paths = [one.path for one in files]
    named = ", ".join(map(clean, paths[:NAMED]))
    trouble = Trouble(
        kind="conflict",
        into=target.branch,
        base=target.base,
        work=state.head,
        head=joined.commit,
        files=tuple(_in_utf_8(one) for one in files),
        ours=intents(place.repository, state.head, target.base, paths),
        theirs=intents(place.repository, target.base, state.head, paths),
        why="; ".join((f"{counted(len(joined.conflicts), 'file')} in conflict with {target.branch}: {named}", *joined.notes)),
    )
    return _failed(place, state, troubled(state, trouble, None, now_utc()))


def _in_utf_8(one: Conflicted) -> Conflicted:
    """A state is JSON, and a name is whatever bytes somebody chose."""
    return one.model_copy(update={"path": os.fsencode(one.path).decode(errors="replace")})


def _unverified(place: Workplace, state: LoopState, target: Target, verified: _Verified, notes: tuple[str, ...]) -> LoopState:
    trouble = Trouble(
        kind="checks",
        into=target.branch,
        base=target.base,
        work=state.head,
        head=verified.commit,
        theirs=intents(place.repository, target.base, state.head, ()),
        why="; ".join((verified.problem, *notes)),
    )
    return _failed(place, state, troubled(state, trouble, verified.report, now_utc()))


def _failed(place: Workplace, before: LoopState, after: LoopState) -> LoopState:
    """The loop's branch follows what is written down, so that whoever dies in between knows where it belongs."""
    why = after.ending.reason if after.ending else after.merging.trouble.why if after.merging.trouble else ""
    publish(MergeFailed(into=after.config.merge.into, why=why))
    after = _written(place, before, after, f"not merged: {why[:150]}")
    if after.head != before.head:
        place_on(place, after, after.head, before.head)
    return after


def _written(place: Workplace, before: LoopState, after: LoopState, subject: str) -> LoopState:
    return after if after == before else replace_state(place.repository, before, after, subject)


def _patiently(place: Workplace, state: LoopState, work: Callable[[], T]) -> T:
    """Again while the world is to blame, with growing delays."""
    retry = state.config.retry
    for number in range(retry.attempts):
        try:
            return work()
        except WorldError:
            _nap(place, min(retry.first_delay_seconds * 2**number, retry.longest_delay_seconds))
    return work()


def _nap(place: Workplace, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not place.folder.cancel.exists() and time.monotonic() < until:
        time.sleep(min(NAP_SECONDS, max(until - time.monotonic(), 0.0)))
    if place.folder.cancel.exists():
        raise Cancelled("cancelled while the work was being merged")
