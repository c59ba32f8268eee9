"""`advance`, the only fold of records into the state, and state changes outside of iterations."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from helmsman.config import LoopConfig
from helmsman.records.agent import MOST_SURVIVORS, AgentCall, AgentOutcome, InterruptedCall, KeptSession, LastCall, Salvage
from helmsman.records.checks import CheckReport, CriterionVerdict, checks_fail
from helmsman.records.claims import Contradiction, Trust
from helmsman.records.control import REMEMBERED, IterationSummary, Overseen, Oversight, RolledBack, Strategy
from helmsman.records.decision import Decision
from helmsman.records.iteration import Evidence, IterationRecord, Orientation
from helmsman.records.lessons import Learned
from helmsman.records.plan import UNTRIED_ITEM, CurrentItem, PlanProgress, Tick, update_sketch
from helmsman.records.proof import WAIVABLE_RULES, Denial, DoneSignals, JudgeMemory, PastVerdict, Rejection
from helmsman.records.state import FRUITFUL, LoopState, Waiting, failed_calls, recent_calls, spend

LAST_WORDS = 600
"""Characters of the agent's last message that people see: its summary comes at the end."""
REJECTIONS_KEPT, NOTES_KEPT, VERDICTS_KEPT = 10, 40, 40
"""Stored feedback of the judge: for the agent, and for the judge itself."""
REASON_KEPT, PAST_REASON_KEPT = 1500, 300
SALVAGES_REMEMBERED, INDICATORS_KEPT, CHECKS_KEPT, WINDOWS_KEPT, GREEN_KEPT = 5, 5, 100, 20, 20
RESUMABLE = FRUITFUL | {
    AgentOutcome.TIMED_OUT,  # it was asked to end while working; the CLI repairs the interrupted tool call
    # its model became unavailable; the conversation is complete, and the CLI itself advises to resume
    AgentOutcome.USAGE_LIMIT,
    AgentOutcome.RATE_LIMITED,
    AgentOutcome.OVERLOADED,
}
"""Endings after which a session can be continued. After any other, its conversation may be the cause."""
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")  # it is passed on a command line


def advance(state: LoopState, record: IterationRecord) -> LoopState:
    """Fold one record into the state; nothing else moves a loop forward by itself."""
    return state.model_copy(
        update=_progress_fields(state, record) | _branch_fields(state, record) | _memory_fields(state, record)
    )


def _progress_fields(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """What is due next, and what is used up. An attempt that does not count is repeated with the same instructions."""
    counts, decision = record.counts, record.decision
    until, is_wait = decision.until, decision.kind == "wait"
    return {
        "updated_at": record.ended_at,
        "iteration": state.iteration + counts,
        "attempt": 1 if counts else state.attempt + 1,
        "spending": spend(state, record.usage, record.started_at, record.ended_at, record.at_work),
        "recent_calls": recent_calls(state, record.ended_at),
        "failed_calls": failed_calls(state, record.execution) if counts else state.failed_calls,
        "salvaged": () if counts else state.salvaged,
        "guidance": () if counts else state.guidance,
        "waiting": Waiting(until=until, rule=decision.rule, reason=decision.reason) if is_wait and until else None,
        "ending": decision if decision.kind == "stop" else None,
    }


def _branch_fields(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """The work on the branch and what is known about it. Reverted work is no longer there."""
    best, failed, report = record.oversight.best, record.failed, record.checks
    best_checks = report if best and best.commit == record.head and report else state.best_checks
    history = (*state.history, *([record.moment] if record.moment else ()))[-REMEMBERED:]
    history = mark_undone_after(history, failed.back_to) if failed else history
    return {
        "head": failed.back_to if failed else record.head,
        "checks": best_checks if failed else report or state.checks,
        "best_checks": best_checks,
        "oversight": after_rollback(record.oversight, failed),
        "history": history,
        "failed": failed if record.counts else state.failed,
        "plan": _plan_after(state.plan, record, {summary.iteration for summary in history if summary.undone}),
        "findings": () if failed else record.findings if report else state.findings,
        "contradictions": () if failed else record.contradictions,
        # tests removed with their work are not missed
        "most_tests": most_tests({}, best_checks) if failed else most_tests(state.most_tests, report),
        "verified": record.execution.change.commit if record.proven else state.verified,
    }


def _memory_fields(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """What later iterations know about this one, even if its work is reverted."""
    config, call = state.config, record.execution.call
    known_windows = windows(state.windows, call)
    return {
        "memory": record.memory,
        "trust": trust(state.trust, record.contradictions, record.claims_checked),
        "judge": remember_verdict(state.judge, record, config.judge.rejections, reset=config.resets_strategy),
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
    """Assemble the record of the due iteration, before any consequence of the decision."""
    fields: dict[str, Any] = {**dict(orientation), **dict(evidence), **dict(overseen), "learned": learned or Learned()}
    return IterationRecord.model_validate(
        {**fields, "loop": state.loop, "iteration": state.due, "attempt": state.attempt, "decision": decision}
    )


def with_consequences(record: IterationRecord, failed: RolledBack | None, tick: Tick | None) -> IterationRecord:
    """Add what happened to its work: reverted, or ticked in the plan. A tick belongs to its work."""
    moment, oversight, best = record.moment, record.oversight, record.oversight.best
    if tick:
        ticked = {"commit": tick.commit}
        moment = moment.model_copy(update=ticked) if moment else None
        if best and best.commit == record.execution.change.commit:  # a return to it includes its tick
            oversight = oversight.model_copy(update={"best": best.model_copy(update=ticked)})
    return record.model_copy(update={"failed": failed, "tick": tick, "moment": moment, "oversight": oversight})


def interrupt(state: LoopState, attempt: InterruptedCall, salvage: Salvage | None) -> LoopState:
    """Repeat the iteration as the next attempt after a driver died during an agent call.

    The known usage of the call is charged; otherwise a cycle of crashes would have no budget. Its session is discarded: its
    ending is unknown.
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
    """Stop outside of an iteration: cancelled, or failed with an error."""
    return state.model_copy(update={"ending": decision, "waiting": None, "updated_at": now})


def reopen(state: LoopState, config: LoopConfig, now: datetime) -> LoopState:
    """Continue an ended loop with the given configuration. A person has looked, so counts of failures restart."""
    judge, plan = state.judge.model_copy(update={"rejections": 0}), state.plan.model_copy(update={"tries": {}})
    reset = {"failed_calls": 0, "judge": judge, "done": DoneSignals(), "plan": plan}
    return state.model_copy(update={"ending": None, "config": config, "updated_at": now, **reset})


def _plan_after(before: PlanProgress, record: IterationRecord, undone: Collection[int]) -> PlanProgress:
    """The plan after an iteration. `undone`: iterations whose work, with their ticks, is no longer on the branch."""
    in_hand, touched, remaining = record.plan, record.execution.plan, before.without(undone)
    if in_hand is None:
        return remaining.model_copy(update={"touched": touched})
    lost = before.ticked.keys() - remaining.ticked.keys()
    proven = {record.tick.item} if record.tick else set[str]()
    is_new_plan = touched is not None and touched.kept
    tries = {} if is_new_plan else tries_after(before, record)  # nothing of a new plan was tried yet
    return remaining.model_copy(
        update={
            "total": in_hand.total,
            "done": in_hand.done + len(proven) - len(lost),
            "tries": {name: times for name, times in tries.items() if name not in proven},
            "ticked": {**remaining.ticked, **dict.fromkeys(proven, record.iteration)},
            "green_before": items_green_before(remaining, record)[:GREEN_KEPT],
            "floor": failure_floor(record.checks) if proven else remaining.floor,
            "touched": touched,
            "sketch": update_sketch(in_hand.sketch, proven, lost),
            **_item_state(before, record, in_hand),
        }
    )


def items_green_before(plan: PlanProgress, evidence: Evidence) -> tuple[str, ...]:
    """Proven items of which nothing was red before, the current one included."""
    proof = evidence.item
    current = (proof.item,) if proof and proof.proven and evidence.own_passed_before else ()
    return tuple(dict.fromkeys((*(name for name in plan.green_before if name in plan.ticked), *current)))


def _item_state(before: PlanProgress, record: IterationRecord, in_hand: CurrentItem) -> dict[str, Any]:
    """State of the current item; empty for a new item after a tick."""
    now, proof, own = in_hand.item.id if in_hand.item else "", record.item, record.own
    if record.tick is not None or proof is None:
        return {"now": in_hand.next if record.tick else now, **UNTRIED_ITEM}
    is_same = before.now == now
    return {
        "now": now,
        "missing": proof.why,
        "changed": not record.failed and ((is_same and before.changed) or record.execution.change.files_changed > 0),
        "noted": not record.failed and ((is_same and before.noted) or record.noted == now),
        "own": min(own.results, key=lambda result: result.passed) if own and own.results else None,  # a failing one, if any
    }


def tries_after(before: PlanProgress, evidence: Evidence) -> dict[str, int]:
    """Tries of each open item, including this iteration if it was one."""
    proof = evidence.item
    if proof is None or not proof.tried or proof.proven:
        return before.tries
    return {**before.tries, proof.item: before.tries.get(proof.item, 0) + 1}


def failure_floor(report: CheckReport | None) -> dict[str, int]:
    """Result of each check, below which no later one may fall."""
    results = report.results if report else ()
    return {
        result.command: 0 if result.passed else result.counts.failed if result.counts and result.counts.failed else -1
        for result in results
    }


def trust(before: Trust, contradictions: Sequence[Contradiction], checked: int) -> Trust:
    """Count compared claims, and those that the evidence contradicts."""
    contradicted = sum(contradiction.layer == "contradiction" for contradiction in contradictions)
    return Trust(checked=before.checked + max(checked, contradicted), contradicted=before.contradicted + contradicted)


def most_tests(before: Mapping[str, int], report: CheckReport | None) -> dict[str, int]:
    """The most tests that each check ever ran, without skipped ones."""
    counted = {result.command: result.counts.executed for result in report.results if result.counts} if report else {}
    most = {command: max(count, before.get(command, 0)) for command, count in counted.items()}
    return dict(list((dict(before) | most).items())[-CHECKS_KEPT:])


def untested_checks(report: CheckReport | None, most: Mapping[str, int], at_start: Collection[str] = ()) -> tuple[str, ...]:
    """Names of checks that pass without running a test, or without a test count where earlier runs had one.

    `most`: from `most_tests`; `at_start`: commands to leave out, because they passed without a test before any work.
    """
    results = report.results if report else ()
    empty = (
        result
        for result in results
        if result.ran_no_test or (result.passed and result.counts is None and most.get(result.command))
    )
    return tuple(result.name for result in empty if result.command not in at_start)


def mark_undone_after(history: Sequence[IterationSummary], back_to: str) -> tuple[IterationSummary, ...]:
    """Mark iterations after the commit to which the branch returned."""
    position = max((at for at, summary in enumerate(history) if summary.commit == back_to), default=-1)
    return tuple(summary.model_copy(update={"undone": True}) if at > position else summary for at, summary in enumerate(history))


_ANOTHER_WAY = Strategy(
    stance="pivot",
    reasoning="the last work was rolled back",
    priorities=("Choose an approach that differs in kind from that of the rolled-back work.",),
)


def after_rollback(oversight: Oversight, failed: RolledBack | None) -> Oversight:
    """The oversight after a rollback: the best tree, and another approach for the next iteration."""
    best = oversight.best
    if failed is None or best is None or best.commit != failed.back_to:
        return oversight
    progress = oversight.progress.model_copy(update={"completion": best.completion})
    feedback = "green" if best.green else "failing"
    cleared = {"issues": (), "instructions": (), "redirected": ()}
    return oversight.model_copy(update={"progress": progress, "feedback": feedback, "strategy": _ANOTHER_WAY, **cleared})


def done_signals(before: DoneSignals, record: IterationRecord) -> DoneSignals:
    """Count claims and test-only iterations in a row; an attempt that does not count changes nothing."""
    if not record.counts:
        return before
    proof, refused, block_verdict = record.proof, record.proof.refusing_rules, record.block_judged
    denied = proof.asked and proof.green and not record.proven and not record.tick
    return DoneSignals(
        refused=_objections(record),
        asked_in_row=before.asked_in_row + 1 if denied else 0,
        unchanged=before.unchanged + ("unchanged" in refused),
        unproven=before.unproven + bool(refused & WAIVABLE_RULES),
        blocked=before.blocked + 1 if record.blocked else 0,
        blocked_by=record.claims.blocked,
        blocked_seen=block_verdict.criteria[0].reason if record.blocked and block_verdict and block_verdict.rejected else "",
        test_only_in_row=before.test_only_in_row + 1 if proof.test_only and proof.green else 0,
        indicators=(*before.indicators, proof.looks_complete)[-INDICATORS_KEPT:],
    )


def _objections(record: IterationRecord) -> tuple[Denial, ...]:
    """Objections to the agent's claim of completion; empty if there was no claim or it was accepted."""
    if not record.claims.wants_to_finish or record.proven or record.tick:
        return ()
    report, item, judgement = record.checks, record.item, record.judgement
    failing = checks_fail(len(report.failures), len(report.results)) if report and report.failures else ""
    checks = Denial(rule="checks", why=failing) if failing else None
    unproven = Denial(rule="plan", why=item.why) if item and not item.proven else None
    rejected = Denial(rule="judge", why=judgement.cause) if judgement and not judgement.approved else None
    others = (denial for denial in record.proof.denied if denial.rule != "plan" or not unproven)
    return tuple(denial for denial in (checks, unproven, *others, rejected) if denial)


def remember_verdict(before: JudgeMemory, record: IterationRecord, limit: int, *, reset: bool) -> JudgeMemory:
    """Append a verdict: an approval resets the count, a rejection goes to the agent, a principle to the judge."""
    judgement, number, commit = record.judgement, record.iteration, record.execution.change.commit
    if judgement is None:
        return before
    principle = " ".join(judgement.principle.split())[:300]
    note = [f"#{number} {judgement.outcome}: {principle}"] if principle else []
    verdicts = [
        PastVerdict(
            iteration=number,
            commit=commit,
            criterion=verdict.criterion,
            given=verdict.given,
            reason=" ".join(verdict.reason.split())[:PAST_REASON_KEPT],
        )
        for verdict in judgement.criteria
    ]
    memory = before.model_copy(
        update={"notes": (*before.notes, *note)[-NOTES_KEPT:], "verdicts": (*before.verdicts, *verdicts)[-VERDICTS_KEPT:]}
    )
    if not judgement.rejected:
        return memory.model_copy(update={"rejections": 0}) if judgement.approved else memory
    # the judge's own words for each unmet criterion: finding, place and fix
    unmet = tuple(verdict for verdict in judgement.criteria if verdict.unmet)
    names = {verdict.criterion for verdict in unmet}
    in_row = before.rejections + 1
    rejection = Rejection(
        iteration=number,
        at=record.ended_at,
        consecutive=in_row,
        reason="\n".join((judgement.cause, *map(_criterion_line, unmet)))[:REASON_KEPT],
        criteria=tuple(verdict.criterion for verdict in unmet),
        repeated=sum(not names.isdisjoint(earlier.criteria) for earlier in before.feedback),
    )
    resets = reset and in_row >= limit
    count = {"rejections": 0, "reset_at": number} if resets else {"rejections": in_row}
    return memory.model_copy(update={"feedback": (*before.feedback, rejection)[-REJECTIONS_KEPT:], **count})


def _criterion_line(verdict: CriterionVerdict) -> str:
    return f"- {verdict.criterion}: {verdict.reason}" + (f" Fix: {verdict.fix}" if verdict.fix else "")


def _kept_session(before: KeptSession | None, record: IterationRecord, mode: str) -> KeptSession | None:
    """The session that the next iteration may continue."""
    call = record.execution.call
    ended_well = call.outcome in RESUMABLE and not call.rotated and _ID.fullmatch(call.session_id)
    rejected = record.judgement is not None and record.judgement.rejected
    # a stuck agent should not read its failed transcript; an interrupted attempt has not failed yet
    is_stuck = record.counts and (record.execution.change.files_changed == 0 or rejected)
    if mode == "fresh" or not ended_well or record.blocked or (mode == "hybrid" and is_stuck):
        return None
    earlier = before if call.resumed else None
    total, calls = (earlier.total.plus(call.usage), earlier.calls + 1) if earlier else (call.usage, 1)
    return KeptSession(id=call.session_id, used_at=record.ended_at, total=total, calls=calls)


def windows(before: Mapping[str, int], call: AgentCall) -> dict[str, int]:
    """Context windows by model, the latest last."""
    if not call.model or call.context.window <= 0:
        return dict(before)
    others = {model: window for model, window in before.items() if model != call.model}
    return dict(list((others | {call.model: call.context.window}).items())[-WINDOWS_KEPT:])


def last_call(before: LastCall, record: IterationRecord, windows: Mapping[str, int]) -> LastCall:
    """Facts about the last session. A call in which the model never answered adds nothing: earlier facts remain valid."""
    call = record.execution.call
    if not (call.context.peak or call.tool_calls or call.rotated):
        return before
    window = call.context.window or windows.get(call.model, 0)  # an interrupted call does not report it
    return LastCall(
        errors=call.errors,
        rotated=call.rotated,
        drift=record.drift,
        context=call.context.model_copy(update={"window": window}),
        unguarded=call.unguarded,
        words=call.final_text.partition("---RALPH_STATUS---")[0].strip()[-LAST_WORDS:],
        blocked=record.blocked,
    )
