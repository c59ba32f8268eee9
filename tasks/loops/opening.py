"""Bringing a loop to life: configured from a request, or read back and mended after its driver died; and its end from outside."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from helmsman.config import LoopConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.layers import COMMAND_LINE, Layer, Resolved, from_environment, resolve
from helmsman.naming import loop_id
from helmsman.oversee.answers import reconfigured
from helmsman.oversee.gates import gate_due
from helmsman.oversee.limits import reached
from helmsman.oversee.relief import relieved
from helmsman.records.evidence import Interrupted
from helmsman.records.hats import Preset
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState, end, interrupt, reopen
from helmsman.records.verdict import Decision, DecisionKind, Outcome
from tasks.agents.call_folder import CallFolder, interrupted_call
from tasks.agents.finding import settled as with_agent
from tasks.alignment.aligning import goal_layer
from tasks.hats.finding import chosen, settled
from tasks.loops.config_files import read_layers
from tasks.loops.creating import create_loop
from tasks.loops.in_flight import end_processes, keep_work, undo_checks
from tasks.loops.travelling import take_up
from tasks.processes.environment import ours
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.state_ref import read_state, replace_state, state_ref
from tasks.worktrees.workplace import workplace
from tasks.worktrees.worktree import ensure_worktree, salvage

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
    used_up = reached(config.limits, state.spending, state.iteration)
    if used_up:
        raise OperatorError(
            f"loop {state.loop} has used up a limit, so there is nothing to go on with",
            found="; ".join(signal.message for signal in used_up),
            remedy=f"raise it: helmsman resume {state.loop} --set {used_up[0].rule}=VALUE",
        )


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
