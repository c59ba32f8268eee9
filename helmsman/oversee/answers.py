"""Effects of answers on the loop, in one table. Invalid answers are refused before anything changes."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, cast

from helmsman.agents import require_able
from helmsman.config import LoopConfig
from helmsman.config.layers import INVALID, Layer, display, resolve
from helmsman.errors import OperatorError
from helmsman.oversee.ladder import reset_after_person
from helmsman.oversee.limits import reached_limits
from helmsman.oversee.merging import stop_at_limit
from helmsman.plain import clean
from helmsman.records.advance import end, reopen
from helmsman.records.decision import Decision, Outcome
from helmsman.records.forms import Form, extension
from helmsman.records.gates import GATE, Answer, Choice, Gate, GateKind, Way
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merging
from helmsman.verify.completion import unseen_tests

ANSWERS_REMEMBERED = 20
GUIDANCE_REMEMBERED = 5
YOUR_ANSWER = "your answer"  # name of the configuration layer with an answer's settings
_WRONG_VALUE = re.compile(rf"^(\S+) \({YOUR_ANSWER}\): expected (.+), found (.+)$")  # one line of an error raised by `resolve`
_MAY_CHANGE = "binary", "model", "arguments", "environment"  # keys of the agent that may change during a loop
UNDECIDED = GateKind.REJECTIONS, GateKind.UNDECIDED, GateKind.UNPROVEN
"""Gates at which a person may accept the work or continue it."""
Effect = Callable[[LoopState, Answer, datetime], LoopState]


def apply_answer(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    """The loop after an answer to its open question. Raises OperatorError if the answer is invalid."""
    gate = _open_gate(state, answer)
    config = reconfigure(state, answer.settings)
    closed = state.model_copy(
        update={
            "gate": None,
            "answers": (*state.answers, answer)[-ANSWERS_REMEMBERED:],
            "guidance": (*state.guidance, answer.guidance)[-GUIDANCE_REMEMBERED:] if answer.guidance.strip() else state.guidance,
            "config": config,
            "updated_at": now,
        }
    )
    after = EFFECTS[gate.kind, answer.choice](closed, answer, now)
    continues = after.ending is None and answer.choice is not Choice.TAKE_OVER
    return stop_at_limit(after, f"so the loop stops despite the answer ({answer.choice})", now) if continues else after


def answer_from_form(state: LoopState, gate: Gate, form: Form, *, via: Way, now: datetime) -> Answer:
    """Convert a completed form to an answer."""
    changed, extended = form.changed(), extension(form, state.config.limits)
    limits_given: object = changed.get("limits", {})
    if not isinstance(limits_given, Mapping):
        raise OperatorError("limits must be a table", expected="limits.KEY=VALUE", found=f"limits={clean(str(limits_given))}")
    limits = {**extended, **cast("Mapping[str, Any]", limits_given)}
    return Answer(
        gate=gate.key,
        kind=gate.kind,
        choice=Choice(form.decision),
        guidance=form.guidance,
        settings={**changed, "limits": limits} if limits else changed,
        by=form.by,
        via=via,
        at=now,
    )


def rejection_reason(error: OperatorError) -> str:
    """Why an answer is refused, in one line: `limits.iterations must be a whole number, not 'many'`."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() != INVALID]
    return "; ".join(_WRONG_VALUE.sub(r"\1 must be \2, not \3", line).replace(f" ({YOUR_ANSWER})", "") for line in lines)


def timeout_answer(gate: Gate, now: datetime) -> Answer | None:
    """The declared default answer if the deadline has passed."""
    if gate.deadline is None or now < gate.deadline:
        return None
    return Answer(gate=gate.key, kind=gate.kind, choice=gate.at_timeout, via="timeout", at=now)


def reconfigure(state: LoopState, settings: Mapping[str, Any]) -> LoopConfig:
    """Apply an answer's settings over the configuration that the loop started with."""
    if not settings:
        return state.config
    if settings.get("preset", state.config.preset) != state.config.preset:
        raise OperatorError(
            f"loop {state.loop} keeps the preset that it started with",
            expected=state.config.preset or "none",
            found=display(settings["preset"]),
            remedy="change single settings, or start another loop: helmsman run --preset NAME",
        )
    config = resolve([Layer(YOUR_ANSWER, settings), Layer(f"loop {state.loop}", state.config.model_dump(mode="json"))]).config
    # how the agent is called and parsed is fixed at the start; its program's path, model and arguments may change
    current, agent, given = {name: getattr(state.config.agent, name) for name in _MAY_CHANGE}, state.config.agent, config.agent
    if given.model_copy(update=current) != agent:
        raise OperatorError(
            f"loop {state.loop} keeps the agent that it started with",
            expected=f"agent.kind = {agent.kind!r}; only {', '.join(_MAY_CHANGE)} may change",
            found=f"agent.kind = {given.kind!r}" if given.kind != agent.kind else "another definition of it",
            remedy="start another loop: helmsman run --agent NAME",
        )
    if state.agent:
        require_able(config, state.agent.kind)
    return config


def _open_gate(state: LoopState, answer: Answer) -> Gate:
    gate = state.gate
    if gate is None or gate.key != answer.gate:
        raise OperatorError(
            f"loop {state.loop} no longer asks this question",
            expected=f"an answer to {gate.key}" if gate else "no answer: no question is open",
            found=f"an answer to {clean(answer.gate)}",
            remedy=f"see the question with: helmsman status {state.loop}",
        )
    if answer.choice not in gate.choices:
        raise OperatorError(
            f"{answer.choice} is not one of the choices",
            expected=f"one of {', '.join(gate.choices)}",
            found=answer.choice,
            remedy=f"see the choices with: helmsman status {state.loop}",
        )
    return gate


def _extend(state: LoopState, _: Answer, now: datetime) -> LoopState:
    still_reached = reached_limits(state.config.limits, state.spending, state.iteration)
    if still_reached:
        raise OperatorError(
            "a limit is still reached, so the loop cannot continue",
            found="; ".join(signal.message for signal in still_reached),
            remedy=f"raise it, for example {still_reached[0].rule}=VALUE",
        )
    return reopen(state, state.config, now)


def _complete(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    is_against_judge = answer.kind is GateKind.REJECTIONS
    accepted = "accepted as done against the judge" if is_against_judge else "accepted as done by a person"
    reason = accepted if answer.choice is Choice.ACCEPT else "proven, and approved for merging"
    return _end_by_answer(state, answer, reason, Outcome.COMPLETED, now)


def _accept_item(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    """Mark the current item as done, and with the last one the loop, unless something else must be proven at its end."""
    config, is_last = state.config, state.config.plan.item == state.plan.now or state.plan.total - state.plan.done <= 1
    completion = config.completion
    needs_more = completion.force_max or completion.indicators or config.judge.criteria or unseen_tests(config, state.checks)
    ticked = state.model_copy(update={"plan": state.plan.accept_current_item(state.iteration)})
    if needs_more or not is_last:
        return reopen(ticked, config, now)
    reason = "the last item of the plan is accepted as done by a person"
    return _end_by_answer(ticked, answer, reason, Outcome.COMPLETED, now)


def _stop(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    reason = "nobody answered in time, so the loop stops as configured" if answer.via == "timeout" else "stopped"
    return _end_by_answer(state, answer, reason, Outcome.STOPPED, now)


def _hand_over(state: LoopState, _: Answer, now: datetime) -> LoopState:
    """Because of this answer, the gate that waits for the return opens next. The returned work must be proven."""
    return state.model_copy(update={"ending": None, "waiting": None, "merging": state.merging.without_proof(), "updated_at": now})


def _resolve_unmerged(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    """Merge it now, leave it unmerged, or continue because the proven work is not what is wanted."""
    if answer.choice is Choice.APPROVE:
        return state.model_copy(update={"ending": state.merging.proven, "updated_at": now})
    is_left = answer.choice is Choice.ACCEPT
    after = (
        _end_by_answer(state, answer, "proven, and left unmerged", Outcome.COMPLETED, now)
        if is_left
        else _CONTINUE(state, answer, now)
    )
    return after.model_copy(update={"merging": Merging()})


def _end_by_answer(state: LoopState, answer: Answer, reason: str, outcome: Outcome, now: datetime) -> LoopState:
    author = "" if answer.via == "timeout" else f" by {clean(answer.by) or 'a person'} ({answer.via})"
    before = f"; before that: {state.ending.reason}" if state.ending else ""
    guidance = f': "{clean(answer.guidance)[:300]}"' if answer.guidance else ""
    rule, reason = f"{GATE}{answer.kind}", f"{reason}{author}{guidance}{before}"
    return end(state, Decision(kind="stop", rule=rule, reason=reason, at=now, outcome=outcome), now)


_CONTINUE: Effect = lambda state, _, now: reopen(state, state.config, now)  # noqa: E731 - a row of the table
_UNCHANGED: Effect = lambda state, _, _now: state  # noqa: E731 - completed or unproven, whatever the answer
_RELIEVE: Effect = lambda state, _, now: reset_after_person(reopen(state, state.config, now), now)  # noqa: E731 - a person has looked
EFFECTS: Mapping[tuple[GateKind, Choice], Effect] = {
    **{(kind, Choice.TAKE_OVER): _hand_over for kind in GateKind},
    **{(kind, Choice.STOP): _stop for kind in GateKind},
    **{(kind, Choice.APPROVE): _CONTINUE for kind in (GateKind.PLAN, GateKind.MILESTONE)},
    **{(kind, Choice.REVISE): _CONTINUE for kind in (GateKind.ITEM, GateKind.MERGE)},
    **{(kind, Choice.APPROVE): _RELIEVE for kind in (*UNDECIDED, GateKind.HUMAN, GateKind.HANDED_OVER)},
    **{(kind, Choice.ACCEPT): _complete for kind in UNDECIDED},
    (GateKind.MERGE, Choice.APPROVE): _complete,
    (GateKind.ITEM, Choice.APPROVE): _accept_item,
    (GateKind.BUDGET, Choice.APPROVE): _extend,
    **{(GateKind.UNMERGED, choice): _resolve_unmerged for choice in (Choice.APPROVE, Choice.ACCEPT, Choice.REVISE)},
    (GateKind.UNPROVEN, Choice.STOP): _UNCHANGED,
    (GateKind.LEARNINGS, Choice.APPROVE): _UNCHANGED,
    (GateKind.LEARNINGS, Choice.STOP): _UNCHANGED,
}
"""Effect of every choice that a loop's gate offers."""
