"""Summaries of an iteration and of the base tree, with which the first iterations are compared."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from helmsman.config import LoopConfig
from helmsman.oversee.progress import BASE, is_base, movement, shares_of
from helmsman.parsers.failures import failure_of
from helmsman.records.advance import failure_floor, most_tests
from helmsman.records.agent import AgentOutcome, ErrorVector, FailureClass
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.control import MOST_ERRORS, MOST_NAMES, Checkpoint, IterationSummary, Movement, Oversight, Progress
from helmsman.records.iteration import Evidence
from helmsman.records.plan import PlanItem
from helmsman.records.state import LoopState
from helmsman.verify.completion import changed_tests_only
from helmsman.verify.findings import join_some

NAME = 200  # stored characters of a path or name: paths may have 4,096, test names any number
TROUBLES = 3
READ = 6000  # characters searched for the failure at each end of an output
REVERTED = "reverted"  # the guard rail that detects reverted edits


def summarize(state: LoopState, evidence: Evidence, progress: Progress, started_at: datetime, now: datetime) -> IterationSummary:
    """Summarize the due iteration of `state`."""
    change, call = evidence.execution.change, evidence.execution.call
    fields = {
        "iteration": state.due,
        "attempt": state.attempt,
        "at": now,
        "seconds": max(0.0, (now - started_at).total_seconds()),
        "movement": Movement.STILL,  # until the comparison below
        "completion": progress.completion,
        "cost_usd": evidence.usage.cost_usd,
        "tokens": evidence.usage.tokens,
        "asked": evidence.claims.wants_to_finish,
        "test_only": changed_tests_only(evidence),
        "relevance": evidence.drift.relevance,
        "rung": state.oversight.ladder.rung,
        **change.model_dump(include={"start", "commit", "tree", "files_changed", "insertions", "deletions"}),
        "files": _names(change.files),
        "commits": len(change.commits),
        "outcome": call.outcome,
        "tool_calls": call.tool_calls,
        "untold": call.untold,
        "written": call.usage.output_tokens,
        "denials": len(call.permission_denials),
        "reverted": sum(guarded.rule == REVERTED for guarded in call.guarded),
        "troubles": tuple(sorted(call.errors, key=lambda error: error.times)[::-1][:TROUBLES]),
    }
    draft = IterationSummary.model_validate(fields | _checks(evidence.checks))
    return draft.model_copy(update={"movement": movement(state.history, draft)})


def checkpoint(summary: IterationSummary) -> Checkpoint:
    """Its commit as a checkpoint."""
    return Checkpoint.model_validate(summary.model_dump(include=set(Checkpoint.model_fields)))


def _checks(report: CheckReport | None) -> dict[str, Any]:
    """Check results without flaky failures; without a report nothing counts against the work."""
    if report is None:
        return {"checked": False}
    stable = [result for result in report.results if not result.is_flaky]
    failures, counts = [result for result in stable if not result.passed], [result.counts for result in stable if result.counts]
    return {
        "green": not failures,
        "passing_tests": sum(max(0, count.passed) for count in counts),
        "failing_tests": sum(max(0, count.failed) for count in counts),
        "failing": _names(
            name for result in failures for name in (result.name, *(result.counts.failing if result.counts else ()))
        ),
        "errors": tuple(map(_error, failures[:MOST_ERRORS])),
    }


def _error(result: CheckResult) -> ErrorVector:
    """The failure of a check; counts of a report are more reliable than those in its output."""
    code = f"Exit code {result.exit_code}" if result.exit_code is not None else result.error  # may say what happened
    ends = (result.head[:READ], (result.tail or result.head[READ:])[-READ:])
    error = failure_of("Bash", result.command, "\n".join(part for part in (code, *ends) if part))
    counted = {"extent": result.counts.failed} if result.counts and result.counts.failed > 0 else {}
    timeout = {"kind": FailureClass.TIMEOUT} if result.timed_out else {}
    return error.model_copy(update=counted | timeout)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Unique names in their order."""
    return tuple(dict.fromkeys(name[:NAME] for name in names))[:MOST_NAMES]


def with_baseline(state: LoopState, report: CheckReport) -> LoopState:
    """Add the checks' report on the base commit to a loop that has not started; return any other loop unchanged.

    The base is no iteration: nothing is spent or judged. It is number 0 in the history, for detectors that need a starting point,
    and the first commit to return to.
    """
    if state.iteration or not report.results or not all(map(is_base, state.history)):
        return state
    return _with_base(state, report).model_copy(update=_facts_of_start(report))


def with_other_checks(state: LoopState, report: CheckReport) -> LoopState:
    """Reset a loop whose checks were changed: earlier measurements are of other checks. `report`: of the new ones at its base."""
    at_base = with_new_base(state.model_copy(update={"head": state.base_commit}), report)
    return at_base.model_copy(update={"head": state.head, "failed": state.failed, **_facts_of_start(report)})


def _facts_of_start(report: CheckReport) -> dict[str, Any]:
    empty = tuple(result.command for result in report.results if result.ran_no_test)
    return {"green_at_start": report.passed, "without_test_at_start": empty, "collected_at_start": report.collected}


def with_new_base(state: LoopState, report: CheckReport | None) -> LoopState:
    """Reset a loop whose branch received other people's work. Earlier measurements say nothing about the combination.

    `report`: of the combined tree, if it was checked. The ladder keeps its level, which concerns the loop and not the tree.
    """
    earlier = state.oversight
    reset: dict[str, Any] = {
        "oversight": Oversight(ladder=earlier.ladder, idle=earlier.idle),
        "history": (),
        "checks": report,
        "best_checks": None,
        "most_tests": {},
        "plan": state.plan.model_copy(update={"floor": {}}),
        "findings": (),
        "contradictions": (),
        "failed": None,
    }
    after = state.model_copy(update=reset)
    return _with_base(after, report) if report and report.results else after


def _with_base(state: LoopState, report: CheckReport) -> LoopState:
    test_counts = most_tests({}, report)
    items = state.plan.done / state.plan.total if state.plan.total else None
    progress = shares_of(report, test_counts, Progress(), 0.0 if state.config.judge.criteria else None, items)
    # WAITED: nobody worked on the base tree, so detectors of the agent's behaviour skip it.
    nobody = {"iteration": BASE, "at": state.updated_at, "outcome": AgentOutcome.FINISHED, "movement": Movement.WAITED}
    where = {"start": state.head, "commit": state.head, "tree": report.tree, "completion": progress.completion}
    summary = IterationSummary.model_validate(nobody | where | _checks(report))
    return state.model_copy(
        update={
            "checks": report,
            "best_checks": report,
            "most_tests": test_counts,
            "plan": state.plan.model_copy(update={"floor": failure_floor(report)}),
            "history": (summary,),
            "oversight": state.oversight.model_copy(update={"progress": progress, "best": checkpoint(summary)}),
        }
    )


GREEN = "every check passes before any work, so the checks do not show whether the goal is reached"
NOTHING_ELSE = (
    "every check passes already and nothing else can prove the goal: add a test that fails, or criteria for a judge ([judge]);"
    " otherwise a new test that fails without the work has to prove it"
)
NO_CHECK = "no check and no criterion is configured: nothing will be verified"


def start_warnings(config: LoopConfig, report: CheckReport | None, items: Sequence[PlanItem]) -> Iterator[str]:
    """Warnings before the start. `report`: of the checks before any work, if they ran. `items`: the loop's items of a plan."""
    judged = bool(config.judge.criteria)
    if not config.checks and not judged and not items:
        yield NO_CHECK
    if report is not None and report.passed:
        yield GREEN if judged or items else NOTHING_ELSE
    remaining = [item for item in items if not item.done]
    no_check = [item.id for item in remaining if not item.check]
    if no_check:
        consequence = "they will be judged" if judged else "a person will be asked"
        have = "has" if len(no_check) == 1 else "have"
        missing = f"{len(no_check)} of {len(remaining)} items {have} no check"
        yield f"{missing}: {consequence}, unless a test names the item ({join_some(no_check)})"
