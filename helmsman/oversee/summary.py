"""An iteration as the overseer remembers it, and the tree that a loop begins with, with which the first are compared."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from helmsman.config import LoopConfig
from helmsman.oversee.progress import BASE, is_base, movement, shares_of
from helmsman.parsers.failures import failure_of
from helmsman.records.advance import floor_of, most_tests
from helmsman.records.agent import AgentOutcome, ErrorVector, FailureClass
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.control import MOST_ERRORS, MOST_NAMES, Checkpoint, IterationSummary, Movement, Oversight, Progress
from helmsman.records.iteration import Evidence
from helmsman.records.plan import PlanItem
from helmsman.records.state import LoopState
from helmsman.verify.completion import changed_tests_only
from helmsman.verify.findings import some

NAME = 200  # characters of a path or name that are kept: a path may be 4,096 long, and a test's name anything
TROUBLES = 3
READ = 6000  # characters at each end of an output in which its failure is looked for
REVERTED = "reverted"  # the guard rail that sees files edited back


def moment_of(state: LoopState, evidence: Evidence, progress: Progress, started_at: datetime, now: datetime) -> IterationSummary:
    """The iteration that is due in `state`."""
    change, call = evidence.execution.change, evidence.execution.call
    told = {
        "iteration": state.due,
        "attempt": state.attempt,
        "at": now,
        "seconds": max(0.0, (now - started_at).total_seconds()),
        "movement": Movement.STILL,  # until it is compared
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
        "reverted": sum(one.rule == REVERTED for one in call.guarded),
        "troubles": tuple(sorted(call.errors, key=lambda error: error.times)[::-1][:TROUBLES]),
    }
    draft = IterationSummary.model_validate(told | _checks(evidence.checks))
    return draft.model_copy(update={"movement": movement(state.history, draft)})


def checkpoint(summary: IterationSummary) -> Checkpoint:
    """Its commit, to go back to."""
    return Checkpoint.model_validate(summary.model_dump(include=set(Checkpoint.model_fields)))


def _checks(report: CheckReport | None) -> dict[str, Any]:
    """What fails by chance is left out; where nothing is checked, nothing speaks against the work."""
    if report is None:
        return {"checked": False}
    sure = [result for result in report.results if not result.by_chance]
    failures, counts = [result for result in sure if not result.passed], [result.counts for result in sure if result.counts]
    return {
        "green": not failures,
        "passing_tests": sum(max(0, count.passed) for count in counts),
        "failing_tests": sum(max(0, count.failed) for count in counts),
        "failing": _names(name for one in failures for name in (one.name, *(one.counts.failing if one.counts else ()))),
        "errors": tuple(map(_error, failures[:MOST_ERRORS])),
    }


def _error(result: CheckResult) -> ErrorVector:
    """What a failing check says: the failures that a report counts are surer than those that its output does."""
    code = f"Exit code {result.exit_code}" if result.exit_code is not None else result.error  # which may say what happened
    ends = (result.head[:READ], (result.tail or result.head[READ:])[-READ:])
    error = failure_of("Bash", result.command, "\n".join(part for part in (code, *ends) if part))
    counted = {"extent": result.counts.failed} if result.counts and result.counts.failed > 0 else {}
    late = {"kind": FailureClass.TIMEOUT} if result.timed_out else {}
    return error.model_copy(update=counted | late)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order that they came in."""
    return tuple(dict.fromkeys(name[:NAME] for name in names))[:MOST_NAMES]


def with_baseline(state: LoopState, report: CheckReport) -> LoopState:
    """A loop that has not begun, with the checks' report on its base commit; any other loop as it is.

    It is no iteration: nothing is spent and nothing is judged. It stands in the history as number 0, for the detectors that
    ask what an iteration came from, and is the first place that work can be taken back to.
    """
    if state.iteration or not report.results or not all(map(is_base, state.history)):
        return state
    empty = tuple(result.command for result in report.results if result.ran_no_test)
    known = {"green_at_start": report.passed, "without_test_at_start": empty, "collected_at_start": report.collected}
    return _compared_with(state, report).model_copy(update=known)


def begun_anew(state: LoopState, report: CheckReport | None) -> LoopState:
    """A loop whose branch got the work of others. What was measured before says nothing of the two together.

    `report`: on what it goes on from, where that was checked. The ladder stays where it is: it is about the loop, not the tree.
    """
    earlier = state.oversight
    forgotten: dict[str, Any] = {
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
    after = state.model_copy(update=forgotten)
    return _compared_with(after, report) if report and report.results else after


def _compared_with(state: LoopState, report: CheckReport) -> LoopState:
    known = most_tests({}, report)
    items = state.plan.done / state.plan.total if state.plan.total else None
    progress = shares_of(report, known, Progress(), 0.0 if state.config.judge.criteria else None, items)
    # Nobody worked on the tree before the first iteration, so whatever asks what an agent did passes over it.
    nobody = {"iteration": BASE, "at": state.updated_at, "outcome": AgentOutcome.FINISHED, "movement": Movement.WAITED}
    where = {"start": state.head, "commit": state.head, "tree": report.tree, "completion": progress.completion}
    summary = IterationSummary.model_validate(nobody | where | _checks(report))
    return state.model_copy(
        update={
            "checks": report,
            "best_checks": report,
            "most_tests": known,
            "plan": state.plan.model_copy(update={"floor": floor_of(report)}),
            "history": (summary,),
            "oversight": state.oversight.model_copy(update={"progress": progress, "best": checkpoint(summary)}),
        }
    )


GREEN = "every check passes before any work: they do not show whether the goal is reached"
NOTHING_ELSE = (
    "every check is already green and nothing else can prove the goal: add a test that fails, or criteria for a judge ([judge]);"
    " otherwise a new test that fails without the work has to show it"
)
NO_CHECK = "no check and no criterion touches the goal: nothing will be verified"


def start_warnings(config: LoopConfig, report: CheckReport | None, items: Sequence[PlanItem]) -> Iterator[str]:
    """`report`: of the checks before any work, where they were tried. `items`: what of a plan the loop is for."""
    judged = bool(config.judge.criteria)
    if not config.checks and not judged and not items:
        yield NO_CHECK
    if report is not None and report.passed:
        yield GREEN if judged or items else NOTHING_ELSE
    left = [item for item in items if not item.done]
    without = [item.id for item in left if not item.check]
    if without:
        who = "they will be judged" if judged else "a person will be asked"
        have = "has" if len(without) == 1 else "have"
        yield f"{len(without)} of {len(left)} items {have} no check: {who}, unless a test names the item ({some(without)})"
