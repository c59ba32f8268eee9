"""How a loop's standing with its plan moves on with an iteration: a tick, one more try, or work that was taken back."""

from collections.abc import Collection, Sequence
from typing import Any

from helmsman.records.checks import CheckReport
from helmsman.records.iteration import Evidence, IterationRecord
from helmsman.records.plan import InHand, ItemProof, PlanProgress, Sketched


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
