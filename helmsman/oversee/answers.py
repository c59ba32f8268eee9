"""What an answer does to the loop: one table of effects. Invalid answers are refused before anything changes."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, cast

from helmsman.agents.fitting import require_able
from helmsman.config import LoopConfig
from helmsman.config.layers import INVALID, Layer, display, resolve
from helmsman.errors import OperatorError
from helmsman.oversee.ladder import relieved
from helmsman.oversee.limits import reached
from helmsman.oversee.merging import limited
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
YOUR_ANSWER = "your answer"  # the layer of configuration that an answer's settings are
_WRONG_VALUE = re.compile(rf"^(\S+) \({YOUR_ANSWER}\): expected (.+), found (.+)$")  # one line of an error of `resolve`
_MAY_CHANGE = "binary", "model", "arguments", "environment"  # of the agent, while a loop goes on
UNDECIDED = GateKind.REJECTIONS, GateKind.UNDECIDED, GateKind.UNPROVEN
"""Where a person may say that the work is done, or send it on."""
Effect = Callable[[LoopState, Answer, datetime], LoopState]


def answered(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    """The loop after an answer to its open question. Raises OperatorError where the answer cannot be followed."""
    gate = _open_gate(state, answer)
    config = reconfigured(state, answer.settings)
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
    goes_on = after.ending is None and answer.choice is not Choice.TAKE_OVER
    return limited(after, f"so it waits, as was answered ({answer.choice})", now) if goes_on else after


def answer_of(state: LoopState, gate: Gate, form: Form, *, via: Way, now: datetime) -> Answer:
    """What a filled-in form says."""
    changed, more = form.changed(), extension(form, state.config.limits)
    given: object = changed.get("limits", {})
    if not isinstance(given, Mapping):
        raise OperatorError("limits is a table", expected="limits.KEY=VALUE", found=f"limits={clean(str(given))}")
    limits = {**more, **cast("Mapping[str, Any]", given)}
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


def refusal(error: OperatorError) -> str:
    """Why an answer is not taken, in one line: `limits.iterations must be a whole number, not 'many'`."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() != INVALID]
    return "; ".join(_WRONG_VALUE.sub(r"\1 must be \2, not \3", line).replace(f" ({YOUR_ANSWER})", "") for line in lines)


def lapsed(gate: Gate, now: datetime) -> Answer | None:
    """The declared outcome, where nobody answered in time."""
    if gate.deadline is None or now < gate.deadline:
        return None
    return Answer(gate=gate.key, kind=gate.kind, choice=gate.at_timeout, via="timeout", at=now)


def reconfigured(state: LoopState, settings: Mapping[str, Any]) -> LoopConfig:
    """The loop keeps the configuration that it began with; what is said now wins over it."""
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
    # how it is called and read was settled at the start; its program's place, its model and its arguments may change
    kept, agent, given = {name: getattr(state.config.agent, name) for name in _MAY_CHANGE}, state.config.agent, config.agent
    if given.model_copy(update=kept) != agent:
        raise OperatorError(
            f"loop {state.loop} keeps the agent that it started with",
            expected=f"agent.kind = {agent.kind!r}, with other {', '.join(_MAY_CHANGE)} at most",
            found=f"agent.kind = {given.kind!r}" if given.kind != agent.kind else "another description of it",
            remedy="start another loop: helmsman run --agent NAME",
        )
    if state.agent:
        require_able(config, state.agent.kind)
    return config


def _open_gate(state: LoopState, answer: Answer) -> Gate:
    gate = state.gate
    if gate is None or gate.key != answer.gate:
        raise OperatorError(
            f"loop {state.loop} no longer asks that",
            expected=f"an answer to {gate.key}" if gate else "no answer: no question is open",
            found=f"one to {clean(answer.gate)}",
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
    still = reached(state.config.limits, state.spending, state.iteration)
    if still:
        raise OperatorError(
            "a limit is still reached, so the loop cannot continue",
            found="; ".join(signal.message for signal in still),
            remedy=f"raise it, for example {still[0].rule}=VALUE",
        )
    return reopen(state, state.config, now)


def _complete(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    against = answer.kind is GateKind.REJECTIONS
    accepted = "accepted as done against the judge" if against else "accepted as done by a person"
    what = accepted if answer.choice is Choice.ACCEPT else "proven, and approved for merging"
    return _ended(state, answer, what, Outcome.COMPLETED, now)


def _tick_by_word(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    """The item in hand is done, and with the last one the loop, unless something else is asked for at its end."""
    config, last = state.config, state.config.plan.item == state.plan.now or state.plan.total - state.plan.done <= 1
    done = config.completion
    more = done.force_max or done.indicators or config.judge.criteria or unseen_tests(config, state.checks)
    ticked = state.model_copy(update={"plan": state.plan.ticked_by_word(state.iteration)})
    if more or not last:
        return reopen(ticked, config, now)
    what = "the last item of the plan is accepted as done by a person"
    return _ended(ticked, answer, what, Outcome.COMPLETED, now)


def _stop(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    what = "nobody answered in time, and the declared outcome is to stop" if answer.via == "timeout" else "stopped"
    return _ended(state, answer, what, Outcome.STOPPED, now)


def _hand_over(state: LoopState, _: Answer, now: datetime) -> LoopState:
    """The gate that waits for the way back is opened next, because of this answer. What comes back is to be proven."""
    return state.model_copy(update={"ending": None, "waiting": None, "merging": state.merging.unproven(), "updated_at": now})


def _unmerged(state: LoopState, answer: Answer, now: datetime) -> LoopState:
    """Merge it now; leave it unmerged; or go on, as what was proven is not what is wanted."""
    if answer.choice is Choice.APPROVE:
        return state.model_copy(update={"ending": state.merging.proven, "updated_at": now})
    left = answer.choice is Choice.ACCEPT
    after = _ended(state, answer, "proven, and left unmerged", Outcome.COMPLETED, now) if left else _GO_ON(state, answer, now)
    return after.model_copy(update={"merging": Merging()})


def _ended(state: LoopState, answer: Answer, what: str, outcome: Outcome, now: datetime) -> LoopState:
    who = "" if answer.via == "timeout" else f" by {clean(answer.by) or 'a person'} ({answer.via})"
    before = f"; before that: {state.ending.reason}" if state.ending else ""
    words = f': "{clean(answer.guidance)[:300]}"' if answer.guidance else ""
    reason = f"{what}{who}{words}{before}"
    rule = f"{GATE}{answer.kind}"
    return end(state, Decision(kind="stop", rule=rule, reason=reason, at=now, outcome=outcome), now)


_GO_ON: Effect = lambda state, _, now: reopen(state, state.config, now)  # noqa: E731 - a row of the table
_AS_IT_IS: Effect = lambda state, _, _now: state  # noqa: E731 - completed, whatever is said of what it learnt, or unproven
_RELIEVE: Effect = lambda state, _, now: relieved(reopen(state, state.config, now), now)  # noqa: E731 - a person has looked
EFFECTS: Mapping[tuple[GateKind, Choice], Effect] = {
    **{(kind, Choice.TAKE_OVER): _hand_over for kind in GateKind},
    **{(kind, Choice.STOP): _stop for kind in GateKind},
    **{(kind, Choice.APPROVE): _GO_ON for kind in (GateKind.PLAN, GateKind.MILESTONE)},
    **{(kind, Choice.REVISE): _GO_ON for kind in (GateKind.ITEM, GateKind.MERGE)},
    **{(kind, Choice.APPROVE): _RELIEVE for kind in (*UNDECIDED, GateKind.HUMAN, GateKind.HANDED_OVER)},
    **{(kind, Choice.ACCEPT): _complete for kind in UNDECIDED},
    (GateKind.MERGE, Choice.APPROVE): _complete,
    (GateKind.ITEM, Choice.APPROVE): _tick_by_word,
    (GateKind.BUDGET, Choice.APPROVE): _extend,
    **{(GateKind.UNMERGED, choice): _unmerged for choice in (Choice.APPROVE, Choice.ACCEPT, Choice.REVISE)},
    (GateKind.UNPROVEN, Choice.STOP): _AS_IT_IS,
    (GateKind.LEARNINGS, Choice.APPROVE): _AS_IT_IS,
    (GateKind.LEARNINGS, Choice.STOP): _AS_IT_IS,
}
"""Every choice that a gate of a loop offers has its effect here."""
