"""Verify the work between two commits without a loop: the checks on both, and the tests of each on the other's source."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from helmsman.errors import OperatorError, TransientError
from helmsman.records.checks import CheckReport, CheckResult, Judgement, ProbeResult, TrustedRun, Weight
from helmsman.records.proof import SinceStart
from helmsman.records.verification import EXIT_STATUS, Verification
from helmsman.verify.completion import criteria_of_doubts, required_tests
from helmsman.verify.findings import describe_blocking
from helmsman.verify.hints import hints, weigh
from helmsman.verify.new_tests import asks_for_tests
from helmsman.verify.outcomes import Names, fewer_tests, outcome_table, weigh_changes
from helmsman.verify.verdict import NO_NEIGHBOURS, Runs, grounds, verdict
from tasks.checks.judging import question_on
from tasks.checks.run import CheckContext, Target, tear_down
from tasks.checks.targets import Range, StartRun, change_of, find_outside_links, run_hidden, run_on_start, run_target, run_trusted
from tasks.checks.variations import Say, probe, run_further
from tasks.models.judge import ask_judge
from tasks.models.sending import CallSettings
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.diffs import read_texts, tree_of
from tasks.repository.git import commit_and_tree
from tasks.repository.hidden import require_folder
from tasks.repository.worktree import describe_uncommitted
from tasks.system.process import never_stop

NAMES = Names("the base", "the head")


def verify(
    checkout: CleanCheckout, work: Range, *, credentials: Callable[[], Mapping[str, str]], say: Say, further: Sequence[str] = ()
) -> Verification:
    """Run all configured checks and return the verdict. `further`: other things that were not verified. Raises OperatorError."""
    started, config = time.monotonic(), work.config
    for folder in (check.folder for check in config.hidden if check.folder):
        require_folder(Path(folder).expanduser())
    checkout = replace(checkout, setup=config.workspace.setup)
    check_context = CheckContext(
        checkout, checkout.uid, never_stop, required_tests(config), sandbox=config.isolation, every_case=True
    )
    try:
        runs = _run_checks(check_context, work, say)
        runs = replace(runs, probed=_run_probes(check_context, work, runs, credentials, say))
    finally:
        tear_down(check_context, config)
    not_verified = [] if config.proof.neighbours else [NO_NEIGHBOURS]
    if uncommitted := describe_uncommitted(work.repository):
        not_verified.append(uncommitted)
    hinted = (*find_outside_links(work), *hints(change_of(work, work.repository.top)))
    noticed = (*fewer_tests(runs.head, runs.since.tests_of_start, config.invariants), *hinted)
    findings = weigh(noticed, config.invariants) if work.changed else ()
    runs = replace(runs, findings=findings, further=(*not_verified, *further), uncommitted=uncommitted)
    try:
        runs = replace(runs, judgement=_ask_judge(work, runs, credentials, say))
    except (OperatorError, TransientError) as error:  # the results of the checks are worth having without the judge
        runs = replace(runs, judge_error=error.one_line)
    result, reasons = verdict(runs)
    reports = (runs.head, runs.base, runs.since.tests_of_start.report, runs.since.on_start) if work.changed else ()
    return Verification(
        verdict=result,
        exit_status=EXIT_STATUS[result],
        reasons=reasons,
        base=work.base,
        head=work.commit,
        files_changed=len(work.changed),
        table=runs.since.table,
        grounds=grounds(runs),
        head_checks=runs.head,
        base_checks=runs.base,
        trusted_checks=runs.since.tests_of_start.report,
        new_tests=runs.since.on_start,
        hidden=runs.hidden,
        probed=runs.probed,
        hints=tuple(finding for finding in runs.findings if finding.weight is Weight.HINT),
        judgement=runs.judgement,
        runs=sum(report is not None for report in (*reports, runs.since.cannot_fail, runs.since.unexercised)) + bool(runs.hidden),
        seconds=round(time.monotonic() - started, 3),
    )


def _run_checks(check_context: CheckContext, work: Range, say: Say) -> Runs:
    top, config = work.repository.top, work.config
    (base, base_tree), (head, head_tree) = commit_and_tree(top, work.base), commit_and_tree(top, work.commit)
    if not work.changed:
        empty = CheckReport(tree=head_tree, clean=True)
        return Runs(empty, SinceStart(unchanged=True), empty, NAMES)

    def run(title: str, target: Target) -> CheckReport:
        say(title)
        return run_target(check_context, target)

    at_base = run(f"base {base[:12]}", Target(base, base_tree, config))
    work = replace(work, collected=at_base.collected)
    check_context = replace(check_context, before=at_base)  # do not rerun what fails on both sides
    at_head = run(f"head {head[:12]}", Target(head, head_tree, config))
    trusted, new_tests = TrustedRun(), StartRun()
    if any(result.passed for result in at_head.results):
        trusted = run_trusted(work, head_tree, partial(run, "the base's tests and settings on the head's source"))
    if at_head.passed:
        new_tests = run_on_start(work, head_tree, at_head, partial(run, "the head's tests on the base's source"))
    table = outcome_table(at_head, at_base, trusted.report, new_tests.report, NAMES, new_tests.unloaded)
    table = weigh_changes(table, at_head, trusted, config.goal, config.invariants)
    further, hidden = dict[str, Any](), tuple[CheckResult, ...]()
    if at_head.passed:
        further = run_further(check_context, work, at_head, table.of("proves"), say)
        if config.hidden:
            say("hidden checks on the head")
            hidden = tuple(result.for_agent for result in run_hidden(check_context, work))
    since = SinceStart(
        needs_test=at_head.passed,
        tests=new_tests.tests,
        tests_of_start=trusted,
        on_start=new_tests.report,
        table=table,
        **further,
    )
    asked_for = asks_for_tests(config.goal)
    return Runs(at_head, since, at_base, NAMES, test_asked_for=asked_for, called="looked_up" in further, hidden=hidden)


def _run_probes(
    check_context: CheckContext, work: Range, runs: Runs, credentials: Callable[[], Mapping[str, str]], say: Say
) -> ProbeResult | None:
    """Run probes, which cost money, only if nothing else fails."""
    has_failures = runs.head.failures or runs.since.table.of("fails") or [result for result in runs.hidden if not result.passed]
    if not work.config.proof.probes or has_failures or not runs.head.results:
        return None
    say("probes: test cases by a model that has not seen the head's source")
    settings = CallSettings(work.config, credentials, f"{check_context.tag}/probes")
    return probe(check_context, work, (), settings)[0]


def _ask_judge(work: Range, runs: Runs, credentials: Callable[[], Mapping[str, str]], say: Say) -> Judgement | None:
    """Ask the judge, which costs money, only if all else passes."""
    config = work.config
    failing = runs.since.table.of("fails") or (runs.probed and runs.probed.failing) or describe_blocking(runs.findings)
    if not config.judge.criteria or not runs.head.passed or failing:
        return None
    say("the judge")
    top = work.repository.top
    tree = tree_of(top, work.commit)
    changed = tuple(case.name for case in runs.since.table.of("asks"))
    criteria = (*config.judge.criteria, *criteria_of_doubts(changed, runs.since.looked_up))
    question = replace(question_on(work, top, runs.head, criteria, tree), findings=runs.findings, proving=runs.since.tests)
    settings = CallSettings(config, credentials, f"verify-{work.commit[:12]}/judge")
    return ask_judge(question, criteria, settings, read_files=partial(read_texts, top, tree))
