"""Compute the verdict from the runs: verified, not verified, or inconclusive.

The worst reason decides: a defect outranks an uncertainty. Without a reason against it, the change is verified by what proves
it. A verdict lists its grounds, and what was not looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from helmsman.config import LoopConfig
from helmsman.plain import clean, shorten
from helmsman.records.advance import most_tests, untested_checks
from helmsman.records.checks import CheckReport, CheckResult, Finding, Judgement, JudgementOutcome, ProbeResult, checks_fail
from helmsman.records.iteration import Evidence
from helmsman.records.proof import SinceStart
from helmsman.records.verification import Case, Grounds, Reason, Verdict
from helmsman.texts import plural
from helmsman.verify.altered_tests import describe_cannot_fail, describe_unseen
from helmsman.verify.called_languages import NAMES
from helmsman.verify.commands import NOT_STARTED, missing_program
from helmsman.verify.findings import describe_blocking, describe_checks_without_tests, join_some
from helmsman.verify.new_tests import NO_NEW_TEST
from helmsman.verify.outcomes import LOOP, Names, run_cases
from helmsman.verify.stubs import describe_unexercised

NO_NEIGHBOURS = "answers for other inputs than those of the tests: proof.neighbours is off"
PACKAGES = "packages outside of the repository that were installed, changed or removed since the loop began: {}"
NOT_RUN = CheckReport(tree="")


@dataclass(frozen=True)
class Runs:
    """The runs and their findings, and the reasons for what did not run."""

    head: CheckReport
    since: SinceStart = field(default_factory=SinceStart)  # the head compared with the base
    base: CheckReport = NOT_RUN  # without results if it did not run
    names: Names = LOOP
    test_asked_for: bool = False  # whether the goal asks for tests
    called: bool = False  # whether functions were called with inputs near those of their tests
    hidden: tuple[CheckResult, ...] = ()
    probed: ProbeResult | None = None
    findings: tuple[Finding, ...] = ()
    judgement: Judgement | None = None
    judge_error: str = ""  # why the judge could not be asked
    further: Sequence[str] = ()  # other things that were not looked at
    uncommitted: str = ""
    """What the checkout contains and no commit does."""


def grounds(runs: Runs) -> Grounds:
    """Return the grounds of a verdict; empty if nothing differs, as nothing ran."""
    if runs.since.unchanged and not runs.head.results:
        return Grounds()
    return Grounds(rests_on=tuple(_describe_runs(runs)), not_looked_at=tuple(_describe_gaps(runs)))


def grounds_of_loop(evidence: Evidence, config: LoopConfig) -> Grounds | None:
    """Return the grounds for an iteration whose work is done; None if no check ran."""
    since, report = evidence.since_start or SinceStart(), evidence.checks
    if report is None:
        return None
    return grounds(
        Runs(
            head=report,
            since=since,
            hidden=evidence.hidden,
            probed=evidence.probed,
            judgement=evidence.judgement,
            further=(
                *(() if config.proof.neighbours else (NO_NEIGHBOURS,)),
                *((PACKAGES.format(join_some([clean(path) for path in since.packages])),) if since.packages else ()),
            ),
        )
    )


def _describe_runs(runs: Runs) -> Iterator[str]:
    base, head = runs.names
    where = "in the agent's folder" if runs.head.clean is False else "in a clean checkout"
    commands = join_some([f"`{clean(result.name)}`" for result in runs.head.results])
    yield f"{commands} on {head} {where}: {_summarize_report(runs.head)}"
    if runs.base.results:
        yield f"the same on {base}: {_summarize_report(runs.base)}"
    if trusted := runs.since.tests_of_start.report:
        files = join_some(runs.since.tests_of_start.put_back)
        yield f"{base}'s tests and settings on {head}'s source ({files}): {_summarize_report(trusted)}"
    elif any(result.passed for result in runs.head.results):
        yield f"{base}'s tests on {head}'s source: not run, no test or setting of {base} was changed"
    if runs.since.on_start:
        yield f"{head}'s tests on {base}'s source: {_summarize_report(runs.since.on_start)}"
    elif runs.since.needs_test:
        yield f"{head}'s tests on {base}'s source: not run, no test was added or changed"
    if runs.hidden:
        failing = [clean(result.name) for result in runs.hidden if not result.passed]
        yield f"{plural(len(runs.hidden), 'hidden check')}: {f'{join_some(failing)} failing' if failing else 'all pass'}"
    if runs.called:
        suspicions = join_some(runs.since.looked_up) or "no answer looks hard-coded"
        yield f"changed {NAMES} functions, called with inputs near those of their tests: {suspicions}"
    if runs.since.cannot_fail is not None:
        proven = "the checks with other values in the tests that turned green: they fail, as expected"
        yield describe_cannot_fail(runs.since.cannot_fail) or proven
    if runs.since.unexercised is not None:
        fail = "the checks with stubs in place of the changed functions: the new tests fail, as expected"
        yield describe_unexercised(runs.since.unexercised) or fail
    yield from _describe_model_results(runs)


def _describe_model_results(runs: Runs) -> Iterator[str]:
    """Describe probes, mutants and the judge."""
    if runs.probed and runs.probed.written:
        probed = runs.probed
        numbers = {"pass": probed.passing, "fail": len(probed.failing), "unclear": len(probed.unclear), "dropped": probed.dropped}
        counts = ", ".join(f"{number} {word}" for word, number in numbers.items() if number)
        failing = f": {join_some([clean(case) for case in probed.failing])}" if probed.failing else ""
        when = ", written at an earlier claim" if probed.again else ""
        yield f"{plural(probed.written, 'probe')} by a model that has not seen the source{when}: {counts}{failing}"
    if runs.since.mutants:
        survived = join_some([clean(mutant) for mutant in runs.since.mutants.survived])
        yield f"{runs.since.mutants.summary}{f', not {survived}' if survived else ''}"
    if judgement := runs.judgement:
        asked = plural(len(judgement.criteria), "criterion", "criteria")
        yield f"the judge ({clean(judgement.model)}) on {asked}: {judgement.outcome}"


def _describe_gaps(runs: Runs) -> Iterator[str]:
    if runs.judgement is None:
        yield "whether the change is what was asked for: no judge was asked"
    if not runs.hidden:
        yield "hard-coded answers: no hidden checks were run"
    since = runs.since
    if (since.table.of("proves") or since.not_altered) and (unseen := describe_unseen(since.cannot_fail, since.not_altered)):
        yield unseen
    if runs.probed and runs.probed.reason:
        yield f"probes: {clean(runs.probed.reason)}"
    without_names = [result.name for result in runs.head.results if not result.passing] if runs.base.results else []
    if without_names:  # these checks name no test, or only failing ones
        names = join_some([f"`{clean(name)}`" for name in without_names])
        yield f"passing test cases by name: {names} writes no JUnit report that `report` names"
    if not runs.since.mutants:
        yield "whether the tests catch other mistakes: no mutants were run"
    yield from runs.further


def _summarize_report(report: CheckReport) -> str:
    failed = len(report.failures)
    counts = [result.counts for result in report.results if result.counts]
    passed, failing = sum(count.passed for count in counts), sum(count.failed for count in counts)
    tests = f" ({passed} passed, {failing} failed)" if counts else ""
    total = len(report.results)
    passing = "the check passes" if total == 1 else f"all {total} checks pass"
    return f"{checks_fail(failed, total) if failed else passing}{tests}"


# --- the verdict ------------------------------------------------------------------------------------------------------

NOTHING_RED = "nothing failed before; this proves that nothing broke, not that the goal is reached"
CAUSE = 300  # characters of an output that a reason shows


def verdict(runs: Runs) -> tuple[Verdict, tuple[Reason, ...]]:
    """Return the verdict with every reason for it."""
    against = (*_check_reasons(runs), *_test_reasons(runs), *_independent_reasons(runs), *_unproven_reasons(runs))
    if not against:
        proofs = runs.since.table.of("proves")
        proven = [("proven", f"FAIL_TO_PASS: {_join_case_names(proofs)}")] if proofs else []
        proven += [("judge", "the judge finds every criterion met")] if runs.judgement else []
        return "verified", tuple(Reason(rule=rule, verdict="verified", why=why) for rule, why in proven)
    worst = "not_verified" if any(reason.verdict == "not_verified" for reason in against) else "inconclusive"
    return worst, tuple(sorted(against, key=lambda reason: reason.verdict != worst))


def _check_reasons(runs: Runs) -> Iterator[Reason]:
    """Yield reasons from the checks and the outcome table."""
    failing = runs.since.table.of("fails")
    if runs.since.unchanged:
        why = "no file differs between base and head"
        if runs.uncommitted:
            yield _inconclusive("unchanged", f"{why}; {runs.uncommitted}", "commit them: only commits are verified")
        else:
            yield _inconclusive("unchanged", why, "name another range: helmsman verify BASE..HEAD")
    if cases := [case for case in failing if case.outcome != "CHANGED"]:
        yield _not_verified("broken", f"PASS_TO_FAIL: {_join_case_names(cases)}")
    if cases := [case for case in failing if case.outcome == "CHANGED"]:
        restored = join_some(runs.since.tests_of_start.put_back)
        remedy = "make the source pass with the restored files, or say in the goal that these tests change (--goal TEXT)"
        why = f"changed tests: {_join_case_names(cases)}: {cases[0].why} (restored: {restored})"
        yield _not_verified("changed_to_pass", why, remedy)
    if why := describe_blocking(runs.findings):
        yield _not_verified("invariants", why)
    for result in _never_started(runs):
        why = f"{clean(result.name)} cannot start in a clean checkout: {missing_program(result)} is missing"
        yield _inconclusive("cannot_start", why, "add the command that installs it to [workspace] setup = [...] in helmsman.toml")
    for result in runs.head.failures:
        if result.timed_out or result.error:
            why = "did not end in time" if result.timed_out else f"could not run: {shorten(clean(result.error), CAUSE)}"
            yield _inconclusive("no_end", f"{clean(result.name)} {why}")
    yield from _already_red_reasons(runs)


def _already_red_reasons(runs: Runs) -> Iterator[Reason]:
    """Yield reasons for failures on both sides, which say nothing about the change."""
    never_started = {result.name for result in _never_started(runs)}
    failing = [case for case in runs.since.table.cases if case.outcome == "FAIL_TO_FAIL" and case.check not in never_started]
    if failing:
        remedy = "fix these first, or leave the checks out that fail for another reason: --check CMD"
        yield _inconclusive("already_red", f"failing before and after the change: {_join_case_names(failing)}", remedy)
    listed = {case.check for case in runs.since.table.cases if case.outcome in {"FAIL_TO_FAIL", "PASS_TO_FAIL"}}
    for result in runs.head.failures:
        if result.is_flaky:
            yield _inconclusive("flaky", f"{clean(result.name)} fails only sometimes: {join_some(result.flaky)}")
        elif result.name not in listed and not (result.timed_out or result.error):
            yield _not_verified("red", f"{clean(result.name)} fails on the head")


def _test_reasons(runs: Runs) -> Iterator[Reason]:
    """Yield reasons for what the tests leave open. If there is a judge, it decides on expectations and answers instead; it also
    sees which tests fail without the change.
    """
    at_start = untested_checks(runs.base, {})
    commands = [result.command for result in runs.base.results if result.name in at_start]
    if empty := untested_checks(runs.head, most_tests({}, runs.base), commands):
        yield _inconclusive("no_test_ran", describe_checks_without_tests(empty))
    if runs.since.cannot_fail:
        remedy = "look for what the change puts between the tests and the source: a module, a setting, a patch"
        yield _inconclusive("cannot_fail", describe_cannot_fail(runs.since.cannot_fail), remedy)
    if runs.judgement:
        return
    if runs.since.unexercised:
        remedy = "call the changed functions in the new tests, and compare what they return"
        yield _inconclusive("cannot_fail", describe_unexercised(runs.since.unexercised), remedy)
    if cases := runs.since.table.of("asks"):
        remedy = "have a judge review it (--goal TEXT or --rubric FILE), or say in the goal that these tests change"
        yield _inconclusive("expectations", _join_by_reason(cases), remedy)
    if runs.test_asked_for and not (runs.since.unchanged or runs.head.failures or runs.since.table.new_test_proves):
        yield _inconclusive("no_new_test", NO_NEW_TEST, "add a test that fails without the change")
    if runs.since.looked_up:
        remedy = "review these functions, or have a judge review the change: --goal TEXT or --rubric FILE"
        yield _inconclusive("looked_up", f"answers look hard-coded: {join_some(runs.since.looked_up)}", remedy)


def _independent_reasons(runs: Runs) -> Iterator[Reason]:
    """Yield reasons from outside of the change: hidden checks, probes, the judge."""
    for result in runs.hidden:
        if not result.passed and result.timed_out:
            yield _inconclusive("hidden", f"a hidden check did not end in time: {clean(result.name)}")
        elif not result.passed:
            yield _not_verified("hidden", f"a hidden check fails: {clean(result.name)}")
    if runs.probed and runs.probed.failing:
        yield _not_verified("probes", f"a case that a model wrote fails, and is right: {join_some(runs.probed.failing)}")
    if runs.judge_error:
        yield _inconclusive("judge", f"the judge could not be asked: {clean(runs.judge_error)}")
    if runs.judgement and runs.judgement.rejected:
        yield _not_verified("judge", f"the judge rejects it: {clean(runs.judgement.cause)}")
    if runs.judgement and runs.judgement.outcome is JudgementOutcome.UNDECIDED:
        yield _inconclusive("judge", f"the judge cannot tell: {clean(runs.judgement.cause)}")


def _unproven_reasons(runs: Runs) -> Iterator[Reason]:
    """Yield a reason if nothing fails, but nothing proves the change either."""
    judged = runs.judgement and runs.judgement.approved
    decided = runs.since.table.of("proves", "fails")
    if runs.since.unchanged or runs.head.failures or judged or decided:
        return
    runs_of_base = {result.name: run_cases(result, result.name) for result in runs.base.failures}
    silent = [name for name, run in runs_of_base.items() if not (run.ended or run.failing)]
    if silent:
        yield _inconclusive("base_unknown", f"the base's result is unknown: {join_some(silent)} did not finish there")
    elif any(case.outcome == "CHANGED" for case in runs.since.table.cases):
        yield _inconclusive("unproven", "only changed tests support the change", _REMEDY)
    elif gone := [case for case in runs.since.table.cases if case.outcome == "GONE" and case.red_on_base]:
        yield _inconclusive("unproven", f"no test that runs failed before; {_join_by_reason(gone)}", _REMEDY)
    else:
        yield _inconclusive("unproven", NOTHING_RED, _REMEDY)


_REMEDY = "add a test that fails without the change, or have a judge review it: --goal TEXT or --rubric FILE"


def _never_started(runs: Runs) -> list[CheckResult]:
    """Return the checks that start on neither side. If one starts on the base, the change broke it."""
    both = zip(runs.head.results, runs.base.results, strict=True)
    return [head for head, base in both if _cannot_start(head) and _cannot_start(base)]


def _cannot_start(result: CheckResult) -> bool:
    return not result.passed and (result.exit_code in NOT_STARTED or bool(missing_program(result)))


def _not_verified(rule: str, why: str, remedy: str = "") -> Reason:
    return Reason(rule=rule, verdict="not_verified", why=why, remedy=remedy)


def _inconclusive(rule: str, why: str, remedy: str = "") -> Reason:
    return Reason(rule=rule, verdict="inconclusive", why=why, remedy=remedy)


def _join_by_reason(cases: Sequence[Case]) -> str:
    by_why = {case.why: [other for other in cases if other.why == case.why] for case in cases}
    return "; ".join(f"{_join_case_names(some)}: {why}" for why, some in by_why.items())


def _join_case_names(cases: tuple[Case, ...] | list[Case]) -> str:
    return join_some([clean(case.name) for case in cases]) or plural(0, "case")
