"""One iteration: orient, prompt, execute, checks, claims, learn, oversee, decide, record."""

from prefect import flow

from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from tasks import steps
from tasks.engine_runs import untagged


@flow(name="iteration", flow_run_name="{state.loop} #{state.due}", persist_result=False)
@untagged
def iteration(repository: str, state: LoopState) -> IterationRecord:
    """Have the agent work once, find out what came of it, and decide what follows."""
    config = state.config
    orientation = steps.orient(repository, state)
    briefing = steps.prompt(repository, state, orientation)
    execution = steps.patient(steps.execute, config.retry)(repository, state, briefing, orientation)
    report = steps.checking(state)(repository, state, execution) if execution.worth_checking else None
    said = steps.claims(repository, state, execution)
    memory = steps.learn(repository, state)
    found = steps.oversee(repository, state, orientation, execution, report, said)
    decision = steps.decide(repository, state, execution, report, said, found)
    what = IterationRecord(
        loop=state.loop,
        iteration=state.due,
        attempt=state.attempt,
        started_at=orientation.started_at,
        execution=execution,
        checks=report,
        claims=said,
        memory=memory,
        signals=found,
        decision=decision,
    )
    return steps.patient(steps.record, config.retry)(repository, state, what)
