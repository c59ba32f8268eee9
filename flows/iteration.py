"""One iteration: orient, plan, prompt, execute, checks, invariants, notes, claims, judge, oversee, decide, learn, record."""

from prefect import flow

from helmsman.records.iteration import IterationRecord, evidence_of
from helmsman.records.state import LoopState, record_of
from tasks.engine.runs import untagged
from tasks.engine.step import with_retries
from tasks.loop import steps
from tasks.observers.artifacts import named_by_checks
from tasks.repository.loop_context import loop_context
from tasks.system.secrets import redacting_errors


@flow(name="iteration", flow_run_name="{state.loop} #{state.due}", persist_result=False)
@untagged
@redacting_errors()
def iteration(repository: str, state: LoopState) -> IterationRecord:
    """Have the agent work once, find out what came of it, and decide what follows."""
    config, place = state.config, loop_context(repository, state)
    orientation = steps.orient(place, state)
    planned = steps.plan(place, state, orientation)
    briefing = steps.prompt(place, state, orientation, planned)
    execution = with_retries(steps.execute, config.retry)(place, state, briefing, orientation)
    report = steps.checking(state)(place, state, execution) if execution.worth_checking else None
    own = steps.own_check(place, state, execution, report, orientation.plan)
    findings = steps.invariants(place, state, execution) if report else ()
    memory = steps.notes(place, state, execution)
    testimony = steps.claims(place, state, execution, report, memory)
    gathered = evidence_of(execution, report, findings, testimony, planned, orientation.plan, own)
    gathered = steps.compared_with_start(place, state, gathered)
    evidence = gathered.judged(with_retries(steps.judge, config.retry)(place, state, gathered))
    overseen = steps.oversee(place, state, orientation, evidence, memory)
    decision = steps.decide(place, state, evidence, overseen)
    failed = steps.roll_back(place, state, evidence, decision) if decision.back_to else None
    ticked = steps.tick(place, state, evidence, decision) if evidence.ticks(decision) else None
    what = record_of(state, orientation, evidence, memory, overseen, decision, failed, ticked)
    if config.memory.use:
        what = what.model_copy(update={"learned": steps.learn(place, state, what)})
    return named_by_checks(with_retries(steps.record, config.retry)(place, state, what))
