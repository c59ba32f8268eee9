"""Records with defaults for every field."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from helmsman.config import LoopConfig
from helmsman.oversee.decide import Situation
from helmsman.oversee.signals import IterationView
from helmsman.records.agent import AgentCall, AgentOutcome, Change, Execution, RateLimit
from helmsman.records.base import Usage
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.claims import Claims
from helmsman.records.control import Oversight
from helmsman.records.decision import Alert, Decision, Outcome, Severity
from helmsman.records.iteration import Evidence, IterationRecord, Orientation, WorkingMemory
from helmsman.records.state import LoopState
from helmsman.verify.completion import prove

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ASKED = Claims(wants_to_finish=True, how="<promise>COMPLETE</promise>")
SILENT = Claims()
CONTINUE = Decision(kind="continue", rule="continue", reason="the check fails", at=NOW)
STOP = Decision(kind="stop", rule="completion.verified", reason="done", at=NOW, outcome=Outcome.COMPLETED)
WAIT = Decision(kind="wait", rule="agent.usage_limit", reason="usage limit", at=NOW, until=NOW + HOUR, repeat=True)
LIMIT_REACHED = Alert(rule="limits.cost_usd", severity=Severity.ABORT, message="50 of 50 US dollars used (100%)")


def config(goal: str = "make the tests pass", **sections: Any) -> LoopConfig:
    return LoopConfig.model_validate({"goal": goal, "checks": ("pytest",), **sections})


def state(of: LoopConfig | None = None, **fields: Any) -> LoopState:
    start = {"loop": "mend-it", "uid": "u1", "created_at": NOW, "updated_at": NOW, "base_commit": "b" * 40}
    place = {"base_branch": "main", "branch": "helmsman/mend-it", "head": "b" * 40}
    return LoopState.model_validate({**start, **place, "config": of or config(), **fields})


def call(outcome: AgentOutcome = AgentOutcome.FINISHED, **fields: Any) -> AgentCall:
    usage = Usage(cost_usd=0.5, input_tokens=100, output_tokens=20)
    return AgentCall.model_validate({"outcome": outcome, "exit_code": 0, "seconds": 30, "usage": usage, **fields})


def usage_limited(resets_at: datetime | None = None) -> AgentCall:
    limit = RateLimit(status="rejected", window="five_hour", resets_at=resets_at)
    return call(AgentOutcome.USAGE_LIMIT, rate_limit=limit)


def execution(of: AgentCall | None = None, *, files_changed: int = 1, commit: str = "c" * 40) -> Execution:
    change = Change(start="b" * 40, commit=commit, tree="d" * 40, files_changed=files_changed)
    return Execution(call=of or call(), change=change)


def check(*, passed: bool, **fields: Any) -> CheckResult:
    result = {"name": "pytest", "command": "pytest", "exit_code": 0 if passed else 1, "seconds": 1.0}
    return CheckResult.model_validate({**result, "passed": passed, **fields})


def report(*results: CheckResult, left_behind: tuple[str, ...] = ()) -> CheckReport:
    return CheckReport(tree="d" * 40, results=results, left_behind=left_behind)


def record(decision: Decision = CONTINUE, *, lasted: timedelta = MINUTE, **fields: Any) -> IterationRecord:
    """An iteration that began `lasted` before its decision."""
    found: Mapping[str, Any] = {"execution": execution(), "checks": report(check(passed=False)), "claims": SILENT}
    given = {"loop": "mend-it", "iteration": 1, "attempt": 1, "started_at": decision.at - lasted, "decision": decision}
    return IterationRecord.model_validate({**given, **found, "memory": WorkingMemory(), "signals": (), **fields})


def evidence(of: LoopState | None = None, **fields: Any) -> Evidence:
    """What an iteration brought, with the gates weighed as the loop weighs them."""
    before = of or state()
    found = Evidence.model_validate({"execution": execution(), "checks": report(check(passed=False)), **fields})
    return found.model_copy(update={"proof": fields.get("proof") or prove(before.config, before.done, found)})


def situation(**fields: Any) -> Situation:
    """Fields of a Situation, and any of its Evidence."""
    before = fields.pop("state", None) or state()
    signals, now, oversight = fields.pop("signals", ()), fields.pop("now", NOW), fields.pop("oversight", Oversight())
    return Situation(before, evidence(before, **fields), signals, now, oversight)


def iteration_view(**fields: Any) -> IterationView:
    """A view with these fields; the others are fields of its evidence."""
    before = fields.pop("state", None) or state()
    started_at, now = fields.pop("started_at", NOW - MINUTE), fields.pop("now", NOW)
    return IterationView(before, evidence(before, **fields), started_at, now)


def orientation(**fields: Any) -> Orientation:
    return Orientation.model_validate({"started_at": NOW, "start_commit": "b" * 40, **fields})
