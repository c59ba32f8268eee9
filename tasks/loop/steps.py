"""The steps of an iteration as Prefect tasks: a name, retries where the world may fail, and a key by value.

A step's result is persisted under (loop, iteration, attempt, step). After a crash the same call finds it there, and only the
step that was in flight is done again. Each plain function lives in the file of the outside thing it deals with.
"""

import time
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast

from prefect import Task
from prefect.cache_policies import CachePolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.utilities.annotations import opaque

from helmsman.config import CheckConfig, RetryConfig
from helmsman.errors import CutOff, WorldError
from helmsman.orient.prompt import brief
from helmsman.oversee.decide import Situation
from helmsman.oversee.decide import decide as choose
from helmsman.records.briefing import Briefing, Orientation
from helmsman.records.checks import CheckReport, CheckResult, TrustedCopy
from helmsman.records.claims import Testimony
from helmsman.records.events import IterationRecorded, StepFinished, StepStarted
from helmsman.records.evidence import Execution
from helmsman.records.findings import Finding
from helmsman.records.focus import Planned
from helmsman.records.folds import without_test
from helmsman.records.issue import PullRequest
from helmsman.records.iteration import Evidence, IterationRecord
from helmsman.records.lessons import Drawn, Learned
from helmsman.records.memory import WorkingMemory
from helmsman.records.oversight import Failed, Overseen
from helmsman.records.plan import InHand, PlanItem, Tick
from helmsman.records.probes import Probed
from helmsman.records.proof import SinceStart, Verdict
from helmsman.records.state import LoopState, advance
from helmsman.records.verdict import Decision
from helmsman.verify import new_tests
from helmsman.verify.completion import prove
from helmsman.verify.hints import weigh
from helmsman.verify.outcomes import Outcomes, failing_at_start, outcomes
from helmsman.verify.trusted import UNSURE, watched
from tasks.agents.hearing import hear
from tasks.checking.adjudicating import adjudicate
from tasks.checking.auditing import audit
from tasks.checking.probing import probe_work
from tasks.credentials import agent_credentials, judge_credentials
from tasks.loop import overseeing, working
from tasks.loop.plan import stand_at
from tasks.loop.plan import tick as tick_item
from tasks.loop.remember import drawn, remember
from tasks.loop.remote_handover import require_ours
from tasks.loop.step_keys import CommitKey, ItemKey, StartKey, StepKey, TreeKey, TrustedKey
from tasks.models import planning
from tasks.observers.journal import publish
from tasks.observers.report import write_report
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import replace_state
from tasks.system.clock import now_utc
from tasks.system.secrets import redacting_errors, without_secrets
from tasks.system_errors import blaming_the_world
from tasks.triggers import delivering
from tasks.worktrees import rollback
from tasks.worktrees.workplace import workplace

P = ParamSpec("P")
R = TypeVar("R")


class Step(Task[P, R]):
    """A task whose arguments the engine does not search for futures: that took 8 ms a step of a state with its history."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _opaquely(super().__call__, *args, **kwargs)


def _opaquely(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return call(*(opaque(argument) for argument in args), **kwargs)


def step(key: CachePolicy) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Make a step of a function whose parameters include `state`."""

    def decorate(function: Callable[P, R]) -> Task[P, R]:
        name = function.__name__

        @wraps(function)
        def told(*args: P.args, **kwargs: P.kwargs) -> R:
            state = cast("LoopState", args[1])
            begun = time.monotonic()
            publish(StepStarted(iteration=state.due, attempt=state.attempt, step=name))
            with redacting_errors(), blaming_the_world():
                result = without_secrets(function(*args, **kwargs))
            seconds = time.monotonic() - begun
            publish(StepFinished(iteration=state.due, attempt=state.attempt, step=name, seconds=seconds))
            return result

        return Step(
            told,
            name=name,
            task_run_name=f"#{{state.due}} {name}",
            persist_result=True,
            result_serializer="json",
            cache_policy=key,
        )

    return decorate


def patient(what: Task[P, R], retry: RetryConfig) -> Callable[P, R]:
    """The same step, retried with growing delays while the world is to blame."""
    delays = [min(retry.first_delay_seconds * 2**n, retry.longest_delay_seconds) for n in range(retry.attempts)]
    retried = what.with_options(
        retries=retry.attempts,
        retry_delay_seconds=delays or 0,
        retry_jitter_factor=retry.jitter,
        retry_condition_fn=_is_world_error,
    )
    return partial(_opaquely, retried)


def checking(state: LoopState) -> Callable[[str, LoopState, Execution], CheckReport]:
    """The checks step; asked anew where the last report told nothing for sure (a timeout, a command that did not start)."""
    certain = state.checks is None or state.checks.conclusive
    return checks if certain else partial(_opaquely, checks.with_options(refresh_cache=True))


def own_check(
    repository: str, state: LoopState, execution: Execution, report: CheckReport | None, plan: InHand | None
) -> CheckReport | None:
    """What the own check of the plan's item in hand says, where there is one and it is worth running."""
    if report is None or plan is None or plan.item is None or not plan.item.check:
        return None
    run = partial(_opaquely, item_check.with_options(refresh_cache=True)) if state.plan.unsure else item_check
    return run(repository, state, execution, plan.item)


def trusted_copy(
    repository: str, state: LoopState, execution: Execution, report: CheckReport | None, own: CheckReport | None
) -> TrustedCopy | None:
    """What the same checks say with the protected files of the loop's start; asked anew after one that told nothing."""
    if report is None or not watched(state.config.invariants):
        return None
    checks = (*state.config.checks, *(CheckConfig(command=result.command) for result in (own.results if own else ())))
    unsure = any(finding.rule == UNSURE for finding in state.findings)
    run = partial(_opaquely, trusted_run.with_options(refresh_cache=True)) if unsure else trusted_run
    return run(repository, state, execution, checks, tests=False)


def compared_with_start(repository: str, state: LoopState, evidence: Evidence) -> Evidence:
    """The evidence with what is different from the loop's start, where the work is in question as done."""
    report = evidence.checks
    if report is None or not new_tests.in_question(state, evidence):
        return evidence
    since = since_start(repository, state, evidence.execution, report, run=new_tests.start_run_due(state, evidence))
    empty = without_test(report, state.most_tests, state.without_test_at_start)
    differs = since.tests_changed or evidence.own is not None
    copy = _with_tests_of_start(repository, state, evidence) if differs else TrustedCopy()
    found = _outcomes(state, evidence, report, copy, since)
    bare = copy.model_copy(update={"report": copy.report.without_output if copy.report else None})
    told = {"changed_expectations": found.changed, "tests_of_start": bare, "table": found.table}
    known = since.model_copy(update={"needs_test": new_tests.needs_test(state, evidence), "without_test": empty, **told})
    may_complete = new_tests.may_complete(state, evidence) and not since.unchanged
    hidden = hidden_checks(repository, state, evidence.execution.change.commit) if may_complete and state.config.hidden else ()
    compared = {"since_start": known, "findings": (*evidence.findings, *found.findings), "hidden": hidden}
    evidence = evidence.model_copy(update=compared)
    return _with_probes(repository, state, evidence) if may_complete and state.config.proof.probes else evidence


def _with_probes(repository: str, state: LoopState, evidence: Evidence) -> Evidence:
    """They cost money: only where nothing else denies that the work is done. What is left of a plan is told by its item."""
    proof = prove(state.config, state.done, evidence)
    if not (proof.asked and proof.green) or proof.refused_by - {"plan"}:
        return evidence
    return evidence.model_copy(update={"probed": probes(repository, state, evidence.execution.change.commit)})


def checked_for_merge(repository: str, state: LoopState, commit: str, tree: str) -> CheckReport:
    """The checks on what would be merged and, where these pass, the hidden checks that do not."""
    report = merge_checks(repository, state, commit, tree)
    hidden = merge_hidden(repository, state, commit) if report.passed and state.config.hidden else ()
    failing = tuple(result for result in hidden if not result.passed)
    return report.model_copy(update={"results": (*report.results, *failing)}) if failing else report


def _with_tests_of_start(repository: str, state: LoopState, evidence: Evidence) -> TrustedCopy:
    """What the tests of the start say of the work, in the own check of the item in hand as well."""
    own = evidence.own.results if evidence.own else ()
    checks = (*state.config.checks, *(CheckConfig(command=result.command) for result in own))
    return trusted_run(repository, state, evidence.execution, checks, tests=True)


def _outcomes(state: LoopState, evidence: Evidence, report: CheckReport, copy: TrustedCopy, since: SinceStart) -> Outcomes:
    """What all runs come to; the own check of the item in hand is taken to have failed at the start."""
    config, own = state.config.invariants, evidence.own.results if evidence.own else ()
    whole = report.model_copy(update={"results": (*report.results, *own)})
    red = failing_at_start(state.history)
    red = frozenset((red or frozenset[str]()) | {result.name for result in own}) if red is not None or own else None
    found = outcomes(whole, copy, red, state.config.goal, config, since.on_start)
    return found._replace(findings=weigh(found.findings, config))


def _is_world_error(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    try:
        state.result()
    except WorldError as error:
        return not isinstance(error, CutOff)
    except Exception:  # noqa: BLE001 - whatever else it is, it is not the world's fault
        return False
    return False


@step(TreeKey())
def baseline(repository: str, state: LoopState, tree: str) -> CheckReport:
    """The checks on what the loop begins with."""
    return working.check_base(workplace(repository, state), state, tree)


@step(StepKey())
def orient(repository: str, state: LoopState) -> Orientation:
    return working.gather(workplace(repository, state), state, now_utc())


@step(StepKey())
def plan(repository: str, state: LoopState, orientation: Orientation) -> Planned:
    return planning.write(workplace(repository, state), state, orientation, lambda: judge_credentials(state.config))


@step(StepKey())
def prompt(repository: str, state: LoopState, orientation: Orientation, planned: Planned) -> Briefing:
    return brief(state, orientation, planned)


@step(StepKey())
def execute(repository: str, state: LoopState, briefing: Briefing, orientation: Orientation) -> Execution:
    place = workplace(repository, state)
    done = working.execute(place, state, briefing, orientation, agent_credentials(state.config))
    if state.config.remote.push:  # before the result is known: whoever finds that elsewhere finds the work, too
        push_loop(place.repository, state)
    return done


@step(TreeKey())
def checks(repository: str, state: LoopState, execution: Execution) -> CheckReport:
    return working.check(workplace(repository, state), state, execution)


@step(ItemKey())
def item_check(repository: str, state: LoopState, execution: Execution, item: PlanItem) -> CheckReport:
    """The own check of the plan's item in hand."""
    return working.check_item(workplace(repository, state), state, execution, item)


@step(TreeKey())
def merge_checks(repository: str, state: LoopState, commit: str, tree: str) -> CheckReport:
    """The checks on what would be merged."""
    return working.check_merge(workplace(repository, state), state, commit, tree)


@step(CommitKey())
def hidden_checks(repository: str, state: LoopState, commit: str) -> tuple[CheckResult, ...]:
    """The checks that the agent does not see; what they are and print is in no result."""
    return working.check_hidden(workplace(repository, state), state, commit, f"{state.due:05d}-{state.attempt}-{commit[:12]}")


@step(CommitKey())
def probes(repository: str, state: LoopState, commit: str) -> Probed:
    """Cases of a model that has not seen the new source; what they are is in no result."""
    return probe_work(workplace(repository, state), state, commit, lambda: judge_credentials(state.config))


@step(CommitKey())
def merge_hidden(repository: str, state: LoopState, commit: str) -> tuple[CheckResult, ...]:
    """Likewise on what would be merged."""
    return working.check_hidden(workplace(repository, state), state, commit, f"merge-{commit[:12]}")


@step(TrustedKey())
def trusted_run(
    repository: str, state: LoopState, execution: Execution, checks: tuple[CheckConfig, ...], tests: bool
) -> TrustedCopy:
    """Those checks on the work with the protected files of the loop's start, or with its tests, where any has changed."""
    return working.check_trusted(workplace(repository, state), state, execution, checks, tests=tests)


@step(StepKey())
def invariants(
    repository: str,
    state: LoopState,
    execution: Execution,
    report: CheckReport,
    copy: TrustedCopy | None,
    own: CheckReport | None,
) -> tuple[Finding, ...]:
    return audit(workplace(repository, state), state, execution, report, copy, own)


@step(StepKey())
def notes(repository: str, state: LoopState, execution: Execution) -> WorkingMemory:
    """What the agent left in its notes."""
    return working.fold_memory(workplace(repository, state), state, execution.put_back)


@step(StepKey())
def claims(
    repository: str, state: LoopState, execution: Execution, report: CheckReport | None, memory: WorkingMemory
) -> Testimony:
    return hear(workplace(repository, state), state, execution, report, memory)


@step(StartKey())
def since_start(repository: str, state: LoopState, execution: Execution, report: CheckReport, *, run: bool) -> SinceStart:
    """What differs from the start; where that is to be shown, by the work's tests on the source of the start."""
    return working.compare_with_start(workplace(repository, state), state, execution, report, run=run)


@step(StepKey())
def judge(repository: str, state: LoopState, evidence: Evidence) -> Verdict:
    return adjudicate(workplace(repository, state), state, evidence, lambda: judge_credentials(state.config))


@step(StepKey())
def oversee(repository: str, state: LoopState, orientation: Orientation, evidence: Evidence, memory: WorkingMemory) -> Overseen:
    return overseeing.oversee(workplace(repository, state), state, orientation, evidence, memory)


@step(StepKey())
def decide(repository: str, state: LoopState, evidence: Evidence, overseen: Overseen) -> Decision:
    return choose(Situation(state, evidence, overseen.signals, now_utc(), overseen.oversight))


@step(StepKey())
def roll_back(repository: str, state: LoopState, evidence: Evidence, decision: Decision) -> Failed:
    return rollback.roll_back(workplace(repository, state), state, evidence.execution, decision)


@step(StepKey())
def tick(repository: str, state: LoopState, evidence: Evidence, decision: Decision) -> Tick:
    """Tick the plan's item that was proven, in a commit of its own."""
    return tick_item(workplace(repository, state), state, evidence, decision)


@step(StepKey())
def draw_lessons(repository: str, state: LoopState) -> Drawn:
    return drawn(workplace(repository, state), state, lambda: judge_credentials(state.config))


@step(StepKey())
def open_pull_request(repository: str, state: LoopState) -> PullRequest:
    return delivering.open_pull_request(workplace(repository, state), state)


@step(StepKey())
def learn(repository: str, state: LoopState, what: IterationRecord) -> Learned:
    """Keep what the iteration teaches, now that verdict and checks are known."""
    place = workplace(repository, state)
    require_ours(place.repository, state)
    return remember(place, state, what)


@step(StepKey())
def record(repository: str, state: LoopState, what: IterationRecord) -> IterationRecord:
    place = workplace(repository, state)
    if what.failed:  # checks that were asked again after a crash leave the branch where they ran
        rollback.go_back(place, state, what.failed.back_to)
    elif what.tick:
        stand_at(place, state, what.tick)
    require_ours(place.repository, state)
    after = advance(state, what)
    subject = f"iteration {what.iteration}: {what.decision.word} - {what.decision.reason}"
    replace_state(place.repository, state, after, subject[:200], what)
    if state.config.remote.push:
        push_loop(place.repository, after)
    write_report(place, after, what)
    publish(IterationRecorded(record=what))
    return what
