"""How far the work is, counted from results. The agent's own word does not enter."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.iteration import Evidence
from helmsman.records.moments import Progress
from helmsman.records.plan import PlanProgress

WEIGHTS: Mapping[str, float] = {
    "tests": 5,  # many small steps, each of them run: the finest and the hardest to talk away
    "checks": 3,  # run as well, but coarse: one of them stands for anything from a typo to all tests
    "items": 3,  # ticked by evidence, and as coarse
    "criteria": 2,  # a model's opinion of what nothing can run
}
"""What a share counts for in the mean; shares that do not exist are left out of it."""
UNPROVEN = 0.95
"""What the mean is worth before completion is proven: all green, and nobody has asked or agreed, is not done."""


class _Counted(NamedTuple):
    """How many of all are there. What could not be found out lies between the two."""

    least: int
    most: int
    of: int


def progress_of(evidence: Evidence, before: Progress, most_tests: Mapping[str, int], *, judged: bool = False) -> Progress:
    """Shares after an iteration; `before` where nothing was checked. `judged`: whether a judge's approval will be needed.

    `most_tests`: by check command the most tests that it was ever seen to run; fewer never make a share larger.
    A check that timed out or could not run says nothing: its part stays as near to what it was as the other results allow.
    Where a judge will be needed and has not spoken, no criterion is met yet; else the first rejection would look like a loss.
    """
    if evidence.checks is None or not evidence.execution.worth_checking:
        return before
    results = evidence.checks.results
    shares = {
        "checks": _share(_checks(results), before.checks),
        "tests": _share(_tests(results, most_tests), before.tests),
        "criteria": _criteria(evidence, before, judged=judged),
        "items": _items(evidence, before),
    }
    return Progress(**shares, completion=1.0 if evidence.proven else UNPROVEN * _mean(shares))


def progress_at_start(
    report: CheckReport, most_tests: Mapping[str, int], plan: PlanProgress | None = None, *, judged: bool
) -> Progress:
    """Shares of the tree that nobody has worked on yet. Nothing is proven there: nobody has asked."""
    nothing = Progress()
    shares = {
        "checks": _share(_checks(report.results), nothing.checks),
        "tests": _share(_tests(report.results, most_tests), nothing.tests),
        "criteria": 0.0 if judged else None,
        "items": _clamped(plan.done / plan.total) if plan and plan.total else None,
    }
    return Progress(**shares, completion=UNPROVEN * _mean(shares))


def _mean(shares: Mapping[str, float | None]) -> float:
    there = [(WEIGHTS[name], share) for name, share in shares.items() if share is not None]
    return _clamped(sum(weight * share for weight, share in there) / sum(weight for weight, _ in there)) if there else 0.0


def _checks(results: Iterable[CheckResult]) -> _Counted:
    each = [_Counted(least=result.passed, most=result.passed or _inconclusive(result), of=1) for result in results]
    return _sum(each)


def _tests(results: Iterable[CheckResult], most_tests: Mapping[str, int]) -> _Counted:
    return _sum([_tests_of(result, most_tests.get(result.command, 0)) for result in results])


def _tests_of(result: CheckResult, known: int) -> _Counted:
    """A check that passes without counting its tests may have run all or none of them."""
    passed, executed = (max(0, result.counts.passed), result.counts.executed) if result.counts else (0, 0)
    of = max(executed, known, passed)
    unheard = _inconclusive(result) or (result.passed and result.counts is None)
    return _Counted(least=passed, most=passed + max(0, of - executed) if unheard else passed, of=of)


def _inconclusive(result: CheckResult) -> bool:
    return not result.passed and (result.timed_out or bool(result.error) or result.by_chance)


def _sum(each: Iterable[_Counted]) -> _Counted:
    least, most, of = (sum(column) for column in zip((0, 0, 0), *each, strict=True))
    return _Counted(least, most, of)


def _share(counted: _Counted, before: float | None) -> float | None:
    """The share that is nearest to the one before."""
    if counted.of <= 0:
        return None
    least, most = counted.least / counted.of, counted.most / counted.of
    return _clamped(min(most, max(least, least if before is None else before)))


def _criteria(evidence: Evidence, before: Progress, *, judged: bool) -> float | None:
    """Of the last verdict that could be read."""
    of_item = evidence.item is not None and not evidence.proof.open
    score = evidence.judgement.score if evidence.judgement and not of_item else None
    if score is not None:
        return _clamped(score)
    return 0.0 if judged and before.criteria is None else before.criteria


def _items(evidence: Evidence, before: Progress) -> float | None:
    """Of the plan, the one that was proven now included."""
    plan = evidence.plan
    won = bool(evidence.item and evidence.item.proven)
    return _clamped((plan.done + won) / plan.total) if plan and plan.total else before.items


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, share))
