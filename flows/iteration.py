"""One iteration: orient, plan, prompt, execute, checks, invariants, claims, judge, learn, oversee, decide, record."""

from prefect import flow

from helmsman.records.advance import record_of
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from tasks.engine.runs import untagged
from tasks.engine.step import with_retries
from tasks.loop import steps
from tasks.observers.artifacts import with_named_state
from tasks.repository.loop_context import loop_context
from tasks.system.secrets import redacting_errors


@flow(name="iteration", flow_run_name="{state.loop} #{state.due}", persist_result=False)
@untagged
@redacting_errors()
def iteration(repository: str, state: LoopState) -> IterationRecord:
    """Run the agent once, verify its work, and decide what comes next."""
    config, context = state.config, loop_context(repository, state)
    orientation = steps.orient(context, state)
    planned = steps.plan(context, state, orientation)
    briefing = steps.prompt(context, state, orientation, planned)
    execution = with_retries(steps.execute, config.retry)(context, state, briefing, orientation)
    report = steps.checks_task(state)(context, state, execution) if execution.needs_checks else None
    findings = steps.invariants(context, state, execution) if report else ()
    evidence = steps.claims(context, state, orientation, planned, execution, report, findings)
    evidence = with_retries(steps.judge, config.retry)(context, state, evidence)
    learned = steps.learn(context, state, orientation, evidence)
    overseen = steps.oversee(context, state, orientation, evidence)
    decision = steps.decide(context, state, evidence, overseen)
    draft = record_of(state, orientation, evidence, overseen, decision, learned)
    return with_named_state(with_retries(steps.record, config.retry)(context, state, draft))
