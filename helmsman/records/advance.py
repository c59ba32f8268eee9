"""`advance`, the only fold: how a state moves on with the record of an iteration, and what changes it outside of one."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from helmsman.config import LoopConfig
from helmsman.records.agent import MOST_SURVIVORS, AgentCall, AgentOutcome, Interrupted, KeptSession, LastCall, Salvage
from helmsman.records.checks import CheckReport, CriterionVerdict, checks_fail
from helmsman.records.claims import Contradiction, Trust
from helmsman.records.control import REMEMBERED, Failed, IterationSummary, Overseen, Oversight, Strategy
from helmsman.records.decision import Decision
from helmsman.records.iteration import Evidence, IterationRecord, Orientation
from helmsman.records.lessons import Learned
from helmsman.records.plan import NOTHING_TRIED, InHand, PlanProgress, Tick, sketched
from helmsman.records.proof import NEEDS_WORD, Denial, DoneSignals, JudgeMemory, PastVerdict, Rejection
from helmsman.records.state import FRUITFUL, LoopState, Waiting, failed_calls, recent_calls, spend

LAST_WORDS = 600
"""Characters of what the agent said last that people are shown: its summary comes at the end."""
REJECTIONS_KEPT, NOTES_KEPT, VERDICTS_KEPT = 10, 40, 40
"""Of the judge: what the agent is told of, and what goes back to it."""
REASON_KEPT, PAST_REASON_KEPT = 1500, 300
SALVAGES_REMEMBERED, INDICATORS_KEPT, CHECKS_KEPT, WINDOWS_KEPT = 5, 5, 100, 20
GOES_ON = FRUITFUL | {
    AgentOutcome.TIMED_OUT,  # it was asked to end while at work; the CLI repairs the tool call that was cut off
    # its model went away; the conversation is whole, and the CLI itself advises to resume
    AgentOutcome.USAGE_LIMIT,
    AgentOutcome.RATE_LIMITED,
    AgentOutcome.OVERLOADED,
}
"""Endings after which a session can be gone on with. After any other its conversation may be what broke it."""
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")  # it goes on a command line


def advance(state: LoopState, record: IterationRecord) -> LoopState:
    """Fold one record into the state. The only way that a loop moves on by itself."""
    return state.model_copy(update=_gone_on(state, record) | _on_the_branch(state, record) | _remembered(state, record))


def _gone_on(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """What is due next, and what is used up. An attempt that does not count is made again, with what it was told."""
    counts, decision = record.counts, record.decision
    until, waits = decision.until, decision.kind == "wait"
    return {
        "updated_at": record.ended_at,
        "iteration": state.iteration + counts,
        "attempt": 1 if counts else state.attempt + 1,
        "spending": spend(state, record.usage, record.started_at, record.ended_at, record.at_work),
        "recent_calls": recent_calls(state, record.ended_at),
        "failed_calls": failed_calls(state, record.execution) if counts else state.failed_calls,
        "salvaged": () if counts else state.salvaged,
        "guidance": () if counts else state.guidance,
        "waiting": Waiting(until=until, rule=decision.rule, reason=decision.reason) if waits and until else None,
        "ending": decision if decision.kind == "stop" else None,
    }


def _on_the_branch(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """The work that is there, and what is known of it. Work that was taken off the branch is not there any more."""
    best, failed, reached = record.oversight.best, record.failed, record.checks
    best_checks = reached if best and best.commit == record.head and reached else state.best_checks
    history = (*state.history, *([record.moment] if record.moment else ()))[-REMEMBERED:]
    history = undone_after(history, failed.back_to) if failed else history
    return {
        "head": failed.back_to if failed else record.head,
        "checks": best_checks if failed else reached or state.checks,
        "best_checks": best_checks,
        "oversight": taken_back(record.oversight, failed),
        "history": history,
        "failed": failed if record.counts else state.failed,
        "plan": _plan_after(state.plan, record, {summary.iteration for summary in history if summary.undone}),
        "findings": () if failed else record.findings if reached else state.findings,
        "contradictions": () if failed else record.contradictions,
        # tests that were taken off with the work that they belong to are not missed
        "most_tests": most_tests({}, best_checks) if failed else most_tests(state.most_tests, reached),
        "verified": record.execution.change.commit if record.proven else state.verified,
    }


def _remembered(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """What later iterations know of this one, whatever becomes of its work."""
    config, call = state.config, record.execution.call
    known_windows = windows(state.windows, call)
    return {
        "memory": record.memory,
        "trust": trust(state.trust, record.contradictions, record.claims_checked),
        "judge": remember(state.judge, record, config.judge.rejections, reset=config.resets_strategy),
        "done": done_signals(state.done, record),
        "session": _kept_session(state.session, record, config.claude.session),
        "windows": known_windows,
        "survivors": call.survivors[:MOST_SURVIVORS],
        "last_call": last_call(state.last_call, record, known_windows),
        "usage": call.rate_limit or state.usage,
        "notes": tuple(dict.fromkeys((*state.notes, *(signal.rule for signal in record.signals)))),
    }


def record_of(
    state: LoopState,
    orientation: Orientation,
    evidence: Evidence,
    overseen: Overseen,
    decision: Decision,
    learned: Learned | None = None,
) -> IterationRecord:
    """All that is known of the iteration that is due, before anything follows from the decision."""
    known: dict[str, Any] = {**dict(orientation), **dict(evidence), **dict(overseen), "learned": learned or Learned()}
    return IterationRecord.model_validate(
        {**known, "loop": state.loop, "iteration": state.due, "attempt": state.attempt, "decision": decision}
    )


def with_its_end(record: IterationRecord, failed: Failed | None, tick: Tick | None) -> IterationRecord:
    """With what became of its work: taken off the branch, or ticked in the plan. A tick belongs to the work that it is for."""
    moment, oversight, best = record.moment, record.oversight, record.oversight.best
    if tick:
        ticked = {"commit": tick.commit}
        moment = moment.model_copy(update=ticked) if moment else None
        if best and best.commit == record.execution.change.commit:  # it is gone back to with its tick
            oversight = oversight.model_copy(update={"best": best.model_copy(update=ticked)})
    return record.model_copy(update={"failed": failed, "tick": tick, "moment": moment, "oversight": oversight})


def interrupt(state: LoopState, attempt: Interrupted, salvage: Salvage | None) -> LoopState:
    """A driver died with an agent call in flight: the same iteration is due again, as the next attempt.

    What the call is known to have used up is charged, or a cycle of crashes would have no budget. Its session is left:
    nobody heard how it ended.
    """
    return state.model_copy(
        update={
            "updated_at": attempt.ended_at,
            "attempt": state.attempt + 1,
            "spending": spend(state, attempt.usage, attempt.started_at, attempt.ended_at),
            "recent_calls": recent_calls(state, attempt.ended_at),
            "waiting": None,
            "salvaged": (*state.salvaged, salvage)[-SALVAGES_REMEMBERED:] if salvage else state.salvaged,
            "session": None,
        }
    )


def end(state: LoopState, decision: Decision, now: datetime) -> LoopState:
    """Stop from outside an iteration: cancelled, or broken by an error."""
    return state.model_copy(update={"ending": decision, "waiting": None, "updated_at": now})


def reopen(state: LoopState, config: LoopConfig, now: datetime) -> LoopState:
    """Go on with a loop that had ended, under the given configuration. A person has looked: what was in vain counts anew."""
    judge, plan = state.judge.model_copy(update={"rejections": 0}), state.plan.model_copy(update={"tries": {}})
    counted_anew = {"failed_calls": 0, "judge": judge, "done": DoneSignals(), "plan": plan}
    return state.model_copy(update={"ending": None, "config": config, "updated_at": now, **counted_anew})


def _plan_after(before: PlanProgress, record: IterationRecord, undone: Collection[int]) -> PlanProgress:
    """The plan after an iteration. `undone`: iterations whose work is off the branch since, and their ticks with it."""
    hand, touched, kept = record.plan, record.execution.plan, before.without(undone)
    if hand is None:
        return kept.model_copy(update={"touched": touched})
    lost = before.ticked.keys() - kept.ticked.keys()
    won = {record.tick.item} if record.tick else set[str]()
    anew = touched is not None and touched.kept
    spent = {} if anew else tries_after(before, record)  # of a new plan nothing was tried yet
    return kept.model_copy(
        update={
            "total": hand.total,
            "done": hand.done + len(won) - len(lost),
            "tries": {name: times for name, times in spent.items() if name not in won},
            "ticked": {**kept.ticked, **dict.fromkeys(won, record.iteration)},
            "floor": floor_of(record.checks) if won else kept.floor,
            "touched": touched,
            "sketch": sketched(hand.sketch, won, lost),
            **_in_hand(before, record, hand),
        }
    )


def _in_hand(before: PlanProgress, record: IterationRecord, hand: InHand) -> dict[str, Any]:
    """What is said of the item in hand; nothing yet of the one that comes after a tick."""
    now, proof, own = hand.item.id if hand.item else "", record.item, record.own
    if record.tick is not None or proof is None:
        return {"now": hand.next if record.tick else now, **NOTHING_TRIED}
    same = before.now == now
    return {
        "now": now,
        "missing": proof.why,
        "changed": not record.failed and ((same and before.changed) or record.execution.change.files_changed > 0),
        "noted": not record.failed and ((same and before.noted) or record.noted == now),
        "own": own.results[0] if own and own.results else None,
    }


def tries_after(before: PlanProgress, evidence: Evidence) -> dict[str, int]:
    """Tries of each open item, this iteration included where it was one."""
    proof = evidence.item
    if proof is None or not proof.tried or proof.proven:
        return before.tries
    return {**before.tries, proof.item: before.tries.get(proof.item, 0) + 1}


def floor_of(report: CheckReport | None) -> dict[str, int]:
    """How far each check was: nothing that comes after may be below it."""
    results = report.results if report else ()
    return {one.command: 0 if one.passed else one.counts.failed if one.counts and one.counts.failed else -1 for one in results}


def trust(before: Trust, contradictions: Sequence[Contradiction], checked: int) -> Trust:
    """Count the claims that were compared, and those that the evidence contradicts."""
    broken = sum(one.layer == "contradiction" for one in contradictions)
    return Trust(checked=before.checked + max(checked, broken), contradicted=before.contradicted + broken)


def most_tests(before: Mapping[str, int], report: CheckReport | None) -> dict[str, int]:
    """The largest number of tests that each check was seen to run, skipped ones left out."""
    counted = {result.command: result.counts.executed for result in report.results if result.counts} if report else {}
    most = {command: max(ran, before.get(command, 0)) for command, ran in counted.items()}
    return dict(list((dict(before) | most).items())[-CHECKS_KEPT:])


def without_test(report: CheckReport | None, most: Mapping[str, int], at_start: Collection[str] = ()) -> tuple[str, ...]:
    """Names of checks that pass although no test ran in them, or none that could be counted where some could before.

    `most`: as `most_tests` gives it; `at_start`: commands that are left out, as they passed before any work and ran none then.
    """
    found = report.results if report else ()
    empty = (one for one in found if one.ran_no_test or (one.passed and one.counts is None and most.get(one.command)))
    return tuple(one.name for one in empty if one.command not in at_start)


def undone_after(moments: Sequence[IterationSummary], back_to: str) -> tuple[IterationSummary, ...]:
    """Those after a commit that the branch went back to are marked."""
    kept = max((at for at, summary in enumerate(moments) if summary.commit == back_to), default=-1)
    return tuple(summary.model_copy(update={"undone": True}) if at > kept else summary for at, summary in enumerate(moments))


_ANOTHER_WAY = Strategy(
    stance="pivot",
    reasoning="the last work was taken back",
    priorities=("Choose an approach that differs in kind from the one that was kept aside.",),
)


def taken_back(oversight: Oversight, failed: Failed | None) -> Oversight:
    """What the next iteration begins with where work was taken off the branch: the tree that measured best, and another way."""
    best = oversight.best
    if failed is None or best is None or best.commit != failed.back_to:
        return oversight
    progress = oversight.progress.model_copy(update={"completion": best.completion})
    feedback = "green" if best.green else "failing"
    nothing = {"issues": (), "instructions": (), "redirected": ()}
    return oversight.model_copy(update={"progress": progress, "feedback": feedback, "strategy": _ANOTHER_WAY, **nothing})


def done_signals(before: DoneSignals, record: IterationRecord) -> DoneSignals:
    """Count requests and test-only iterations in a row; an attempt that does not count changes nothing."""
    if not record.counts:
        return before
    proof, refused, judged = record.proof, record.proof.refused_by, record.block_judged
    denied = proof.asked and proof.green and not record.proven and not record.tick
    return DoneSignals(
        refused=_refused(record),
        asked_in_row=before.asked_in_row + 1 if denied else 0,
        unchanged=before.unchanged + ("unchanged" in refused),
        unproven=before.unproven + bool(refused & NEEDS_WORD),
        blocked=before.blocked + 1 if record.blocked else 0,
        blocked_by=record.claims.blocked,
        blocked_seen=judged.criteria[0].reason if record.blocked and judged and judged.rejected else "",
        test_only_in_row=before.test_only_in_row + 1 if proof.test_only and proof.green else 0,
        indicators=(*before.indicators, proof.looks_complete)[-INDICATORS_KEPT:],
    )


def _refused(record: IterationRecord) -> tuple[Denial, ...]:
    """What stood against the agent's request to be done; nothing where it made none, or where it was granted."""
    if not record.claims.wants_to_finish or record.proven or record.tick:
        return ()
    report, item, judgement = record.checks, record.item, record.judgement
    why = checks_fail(len(report.failures), len(report.results)) if report and report.failures else ""
    checks = Denial(rule="checks", why=why) if why else None
    unproven = Denial(rule="plan", why=item.why) if item and not item.proven else None
    rejected = Denial(rule="judge", why=judgement.cause) if judgement and not judgement.approved else None
    others = (one for one in record.proof.denied if one.rule != "plan" or not unproven)
    return tuple(one for one in (checks, unproven, *others, rejected) if one)


def remember(before: JudgeMemory, record: IterationRecord, limit: int, *, reset: bool) -> JudgeMemory:
    """Append a verdict: an approval sets the count back, a rejection goes to the agent, a principle to the judge."""
    judgement, number, commit = record.judgement, record.iteration, record.execution.change.commit
    if judgement is None:
        return before
    principle = " ".join(judgement.principle.split())[:300]
    note = [f"#{number} {judgement.outcome}: {principle}"] if principle else []
    verdicts = [
        PastVerdict(
            iteration=number,
            commit=commit,
            criterion=one.criterion,
            given=one.given,
            reason=" ".join(one.reason.split())[:PAST_REASON_KEPT],
        )
        for one in judgement.criteria
    ]
    known = before.model_copy(
        update={"notes": (*before.notes, *note)[-NOTES_KEPT:], "verdicts": (*before.verdicts, *verdicts)[-VERDICTS_KEPT:]}
    )
    if not judgement.rejected:
        return known.model_copy(update={"rejections": 0}) if judgement.approved else known
    # for each criterion that is not met the judge's own words: what it saw, where, and what would fix it
    unmet = tuple(one for one in judgement.criteria if one.unmet)
    names = {one.criterion for one in unmet}
    in_row = before.rejections + 1
    rejection = Rejection(
        iteration=number,
        at=record.ended_at,
        consecutive=in_row,
        reason="\n".join((judgement.cause, *map(_criterion_line, unmet)))[:REASON_KEPT],
        criteria=tuple(one.criterion for one in unmet),
        repeated=sum(not names.isdisjoint(earlier.criteria) for earlier in before.feedback),
    )
    resets = reset and in_row >= limit
    again = {"rejections": 0, "reset_at": number} if resets else {"rejections": in_row}
    return known.model_copy(update={"feedback": (*before.feedback, rejection)[-REJECTIONS_KEPT:], **again})


def _criterion_line(one: CriterionVerdict) -> str:
    return f"- {one.criterion}: {one.reason}" + (f" Fix: {one.fix}" if one.fix else "")


def _kept_session(before: KeptSession | None, record: IterationRecord, mode: str) -> KeptSession | None:
    """The session that the next iteration may go on with."""
    call = record.execution.call
    ended_well = call.outcome in GOES_ON and not call.rotated and _ID.fullmatch(call.session_id)
    rejected = record.judgement is not None and record.judgement.rejected
    # a stuck agent should not read its own failed transcript; an attempt that was cut off has not failed yet
    stuck = record.counts and (record.execution.change.files_changed == 0 or rejected)
    if mode == "fresh" or not ended_well or record.blocked or (mode == "hybrid" and stuck):
        return None
    earlier = before if call.resumed else None
    total, calls = (earlier.total.plus(call.usage), earlier.calls + 1) if earlier else (call.usage, 1)
    return KeptSession(id=call.session_id, used_at=record.ended_at, total=total, calls=calls)


def windows(before: Mapping[str, int], call: AgentCall) -> dict[str, int]:
    """Context windows by model, the one told last at the end."""
    if not call.model or call.context.window <= 0:
        return dict(before)
    others = {model: window for model, window in before.items() if model != call.model}
    return dict(list((others | {call.model: call.context.window}).items())[-WINDOWS_KEPT:])


def last_call(before: LastCall, record: IterationRecord, known: Mapping[str, int]) -> LastCall:
    """What is known of the last session. A call in which the model never spoke adds nothing: what was known still holds."""
    call = record.execution.call
    if not (call.context.peak or call.tool_calls or call.rotated):
        return before
    window = call.context.window or known.get(call.model, 0)  # a call that was cut off does not tell it
    return LastCall(
        errors=call.errors,
        rotated=call.rotated,
        drift=record.drift,
        context=call.context.model_copy(update={"window": window}),
        unguarded=call.unguarded,
        words=call.final_text.partition("---RALPH_STATUS---")[0].strip()[-LAST_WORDS:],
        blocked=record.blocked,
    )
