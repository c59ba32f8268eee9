"""How a loop begins: what similar work took, and its checks tried on the tree that is there, for everybody to know the start."""

from helmsman.agents.telling import introduction
from helmsman.memory.estimates import in_words
from helmsman.orient.decomposition import too_much
from helmsman.oversee.summary import start_warnings, with_baseline
from helmsman.records.checks import CheckReport, checks_fail
from helmsman.records.events import AgentIntroduced, LoopBegun, MemoryNoted, SignalRaised
from helmsman.records.state import LoopState
from tasks.checking.ready import require_ready
from tasks.loops import steps
from tasks.loops.opening import now_utc
from tasks.loops.ready import begin_verification, ready_worktree
from tasks.loops.remembering import with_estimate
from tasks.plans.plan_file import items_of
from tasks.repository.git import commit_and_tree
from tasks.repository.state_ref import replace_state
from tasks.sandbox.trial import require_sandbox
from tasks.telling.journal import publish
from tasks.worktrees.workplace import Workplace, workplace


def begun(repository: str, state: LoopState) -> LoopState:
    """A new loop with what is known of it before any work; any other one as it is. Written down once, at the end."""
    if not state.ending:
        require_sandbox(state.config.sandbox)  # before anything is paid for, on whatever machine it goes on
    if state.agent and not state.ending:  # whoever resumes it is told as well
        publish(AgentIntroduced(lines=tuple(introduction(state.agent)), untold=state.untold))
    place = workplace(repository, state)
    if not state.ending:
        ready_worktree(place, state)
    if state.iteration or state.checks or state.ending or state.gate:
        return state
    begin_verification(place, state)
    report = _tried(repository, place, state)
    expected = state if state.task_type else with_estimate(place, state, now_utc())
    _tell(expected)
    after = with_baseline(expected, report).model_copy(update={"updated_at": now_utc()}) if report else expected
    if after == state:
        return state
    told = f"baseline: {checks_fail(len(report.failures), len(report.results))}" if report else f"a {after.task_type}"
    return replace_state(place.repository, state, after, told)


def _tried(repository: str, place: Workplace, state: LoopState) -> CheckReport | None:
    """The checks before any work, where they are to be tried; and what nothing could prove is said."""
    _, tree = commit_and_tree(place.worktree, state.head)
    report = steps.baseline(repository, state, tree) if state.config.baseline and state.config.checks else None
    warnings = tuple(start_warnings(state.config, report, items_of(place, state)))
    if report or warnings:
        publish(LoopBegun(report=report, warnings=warnings))
    if report:
        require_ready(report, place.repository, state.head)
    return report


def _tell(state: LoopState) -> None:
    """What similar work took, and whether the goal is better split."""
    if state.estimate:
        publish(MemoryNoted(lines=(in_words(state.estimate),)))
    advice = too_much(state.config, state.estimate)
    if advice:
        publish(SignalRaised(signal=advice))
        publish(MemoryNoted(lines=(advice.message,)))
