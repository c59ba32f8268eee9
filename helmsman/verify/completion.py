"""Decide whether the loop is done. The agent's request is a claim; the conditions below are read from evidence.

Done = requested AND every check green AND a tree that differs from the start AND, if every check was green at the start, a new
test that fails on the start's source (or a judge, or proven plan items) AND tests ran in the checks that report tests (not
required for those that reported none at the start) AND no blocking finding AND the required tests ran AND every plan item is
proven (if there is a plan) AND the hidden checks and the probes pass AND (with the dual gate) enough of the last iterations look
complete. The judge is asked last, when all of that holds. No other statement of the agent counts.
"""

from collections.abc import Sequence

from helmsman.config import LoopConfig
from helmsman.parsers.test_files import is_test_file
from helmsman.plain import clean
from helmsman.records.checks import CheckReport
from helmsman.records.iteration import Evidence
from helmsman.records.proof import Denial, DoneSignals, Proof, SinceStart
from helmsman.verify.can_fail import describe_cannot_fail
from helmsman.verify.findings import describe_blocking, describe_checks_without_tests, describe_survivors, join_some
from helmsman.verify.new_tests import NO_NEW_TEST, asks_for_tests

ALL_TICKED = "every item of the plan is ticked"
UNCHANGED = "nothing differs from the start"
UNPROVEN = "every check was green before the change, and no new test fails without it"
RECENT = 5  # number of iterations in the dual gate


def prove(config: LoopConfig, before: DoneSignals, evidence: Evidence) -> Proof:
    """Evaluate the gates for one iteration. `before`: signals of completion from earlier iterations."""
    checks, claims, limit = evidence.checks, evidence.claims, config.completion.test_only_limit
    green = checks is not None and (checks.passed or not config.checks)
    test_only = green and changed_tests_only(evidence)
    claims_done = claims.wants_to_finish or (claims.status is not None and claims.status.status == "complete")
    looks_complete = green and claims_done
    saturated = limit is not None and test_only and before.test_only_in_row + 1 >= limit
    plan_done = green and evidence.plan is not None and not evidence.items_left
    saturation = f"the last {before.test_only_in_row + 1} iterations changed nothing but tests" if saturated else ""
    return Proof(
        asked=claims.wants_to_finish or saturated or plan_done,
        how=claims.how or saturation or (ALL_TICKED if plan_done else ""),
        green=green,
        denied=_denials(config, before, evidence, looks=looks_complete),
        looks_complete=looks_complete,
        test_only=test_only,
    )


def required_tests(config: LoopConfig) -> tuple[str, ...]:
    """Return the names of tests that must have run: the operator's and those that criteria name."""
    by_criteria = (name for criterion in config.judge.criteria for name in criterion.tests)
    return tuple(dict.fromkeys((*config.completion.required_tests, *by_criteria)))


def unseen_tests(config: LoopConfig, report: CheckReport | None) -> list[str]:
    """Return required tests without evidence that they ran."""
    ran = {name for result in report.results for name in result.ran} if report else set[str]()
    return [name for name in required_tests(config) if name not in ran]


def changed_tests_only(evidence: Evidence) -> bool:
    change = evidence.execution.change
    return bool(change.files) and change.files_changed == len(change.files) and all(map(is_test_file, change.files))


def _denials(config: LoopConfig, before: DoneSignals, evidence: Evidence, *, looks: bool) -> tuple[Denial, ...]:
    """Return the closed gates, each with its reason."""
    since, judged = evidence.since_start or SinceStart(), bool(config.judge.criteria)
    verifies = evidence.plan is not None and evidence.plan.item is not None and evidence.plan.item.verify
    remaining, seen = evidence.items_left, sum((*before.indicators, looks)[-RECENT:])
    proven, needed = evidence.item.item if evidence.item and evidence.item.proven else "", config.completion.indicators
    left_names = join_some([name for name in evidence.plan.left if name != proven], remaining) if evidence.plan else ""
    failing_hidden = [result.name for result in evidence.hidden if not result.passed]
    too_few = f"{seen} of the last {RECENT} iterations look complete, {needed} are needed"
    gates = (
        Denial(rule="unchanged", why=UNCHANGED if since.unchanged and not verifies else ""),  # a verifying item needs no change
        Denial(rule="unproven", why=_unproven_reason(config, since)),
        # if there is a judge, it decides on the next two instead
        Denial(
            rule="expectations",
            why=_format_reason("tests of the start fail on the new source", since.changed_expectations, judged),
        ),
        Denial(rule="looked_up", why=_format_reason("answers look hard-coded", since.looked_up, judged)),
        Denial(rule="unproven", why=describe_cannot_fail(since.cannot_fail)),
        Denial(rule="unproven", why=describe_checks_without_tests(() if since.unchanged else since.without_test)),
        Denial(rule="invariants", why=describe_blocking(evidence.findings)),
        Denial(rule="required_tests", why=_format_reason("required tests did not run", unseen_tests(config, evidence.checks))),
        Denial(rule="indicators", why=too_few if seen < needed else ""),
        Denial(rule="plan", why=f"items of {config.plan.file} are not proven ({remaining}): {left_names}" if remaining else ""),
        Denial(rule="processes", why=describe_survivors(evidence)),
        Denial(rule="hidden", why=_format_reason("a hidden check fails", failing_hidden)),
        Denial(
            rule="probes",
            why=_format_reason("a case that a model wrote fails", evidence.probed.failing if evidence.probed else ()),
        ),
    )
    return tuple(gate for gate in gates if gate.why)


def _format_reason(problem: str, names: Sequence[str], judged: bool = False) -> str:
    return f"{problem}: {join_some([clean(name) for name in names])}" if names and not judged else ""


def _unproven_reason(config: LoopConfig, since: SinceStart) -> str:
    if since.unchanged or not since.needs_test:
        return ""
    if asks_for_tests(config.goal) and not since.table.new_test_proves:
        return NO_NEW_TEST
    return "" if since.failing else UNPROVEN
