"""Start of a loop, from a request or from its record after its driver died; and its end from outside."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from helmsman.records.events import AttemptInterrupted
from helmsman.records.evidence import Interrupted
from helmsman.records.hats import Preset
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState, end, interrupt, reopen
from helmsman.records.verdict import Decision, DecisionKind, Outcome
from helmsman.texts import counted
from tasks.agents.call_folder import CallFolder, has_begun, interrupted_call
from tasks.agents.finding import settled as with_agent
from tasks.alignment.aligning import goal_layer
from tasks.hats.finding import chosen, is_path, settled
from tasks.loops import requested
from tasks.loops.config_files import read_layers, read_user_layer
from tasks.loops.creating import create_loop, require_no_secret
from tasks.loops.in_flight import end_processes, keep_work
from tasks.loops.ralph_files import brought_layers, prompt_layer
from tasks.loops.travelling import take_up
from tasks.processes.environment import ours
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.state_ref import read_state, replace_state, state_ref
from tasks.system.secrets import without_secrets
from tasks.system.trust import consent_of, require_agreed
from tasks.telling.journal import publish
from tasks.worktrees.workplace import workplace
from tasks.worktrees.worktree import ensure_worktree, salvage

SUFFIXES = 6, 12, 24
"""Digits that make a loop's id its own; more of them where another run's loop has the shorter id already."""
LISTS = "protect", "allow", "trusted"
"""Of patterns."""


def configure(
    repository: Path,
    request: LoopRequest,
    *,
    consent: frozenset[str] | None = frozenset(),
    stronger: Sequence[Layer] = (),
    weaker: Sequence[Layer] = (),
) -> Resolved:
    """Merge what the request says with environment and files. Raises OperatorError with the offending key and its source.

    `consent`: fingerprints of what the repository's files may set of the operator's; None: nothing, for a run was triggered
    from outside. Raises NotAgreed where they set more.
    `stronger` layers come right after the request, `weaker` ones last before the defaults, after what a preset says.
    """
    by_hand = [Layer(COMMAND_LINE, request.said), *stronger, Layer("environment", from_environment(ours()))]
    files, user = [*read_layers(repository), *brought_layers(repository)], read_user_layer()
    preset = chosen(repository, by_hand, files, user)
    own = [Layer(f"preset {preset.name}", preset.sheet.settings)] if preset else []
    files = [_beside(layer, preset) for layer in files]
    given = [*by_hand, *files, *user]
    goal = goal_layer(repository, given) or prompt_layer(repository, given)
    resolved = resolve([*by_hand, *files, *goal, *user, *own, *weaker])
    by_path = is_path(next((str(layer.values["preset"]) for layer in (*by_hand, *user) if "preset" in layer.values), ""))
    asked = (
        *requested.in_layers(repository, files),
        *requested.in_preset(repository, preset, named_by_hand=by_path),
        *requested.in_agent(repository, resolved.config.agent.kind),
    )
    require_agreed(asked, consent)
    resolved = with_agent(settled(resolved, preset, repository), repository)
    return replace(resolved, config=without_secrets(resolved.config))  # before a loop is named after its goal


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


def open_loop(request: LoopRequest, run: str, now: datetime) -> LoopState:
    """The state to drive from: a new loop's, or the last one of a loop that exists.

    `run`: id of the flow run that drives it. Without `request.loop` it has a loop of its own, also after a crash.
    """
    repository = open_repository(Path(request.repository))
    name, held = request.loop, bool(request.loop)
    if name and read_ref(repository.common, state_ref(name)):
        take_up(repository, name, read_state(repository, name)[0].config.remote, held=held)
        return _existing(repository, request, now)
    resolved = configure(repository.top, request, consent=consent_of(repository.common))
    name = name or _own_name(repository, resolved.config.goal, run)
    take_up(repository, name, resolved.config.remote, held=held)
    if request.loop and read_ref(repository.common, state_ref(name)):  # another machine has begun with it
        return _existing(repository, request, now)
    return create_loop(repository, resolved, name, now, request.base, run=run)


def _own_name(repository: Repository, goal: str, run: str) -> str:
    """The id of this run's loop. Ids of scheduled runs begin with the time, so their hash tells apart what fires together."""
    hashed = hashlib.sha256(run.encode()).hexdigest()
    names = [loop_id(goal, hashed[:length]) for length in SUFFIXES]
    return next(name for name in names if _is_free(repository, name, run))


def _is_free(repository: Repository, name: str, run: str) -> bool:
    return read_ref(repository.common, state_ref(name)) is None or read_state(repository, name)[0].run == run


def repair(repository: str, state: LoopState) -> LoopState:
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
    folder = CallFolder(place.folder.call(state.due, state.attempt), state.uid)
    attempt = interrupted_call(folder)
    if attempt is None:
        return state
    kept = keep_work(place, state, attempt.start)
    after = interrupt(state, attempt, kept)
    where = f"work kept at {kept.ref} ({counted(kept.files, 'file')})" if kept else "nothing to keep"
    what = f"iteration {state.due} attempt {state.attempt} was interrupted: {where}"
    publish(AttemptInterrupted(what=what))
    return replace_state(place.repository, state, after, what)


def knows_call(repository: str, state: LoopState) -> bool:
    """Whether this machine has made the call that is due, and so knows how it stands."""
    place = workplace(repository, state)
    return has_begun(CallFolder(place.folder.call(state.due, state.attempt), state.uid))


def lost_elsewhere(repository: str, state: LoopState, now: datetime) -> LoopState:
    """A call of the agent began on a machine that is gone, and nobody knows how it ended: the next attempt is due."""
    place = workplace(repository, state)
    kept = salvage(place.repository, place.worktree, state, state.head)
    after = interrupt(state, Interrupted(start=state.head, started_at=now, ended_at=now), kept)
    what = f"work kept at {kept.ref}" if kept else "its work stays there"
    told = f"iteration {state.due} attempt {state.attempt} was cut off with {state.host or 'its machine'}: {what}"
    return replace_state(place.repository, state, after, told)


def close(repository: str, state: LoopState, why: BaseException, now: datetime) -> LoopState:
    """End a loop from outside an iteration: cancelled, or broken by an error that no retry repairs. The caller holds the lock."""
    end_processes(state)
    state = mark_interrupted(repository, state)
    decision = _outside_decision(why, state, now)
    return replace_state(workplace(repository, state).repository, state, end(state, decision, now), f"end: {decision.rule}")


def _existing(repository: Repository, request: LoopRequest, now: datetime) -> LoopState:
    state, _ = read_state(repository, request.loop)
    if not request.reopen or state.outcome is Outcome.COMPLETED:
        return state
    config = without_secrets(reconfigured(state, request.changes))
    require_no_secret(config)
    asking = state.model_copy(update={"config": config})
    if gate_due(asking, now) is not None:  # the question comes first, asked or not, and its answer says how to go on
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
