"""The steps of an iteration, and those before and after it, as Prefect tasks on a loop's context and state.

A step's name and key let a run that died find its result again (tasks/engine/step.py): do not change them.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from prefect.context import TaskRunContext

from helmsman.config import VERIFYING, LoopConfig
from helmsman.orient.allowance import session_to_resume
from helmsman.orient.brief import brief
from helmsman.oversee.decide import Situation
from helmsman.oversee.decide import decide as choose
from helmsman.oversee.signals import IterationView
from helmsman.parsers.status import read_ending
from helmsman.records.advance import advance, with_consequences
from helmsman.records.agent import Execution
from helmsman.records.agents import prints_text
from helmsman.records.checks import CheckReport, Finding
from helmsman.records.control import Overseen
from helmsman.records.decision import Decision, Outcome
from helmsman.records.events import IterationRecorded
from helmsman.records.iteration import Briefing, Evidence, IterationRecord, Orientation, WrittenParts
from helmsman.records.lessons import ExtractedLessons, Learned
from helmsman.records.state import LoopState
from helmsman.records.tracking import PullRequest
from helmsman.verify.completion import required_tests
from tasks.agents.call import Order
from tasks.agents.call_folder import CallFolder, keep_briefing, keep_request
from tasks.agents.claude import call_agent
from tasks.checks.judging import adjudicate, audit, collect_claims, revert_protected
from tasks.checks.missing import explain_failures
from tasks.checks.run import Target, run_checks
from tasks.checks.targets import check_context, run_for_loop
from tasks.credentials import agent_credentials, judge_credentials
from tasks.engine.step import refreshing_if, step, step_key
from tasks.loop.oversee import oversee as observe_and_oversee
from tasks.loop.prepare import prepare, read_notes
from tasks.loop.recover import roll_back, undo_changes
from tasks.loop.remember import lessons_from_model, remember
from tasks.loop.remote_handover import check_lease
from tasks.loop.since_start import check_hidden, compare_with_start, with_item_checks
from tasks.models.asking import write_texts as write_plan
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import revert_plan, tick
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import replace_state
from tasks.repository.worktree import commit_turn, has_stray_work, measure_change, reset_to
from tasks.sandbox.enter import import_agent_work
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


def by_verification(run: TaskRunContext, inputs: dict[str, Any]) -> str:
    """The key of a result that rests on how work is verified: a person may change that before an interrupted loop continues."""
    verifying = inputs["state"].config.model_dump_json(include=set(VERIFYING))
    return f"{by_step(run, inputs)}-{hashlib.sha256(verifying.encode()).hexdigest()[:16]}"


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
    """Run the checks on the commit that the loop started from. Raises SetupFailed."""
    return run_for_loop(context, state, Target(state.base_commit, tree, state.config, stay=state.head), run_checks)


@step(by_step)
def orient(context: LoopContext, state: LoopState) -> Orientation:
    return prepare(context, state, datetime.now(UTC))


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
    # explaining resets the folder, in which a person may work as well
    if state.config.workspace.in_place or has_stray_work(context.worktree, state.branch, change.commit):
        return report
    try:
        return explain_failures(check_context(context, state), context.worktree, change.commit, report, state.config)
    finally:
        reset_to(context.worktree, state.branch, change.commit)


@step(by_verification)
def invariants(context: LoopContext, state: LoopState, execution: Execution) -> tuple[Finding, ...]:
    return audit(context, state, execution)


@step(by_verification)
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
    item = orientation.plan.item if orientation.plan else None
    if report and item is not None:
        evidence = with_item_checks(context, state, evidence, item)
    return compare_with_start(context, state, evidence)


@step(by_verification)
def judge(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    folder = CallFolder(context.folder.call(state.due, state.attempt), state.uid)
    return adjudicate(context, state, evidence, lambda: judge_credentials(state.config), partial(keep_request, folder))


@step(by_step)
def learn(context: LoopContext, state: LoopState, orientation: Orientation, evidence: Evidence) -> Learned:
    """Store the lessons of the iteration, now that verdict and checks are known."""
    if not state.config.memory.use:
        return Learned()
    check_lease(context.repository, state)
    return remember(context, IterationView(state, evidence, orientation.started_at, datetime.now(UTC)), orientation.recalled)


@step(by_verification)
def oversee(context: LoopContext, state: LoopState, orientation: Orientation, evidence: Evidence) -> Overseen:
    return observe_and_oversee(context, state, orientation, evidence)


@step(by_verification)
def decide(context: LoopContext, state: LoopState, evidence: Evidence, overseen: Overseen) -> Decision:
    return choose(Situation(state, evidence, overseen.signals, datetime.now(UTC), overseen.oversight))


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
