"""An iteration as the overseer remembers it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from helmsman.oversee.movement import BASE, movement
from helmsman.parsers.failures import failure_of
from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.records.evidence import AgentCall, AgentOutcome
from helmsman.records.iteration import Evidence
from helmsman.records.moments import MOST_ERRORS, MOST_NAMES, Moment, Movement, Progress
from helmsman.records.oversight import Checkpoint
from helmsman.records.session import ErrorVector, FailureClass
from helmsman.records.state import LoopState
from helmsman.verify.completion import changed_tests_only

NAME = 200
"""Characters of a path or name that are kept: a path may be 4,096 long, and a test's name anything."""
TROUBLES = 3
READ = 6000
"""Characters at each end of an output in which its failure is looked for."""
REVERTED = "reverted"
"""The guard rail that sees files edited back."""


def moment_of(state: LoopState, evidence: Evidence, progress: Progress, started_at: datetime, now: datetime) -> Moment:
    """The iteration that is due in `state`."""
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
    }
    draft = Moment.model_validate(told | _change(evidence) | _call(evidence.execution.call) | _checks(evidence.checks))
    return draft.model_copy(update={"movement": movement(state.history, draft)})


def base_moment(state: LoopState, report: CheckReport, progress: Progress) -> Moment:
    """The tree before the first iteration. Nobody worked on it, so whatever asks what an agent did passes over it."""
    nobody = {"iteration": BASE, "at": state.updated_at, "outcome": AgentOutcome.FINISHED, "movement": Movement.WAITED}
    where = {"start": state.head, "commit": state.head, "tree": report.tree, "completion": progress.completion}
    return Moment.model_validate(nobody | where | _checks(report))


def checkpoint(moment: Moment) -> Checkpoint:
    """Its commit, to go back to."""
    return Checkpoint(
        iteration=moment.iteration,
        commit=moment.commit,
        tree=moment.tree,
        completion=moment.completion,
        green=moment.green,
    )


def _change(evidence: Evidence) -> dict[str, Any]:
    change = evidence.execution.change
    return {
        "start": change.start,
        "commit": change.commit,
        "tree": change.tree,
        "files": _names(change.files),
        "files_changed": change.files_changed,
        "insertions": change.insertions,
        "deletions": change.deletions,
        "commits": len(change.commits),
    }


def _call(call: AgentCall) -> dict[str, Any]:
    return {
        "outcome": call.outcome,
        "written": call.usage.output_tokens,
        "tool_calls": call.tool_calls,
        "untold": call.untold,
        "denials": len(call.permission_denials),
        "reverted": sum(one.rule == REVERTED for one in call.guarded),
        "troubles": tuple(sorted(call.errors, key=lambda error: error.times)[::-1][:TROUBLES]),
    }


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
        "failing": _names(name for result in failures for name in (result.name, *_failing(result.counts))),
        "errors": tuple(map(_error, failures[:MOST_ERRORS])),
    }


def _failing(counts: TestCounts | None) -> tuple[str, ...]:
    return counts.failing if counts else ()


def _error(result: CheckResult) -> ErrorVector:
    """What a failing check says: the failures that a report counts are surer than those that its output does."""
    error = failure_of("Bash", result.command, _said(result))
    counted = {"extent": result.counts.failed} if result.counts and result.counts.failed > 0 else {}
    late = {"kind": FailureClass.TIMEOUT} if result.timed_out else {}
    return error.model_copy(update=counted | late)


def _said(result: CheckResult) -> str:
    """The output as a shell would show it: an exit code may say by itself what happened."""
    code = f"Exit code {result.exit_code}" if result.exit_code is not None else result.error
    ends = (result.head[:READ], result.tail[-READ:]) if result.tail else _ends(result.head)
    return "\n".join(part for part in (code, *ends) if part)


def _ends(text: str) -> tuple[str, str]:
    return (text, "") if len(text) <= 2 * READ else (text[:READ], text[-READ:])


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order that they came in."""
    return tuple(dict.fromkeys(name[:NAME] for name in names))[:MOST_NAMES]
