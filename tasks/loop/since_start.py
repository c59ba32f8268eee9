"""A claim's evidence, compared with the start of the loop: what the tests of each side show on the source of the other."""

from collections.abc import Collection, Iterable
from functools import partial

from helmsman.config import CheckConfig, LoopConfig
from helmsman.records.advance import untested_checks
from helmsman.records.checks import CheckReport, CheckResult, TrustedRun
from helmsman.records.iteration import Evidence
from helmsman.records.plan import PlanItem
from helmsman.records.proof import SinceStart
from helmsman.records.state import LoopState
from helmsman.verify import new_tests
from helmsman.verify.completion import is_about_tests, prove, rests_on_start_alone
from helmsman.verify.hints import weigh
from helmsman.verify.outcomes import Outcomes, failing_at_start, outcomes
from tasks.checks.editable import changed_packages, package_stamps
from tasks.checks.run import Target
from tasks.checks.targets import (
    Range,
    StartRun,
    check_context,
    passing_on_start,
    run_for_loop,
    run_hidden,
    run_on_start,
    run_trusted,
    with_checks,
    work_of,
)
from tasks.checks.variations import probe_work, run_further
from tasks.credentials import judge_credentials
from tasks.repository.hidden import require_known, store_output
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import items_of
from tasks.repository.start_record import read_start

MOST_PACKAGES = 20  # that are named


def with_item_checks(context: LoopContext, state: LoopState, evidence: Evidence, item: PlanItem) -> Evidence:
    """The evidence with the results of the item's check, and of earlier items' where the work may be done."""
    # the last item also has to leave the earlier ones as they were proven
    done = [one for one in items_of(context, state) if one.id in state.plan.ticked and one.id != item.id]
    earlier = done if new_tests.may_complete(state, evidence) else []
    commands = tuple(dict.fromkeys(one.check for one in (item, *earlier) if one.check))
    if not commands:
        return evidence
    change = evidence.execution.change
    report = run_for_loop(context, state, Target(change.commit, change.tree, _with_commands(state.config, commands)))
    passes = bool(item.check) and report.results[0].passed and not is_about_tests(item)
    vacuous = passes and _cannot_fail(context, state, evidence, item.check)
    before = bool(item.check) and report.results[0].passed and not item.verify and _passed_before(context, state, evidence, item)
    return evidence.model_copy(update={"own": report, "own_cannot_fail": vacuous, "own_passed_before": before})


def _passed_before(context: LoopContext, state: LoopState, evidence: Evidence, item: PlanItem) -> bool:
    """Whether an item's check passed when the loop came to it; where an earlier iteration tried it, when the loop began."""
    change = evidence.execution.change
    begun = state.base_commit if state.plan.tries.get(item.id) else change.start
    if begun == change.start and not change.files_changed:
        return True
    target = Target(begun, change.tree, _with_commands(state.config, (item.check,)), stay=change.commit)
    return run_for_loop(context, state, target).passed


def _cannot_fail(context: LoopContext, state: LoopState, evidence: Evidence, command: str) -> bool:
    """Whether a check that fails at the start passes there as soon as it has the work's tests."""
    change, config = evidence.execution.change, _with_commands(state.config, (command,))
    overlay = tuple(work_of(context, state, change.commit).tests_of_the_work.values())
    with_tests, plain = (Target(state.base_commit, change.tree, config, entries, stay=change.commit) for entries in (overlay, ()))
    return bool(overlay) and run_for_loop(context, state, with_tests).passed and not run_for_loop(context, state, plain).passed


def _with_commands(config: LoopConfig, commands: Iterable[str]) -> LoopConfig:
    return with_checks(config, [CheckConfig(command=command) for command in commands])


def compare_with_start(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    """The evidence with its differences from the loop's start, where the work may be done."""
    report, commit = evidence.checks, evidence.execution.change.commit
    if report is None or not new_tests.may_be_done(state, evidence):
        return evidence
    work = work_of(context, state, commit)
    may_complete = new_tests.may_complete(state, evidence)
    since, outcome = _since_start(context, state, evidence, report, work)
    name = f"{state.due:05d}-{state.attempt}-{commit[:12]}"
    hidden = check_hidden(context, state, commit, name) if may_complete and work.changed and state.config.hidden else ()
    update = {"since_start": since, "findings": (*evidence.findings, *outcome.findings), "hidden": hidden}
    evidence = evidence.model_copy(update=update)
    return _probe(context, state, evidence) if may_complete and work.changed and state.config.proof.probes else evidence


def _since_start(
    context: LoopContext, state: LoopState, evidence: Evidence, report: CheckReport, work: Range
) -> tuple[SinceStart, Outcomes]:
    """Run the checks in the further ways that this work needs. The outcomes also hold the findings."""
    config, tree, place = state.config, evidence.execution.change.tree, check_context(context, state)
    run = partial(run_for_loop, context, state)
    may_complete = new_tests.may_complete(state, evidence) and bool(work.changed)
    run_due = new_tests.needs_start_run(state, evidence) or (may_complete and bool(work.tests_as_they_were))
    shown = run_on_start(work, tree, report, run) if run_due else StartRun()
    own = evidence.own.results if evidence.own else ()
    checks = (*config.checks, *(CheckConfig(command=result.command) for result in own))
    trusted = run_trusted(work_of(context, state, work.commit, checks), tree, run)
    outcome = _outcomes(state, evidence, report, trusted, shown)
    is_due = may_complete and config.workspace.clean and rests_on_start_alone(config, outcome.table)
    passing_now = passing_on_start(work, tree, outcome.table.of("proves"), run) if is_due else ()
    if passing_now:
        outcome = _outcomes(state, evidence, report, trusted, shown, passing_now)
    can_vary, proving = config.workspace.clean and work.changed, outcome.table.of("proves") if may_complete else ()
    since = SinceStart(
        unchanged=not work.changed,
        needs_test=new_tests.needs_test(state, evidence),
        without_test=untested_checks(report, state.most_tests, state.without_test_at_start),
        failing=shown.failing,
        tests=shown.tests,
        tests_changed=bool(work.tests_as_they_were),
        changed_expectations=outcome.changed,
        tests_of_start=trusted.model_copy(update={"report": trusted.report.without_output if trusted.report else None}),
        on_start=shown.report.without_output if shown.report else None,
        packages=_changed_packages(context, state),
        passing_now=passing_now,
        table=outcome.table,
        **(run_further(place, work, report, proving) if can_vary else {}),
    )
    return since, outcome


def _changed_packages(context: LoopContext, state: LoopState) -> tuple[str, ...]:
    recorded = read_start(context.repository, state).get("packages")
    now = package_stamps(state.config.checks, context.repository.top)
    return changed_packages(now if recorded is None else recorded, now)[:MOST_PACKAGES]


def _probe(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    """Run probes, which cost money, only where nothing else denies that the work is done; the item reports the rest of a plan."""
    proof = prove(state.config, state.done, evidence)
    if not (proof.asked and proof.green) or proof.refusing_rules - {"plan"}:
        return evidence
    probed = probe_work(context, state, evidence.execution.change.commit, lambda: judge_credentials(state.config))
    return evidence.model_copy(update={"probed": probed})


def _outcomes(
    state: LoopState,
    evidence: Evidence,
    report: CheckReport,
    trusted: TrustedRun,
    start_run: StartRun,
    passing_now: Collection[str] = (),
) -> Outcomes:
    """Combine the outcomes of all runs, also for the current item's check. `passing_now`: red names to leave out."""
    config, item_results = state.config, evidence.own.results if evidence.own else ()
    combined = report.model_copy(update={"results": (*report.results, *item_results)})
    failing = failing_at_start(state.history)
    if failing is not None or item_results:  # the item's check is assumed to have failed at the start
        failing = (failing or frozenset[str]()).difference(passing_now) | {result.name for result in item_results}
    result = outcomes(combined, trusted, failing, config.goal, config.invariants, start_run.report, start_run.unloaded)
    return result._replace(findings=weigh(result.findings, config.invariants))


def check_hidden(context: LoopContext, state: LoopState, commit: str, name: str) -> tuple[CheckResult, ...]:
    """Run the hidden checks on a commit; their commands and output are stored under `name`, for people only."""
    require_known(state)
    results = run_hidden(check_context(context, state), work_of(context, state, commit))
    store_output(state.uid, name, results)
    return tuple(result.for_agent for result in results)
