"""Bringing a loop to life: made from a request, or read back and mended after its driver died."""

import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from helmsman.config import LoopConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.layers import COMMAND_LINE, Layer, Resolved, from_environment, resolve, shown
from helmsman.memory.handoff import inherited_from
from helmsman.naming import loop_id
from helmsman.orient.alignment import own_goal
from helmsman.oversee.answers import reconfigured
from helmsman.oversee.gates import gate_due
from helmsman.oversee.limits import limit_signals
from helmsman.oversee.overseeing import relieved
from helmsman.records.agents import Agent
from helmsman.records.evidence import Interrupted
from helmsman.records.hats import Preset
from helmsman.records.push import OWN_BRANCHES
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState, end, interrupt, reopen
from helmsman.records.verdict import Decision, DecisionKind, Outcome, Severity
from tasks.agents.call_folder import CallFolder, interrupted_call
from tasks.agents.finding import find_agent
from tasks.agents.finding import settled as with_agent
from tasks.alignment.aligning import aligned, aligned_by, goal_layer
from tasks.hats.finding import chosen, settled
from tasks.leaving.handing_over import left_at, left_in, text_at
from tasks.loops.config_files import read_layers
from tasks.loops.in_flight import end_processes, keep_work, undo_checks
from tasks.loops.travelling import take_up
from tasks.merging.target import require_target
from tasks.places import loop_folder
from tasks.plans.plan_file import begun_plan
from tasks.processes.environment import ours
from tasks.repository.git import GitError, Repository, commit_and_tree, current_branch, git, open_repository, read_ref
from tasks.repository.state_ref import read_state, replace_state, state_ref, write_state
from tasks.worktrees.workplace import workplace
from tasks.worktrees.worktree import ensure_worktree, require_clean, salvage

LOOPS_LOOKED_AT = 50
"""As many as a chain may have."""
LISTS = "protect", "allow", "trusted"
"""Of patterns."""
LOST_SHOWN = 3
"""Of what could not be put back, in the subject of a commit."""


def configure(
    repository: Path, request: LoopRequest, *, stronger: Sequence[Layer] = (), weaker: Sequence[Layer] = ()
) -> Resolved:
    """Merge what the request says with environment and files. Raises OperatorError with the offending key and its source.

    `stronger` layers come right after the request, `weaker` ones last before the defaults, after what a preset says.
    """
    said: dict[str, Any] = {**request.settings}
    said |= {"goal": request.goal} if request.goal else {}
    said |= {"checks": list(request.checks)} if request.checks else {}
    by_hand = [Layer(COMMAND_LINE, said), *stronger, Layer("environment", from_environment(ours()))]
    files = read_layers(repository)
    preset = chosen(repository, by_hand, files)
    own = [Layer(f"preset {preset.name}", preset.sheet.settings)] if preset else []
    files = [_beside(layer, preset) for layer in files]
    resolved = resolve([*by_hand, *files, *goal_layer(repository, [*by_hand, *files]), *own, *weaker])
    return with_agent(settled(resolved, preset, repository), repository)


def _beside(layer: Layer, preset: Preset | None) -> Layer:
    """A file's patterns come on top of the preset's: what either protects stays so. Only a word by hand replaces them."""
    theirs, ours_ = layer.values.get("invariants"), preset.sheet.settings.get("invariants") if preset else None
    if not isinstance(theirs, Mapping) or not isinstance(ours_, Mapping):
        return layer
    given, preset_s = cast("Mapping[str, Any]", theirs), cast("Mapping[str, Any]", ours_)
    both = {key: [*preset_s[key], *given[key]] for key in LISTS if _are_lists(preset_s.get(key), given.get(key))}
    return Layer(layer.source, {**layer.values, "invariants": {**given, **both}})


def _are_lists(*values: object) -> bool:
    return all(isinstance(value, list | tuple) for value in values)


def open_loop(request: LoopRequest, suffix: str, now: datetime) -> LoopState:
    """The state to drive from: a new loop's, or the last one of a loop that exists."""
    repository = open_repository(Path(request.repository))
    name, held = request.loop, bool(request.loop)
    if name and read_ref(repository.common, state_ref(name)):
        take_up(repository, name, read_state(repository, name)[0].config.remote, held=held)
        return _existing(repository, request, now)
    resolved = configure(repository.top, request)
    name = name or loop_id(resolved.config.goal, suffix)
    take_up(repository, name, resolved.config.remote, held=held)
    if request.loop and read_ref(repository.common, state_ref(name)):  # another machine has begun with it
        return _existing(repository, request, now)
    return create_loop(repository, resolved.config, name, now, request.base, preset=resolved.preset, agent=resolved.agent)


def create_loop(
    repository: Repository,
    config: LoopConfig,
    name: str,
    now: datetime,
    begin_with: str = "",
    *,
    preset: Preset | None = None,
    agent: Agent | None = None,
    new: bool = False,
) -> LoopState:
    """Write the first state of a loop, unless the same engine run has written it before. It keeps preset and agent as now.

    `new`: one that is there already is somebody else's; raises OperatorError.
    """
    if read_ref(repository.common, state_ref(name)):
        if new:
            raise OperatorError(f"there is a loop {name} already", remedy="it was begun meanwhile; give another --name")
        return read_state(repository, name)[0]
    require_checks(config, preset)
    require_target(repository, config)
    base = _base(repository, config, begin_with)
    config = _aligned(repository, config, begin_with, base)
    plan = begun_plan(repository, base, config)
    branch = _branch(repository, config, name)
    state = LoopState(
        loop=name,
        uid=secrets.token_hex(8),
        config=config,
        created_at=now,
        updated_at=now,
        base_branch=current_branch(repository.top),
        base_commit=base,
        branch=branch,
        head=base,
        inherited=_inherited(repository, config, begin_with, base),
        preset=preset,
        agent=agent or _agent(repository, config),
        plan=plan,
    )
    for left in ("answers", "calls"):  # of a loop of that name that was removed: they would pass for this one's
        shutil.rmtree(loop_folder(repository, name).root / left, ignore_errors=True)
    write_state(repository, state, over=None, record=None, subject=f"start: {config.goal[:60]}")
    return state


def _agent(repository: Repository, config: LoopConfig) -> Agent | None:
    kind = find_agent(repository.top, config.agent)
    return Agent(kind=kind) if kind else None


def mend(repository: str, state: LoopState) -> LoopState:
    """Make the loop ready to go on, whatever happened to its last driver. The caller holds the lock."""
    place = workplace(repository, state)
    end_processes(state)
    if state.ending is not None:
        return state
    ensure_worktree(place.repository, place.worktree, state.branch, state.head, state.base_commit)
    return mark_interrupted(repository, state)


def mark_interrupted(repository: str, state: LoopState) -> LoopState:
    """When an agent call began and never ended: keep its work on a ref and make the next attempt due."""
    place = workplace(repository, state)
    folder = CallFolder(place.folder.call(state.due, state.attempt))
    lost = undo_checks(place, state)
    attempt = interrupted_call(folder)
    if attempt is None:
        return state
    kept = keep_work(place, state, attempt.start)
    after = interrupt(state, attempt, kept)
    what = "; ".join([f"work kept at {kept.ref}" if kept else "nothing to keep", *lost[:LOST_SHOWN]])
    return replace_state(place.repository, state, after, f"iteration {state.due} attempt {state.attempt} was interrupted: {what}")


def knows_call(repository: str, state: LoopState) -> bool:
    """Whether this machine has made the call that is due, and so knows how it stands."""
    place = workplace(repository, state)
    return CallFolder(place.folder.call(state.due, state.attempt)).started.exists()


def lost_elsewhere(repository: str, state: LoopState, now: datetime) -> LoopState:
    """A call of the agent began on a machine that is gone, and nobody knows how it ended: the next attempt is due."""
    place = workplace(repository, state)
    kept = salvage(place.repository, place.worktree, state, state.head)
    after = interrupt(state, Interrupted(start=state.head, started_at=now, ended_at=now), kept)
    what = f"work kept at {kept.ref}" if kept else "its work stays there"
    told = f"iteration {state.due} attempt {state.attempt} was cut off with {state.host or 'its machine'}: {what}"
    return replace_state(place.repository, state, after, told)


def close(repository: str, state: LoopState, why: BaseException, now: datetime) -> LoopState:
    """End a loop from outside an iteration: cancelled, or broken by an error that no retry mends. The caller holds the lock."""
    end_processes(state)
    state = mark_interrupted(repository, state)
    decision = _outside_decision(why, state, now)
    return replace_state(workplace(repository, state).repository, state, end(state, decision, now), f"end: {decision.rule}")


def _existing(repository: Repository, request: LoopRequest, now: datetime) -> LoopState:
    state, _ = read_state(repository, request.loop)
    if not request.reopen or state.outcome is Outcome.COMPLETED:
        return state
    config = reconfigured(state, request.settings)
    unasked = config.gates.ask and gate_due(state.model_copy(update={"config": config}), now) is not None
    if state.gate is not None or unasked:  # the question comes first, and its answer says how to go on
        asking = state.model_copy(update={"config": config})
        return replace_state(repository, state, asking, "resume")
    require_budget(state, config)
    if state.ending is None and config == state.config:
        return state
    return replace_state(repository, state, relieved(reopen(state, config, now), now), "resume")


def require_budget(state: LoopState, config: LoopConfig) -> None:
    reached = [s for s in limit_signals(config.limits, state.spending, state.iteration) if s.severity is Severity.ABORT]
    if reached:
        raise OperatorError(
            f"loop {state.loop} has used up a limit, so there is nothing to go on with",
            found="; ".join(signal.message for signal in reached),
            remedy=f"raise it: helmsman resume {state.loop} --set {reached[0].rule}=VALUE",
        )


def require_checks(config: LoopConfig, preset: Preset | None = None) -> None:
    if not config.checks and not config.allow_no_checks:
        fitting = f"; for a {preset.name}: {'; '.join(preset.sheet.checks)}" if preset and preset.sheet.checks else ""
        raise OperatorError(
            "no check is configured, so nothing could ever be verified",
            expected=f"at least one command whose exit code proves the goal{fitting}",
            remedy="give --check 'make test' (repeatable), or checks = [...] in helmsman.toml, or --no-checks to do without",
        )


def _base(repository: Repository, config: LoopConfig, begin_with: str) -> str:
    """Commit that a new loop begins with."""
    if begin_with and config.workspace.in_place:
        raise OperatorError(
            "a loop that works in place begins with what is checked out",
            found=f"another base: {shown(begin_with)}",
            remedy="check that out first, or leave --in-place out",
        )
    try:
        return commit_and_tree(repository.top, begin_with or "HEAD")[0]
    except (GitError, ValueError) as error:
        if not begin_with:
            raise
        raise OperatorError(
            "there is nothing to begin with", expected="a branch, tag or commit", found=shown(begin_with)
        ) from error


def _aligned(repository: Repository, config: LoopConfig, begin_with: str, base: str) -> LoopConfig:
    """A loop's work has the alignment file as that loop left it: the checkout's does not say yet that its goal is reached."""
    if repository.bare or not begin_with.startswith(OWN_BRANCHES):
        return aligned(repository, config, config.alignment)
    text, reached = text_at(repository, base, config.alignment), _reached(repository, base)
    if text is None:
        return aligned(repository, config, config.alignment, reached)
    return aligned_by(text, Path(f"{begin_with}:{config.alignment}"), config, reached)


def _reached(repository: Repository, base: str) -> Iterator[str]:
    """Goals of the loops whose work is in a commit, the latest first, as far as their branches are there still."""
    those = f"--merged={base}", "--sort=-committerdate", f"--count={LOOPS_LOOKED_AT}", f"refs/heads/{OWN_BRANCHES}"
    for branch in git(repository.common, "for-each-ref", "--format=%(refname:lstrip=2)", *those).split():
        state = _chained(repository, branch)
        if state is not None and state.outcome is Outcome.COMPLETED:
            yield own_goal(state.config.goal)


def _inherited(repository: Repository, config: LoopConfig, begin_with: str, base: str) -> str:
    """What earlier loops left to know: the one on whose work this one begins tells it all, whatever the file says of them."""
    before = _chained(repository, begin_with)
    if before is not None:
        return inherited_from(before)
    committed = bool(begin_with) or repository.bare
    return left_at(repository, base, config.alignment) if committed else left_in(repository.top, config.alignment)


def _chained(repository: Repository, begin_with: str) -> LoopState | None:
    """The loop on whose work this one begins."""
    name = begin_with.removeprefix(OWN_BRANCHES)
    known = name != begin_with and read_ref(repository.common, state_ref(name))
    return read_state(repository, name)[0] if known else None


def _branch(repository: Repository, config: LoopConfig, name: str) -> str:
    if not config.workspace.in_place:
        return f"helmsman/{name}"
    branch = current_branch(repository.top)
    if repository.bare or not branch:
        raise OperatorError(
            "--in-place needs a checkout that is on a branch",
            found="a bare repository" if repository.bare else "a detached HEAD",
            remedy="leave --in-place out, or switch to a branch",
        )
    require_clean(repository.top)
    return branch


def _outside_decision(why: BaseException, state: LoopState, now: datetime) -> Decision:
    if isinstance(why, HelmsmanError) and why.fault != "nobody":
        outcome, rule, fault = Outcome.FAILED, f"error.{why.fault}", why.fault
    else:
        outcome, rule, fault = Outcome.CANCELLED, "cancelled", ""
    reason = str(why) or "asked to stop"
    resume = f"{reason}; go on with: helmsman resume {state.loop}"
    return Decision(kind=DecisionKind.STOP, rule=rule, reason=resume, at=now, outcome=outcome, fault=fault)


def now_utc() -> datetime:
    return datetime.now(UTC)
