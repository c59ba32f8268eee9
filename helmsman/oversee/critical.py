"""Critical events, which end a loop at once.

Each kind is rare by construction: a false alarm ejects honest work. Reaching a limit is not critical.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from helmsman.oversee.cycles import ENVIRONMENT_FAILURES
from helmsman.oversee.detector import Detection, Detector
from helmsman.oversee.limits import gauges
from helmsman.oversee.progress import UNRUNNABLE, is_base, is_comparable, shows_kept_work
from helmsman.plain import short_line
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Leak, Scan, Weakness, Weight
from helmsman.records.control import IterationSummary
from helmsman.records.decision import Alert, Severity
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState, Spending
from helmsman.texts import plural
from helmsman.verify.findings import join_some

LEAST_TESTS = 3  # one or two tests can fail for one small reason; three mean that everything broke
LEAST_SHARE = 0.5
"""Share of previously passing tests that must fail now; fewer are unreadable files, each counted as one failure."""
UNJUDGED = UNRUNNABLE | ENVIRONMENT_FAILURES | {FailureClass.TYPES, FailureClass.USAGE, FailureClass.PERMISSION}
"""Failures that keep tests from saying anything about the code, such as a broken build or an unavailable database."""
EXCEEDED_AT = 1.25  # share from which a budget is exceeded: a limit stops the loop at 1, so one call used the rest
SHOWN = 5
_LONGEST = 120
_BRING_BACK = "find out what was deleted or sent, and restore it, before anything runs here again"
_READ = "run the command of pain.scan to see them, then fix the code or suppress false positives in the scanner"


def critical_events(
    state: LoopState,
    history: Sequence[IterationSummary],
    evidence: Evidence,
    leaks: Sequence[Leak],
    scan: Sequence[Weakness],
    spending: Spending,
    destroyed: Sequence[str] = (),
) -> tuple[Alert, ...]:
    """Critical events after an iteration, each with ABORT; doubtful leaks are only warnings.

    `history` ends with this iteration. `scan`: findings that are new since the loop started; `spending`: total so far;
    `destroyed`: why executed commands were destructive, one sentence each.
    """
    weaknesses = [f"{finding.path}:{finding.line} {finding.rule}" for finding in scan]
    kinds: Mapping[str, Iterable[Detection]] = {
        "all_tests": _find_all_tests_failing(state, history, evidence),
        "secrets": _find_secrets(state, evidence, leaks),
        "destructive": _summarize(
            "pain.destructive", "destructive command", destroyed, "ran despite the guardrails", _BRING_BACK
        ),
        "budget": _find_exceeded_budget(state, history, spending),
        "security": _summarize(
            "pain.security", "finding", weaknesses, "of high severity in the security scan, new since the loop started", _READ
        ),
    }
    detections = [finding for kind, seen in kinds.items() if kind not in state.config.pain.off for finding in seen]
    return tuple(Detector("", Severity.ABORT, lambda: detections).alerts())


def _find_all_tests_failing(state: LoopState, history: Sequence[IterationSummary], evidence: Evidence) -> Iterator[Detection]:
    """Every test fails. Reported once, when it starts: from then on a person is involved."""
    if not history or not shows_kept_work(history[-1]):
        return
    *earlier, now = [summary for summary in history if is_comparable(summary) and not summary.undone]
    before = earlier[-1] if earlier else None
    if before is None or before.failing_tests or before.passing_tests < LEAST_TESTS or now.green or now.passing_tests:
        return
    if not _tests_failed_themselves(now, before) or (evidence.checks and not evidence.checks.is_conclusive):
        return
    when = "before the first iteration" if is_base(before) else f"at the end of iteration {before.iteration}"
    message = (
        f"{now.failing_tests} tests fail and none passes, after all {before.passing_tests} passed {when};"
        f" see what changed in {state.branch} since then: git diff {before.commit[:12]} {now.commit[:12]}"
    )
    yield Detection(message, now.failing_tests, LEAST_TESTS, rule="pain.all_tests")


def _tests_failed_themselves(summary: IterationSummary, before: IterationSummary) -> bool:
    """Whether the tests ran and failed because of what they test. An iteration that changed only tests may be test-first."""
    many = summary.failing_tests >= max(LEAST_TESTS, LEAST_SHARE * before.passing_tests)
    return many and not summary.test_only and not any(error.kind in UNJUDGED for error in summary.errors)


def _find_secrets(state: LoopState, evidence: Evidence, leaks: Sequence[Leak]) -> Iterator[Detection]:
    sure = [leak for leak in leaks if leak.weight is Weight.BLOCK]
    doubtful = [leak for leak in leaks if leak.weight is not Weight.BLOCK]
    change = evidence.execution.change
    if sure:
        message = (
            f"{plural(len(sure), 'secret')} committed between {change.start[:12]} and {change.commit[:12]}: {_list_leaks(sure)};"
            f" revoke them where they were issued, and push {state.branch} only after removing them from its history."
            " Mark a false positive with `pragma: allowlist secret` on its line"
        )
        yield Detection(message, len(sure), 0, rule="pain.secret")
    if doubtful:
        message = f"{plural(len(doubtful), 'line')} may contain secrets, but probably do not: {_list_leaks(doubtful)}"
        yield Detection(message, len(doubtful), 0, Severity.WARN, "secrets.doubtful")


def _list_leaks(leaks: Sequence[Leak]) -> str:
    return _join_some(f"{leak.path}:{leak.line} {leak.kind}{f' ({leak.doubt})' if leak.doubt else ''}" for leak in leaks)


def _find_exceeded_budget(state: LoopState, history: Sequence[IterationSummary], spending: Spending) -> Iterator[Detection]:
    """Cost, tokens and time. Excludes the wait before the last iteration, which a usage limit caused."""
    seconds = state.spending.seconds + history[-1].seconds if history else spending.seconds
    used = spending.model_copy(update={"seconds": min(spending.seconds, seconds)})
    for gauge in gauges(state.config.limits, used, state.iteration):
        if gauge.name != "iterations" and gauge.share >= EXCEEDED_AT:
            message = (
                f"{gauge.text} used: {gauge.share:.0%} of the limit, the loop is ejected from {EXCEEDED_AT:.0%} on;"
                f" find out what used so much in one iteration before you raise limits.{gauge.name}"
            )
            yield Detection(message, gauge.used, gauge.limit * EXCEEDED_AT, rule="pain.budget")


def _summarize(rule: str, noun: str, seen: Sequence[str], about: str, remedy: str) -> Iterator[Detection]:
    if seen:
        yield Detection(f"{plural(len(seen), noun)} {about}: {_join_some(seen)}; {remedy}", len(seen), 0, rule=rule)


def _join_some(parts: Iterable[str]) -> str:
    """The first few, each as one short printable line."""
    return join_some([short_line(part[:1000], _LONGEST) for part in parts], most=SHOWN)


def new_findings(before: Scan, now: Scan) -> tuple[Weakness, ...]:
    """High-severity findings that the first scan did not have. Moved lines and renamed files are not new.

    Nothing is new if the first scan is unknown or had more high-severity findings than are stored.
    """
    earlier, findings = ([finding for finding in scan.findings if finding.severity == "high"] for scan in (before, now))
    if before.error or (before.left_out and len(earlier) == len(before.findings)):
        return ()
    remaining, fresh = Counter((finding.rule, finding.digest) for finding in earlier), list[Weakness]()
    for finding in findings:
        remaining[finding.rule, finding.digest] -= 1
        fresh += [finding] if remaining[finding.rule, finding.digest] < 0 else []
    return tuple(fresh)
