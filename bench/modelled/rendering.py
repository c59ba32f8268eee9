"""Render a modelled iteration as the records of a real loop."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from bench.modelled.worlds import Character, Step, Tree
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
SHOWN = 4
"""Failing tests whose details the output contains; the summary names them all."""
NAMED = 50
TOKENS_A_DOLLAR = 400_000

WEAKENED = Finding(
    rule="trusted.expectations",
    weight=Weight.BLOCK,
    path="tests/test_items.py",
    message="an assertion was weakened",
    honest="make the code do what the assertion says",
)
WANTS = Claims(wants_to_finish=True, how="<promise>COMPLETE</promise>")


def config(of: Character, **sections: object) -> LoopConfig:
    """The defaults, with the checks of this agent's repository."""
    return LoopConfig.model_validate({"goal": "make every test pass", "checks": COMMANDS[of.check], **sections})


def evidence(of: Character, state: LoopState, step: Step, commit: str, now: datetime) -> Evidence:
    """Evidence of the loop at the end of this iteration."""
    execution = Execution(call=_call(step, now), change=_change(state.head, step, commit))
    report = _report(of, state.checks, step) if execution.needs_checks else None
    found = Evidence(
        execution=execution,
        checks=report,
        findings=(WEAKENED,) if step.tree.cheats else (),
        claims=WANTS if step.asked else Claims(),
        drift=Drift(deeds=step.deeds, related=step.related),
    )
    return found.model_copy(update={"proof": prove(state.config, state.done, found)})


def base_report(of: Character, tree: Tree) -> CheckReport:
    """Report of the checks before any work."""
    return _report(of, None, Step(tree))


def _call(step: Step, now: datetime) -> AgentCall:
    tokens = int(step.dollars * TOKENS_A_DOLLAR)
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
    files = tuple(f"{step.folder}/part_{step.place}_{number}.py" for number in range(step.changed))
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


def _report(of: Character, before: CheckReport | None, step: Step) -> CheckReport:
    """Report of the checks. They do not run again on an unchanged tree."""
    if before is not None and before.tree == step.tree.identity:
        return before
    return CheckReport(tree=step.tree.identity, results=tuple(_results(of, step)))


def _results(of: Character, step: Step) -> Iterator[CheckResult]:
    if of.check in {"opaque", "listing"}:
        yield _result("./acceptance.sh", step.green, _scenarios(step, 1 if of.check == "opaque" else step.tree.tests))
        return
    counts = _counts(step)
    flaky = tuple(_name(test) for test in step.flaky)
    said = _import_error(step.tree.broken) if step.tree.broken else _pytest(step, counts)
    yield _result("pytest", step.green, said).model_copy(update={"counts": counts, "flaky": flaky})
    if of.check == "typed":
        objections = 1 if step.tree.broken else len(step.tree.failing) // 3
        yield _result("mypy src", not objections, _mypy(step.tree, objections))


def _result(command: str, passed: bool, output: str) -> CheckResult:
    return CheckResult(
        name=command, command=command, passed=passed, exit_code=0 if passed else 1, seconds=2.0, head="" if passed else output
    )


def _counts(step: Step) -> TestCounts:
    if step.tree.broken:
        return TestCounts(failed=1, failing=("tests/test_items.py",))
    failing = dict(step.tree.shown) | dict.fromkeys(step.unlucky, 0)
    names = tuple(map(_name, sorted(failing)[:NAMED]))
    return TestCounts(passed=step.tree.tests - len(failing), failed=len(failing), failing=names)


def _name(test: int) -> str:
    return f"tests/test_items.py::test_item_{test:03d}"


def _pytest(step: Step, counts: TestCounts) -> str:
    failing = dict.fromkeys(step.unlucky, 0) | dict(step.tree.shown)
    shown = sorted(failing.items())[:SHOWN]
    own = [f"____ test_item_{test:03d} ____\n\nE       AssertionError: {_words(far)}\n" for test, far in shown]
    recap = [f"FAILED {_name(test)} - AssertionError: {_words(far)}" for test, far in shown]
    summary = f"==== {counts.failed} failed, {counts.passed} passed in 0.12s ===="
    return "\n".join(("==== FAILURES ====", *own, "==== short test summary info ====", *recap, summary))


def _words(far: int) -> str:
    """Message of an assertion at a distance: a number alone would not count as a different failure."""
    return ("no such item", "the total is wrong", "the order differs", "the name is missing", "the date is off")[far % 5]


def _import_error(module: str) -> str:
    return (
        "==== ERRORS ====\n____ ERROR collecting tests/test_items.py ____\ntests/test_items.py:3: in <module>\n"
        f"    from app import {module}\nE   ImportError: cannot import name '{module}' from 'app'\n"
        "==== short test summary info ====\nERROR tests/test_items.py\n==== 1 error in 0.10s ===="
    )


def _mypy(tree: Tree, errors: int) -> str:
    place = tree.failing[0][0] if tree.failing else 0
    said = f"src/app/item_{place:03d}.py:12: error: Incompatible return value type  [return-value]"
    return f"{said}\nFound {errors} error{'s' * (errors != 1)} in {errors} file{'s' * (errors != 1)} (checked 9 source files)"


def _scenarios(step: Step, most: int) -> str:
    """Output of a custom script, which no parser of test reports knows."""
    if step.tree.broken:
        return f"ImportError: cannot import name '{step.tree.broken}' from 'app'"
    failing = dict.fromkeys(step.unlucky, 0) | dict(step.tree.shown)
    return "\n".join(f"FAIL scenario {test:03d}: {_words(far)}" for test, far in sorted(failing.items())[:most])
