"""Iterations about which an agent says something, for comparing the two."""

from dataclasses import replace
from typing import Any

from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.records.claims import ClaimLayer
from helmsman.records.evidence import AgentCall, AgentOutcome, Change, CommandRun, Commit
from helmsman.records.memory import Completed, WorkingMemory
from helmsman.verify.claims.contradictions import Case, contradictions
from helmsman.verify.claims.reading import read_claims

PROMISE = "<promise>COMPLETE</promise>"
MINE = Commit(id="abc1234f" + "0" * 32, subject="Retry on a lost connection")
HELMSMANS = Commit(id="fee1dead" + "0" * 32, subject="leftovers")


def change(*files: str, commits: tuple[Commit, ...] = (MINE,), **fields: Any) -> Change:
    found = {"files": files, "files_changed": len(files), "commits": commits, **fields}
    return Change.model_validate({"start": "b" * 40, "commit": "c" * 40, "tree": "d" * 40, **found})


NOTHING = change(commits=())


def call(*commands: str, failed: tuple[str, ...] = (), **fields: Any) -> AgentCall:
    runs = tuple(CommandRun(command=command, failed=command in failed) for command in commands)
    tools = (("Bash", len(runs)), ("Read", 1))
    found = {"outcome": AgentOutcome.FINISHED, "exit_code": 0, "seconds": 1, "commands": runs, "tools": tools, **fields}
    return AgentCall.model_validate(found)


def check(command: str = "pytest", *, passed: bool = True, counts: tuple[int, int] | None = (9, 0), **fields: Any) -> CheckResult:
    numbers = None if counts is None else TestCounts(passed=counts[0], failed=counts[1])
    result = {
        "name": command,
        "command": command,
        "passed": passed,
        "exit_code": 0 if passed else 1,
        "seconds": 1,
        "counts": numbers,
    }
    return CheckResult.model_validate({**result, **fields})


def report(*results: CheckResult) -> CheckReport:
    return CheckReport(tree="d" * 40, results=results)


GREEN = report(check())
RED = report(check("ruff check"), check(passed=False, counts=(7, 2)))


def case(text: str, **fields: Any) -> Case:
    memory = fields.get("memory")
    claims = read_claims(text, PROMISE, before=fields.pop("before", None), after=memory)
    default = Case(claims=claims, change=change("src/app.py"), call=call("pytest"), report=GREEN)
    return replace(default, **fields)


def found(text: str, **fields: Any) -> list[tuple[str, str]]:
    return [(one.layer.value, one.found) for one in contradictions(case(text, **fields)).found]


def wrong(text: str, **fields: Any) -> list[str]:
    return [what for layer, what in found(text, **fields) if layer == ClaimLayer.CONTRADICTION]


def noted(*completed: str, gap: str = "") -> WorkingMemory:
    return WorkingMemory(completed=tuple(Completed(text=text) for text in completed), remaining_gap=gap)
