"""How parts of a state move on with a record; `advance` puts them together."""

from collections.abc import Mapping, Sequence

from helmsman.records.checks import CheckReport
from helmsman.records.claims import ClaimLayer, Contradiction, Trust
from helmsman.records.iteration import IterationRecord
from helmsman.records.judgement import Judgement
from helmsman.records.reflexion import NOTES_KEPT, REASON_KEPT, REJECTIONS_KEPT, DoneSignals, JudgeMemory, Rejection

INDICATORS_KEPT = 5
CHECKS_KEPT = 100


def trust(before: Trust, contradictions: Sequence[Contradiction], checked: int) -> Trust:
    """Count the claims that were compared, and those that the evidence contradicts."""
    broken = sum(one.layer is ClaimLayer.CONTRADICTION for one in contradictions)
    return Trust(checked=before.checked + max(checked, broken), contradicted=before.contradicted + broken)


def most_tests(before: Mapping[str, int], report: CheckReport | None) -> dict[str, int]:
    """The largest number of tests that each check was seen to run, skipped ones left out."""
    counted = {result.command: result.counts.executed for result in report.results if result.counts} if report else {}
    most = {command: max(ran, before.get(command, 0)) for command, ran in counted.items()}
    return dict(list((dict(before) | most).items())[-CHECKS_KEPT:])


def done_signals(before: DoneSignals, record: IterationRecord) -> DoneSignals:
    """Count requests and test-only iterations in a row; an attempt that does not count changes nothing."""
    if not record.counts:
        return before
    proof = record.proof
    return DoneSignals(
        asked_in_row=before.asked_in_row + 1 if proof.asked and proof.green and not record.proven else 0,
        test_only_in_row=before.test_only_in_row + 1 if proof.test_only and proof.green else 0,
        indicators=(*before.indicators, proof.looks_complete)[-INDICATORS_KEPT:],
    )


def remember(before: JudgeMemory, record: IterationRecord, limit: int, *, reset: bool) -> JudgeMemory:
    """Append a verdict: an approval sets the count back, a rejection goes to the agent, a principle to the judge."""
    judgement = record.judgement
    if judgement is None:
        return before
    notes = (*before.notes, *_note(record.iteration, judgement))[-NOTES_KEPT:]
    if judgement.approved:
        return before.model_copy(update={"rejections": 0, "notes": notes})
    rejection = _rejection(before, record, judgement)
    kept = (*before.feedback, rejection)[-REJECTIONS_KEPT:]
    after = before.model_copy(update={"rejections": rejection.consecutive, "feedback": kept, "notes": notes})
    if not reset or rejection.consecutive < limit:
        return after
    return after.model_copy(update={"rejections": 0, "resets": before.resets + 1, "reset_at": record.iteration})


def _rejection(before: JudgeMemory, record: IterationRecord, judgement: Judgement) -> Rejection:
    unmet = tuple(verdict.criterion for verdict in judgement.criteria if not verdict.met)
    return Rejection(
        iteration=record.iteration,
        at=record.ended_at,
        consecutive=before.rejections + 1,
        reason=_reason(judgement)[:REASON_KEPT],
        criteria=unmet,
        repeated=sum(bool(set(unmet) & set(earlier.criteria)) for earlier in before.feedback),
    )


def _reason(judgement: Judgement) -> str:
    """The cause, and for each criterion that is not met the judge's own words and where it looked."""
    unmet = (verdict for verdict in judgement.criteria if not verdict.met)
    lines = (f"- {one.criterion}: {one.reason}" + (f" ({one.evidence})" if one.evidence else "") for one in unmet)
    return "\n".join((judgement.cause, *lines))


def _note(iteration: int, judgement: Judgement) -> tuple[str, ...]:
    verdict = "approved" if judgement.approved else "rejected"
    principle = " ".join(judgement.principle.split())[:300]
    return (f"#{iteration} {verdict}: {principle}",) if principle else ()
