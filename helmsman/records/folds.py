"""How parts of a state move on with a record; `advance` puts them together."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from helmsman.records.agent import AgentCall, AgentOutcome, KeptSession, LastCall
from helmsman.records.checks import CheckReport, CriterionVerdict, Judgement, checks_fail
from helmsman.records.claims import ClaimLayer, Contradiction, Trust
from helmsman.records.control import REMEMBERED, Failed, Feedback, IterationSummary, Oversight, Stance, Strategy
from helmsman.records.iteration import Evidence, IterationRecord
from helmsman.records.plan import InHand, ItemProof, PlanProgress, Sketched, Tick
from helmsman.records.proof import (
    NEEDS_WORD,
    NOTES_KEPT,
    PAST_REASON_KEPT,
    REASON_KEPT,
    REJECTIONS_KEPT,
    VERDICTS_KEPT,
    Denial,
    DoneSignals,
    JudgeMemory,
    PastVerdict,
    Rejection,
)


def plan_after(before: PlanProgress, record: IterationRecord, undone: Collection[int]) -> PlanProgress:
    """The plan after an iteration. `undone`: iterations whose work is off the branch since, and their ticks with it."""
    hand, touched, kept = record.plan, record.execution.plan, without(before, undone)
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
            "sketch": _sketch(hand.sketch, won, lost),
            **_in_hand(before, record, hand),
        }
    )


def ticked_by_word(before: PlanProgress, iteration: int) -> PlanProgress:
    """A person has said that the item in hand is done."""
    return before.model_copy(
        update={
            "done": before.done + 1,
            "now": "",
            "tries": {name: times for name, times in before.tries.items() if name != before.now},
            "ticked": {**before.ticked, before.now: iteration},
            "sketch": _sketch(before.sketch, {before.now}, ()),
            "missing": "",
            "changed": False,
            "noted": False,
            "own": None,
        }
    )


def without(before: PlanProgress, undone: Collection[int]) -> PlanProgress:
    """The plan once the work of those iterations is off the branch, and their ticks with it."""
    lost = {name for name, proved in before.ticked.items() if proved in undone}
    if not lost:
        return before
    kept = {name: proved for name, proved in before.ticked.items() if name not in lost}
    sketch = _sketch(before.sketch, (), lost)
    return before.model_copy(update={"done": before.done - len(lost), "ticked": kept, "floor": {}, "sketch": sketch})


def tries_after(before: PlanProgress, evidence: Evidence) -> dict[str, int]:
    """Tries of each open item, this iteration included where it was one."""
    proof = evidence.item
    if proof is None or not proof.tried or proof.proven:
        return before.tries
    return {**before.tries, proof.item: before.tries.get(proof.item, 0) + 1}


def _in_hand(before: PlanProgress, record: IterationRecord, hand: InHand) -> dict[str, Any]:
    """What is said of the item in hand; nothing yet of the one that comes after a tick."""
    now, proof = hand.item.id if hand.item else "", record.item
    if record.tick is not None or proof is None:
        return {"now": hand.next if record.tick else now, "missing": "", "changed": False, "noted": False, "own": None}
    same = before.now == now
    return {
        "now": now,
        "missing": proof.why,
        "changed": not record.failed and ((same and before.changed) or record.execution.change.files_changed > 0),
        "noted": not record.failed and ((same and before.noted) or record.noted == now),
        "own": record.own.results[0] if record.own and record.own.results else None,
    }


def _sketch(before: Sequence[Sketched], won: Collection[str], lost: Collection[str]) -> tuple[Sketched, ...]:
    return tuple(one.model_copy(update={"done": (one.done or one.id in won) and one.id not in lost}) for one in before)


def floor_of(report: CheckReport | None) -> dict[str, int]:
    """How far each check was: nothing that comes after may be below it."""
    results = report.results if report else ()
    return {one.command: 0 if one.passed else one.counts.failed if one.counts and one.counts.failed else -1 for one in results}


def asked_again(before: PlanProgress) -> PlanProgress:
    """A person has looked: the tries count anew."""
    return before.model_copy(update={"tries": {}})


def standing_of(proof: ItemProof | None, hand: InHand | None) -> tuple[str, ...]:
    """Ids of what stays to be done after an iteration, as far as they are named."""
    won = {proof.item} if proof and proof.proven else set[str]()
    return tuple(name for name in hand.left if name not in won) if hand else ()


def remaining_after(proof: ItemProof | None, hand: InHand | None) -> int:
    """How many items stay to be done after an iteration."""
    return 0 if hand is None else hand.remaining - bool(proof and proof.proven)


INDICATORS_KEPT = 5
CHECKS_KEPT = 100
WINDOWS_KEPT = 20
GOES_ON = frozenset(
    {
        # It came to the end of its turn, or of what one call may use.
        AgentOutcome.FINISHED,
        AgentOutcome.MAX_TURNS,
        AgentOutcome.CALL_BUDGET,
        # It was asked to end while at work; the CLI repairs the tool call that was cut off.
        AgentOutcome.TIMED_OUT,
        # Its model went away; the conversation is whole, and the CLI itself advises to resume.
        AgentOutcome.USAGE_LIMIT,
        AgentOutcome.RATE_LIMITED,
        AgentOutcome.OVERLOADED,
    }
)
"""Endings after which a session can be gone on with. After any other its conversation may be what broke it."""
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")  # it goes on a command line


def trust(before: Trust, contradictions: Sequence[Contradiction], checked: int) -> Trust:
    """Count the claims that were compared, and those that the evidence contradicts."""
    broken = sum(one.layer is ClaimLayer.CONTRADICTION for one in contradictions)
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


def best_checks(before: CheckReport | None, record: IterationRecord) -> CheckReport | None:
    """The report on the best commit so far."""
    best = record.oversight.best
    return record.checks if best and best.commit == record.head and record.checks else before


def at_tick(oversight: Oversight, commit: str, tick: Tick | None) -> Oversight:
    """A commit that is worth going back to is gone back to with its tick."""
    best = oversight.best
    if tick is None or best is None or best.commit != commit:
        return oversight
    return oversight.model_copy(update={"best": best.model_copy(update={"commit": tick.commit})})


def history(before: Sequence[IterationSummary], record: IterationRecord) -> tuple[IterationSummary, ...]:
    """The last iterations in short. Those whose work was taken off the branch are marked."""
    moments = (*before, *([record.moment] if record.moment else ()))[-REMEMBERED:]
    return undone_after(moments, record.failed.back_to) if record.failed else moments


def undone_after(moments: Sequence[IterationSummary], back_to: str) -> tuple[IterationSummary, ...]:
    """Those after a commit that the branch went back to are marked."""
    kept = max((at for at, summary in enumerate(moments) if summary.commit == back_to), default=-1)
    return tuple(summary.model_copy(update={"undone": True}) if at > kept else summary for at, summary in enumerate(moments))


def taken_back(oversight: Oversight, failed: Failed | None) -> Oversight:
    """What the next iteration begins with where work was taken off the branch: the tree that measured best, and another way."""
    best = oversight.best
    if failed is None or best is None or best.commit != failed.back_to:
        return oversight
    another = Strategy(
        stance=Stance.PIVOT,
        reasoning="the last work was taken back",
        priorities=("Choose an approach that differs in kind from the one that was kept aside.",),
    )
    progress = oversight.progress.model_copy(update={"completion": best.completion})
    feedback = Feedback.GREEN if best.green else Feedback.FAILING
    anew = {"progress": progress, "feedback": feedback, "strategy": another, "issues": (), "instructions": (), "redirected": ()}
    return oversight.model_copy(update=anew)


def done_signals(before: DoneSignals, record: IterationRecord) -> DoneSignals:
    """Count requests and test-only iterations in a row; an attempt that does not count changes nothing."""
    if not record.counts:
        return before
    proof, refused = record.proof, record.proof.refused_by
    return DoneSignals(
        refused=_refused(record),
        unchanged=before.unchanged + ("unchanged" in refused),
        unproven=before.unproven + bool(refused & NEEDS_WORD),
        **_blocked(before, record),
        asked_in_row=before.asked_in_row + 1 if proof.asked and proof.green and not record.proven and not record.tick else 0,
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


def _blocked(before: DoneSignals, record: IterationRecord) -> dict[str, Any]:
    if not record.blocked:
        return {}
    judged = record.block_judged
    seen = judged.criteria[0].reason if judged and judged.rejected else ""
    return {"blocked": before.blocked + 1, "blocked_by": record.claims.blocked, "blocked_seen": seen}


def remember(before: JudgeMemory, record: IterationRecord, limit: int, *, reset: bool) -> JudgeMemory:
    """Append a verdict: an approval sets the count back, a rejection goes to the agent, a principle to the judge."""
    judgement = record.judgement
    if judgement is None:
        return before
    principle = " ".join(judgement.principle.split())[:300]
    note = [f"#{record.iteration} {judgement.outcome}: {principle}"] if principle else []
    notes = (*before.notes, *note)[-NOTES_KEPT:]
    verdicts = (*before.verdicts, *_past_verdicts(record, judgement))[-VERDICTS_KEPT:]
    known = before.model_copy(update={"notes": notes, "verdicts": verdicts})
    if not judgement.rejected:
        return known.model_copy(update={"rejections": 0}) if judgement.approved else known
    rejection = _rejection(before, record, judgement)
    kept = (*before.feedback, rejection)[-REJECTIONS_KEPT:]
    after = known.model_copy(update={"rejections": rejection.consecutive, "feedback": kept})
    if not reset or rejection.consecutive < limit:
        return after
    return after.model_copy(update={"rejections": 0, "reset_at": record.iteration})


def _rejection(before: JudgeMemory, record: IterationRecord, judgement: Judgement) -> Rejection:
    """For each criterion that is not met the judge's own words: what it saw, where, and what would fix it."""
    unmet = tuple(verdict.criterion for verdict in judgement.criteria if verdict.unmet)
    lines = (f"- {one.criterion}: {one.reason}{_where(one)}" for one in judgement.criteria if one.unmet)
    return Rejection(
        iteration=record.iteration,
        at=record.ended_at,
        consecutive=before.rejections + 1,
        reason="\n".join((judgement.cause, *lines))[:REASON_KEPT],
        criteria=unmet,
        repeated=sum(bool(set(unmet) & set(earlier.criteria)) for earlier in before.feedback),
    )


def _where(one: CriterionVerdict) -> str:
    at = f" ({one.evidence})" if one.evidence and one.evidence not in one.reason else ""
    return at + (f" Fix: {one.fix}" if one.fix else "")


def _past_verdicts(record: IterationRecord, judgement: Judgement) -> Iterator[PastVerdict]:
    for one in judgement.criteria:
        yield PastVerdict(
            iteration=record.iteration,
            commit=record.execution.change.commit,
            criterion=one.criterion,
            given=one.given,
            reason=" ".join(one.reason.split())[:PAST_REASON_KEPT],
        )


def kept_session(before: KeptSession | None, record: IterationRecord, mode: str) -> KeptSession | None:
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
    context = call.context.model_copy(update={"window": window})
    return LastCall(
        errors=call.errors,
        rotated=call.rotated,
        drift=record.drift,
        context=context,
        unguarded=call.unguarded,
        words=record.last_words,
        blocked=record.blocked,
    )
