"""LoopResult, printed by `--json` and returned by a finished flow run."""

from pydantic import Field

from helmsman.records.base import Record
from helmsman.records.checks import CheckResult
from helmsman.records.control import LATER
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from helmsman.records.tracking import IssueLink, Merged

EXIT_CODES = {
    Outcome.COMPLETED: 0,
    Outcome.FAILED: 1,
    Outcome.STOPPED: 3,
    Outcome.WAITING: 4,
    Outcome.EJECTED: 5,
    Outcome.UNPROVEN: 6,
    Outcome.NOTHING_CHANGED: 7,
    Outcome.BLOCKED: 8,
    Outcome.CANCELLED: 130,
}
OPERATOR_EXIT_CODE = 2


class CheckSummary(Record):
    """One check in a line; test numbers are null if the output has none."""

    command: str
    passed: bool
    exit_code: int | None
    tests_passed: int | None = None
    tests_failed: int | None = None
    tests_skipped: int | None = None


class LoopResult(Record):
    """State of a loop."""

    loop: str
    outcome: Outcome | None
    """None while the loop is not ended: running, or interrupted and not yet resumed."""
    rule: str
    reason: str
    iterations: int
    agent_calls: int
    cost_usd: float
    tokens: int
    seconds: float
    branch: str
    commit: str
    state_ref: str
    checks: tuple[CheckSummary, ...]
    merged: Merged | None = None
    issue: IssueLink | None = None
    later: str = ""
    """Ref of later work, if the loop ended at its best tree instead of its last one; else empty."""
    verified: bool = True
    """Whether the state carries Helmsman's signature. If not, anyone may have written these values."""
    proven: str = Field(default="", exclude=True)
    """The commit that was proven, if commits of Helmsman follow it on the branch of a completed loop; else empty."""
    unverified: str = Field(default="", exclude=True)
    """What was found instead of a signed state; empty: it is verified."""
    git_changes: tuple[str, ...] = Field(default=(), exclude=True)
    """What a person's git runs or follows and was changed since the loop began."""
    untold: tuple[str, ...] = Field(default=(), exclude=True)
    """What the agent's program does not report: such numbers are unknown, not 0. `status --json` lists them."""


def result_of(state: LoopState, state_ref: str, unverified: str = "") -> LoopResult:
    """Summarize a state for people and machines. `unverified`: what was found if the state lacks Helmsman's signature."""
    reason_source = state.ending or state.waiting
    return LoopResult(
        loop=state.loop,
        outcome=state.outcome,
        rule=reason_source.rule if reason_source else "",
        reason=reason_source.reason if reason_source else "",
        iterations=state.iteration,
        agent_calls=state.spending.agent_calls,
        cost_usd=round(state.spending.cost_usd, 6),
        tokens=state.spending.tokens,
        seconds=round(state.spending.seconds, 3),
        branch=state.branch,
        commit=state.head,
        state_ref=state_ref,
        checks=tuple(map(_summary, state.checks.results)) if state.checks else (),
        merged=state.merged,
        issue=state.issue,
        later=state.failed.ref if state.ending and state.failed and state.failed.rule == LATER else "",
        proven=state.verified if state.outcome is Outcome.COMPLETED and state.verified != state.head else "",
        verified=not unverified,
        unverified=unverified,
        git_changes=state.oversight.git.followed,
        untold=state.untold,
    )


def exit_code(state: LoopState) -> int:
    """Exit status of the process that ran the loop."""
    if state.ending is not None and state.ending.fault == "operator":
        return OPERATOR_EXIT_CODE
    return 1 if state.outcome is None else EXIT_CODES[state.outcome]


def _summary(result: CheckResult) -> CheckSummary:
    counts = result.counts.model_dump(include={"passed", "failed", "skipped"}) if result.counts else {}
    fields = result.model_dump(include={"command", "passed", "exit_code"})
    return CheckSummary.model_validate(fields | {f"tests_{name}": number for name, number in counts.items()})
