"""Critical events: what ends a loop at once, and look-alikes that do not."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.critical import critical_events, new_findings
from helmsman.parsers.security_scan import read_scan
from helmsman.records.agent import AgentOutcome, ErrorVector, FailureClass
from helmsman.records.checks import MOST_WEAKNESSES, Leak, Scan, Weakness, Weight
from helmsman.records.control import IterationSummary, Movement
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState, Spending
from tests.unit.builders import MINUTE, NOW, check, config, evidence, report, state
from tests.unit.histories import LEGITIMATE

pytestmark = pytest.mark.feature("S13")

OFF = {"off": ("all_tests", "secrets", "destructive")}
LEAK = Leak(path="src/app.py", line=3, kind="AWS Access Key", digest="aabbcc", weight=Weight.BLOCK)
DOUBTFUL = LEAK.model_copy(update={"path": "tests/a.py", "weight": Weight.HINT, "doubt": "a placeholder"})
WEAK = Weakness(rule="B602/subprocess", path="src/app.py", line=6, severity="high", digest="01234567")


def summary(
    iteration: int, passing: int, failing: int = 0, kind: FailureClass = FailureClass.TEST, **fields: Any
) -> IterationSummary:
    """One whose failures, if any, are of this kind."""
    errors = (ErrorVector(kind=kind),) if failing or not passing else ()
    told = {"iteration": iteration, "at": NOW + iteration * MINUTE, "outcome": AgentOutcome.FINISHED, "completion": 0.5}
    counted = {"movement": Movement.SIDEWAYS, "passing_tests": passing, "failing_tests": failing, "errors": errors}
    return IterationSummary.model_validate(
        {**told, **counted, "commit": f"{iteration:040x}", "green": passing > 0 and not failing, **fields}
    )


def critical_alerts(
    *history: IterationSummary,
    leaks: Sequence[Leak] = (),
    scan: Sequence[Weakness] = (),
    destroyed: Sequence[str] = (),
    of: LoopState | None = None,
    found: Evidence | None = None,
    spending: Spending | None = None,
) -> tuple[Alert, ...]:
    loop = of or state()
    return critical_events(loop, history, found or evidence(loop), leaks, scan, spending or Spending(), destroyed)


def rules_of(signals: Sequence[Alert]) -> list[tuple[str, Severity]]:
    return [(signal.rule, signal.severity) for signal in signals]


ABORTED = [("pain.all_tests", Severity.ABORT)]


def test_every_test_failing_after_all_passed_is_critical() -> None:
    (signal,) = critical_alerts(summary(4, 120), summary(5, 0, 120))
    assert (signal.rule, signal.severity, signal.value, signal.threshold) == ("pain.all_tests", Severity.ABORT, 120, 3)
    assert "120 tests fail and none passes, after all 120 passed at the end of iteration 4" in signal.message
    assert f"git diff {4:040x}"[:21] in signal.message


def test_the_first_iteration_can_break_what_passed_before_it() -> None:
    began = summary(0, 120, movement=Movement.WAITED)
    (signal,) = critical_alerts(began, summary(1, 0, 120))
    assert "120 tests fail and none passes, after all 120 passed before the first iteration" in signal.message
    assert critical_alerts(summary(0, 120, 1, movement=Movement.WAITED), summary(1, 0, 121)) == ()
    assert critical_alerts(began) == ()


def test_look_alikes_of_every_test_failing_are_not_critical() -> None:
    cases = {
        "never green": [summary(1, 0, 50), summary(2, 0, 50)],
        "too few tests": [summary(1, 2), summary(2, 0, 2)],
        "red before": [summary(1, 10), summary(2, 4, 6), summary(3, 0, 10)],
        "one still passes": [summary(1, 10), summary(2, 1, 9)],
        "one collection error": [summary(1, 10), summary(2, 0, 1)],
        "a broken import once": [summary(1, 10), summary(2, 0, 10, FailureClass.MISSING_MODULE)],
        "test files without an import once": [summary(1, 10), summary(2, 0, 10, FailureClass.BUILD)],
        "a build mended soon": [summary(1, 10), *[summary(n, 0, 0, FailureClass.BUILD) for n in (2, 3)], summary(4, 10)],
        "tests first": [summary(1, 10), summary(2, 0, 10, test_only=True)],
        "only waited": [summary(1, 10), summary(2, 0, 10, movement=Movement.WAITED)],
        "not checked": [summary(1, 10), summary(2, 0, checked=False)],
        "never built": [summary(1, 0, 0, FailureClass.BUILD), summary(2, 0, 0, FailureClass.BUILD), summary(3, 0, 9)],
    }  # fmt: skip
    for case, history in cases.items():
        assert critical_alerts(*history) == (), case


def test_a_build_that_stays_broken_is_the_ladders_concern() -> None:
    green, broken = summary(1, 10), [summary(n, 0, 0, FailureClass.BUILD) for n in range(2, 9)]
    assert critical_alerts(green, *broken) == ()


def test_reverted_work_is_not_critical() -> None:
    green, undone = summary(1, 10), summary(2, 0, 10, undone=True)
    assert critical_alerts(green, undone) == ()
    assert rules_of(critical_alerts(green, undone, summary(3, 0, 10))) == ABORTED


def test_legitimate_work_is_not_critical() -> None:
    assert [
        name for name, lived in LEGITIMATE.items() if any(critical_alerts(*lived[:end]) for end in range(len(lived) + 1))
    ] == []


def test_checks_that_ran_out_of_time_say_nothing_yet() -> None:
    cut = evidence(checks=report(check(passed=False, timed_out=True)))
    assert critical_alerts(summary(1, 10), summary(2, 0, 10), found=cut) == ()


def test_a_secret_is_critical_with_place_kind_and_remedy() -> None:
    (signal,) = critical_alerts(leaks=[LEAK])
    assert (signal.rule, signal.severity, signal.value) == ("pain.secret", Severity.ABORT, 1)
    assert "src/app.py:3 AWS Access Key" in signal.message
    assert "revoke" in signal.message
    assert "pragma: allowlist secret" in signal.message


def test_a_doubtful_secret_is_only_a_warning() -> None:
    told = critical_alerts(leaks=[DOUBTFUL])
    assert rules_of(told) == [("secrets.doubtful", Severity.WARN)]
    assert "(a placeholder)" in told[0].message


def test_destructive_commands_and_scan_findings_are_critical() -> None:
    told = critical_alerts(destroyed=["it removed /nest/other, outside the working tree"], scan=[WEAK])
    assert rules_of(told) == [("pain.destructive", Severity.ABORT), ("pain.security", Severity.ABORT)]
    assert "/nest/other" in told[0].message
    assert "src/app.py:6 B602/subprocess" in told[1].message


LIMITS: dict[str, Any] = {"cost_usd": 10, "tokens": 1000, "wall_clock_hours": 1}


@pytest.mark.parametrize(
    ("spending", "names"),
    [
        (Spending(cost_usd=12.49, tokens=1249, seconds=4499), []),
        (Spending(cost_usd=12.5), ["cost_usd"]),
        (Spending(tokens=1250), ["tokens"]),
        (Spending(seconds=4500), ["wall_clock_hours"]),
    ],
)
def test_a_budget_is_exceeded_from_the_threshold_on(spending: Spending, names: list[str]) -> None:
    told = critical_alerts(of=state(config(limits=LIMITS)), spending=spending)
    assert [signal.rule for signal in told] == ["pain.budget" for _ in names]
    assert all(f"limits.{name}" in signal.message for name, signal in zip(names, told, strict=True))


def test_kinds_that_are_off_are_not_reported() -> None:
    assert (
        critical_alerts(
            summary(1, 10), summary(2, 0, 10), leaks=[LEAK, DOUBTFUL], destroyed=["it went"], of=state(config(pain=OFF))
        )
        == ()
    )


@given(st.text(max_size=300), st.integers(1, 40))
def test_messages_are_short_lines_whatever_a_path_holds(path: str, many: int) -> None:
    told = critical_alerts(
        leaks=[LEAK.model_copy(update={"path": path})] * many, scan=[WEAK.model_copy(update={"path": path})] * many
    )
    assert [signal.severity for signal in told] == [Severity.ABORT] * 2
    assert all(len(signal.message) < 1200 and signal.message.isprintable() for signal in told)


# security scans -------------------------------------------------------------------------------------------------------

TREE = "/nest/loops/parser"
CALL = '    return subprocess.call(f"ls {name}", shell=True)'
QUOTED = {
    "code": '4 def go(name):\n5     password = "hunter2"\n', "filename": "./src/app.py", "issue_severity": "LOW",
    "issue_text": "Possible hardcoded password: 'hunter2'", "line_number": 5, "test_id": "B105",
    "test_name": "hardcoded_password_string",
}  # fmt: skip


def shell_call(line: int = 6, path: str = "./src/app.py", above: str = '    password = "hunter2"', code: str = CALL) -> Any:
    """As bandit 1.9 prints it, with a neighbouring line."""
    return {
        "code": f"{line - 1} {above}\n{line} {code}\n", "filename": path, "issue_confidence": "HIGH", "issue_severity": "HIGH",
        "issue_text": "subprocess call with shell=True identified, security issue.", "line_number": line, "line_range": [line],
        "test_id": "B602", "test_name": "subprocess_popen_with_shell_equals_true",
    }  # fmt: skip


def bandit(*results: Any) -> Scan:
    return read_scan(json.dumps({"errors": [], "results": results}, indent=1), TREE)


def sarif(*results: Any, rules: Sequence[Any] = ()) -> Scan:
    return read_scan(json.dumps({"runs": [{"tool": {"driver": {"rules": rules}}, "results": results}]}), TREE)


def result(**fields: Any) -> Any:
    """As bandit 1.9 prints it in SARIF."""
    region = {"startLine": 6, "snippet": {"text": f"{CALL}\n"}}
    place = {"physicalLocation": {"region": region, "artifactLocation": {"uri": "src/app.py"}}}
    return {"message": {"text": "issue"}, "level": "error", "locations": [place], "ruleId": "B602", "ruleIndex": 0, **fields}


def test_bandit_s_report_is_read_with_the_severest_first() -> None:
    first, second = bandit(QUOTED, shell_call()).findings
    assert (first.rule, first.path, first.line) == ("B602/subprocess_popen_with_shell_equals_true", "src/app.py", 6)
    assert (first.severity, second.severity) == ("high", "low")


def test_words_of_a_scanner_are_not_kept_because_it_quotes_passwords() -> None:
    assert "hunter2" not in bandit(QUOTED, shell_call()).model_dump_json()


def test_sarif_and_bandit_agree_about_the_same_line() -> None:
    (ours,), (theirs,) = bandit(shell_call()).findings, sarif(result()).findings
    assert (ours.path, ours.line, ours.severity, ours.digest) == (theirs.path, theirs.line, theirs.severity, theirs.digest)


def test_severities_of_sarif() -> None:
    for fields, rule, severity in [
        ({}, {}, "high"),
        ({"level": "warning"}, {}, "medium"),
        ({"level": "note"}, {}, "low"),
        ({"level": None}, {"defaultConfiguration": {"level": "error"}}, "high"),
        ({"level": "warning"}, {"properties": {"security-severity": "9.8"}}, "high"),
        ({"level": "error"}, {"properties": {"security-severity": "3.1"}}, "low"),
        ({"level": "note", "properties": {"issue_severity": "HIGH"}}, {}, "high"),
    ]:
        assert [one.severity for one in sarif(result(**fields), rules=[{"id": "B602", **rule}]).findings] == [severity]


def test_what_was_suppressed_is_no_finding_and_what_somebody_would_like_to_suppress_is_one() -> None:
    for status, left in (({}, 0), ({"status": "accepted"}, 0), ({"status": "underReview"}, 1), ({"status": "rejected"}, 1)):
        asked = [{"kind": "external", "status": "accepted"}, {"kind": "inSource", **status}]
        assert len(sarif(result(suppressions=asked)).findings) == left


@pytest.mark.parametrize("place", [-1, None, 0, 7, "0", 10**20, True])
def test_a_place_that_names_no_rule_or_another_one_does_not_lend_its_severity(place: Any) -> None:
    rules = [
        {"id": "OTHER", "properties": {"security-severity": "2.0"}},
        {"id": "B602", "properties": {"security-severity": "9.8"}},
    ]
    (found,) = sarif(result(ruleId="B602", ruleIndex=place), rules=rules).findings
    assert (found.rule, found.severity) == ("B602", "high")


@pytest.mark.parametrize("output", ["", "no report", "[]", "{}", '{"results": ', "{" * 100_000, '{"a": 1}'])
def test_what_is_no_report_is_an_error(output: str) -> None:
    assert read_scan(output, TREE).error
    assert read_scan(output, TREE).findings == ()


JSON = st.recursive(st.none() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=3), max_leaves=9)
KEYS = st.sampled_from(["code", "filename", "line_number", "test_id", "ruleId", "ruleIndex", "level", "locations", "properties"])


@given(st.lists(st.dictionaries(KEYS, JSON, max_size=6) | JSON, max_size=6), st.sampled_from(["results", "runs"]))
def test_any_report_can_be_read(results: Any, kind: str) -> None:
    body = {"results": results} if kind == "results" else {"runs": [{"results": results}, *results]}
    assert read_scan(json.dumps(body), TREE).error == ""


def test_a_line_that_was_not_there_is_new() -> None:
    assert [one.line for one in new_findings(bandit(QUOTED), bandit(QUOTED, shell_call()))] == [6]


def test_a_second_copy_of_a_bad_line_is_new() -> None:
    assert len(new_findings(bandit(shell_call()), bandit(shell_call(), shell_call(90)))) == 1


def test_what_was_there_before_in_another_place_is_not_new() -> None:
    cases = {
        "moved down": bandit(shell_call(60)),
        "a neighbour changed": bandit(shell_call(above="    password = load()")),
        "named absolutely": bandit(shell_call(path=f"{TREE}/src/app.py")),
        "file renamed": bandit(shell_call(path="./src/moved.py")),
        "indented": bandit(shell_call(code=f"    {CALL}")),
        "only low ones": bandit(QUOTED),
        "fixed": bandit(),
    }
    for case, now in cases.items():
        assert new_findings(bandit(shell_call()), now) == (), case


def test_nothing_is_new_compared_with_what_is_not_known() -> None:
    full = bandit(*(shell_call(code=f"call({number})") for number in range(MOST_WEAKNESSES + 1)))
    assert new_findings(Scan(error="it did not end"), bandit(shell_call())) == ()
    assert new_findings(full, bandit(shell_call())) == ()
    assert new_findings(bandit(*[QUOTED] * 300), bandit(shell_call())) != ()
