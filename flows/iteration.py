"""One iteration: orient, plan, prompt, execute, checks, invariants, notes, claims, judge, oversee, decide, learn, record."""

from prefect import flow

from helmsman.records.iteration import IterationRecord, evidence_of
from helmsman.records.state import LoopState, record_of
from tasks.engine.runs import untagged
from tasks.loop import steps
from tasks.observers.artifacts import named_by_checks
from tasks.system.secrets import redacting_errors


@flow(name="iteration", flow_run_name="{state.loop} #{state.due}", persist_result=False)
@untagged
@redacting_errors()
def iteration(repository: str, state: LoopState) -> IterationRecord:
    """Have the agent work once, find out what came of it, and decide what follows."""
    config = state.config
    orientation = steps.orient(repository, state)
    planned = steps.plan(repository, state, orientation)
    briefing = steps.prompt(repository, state, orientation, planned)
    execution = steps.patient(steps.execute, config.retry)(repository, state, briefing, orientation)
    report = steps.checking(state)(repository, state, execution) if execution.worth_checking else None
    own = steps.own_check(repository, state, execution, report, orientation.plan)
    copy = steps.trusted_copy(repository, state, execution, report, own)
    findings = steps.invariants(repository, state, execution, report, copy, own) if report else ()
    memory = steps.notes(repository, state, execution)
    testimony = steps.claims(repository, state, execution, report, memory)
    gathered = evidence_of(execution, report, findings, testimony, planned, orientation.plan, own)
    gathered = steps.compared_with_start(repository, state, gathered)
    evidence = gathered.judged(steps.patient(steps.judge, config.retry)(repository, state, gathered))
    overseen = steps.oversee(repository, state, orientation, evidence, memory)
    decision = steps.decide(repository, state, evidence, overseen)
    failed = steps.roll_back(repository, state, evidence, decision) if decision.back_to else None
    ticked = steps.tick(repository, state, evidence, decision) if evidence.ticks(decision) else None
    what = record_of(state, orientation, evidence, memory, overseen, decision, failed, ticked)
    if config.memory.use:
        what = what.model_copy(update={"learned": steps.learn(repository, state, what)})
    return named_by_checks(steps.patient(steps.record, config.retry)(repository, state, what))
