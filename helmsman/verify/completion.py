"""Is it done? Asking is a claim; this is what has to be true beside it, all of it read from evidence.

Done = asked AND every check green AND a tree that differs from the start AND, where every check was green at the start, a new
test that fails on the source of the start (or a judge, or proven items of a plan) AND tests ran in the checks that tell of
tests (in those that told of none at the start they need not) AND no finding that blocks AND the required tests ran AND every item
of the plan is proven (where there is one) AND the hidden checks and the probes pass AND (where the dual gate is on) enough of the
last iterations look complete. The judge is asked last, when all of that holds. Nothing else that the agent says of itself counts.
"""

from collections.abc import Callable, Iterator

from helmsman.config import LoopConfig
from helmsman.parsers.test_files import is_test_file
from helmsman.records.checks import CheckReport
from helmsman.records.iteration import Evidence
from helmsman.records.plan_folds import remaining_after, standing_of
from helmsman.records.proof import Denial, Proof
from helmsman.records.reflexion import DoneSignals
from helmsman.verify.objections import findings_that_block, no_test_ran_in, processes_left, some
from helmsman.verify.outcomes import asks_for

ALL_TICKED = "every item of the plan is ticked"
UNCHANGED = "nothing differs from the start"
UNPROVEN = "every check was green before the change, and no new test fails without it"
RECENT = 5
"""Iterations that the dual gate looks at."""


def prove(config: LoopConfig, before: DoneSignals, evidence: Evidence) -> Proof:
    """Weigh one iteration against the gates. `before` is how the iterations before it spoke of being done."""
    green = _green(config, evidence)
    test_only = green and changed_tests_only(evidence)
    looks = green and _speaks_of_completion(evidence)
    saturated = _saturated(config, before, test_only=test_only)
    followed = green and evidence.plan is not None and not remaining_after(evidence.item, evidence.plan)
    by_itself = f"the last {before.test_only_in_row + 1} iterations changed nothing but tests" if saturated else ""
    return Proof(
        asked=evidence.claims.wants_to_finish or saturated or followed,
        how=evidence.claims.how or by_itself or (ALL_TICKED if followed else ""),
        green=green,
        denied=tuple(denial for gate in GATES for denial in gate(config, before, evidence, looks)),
        looks_complete=looks,
        test_only=test_only,
    )


def required_tests(config: LoopConfig) -> tuple[str, ...]:
    """Names of the tests that must have run: the operator's and those that criteria name."""
    by_criteria = (name for criterion in config.judge.criteria for name in criterion.tests)
    return tuple(dict.fromkeys((*config.completion.required_tests, *by_criteria)))


def unseen_tests(config: LoopConfig, report: CheckReport | None) -> list[str]:
    """Required tests that were not seen to run."""
    ran = {name for result in report.results for name in result.ran} if report else set[str]()
    return [name for name in required_tests(config) if name not in ran]


def _green(config: LoopConfig, evidence: Evidence) -> bool:
    if not config.checks:
        return evidence.checks is not None
    return evidence.checks is not None and evidence.checks.passed


def changed_tests_only(evidence: Evidence) -> bool:
    change = evidence.execution.change
    return bool(change.files) and change.files_changed == len(change.files) and all(map(is_test_file, change.files))


def _speaks_of_completion(evidence: Evidence) -> bool:
    status = evidence.claims.status
    return evidence.claims.wants_to_finish or (status is not None and status.status == "complete")


def _saturated(config: LoopConfig, before: DoneSignals, *, test_only: bool) -> bool:
    limit = config.completion.test_only_limit
    return limit is not None and test_only and before.test_only_in_row + 1 >= limit


Gate = Callable[[LoopConfig, DoneSignals, Evidence, bool], Iterator[Denial]]


def _unchanged(_config: LoopConfig, _before: DoneSignals, evidence: Evidence, _complete: bool) -> Iterator[Denial]:
    looks = evidence.plan is not None and evidence.plan.item is not None and evidence.plan.item.verify
    if evidence.since_start and evidence.since_start.unchanged and not looks:  # such an item asks for no change
        yield Denial(rule="unchanged", why=UNCHANGED)


def _unproven(_config: LoopConfig, _before: DoneSignals, evidence: Evidence, _complete: bool) -> Iterator[Denial]:
    since = evidence.since_start
    if since and since.needs_test and not since.unchanged and not since.failing:
        yield Denial(rule="unproven", why=UNPROVEN)


def _expectations(config: LoopConfig, _before: DoneSignals, evidence: Evidence, _complete: bool) -> Iterator[Denial]:
    """Where there is a judge, it is asked instead."""
    since = evidence.since_start
    if since and since.changed_expectations and not config.judge.criteria:
        yield Denial(rule="expectations", why=asks_for(since.changed_expectations))


def _looked_up(config: LoopConfig, _before: DoneSignals, evidence: Evidence, _complete: bool) -> Iterator[Denial]:
    """Where there is a judge, it is asked instead."""
    since = evidence.since_start
    if since and since.looked_up and not config.judge.criteria:
        yield Denial(rule="looked_up", why=f"answers seem to be looked up: {some(since.looked_up)}")


def _no_test_ran(_config: LoopConfig, _before: DoneSignals, evidence: Evidence, _complete: bool) -> Iterator[Denial]:
    since = evidence.since_start
    if since and since.without_test and not since.unchanged:
        yield Denial(rule="unproven", why=no_test_ran_in(since.without_test))


def _invariants(_config: LoopConfig, _before: DoneSignals, evidence: Evidence, _looks: bool) -> Iterator[Denial]:
    if blocking := findings_that_block(evidence):
        yield Denial(rule="invariants", why=blocking)


def _required(config: LoopConfig, _before: DoneSignals, evidence: Evidence, _looks: bool) -> Iterator[Denial]:
    if missing := unseen_tests(config, evidence.checks):
        yield Denial(rule="required_tests", why=f"required tests were not seen to run: {some(missing)}")


def _indicators(config: LoopConfig, before: DoneSignals, _evidence: Evidence, looks: bool) -> Iterator[Denial]:
    needed = config.completion.indicators
    seen = sum((*before.indicators, looks)[-RECENT:])
    if seen < needed:
        yield Denial(rule="indicators", why=f"{seen} of the last {RECENT} iterations look complete, {needed} are needed")


def _plan(config: LoopConfig, _before: DoneSignals, evidence: Evidence, _looks: bool) -> Iterator[Denial]:
    remaining = remaining_after(evidence.item, evidence.plan)
    if remaining:
        named = some(standing_of(evidence.item, evidence.plan), remaining)
        yield Denial(rule="plan", why=f"{remaining} of the items of {config.plan.file} are not proven: {named}")


def _hidden(_config: LoopConfig, _before: DoneSignals, evidence: Evidence, _looks: bool) -> Iterator[Denial]:
    failing = [result.name for result in evidence.hidden if not result.passed]
    if failing:
        yield Denial(rule="hidden", why=f"a hidden check fails: {some(failing)}")


def _probes(_config: LoopConfig, _before: DoneSignals, evidence: Evidence, _looks: bool) -> Iterator[Denial]:
    if evidence.probed and evidence.probed.failing:
        yield Denial(rule="probes", why=f"a case that a model wrote fails: {some(evidence.probed.failing)}")


def _processes(_config: LoopConfig, _before: DoneSignals, evidence: Evidence, _looks: bool) -> Iterator[Denial]:
    if left := processes_left(evidence):
        yield Denial(rule="processes", why=left)


GATES: tuple[Gate, ...] = (
    _unchanged,
    _unproven,
    _expectations,
    _looked_up,
    _no_test_ran,
    _invariants,
    _required,
    _indicators,
    _plan,
    _processes,
    _hidden,
    _probes,
)
