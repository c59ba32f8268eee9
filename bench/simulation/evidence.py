"""Records of a real loop for a simulated iteration."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from bench.simulation.model import AgentProfile, Step, Tree
from helmsman.config import LoopConfig
from helmsman.records.agent import AgentCall, AgentOutcome, Change, Commit, Drift, Execution, Guarded, RateLimit
from helmsman.records.base import Usage
from helmsman.records.checks import CheckReport, CheckResult, Finding, TestCounts, Weight
from helmsman.records.claims import Claims
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState
from helmsman.verify.completion import prove

COMMANDS = {
    "pytest": ("pytest",),
    "typed": ("pytest", "mypy src"),
    "listing": ("./acceptance.sh",),
    "opaque": ("./acceptance.sh",),
}
DETAILED = 4
"""Failing tests whose details the output contains; the summary names them all."""
LISTED = 50
TOKENS_PER_DOLLAR = 400_000

WEAKENED_ASSERTION = Finding(
    rule="trusted.expectations",
    weight=Weight.BLOCK,
    path="tests/test_items.py",
    message="an assertion was weakened",
    honest="make the code do what the assertion says",
)
COMPLETION_CLAIM = Claims(wants_to_finish=True, how="<promise>COMPLETE</promise>")


def loop_config(profile: AgentProfile, **sections: object) -> LoopConfig:
    """The defaults, with the checks of this agent's repository."""
    return LoopConfig.model_validate({"goal": "make every test pass", "checks": COMMANDS[profile.check], **sections})


def build_evidence(profile: AgentProfile, state: LoopState, step: Step, commit: str, now: datetime) -> Evidence:
    """Evidence at the end of this iteration."""
    execution = Execution(call=_call(step, now), change=_change(state.head, step, commit))
    report = _report(profile, state.checks, step) if execution.needs_checks else None
    evidence = Evidence(
        execution=execution,
        checks=report,
        findings=(WEAKENED_ASSERTION,) if step.tree.is_gamed else (),
        claims=COMPLETION_CLAIM if step.claims_completion else Claims(),
        drift=Drift(deeds=step.actions, related=step.related_actions),
    )
    return evidence.model_copy(update={"proof": prove(state.config, state.done, evidence)})


def base_report(profile: AgentProfile, tree: Tree) -> CheckReport:
    """Report of the checks before any work."""
    return _report(profile, None, Step(tree))


def _call(step: Step, now: datetime) -> AgentCall:
    tokens = int(step.dollars * TOKENS_PER_DOLLAR)
    reset = now + timedelta(minutes=step.reset_minutes)
    limited = step.outcome is AgentOutcome.USAGE_LIMIT
    return AgentCall(
        outcome=step.outcome,
        exit_code=1 if limited else 0,
        seconds=step.seconds,
        usage=Usage(cost_usd=step.dollars, cache_read_tokens=tokens, output_tokens=tokens // 100),
        turns=step.tool_calls,
        tools=(("Bash", step.tool_calls),) if step.tool_calls else (),
        permission_denials=("Bash",) * step.denials,
        guarded=tuple(
            Guarded(rule="reverted", tool="Edit", detail="src/app/core.py", denied=False) for _ in range(step.reverted)
        ),
        rate_limit=RateLimit(status="rejected", window="five_hour", resets_at=reset) if limited else None,
    )


def _change(start: str, step: Step, commit: str) -> Change:
    files = tuple(f"{step.folder}/part_{step.file_id}_{number}.py" for number in range(step.changed))
    return Change(
        start=start,
        commit=commit,
        tree=step.tree.identity,
        commits=(Commit(id=commit, subject="work"),) if commit != start else (),
        files=files,
        files_changed=len(files),
        insertions=step.insertions,
        deletions=step.deletions,
    )


def _report(profile: AgentProfile, before: CheckReport | None, step: Step) -> CheckReport:
    """Report of the checks. They do not run again on an unchanged tree."""
    if before is not None and before.tree == step.tree.identity:
        return before
    return CheckReport(tree=step.tree.identity, results=tuple(_results(profile, step)))


def _results(profile: AgentProfile, step: Step) -> Iterator[CheckResult]:
    if profile.check in {"opaque", "listing"}:
        yield _result("./acceptance.sh", step.is_green, _scenarios(step, 1 if profile.check == "opaque" else step.tree.tests))
        return
    counts = _counts(step)
    flaky = tuple(_test_name(test) for test in step.flaky)
    output = _import_error(step.tree.broken_module) if step.tree.broken_module else _pytest(step, counts)
    yield _result("pytest", step.is_green, output).model_copy(update={"counts": counts, "flaky": flaky})
    if profile.check == "typed":
        errors = 1 if step.tree.broken_module else len(step.tree.failing) // 3
        yield _result("mypy src", not errors, _mypy(step.tree, errors))


def _result(command: str, passed: bool, output: str) -> CheckResult:
    return CheckResult(
        name=command, command=command, passed=passed, exit_code=0 if passed else 1, seconds=2.0, head="" if passed else output
    )


def _counts(step: Step) -> TestCounts:
    if step.tree.broken_module:
        return TestCounts(failed=1, failing=("tests/test_items.py",))
    failing = dict(step.tree.reported_failures) | dict.fromkeys(step.chance_failures, 0)
    names = tuple(map(_test_name, sorted(failing)[:LISTED]))
    return TestCounts(passed=step.tree.tests - len(failing), failed=len(failing), failing=names)


def _test_name(test: int) -> str:
    return f"tests/test_items.py::test_item_{test:03d}"


def _pytest(step: Step, counts: TestCounts) -> str:
    failing = dict.fromkeys(step.chance_failures, 0) | dict(step.tree.reported_failures)
    detailed = sorted(failing.items())[:DETAILED]
    sections = [
        f"____ test_item_{test:03d} ____\n\nE       AssertionError: {_assertion_message(point)}\n" for test, point in detailed
    ]
    summary_lines = [f"FAILED {_test_name(test)} - AssertionError: {_assertion_message(point)}" for test, point in detailed]
    summary = f"==== {counts.failed} failed, {counts.passed} passed in 0.12s ===="
    return "\n".join(("==== FAILURES ====", *sections, "==== short test summary info ====", *summary_lines, summary))


def _assertion_message(point: int) -> str:
    """Message of an assertion at this point: a number alone would not count as a different failure."""
    return ("no such item", "the total is wrong", "the order differs", "the name is missing", "the date is off")[point % 5]


def _import_error(module: str) -> str:
    return (
        "==== ERRORS ====\n____ ERROR collecting tests/test_items.py ____\ntests/test_items.py:3: in <module>\n"
        f"    from app import {module}\nE   ImportError: cannot import name '{module}' from 'app'\n"
        "==== short test summary info ====\nERROR tests/test_items.py\n==== 1 error in 0.10s ===="
    )


def _mypy(tree: Tree, errors: int) -> str:
    test = tree.failing[0][0] if tree.failing else 0
    message = f"src/app/item_{test:03d}.py:12: error: Incompatible return value type  [return-value]"
    return f"{message}\nFound {errors} error{'s' * (errors != 1)} in {errors} file{'s' * (errors != 1)} (checked 9 source files)"


def _scenarios(step: Step, limit: int) -> str:
    """Output of a custom script in a format that no parser knows."""
    if step.tree.broken_module:
        return f"ImportError: cannot import name '{step.tree.broken_module}' from 'app'"
    failing = dict.fromkeys(step.chance_failures, 0) | dict(step.tree.reported_failures)
    return "\n".join(f"FAIL scenario {test:03d}: {_assertion_message(point)}" for test, point in sorted(failing.items())[:limit])
