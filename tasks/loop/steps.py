"""The steps of an iteration, and those before and after it, as Prefect tasks on a loop's context and state.

A step's name and key let a run that died find its result again (tasks/engine/step.py): do not change them.
"""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from prefect.context import TaskRunContext

from helmsman.config import CheckConfig, LoopConfig
from helmsman.orient.allowance import session_to_resume
from helmsman.orient.brief import brief
from helmsman.oversee.decide import Situation
from helmsman.oversee.decide import decide as choose
from helmsman.oversee.signals import IterationView
from helmsman.parsers.status import read_ending
from helmsman.records.advance import advance, untested_checks, with_consequences
from helmsman.records.agent import Execution
from helmsman.records.agents import prints_text
from helmsman.records.checks import CheckReport, CheckResult, Finding, TrustedRun
from helmsman.records.control import Overseen
from helmsman.records.decision import Decision, Outcome
from helmsman.records.events import IterationRecorded
from helmsman.records.iteration import Briefing, Evidence, IterationRecord, Orientation, WrittenParts
from helmsman.records.lessons import ExtractedLessons, Learned
from helmsman.records.proof import SinceStart
from helmsman.records.state import LoopState
from helmsman.records.tracking import PullRequest
from helmsman.verify import new_tests
from helmsman.verify.completion import prove, required_tests
from helmsman.verify.hints import weigh
from helmsman.verify.outcomes import Outcomes, failing_at_start, outcomes
from tasks.agents.call import Order
from tasks.agents.call_folder import CallFolder, keep_briefing, keep_request
from tasks.agents.claude import call_agent
from tasks.checks.judging import adjudicate, audit, collect_claims, revert_protected
from tasks.checks.missing import explain_failures
from tasks.checks.run import Target, run_checks
from tasks.checks.targets import (
    StartRun,
    check_context,
    run_for_loop,
    run_hidden,
    run_on_start,
    run_trusted,
    with_checks,
    work_of,
)
from tasks.checks.variations import find_lookups, find_unexercised, probe_work, rests_on_new_tests, run_altered_tests, run_mutants
from tasks.credentials import agent_credentials, judge_credentials
from tasks.engine.step import refreshing_if, step, step_key
from tasks.loop.oversee import oversee as observe_and_oversee
from tasks.loop.prepare import prepare, read_notes
from tasks.loop.recover import roll_back, undo_changes
from tasks.loop.remember import lessons_from_model, remember
from tasks.loop.remote_handover import check_lease
from tasks.models.planning import write_texts as write_plan
from tasks.repository.hidden import require_known, store_output
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import items_of, revert_plan, tick
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import replace_state
from tasks.repository.worktree import commit_turn, measure_change, reset_to
from tasks.sandbox.enter import import_agent_work
from tasks.system.clock import now_utc
from tasks.system.journal import publish
from tasks.trackers.pull_request import open_pull_request as request_pull


def by_step(run: TaskRunContext, inputs: dict[str, Any]) -> str:
    """The key of a step's result, by value. Its fields, with their reasons.

    uid          two repositories may have loops of the same name
    iteration    the loop repeats the same steps
    attempt      an attempt whose agent call died is repeated with another prompt
    step         two steps of one iteration may have equal arguments
    """
    return step_key(inputs["state"], run.task.name)


def by_tree(_run: TaskRunContext, inputs: dict[str, Any]) -> str | None:
    """The key of a check report: a tree is checked only once, across all iterations.

    None where processes of the agent ran during the checks: their report is not valid for other iterations.
    """
    if "execution" in inputs and inputs["execution"].call.survivors:
        return None
    tree = inputs["tree"] if "tree" in inputs else inputs["execution"].change.tree
    state = inputs["state"]
    return f"helmsman-{state.uid}-{checks_fingerprint(state.config)}-{tree}"


def checks_fingerprint(config: LoopConfig) -> str:
    """A hash of the checks and of the tests they require: a report is valid only for the checks that made it."""
    checks = [[check.model_dump(mode="json") for check in config.checks], required_tests(config)]
    text = json.dumps([*checks, [config.workspace.clean, config.workspace.setup]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@step(by_tree)
def baseline(context: LoopContext, state: LoopState, tree: str) -> CheckReport:
    """Run the checks on the loop's first commit. Raises SetupFailed."""
    return run_for_loop(context, state, Target(state.head, tree, state.config), run_checks)


@step(by_step)
def orient(context: LoopContext, state: LoopState) -> Orientation:
    return prepare(context, state, now_utc())


@step(by_step)
def plan(context: LoopContext, state: LoopState, orientation: Orientation) -> WrittenParts:
    return write_plan(context, state, orientation, lambda: judge_credentials(state.config))


@step(by_step)
def prompt(context: LoopContext, state: LoopState, orientation: Orientation, planned: WrittenParts) -> Briefing:
    return brief(state, orientation, planned)


@step(by_step)
def execute(context: LoopContext, state: LoopState, briefing: Briefing, orientation: Orientation) -> Execution:
    """Run the agent, then commit its work and measure its changes."""
    start = orientation.start_commit
    session = session_to_resume(state, orientation.started_at)
    credentials, stop = agent_credentials(state.config), context.folder.cancel.exists
    item = orientation.plan.item.check if orientation.plan and orientation.plan.item else ""
    folder = CallFolder(context.folder.call(state.due, state.attempt), state.uid)
    keep_briefing(folder, briefing)
    call = call_agent(Order(context, state, briefing.prompt, start, session, credentials, stop, item, briefing.system))
    import_agent_work(context, state)
    change = commit_turn(context.repository, context.worktree, state, start)
    if state.researching:
        reverted = undo_changes(context, state, start)
    else:
        reverted = revert_protected(context, state, change.commit) if state.config.invariants.revert else ()
    plan_change = None if state.researching else revert_plan(context, state, start)
    if reverted or plan_change:
        change = measure_change(context.worktree, start)
    transcript = str(folder.packed.relative_to(context.folder.root)) if folder.packed.exists() else ""
    if state.config.remote.push:  # before the result is stored: a machine that finds the result must find the work, too
        push_loop(context.repository, state)
    return Execution(call=call, change=change, put_back=reverted, transcript=transcript, plan=plan_change)


def checks_task(state: LoopState) -> Callable[[LoopContext, LoopState, Execution], CheckReport]:
    """The checks step, run again where the last report was inconclusive (a timeout, a command that did not start)."""
    return refreshing_if(state.checks is not None and not state.checks.is_conclusive, checks)


@step(by_tree)
def checks(context: LoopContext, state: LoopState, execution: Execution) -> CheckReport:
    """Run the checks on the tree at the end of the iteration."""
    change = execution.change
    report = run_for_loop(context, state, Target(change.commit, change.tree, state.config))
    promise, message = state.config.completion.promise, execution.call.final_text
    is_done = read_ending(message, promise, only_at_end=prints_text(state.agent)).wants_to_finish
    if not (report.clean and report.failures and report.is_conclusive and is_done):
        return report
    try:
        return explain_failures(check_context(context, state), context.worktree, change.commit, report, state.config)
    finally:
        reset_to(context.worktree, state.branch, change.commit)


@step(by_step)
def invariants(context: LoopContext, state: LoopState, execution: Execution) -> tuple[Finding, ...]:
    return audit(context, state, execution)


@step(by_step)
def claims(
    context: LoopContext,
    state: LoopState,
    orientation: Orientation,
    planned: WrittenParts,
    execution: Execution,
    report: CheckReport | None,
    findings: tuple[Finding, ...],
) -> Evidence:
    """The agent's claims and their verification, compared with the loop's start where the work may be done."""
    evidence = Evidence(
        execution=execution,
        memory=read_notes(context, state, execution.put_back),
        checks=report,
        findings=findings,
        writing=planned.usage,
        unwritten=planned.reasons,
        plan=orientation.plan,
    )
    evidence = collect_claims(context, state, evidence)
    item, item_report = orientation.plan.item if orientation.plan else None, None
    if report and item is not None:
        # the last item also has to leave the earlier ones as they were proven
        done = [one for one in items_of(context, state) if one.id in state.plan.ticked and one.id != item.id]
        earlier = done if new_tests.may_complete(state, evidence) else []
        commands = dict.fromkeys(one.check for one in (item, *earlier) if one.check)
        config = with_checks(state.config, [CheckConfig(command=command) for command in commands])
        target = Target(execution.change.commit, execution.change.tree, config)
        item_report = run_for_loop(context, state, target) if commands else None
    return compare_with_start(context, state, evidence.model_copy(update={"own": item_report}))


def compare_with_start(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    """The evidence with its differences from the loop's start, where the work may be done."""
    report, config, change = evidence.checks, state.config, evidence.execution.change
    if report is None or not new_tests.may_be_done(state, evidence):
        return evidence
    work, place = work_of(context, state, change.commit), check_context(context, state)
    may_complete = new_tests.may_complete(state, evidence) and bool(work.changed)
    can_probe = config.workspace.clean and bool(work.changed)
    run_due = new_tests.needs_start_run(state, evidence) or (may_complete and bool(work.tests_as_they_were))
    shown = run_on_start(work, change.tree, report, partial(run_for_loop, context, state)) if run_due else StartRun()
    on_start = shown.report.without_output if shown.report else None
    trusted, outcome = _outcomes(context, state, evidence, report, shown)
    proving = outcome.table.of("proves") if may_complete and report.passed and config.workspace.clean else ()
    seen = run_altered_tests(place, work, report, proving) if proving else None
    needs_exercise = bool(proving) and rests_on_new_tests(work, proving) and not config.judge.criteria
    since = SinceStart(
        unchanged=not work.changed,
        needs_test=new_tests.needs_test(state, evidence),
        without_test=untested_checks(report, state.most_tests, state.without_test_at_start),
        failing=shown.failing,
        tests=shown.tests,
        tests_changed=bool(work.tests_as_they_were),
        changed_expectations=outcome.changed,
        tests_of_start=trusted.model_copy(update={"report": trusted.report.without_output if trusted.report else None}),
        on_start=on_start,
        table=outcome.table,
        looked_up=find_lookups(place, work) if can_probe and config.proof.neighbours else (),
        mutants=run_mutants(place, work, report) if can_probe and config.proof.mutants else None,
        cannot_fail=seen.cannot_fail if seen else None,
        not_altered=seen.unseen if seen else (),
        unexercised=find_unexercised(place, work, report, proving) if needs_exercise else None,
    )
    name = f"{state.due:05d}-{state.attempt}-{change.commit[:12]}"
    hidden = check_hidden(context, state, change.commit, name) if may_complete and config.hidden else ()
    update = {"since_start": since, "findings": (*evidence.findings, *outcome.findings), "hidden": hidden}
    evidence = evidence.model_copy(update=update)
    if not (may_complete and config.proof.probes):
        return evidence
    # probes cost money: run them only where nothing else denies that the work is done; the item reports the rest of a plan
    proof = prove(config, state.done, evidence)
    if not (proof.asked and proof.green) or proof.refusing_rules - {"plan"}:
        return evidence
    probed = probe_work(context, state, change.commit, lambda: judge_credentials(config))
    return evidence.model_copy(update={"probed": probed})


def trusted_run(context: LoopContext, state: LoopState, execution: Execution, checks: tuple[CheckConfig, ...]) -> TrustedRun:
    """Run the given checks on the work with the tests of the loop's start, where any of these has changed."""
    work = work_of(context, state, execution.change.commit, checks)
    return run_trusted(work, execution.change.tree, partial(run_for_loop, context, state))


def _outcomes(
    context: LoopContext, state: LoopState, evidence: Evidence, report: CheckReport, start_run: StartRun
) -> tuple[TrustedRun, Outcomes]:
    """Run the start's tests on the work, also for the current item's check, and combine the outcomes of all runs."""
    config, item_results = state.config, evidence.own.results if evidence.own else ()
    checks = (*config.checks, *(CheckConfig(command=result.command) for result in item_results))
    trusted = trusted_run(context, state, evidence.execution, checks)
    combined = report.model_copy(update={"results": (*report.results, *item_results)})
    failing = failing_at_start(state.history)
    if failing is not None or item_results:  # the item's check is assumed to have failed at the start
        failing = frozenset((failing or frozenset[str]()) | {result.name for result in item_results})
    result = outcomes(combined, trusted, failing, config.goal, config.invariants, start_run.report, start_run.unloaded)
    return trusted, result._replace(findings=weigh(result.findings, config.invariants))


@step(by_step)
def judge(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    folder = CallFolder(context.folder.call(state.due, state.attempt), state.uid)
    return adjudicate(context, state, evidence, lambda: judge_credentials(state.config), partial(keep_request, folder))


@step(by_step)
def learn(context: LoopContext, state: LoopState, orientation: Orientation, evidence: Evidence) -> Learned:
    """Store the lessons of the iteration, now that verdict and checks are known."""
    if not state.config.memory.use:
        return Learned()
    check_lease(context.repository, state)
    return remember(context, IterationView(state, evidence, orientation.started_at, now_utc()), orientation.recalled)


@step(by_step)
def oversee(context: LoopContext, state: LoopState, orientation: Orientation, evidence: Evidence) -> Overseen:
    return observe_and_oversee(context, state, orientation, evidence)


@step(by_step)
def decide(context: LoopContext, state: LoopState, evidence: Evidence, overseen: Overseen) -> Decision:
    return choose(Situation(state, evidence, overseen.signals, now_utc(), overseen.oversight))


@step(by_step)
def record(context: LoopContext, state: LoopState, draft: IterationRecord) -> IterationRecord:
    """Roll the work back or tick the plan, both idempotent, then store the iteration's record."""
    decision = draft.decision
    failed = roll_back(context, state, draft.execution, decision) if decision.back_to else None
    is_kept = not decision.back_to and not decision.repeat and decision.outcome is not Outcome.EJECTED
    proven = draft.item is not None and draft.item.proven
    draft = with_consequences(draft, failed, tick(context, state, draft, decision) if proven and is_kept else None)
    check_lease(context.repository, state)
    after = advance(state, draft)
    subject = f"iteration {draft.iteration}: {draft.decision.title} - {draft.decision.reason}"
    replace_state(context.repository, state, after, subject[:200], draft)
    if state.config.remote.push:
        push_loop(context.repository, after)
    publish(IterationRecorded(record=draft))
    return draft


def check_for_merge(context: LoopContext, state: LoopState, commit: str, tree: str) -> CheckReport:
    """The report on a merge candidate and, where it passes, the hidden checks that fail."""
    report = merge_checks(context, state, commit, tree)
    hidden = check_hidden(context, state, commit, f"merge-{commit[:12]}") if report.passed and state.config.hidden else ()
    failing = tuple(result for result in hidden if not result.passed)
    return report.model_copy(update={"results": (*report.results, *failing)}) if failing else report


@step(by_tree)
def merge_checks(context: LoopContext, state: LoopState, commit: str, tree: str) -> CheckReport:
    """Run the checks on a merge candidate, a commit other than the loop's head."""
    return run_for_loop(context, state, Target(commit, tree, state.config, stay=state.head))


@step(by_step)
def draw_lessons(context: LoopContext, state: LoopState) -> ExtractedLessons:
    return lessons_from_model(context, state, lambda: judge_credentials(state.config))


@step(by_step)
def open_pull_request(context: LoopContext, state: LoopState) -> PullRequest:
    return request_pull(context, state)


def check_hidden(context: LoopContext, state: LoopState, commit: str, name: str) -> tuple[CheckResult, ...]:
    """Run the hidden checks on a commit; their commands and output are stored under `name`, for people only."""
    require_known(state)
    results = run_hidden(check_context(context, state), work_of(context, state, commit))
    store_output(state.uid, name, results)
    return tuple(result.for_agent for result in results)
