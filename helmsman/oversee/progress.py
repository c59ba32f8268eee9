"""Progress of the work, counted from results, and how an iteration changed it. The agent's own claims do not count.

Only equality and order count, so names and times have no influence. Numbers are records: completion, tests and extents must
beat every remembered value, so random variation soon stops counting as progress. Replaced failures are compared by name, and
names can be new forever: if an agent fails a different test each time, and the same number, one was fixed and another broken,
which is no progress. The rest, failures without a count and recoveries from the agent's own breakages, is trusted `TRUSTED`
times until completion or tests must improve.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from helmsman.records.agent import CALL_FAILURES, NO_WORK_OUTCOMES, ErrorVector, FailureClass
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.control import Feedback, IterationSummary, Movement, Progress
from helmsman.records.iteration import Evidence

WEIGHTS: Mapping[str, float] = {
    "tests": 5,  # many small steps, each of them run: the finest measure and the hardest to dispute
    "checks": 3,  # also run, but coarse: one check covers anything from a typo to all tests
    "items": 3,  # ticked by evidence, equally coarse
    "criteria": 2,  # a model's opinion of what nothing can run
}
"""Weight of each share in the mean; missing shares are left out."""
UNPROVEN = 0.95  # factor on the mean until completion is proven: green checks without a claim or approval are not done


_Count = tuple[int, int, int]  # minimum, maximum (they differ where a result is unknown), total


def progress_of(evidence: Evidence, before: Progress, most_tests: Mapping[str, int], *, judged: bool = False) -> Progress:
    """Shares after an iteration; `before` if nothing was checked. `judged`: whether a judge must approve.

    `most_tests`: the most tests that each check command ever ran; running fewer never raises a share.
    A check that timed out or could not run is unknown: its share stays as close to the previous one as others allow.
    If a judge is required and has given no verdict, criteria count as unmet; else the first rejection would look like a loss.
    """
    if evidence.checks is None or not evidence.execution.needs_checks:
        return before
    plan, item_proven = evidence.plan, bool(evidence.item and evidence.item.proven)
    items = (plan.done + item_proven) / plan.total if plan and plan.total else before.items
    is_item_verdict = evidence.item is not None and not evidence.proof.open
    score = evidence.judgement.score if evidence.judgement and not is_item_verdict else None  # of the last readable verdict
    unjudged = 0.0 if judged and before.criteria is None else before.criteria
    criteria = unjudged if score is None else score
    return shares_of(evidence.checks, most_tests, before, criteria, items, proven=evidence.proven)


def shares_of(
    report: CheckReport,
    most_tests: Mapping[str, int],
    before: Progress,
    criteria: float | None,
    items: float | None,
    *,
    proven: bool = False,
) -> Progress:
    """Shares from a report. Before any work nothing is proven, because there was no claim yet."""
    checks = [(int(result.passed), int(result.passed or _is_inconclusive(result)), 1) for result in report.results]
    tests: list[_Count] = []
    for result in report.results:
        passed, executed = (max(0, result.counts.passed), result.counts.executed) if result.counts else (0, 0)
        total = max(executed, most_tests.get(result.command, 0), passed)
        # a check that passes without counting its tests may have run all or none of them
        is_unknown = _is_inconclusive(result) or (result.passed and result.counts is None)
        tests.append((passed, passed + max(0, total - executed) if is_unknown else passed, total))
    shares = {
        "checks": _share(checks, before.checks),
        "tests": _share(tests, before.tests),
        "criteria": None if criteria is None else clamp(criteria),
        "items": None if items is None else clamp(items),
    }
    available = {name: share for name, share in shares.items() if share is not None}
    mean = sum(WEIGHTS[name] * share for name, share in available.items()) / (sum(map(WEIGHTS.__getitem__, available)) or 1)
    return Progress(**shares, completion=1.0 if proven else UNPROVEN * clamp(mean))


def _is_inconclusive(result: CheckResult) -> bool:
    return not result.passed and (result.timed_out or bool(result.error) or result.is_flaky)


def _share(counts: Sequence[_Count], before: float | None) -> float | None:
    """The possible share closest to the previous one."""
    lowest, highest, total = (sum(column) for column in zip((0, 0, 0), *counts, strict=True))
    if total <= 0:
        return None
    return clamp(min(highest / total, max(lowest / total, lowest / total if before is None else before)))


def clamp(share: float) -> float:
    return min(1.0, max(0.0, share))


TRUSTED = 10
"""Steps forward in a row that count without better completion or tests, such as the successive first errors of a compiler."""
BASE = 0  # number of the summary of the base tree, which is no iteration
_LINE = re.compile(r":\d+|\(\d+(?:,\d+)?\)")
_NUMBER = re.compile(r"\d+")
Identity = tuple[FailureClass, str, str]


def is_base(summary: IterationSummary) -> bool:
    """Whether it stands for the tree that the loop started from."""
    return summary.iteration == BASE


def has_worked(summary: IterationSummary) -> bool:
    """Whether the agent worked; it did not during a wait or on the base tree."""
    return summary.movement is not Movement.WAITED


def is_comparable(summary: IterationSummary) -> bool:
    """Whether later iterations are compared with it: it was checked and is the base tree or an iteration with work."""
    return summary.checked and (has_worked(summary) or is_base(summary))


def shows_kept_work(summary: IterationSummary) -> bool:
    """Whether its evidence describes the agent's work and that work is still on the branch."""
    return summary.checked and has_worked(summary) and not summary.undone


def made_progress(summary: IterationSummary) -> bool:
    """Whether it was worth its cost: better than ever, or a new tree without evidence against it.

    The second is typical of small tasks with checks that always pass or without checks.
    """
    if summary.movement is Movement.SIDEWAYS:
        return summary.green or not summary.checked
    return summary.movement is Movement.FORWARD


def movement(before: Sequence[IterationSummary], draft: IterationSummary) -> Movement:
    """Compare an iteration with the remembered ones, oldest first. Ignores the movement stored in `draft`.

    Forward: completion or passing tests set a record, fewer tests fail, or a class of failure shrinks or is replaced.
    """
    if draft.outcome in NO_WORK_OUTCOMES or (draft.outcome in CALL_FAILURES and not draft.files_changed):
        return Movement.WAITED
    is_new_tree = draft.files_changed > 0 and draft.tree not in [summary.tree for summary in before]
    default = Movement.SIDEWAYS if is_new_tree else Movement.STILL
    work = [summary for summary in before if is_comparable(summary) and not summary.undone]
    if not draft.checked:
        return default
    if not work:
        return Movement.FORWARD if draft.green or draft.passing_tests > 0 or draft.completion > 0 else default
    previous, is_worse, lost_tests = work[-1], _is_worse(draft, work), _has_lost_tests(draft, work)
    sets_record = draft.completion > max(summary.completion for summary in work) and not lost_tests
    passes_more = draft.passing_tests > max(summary.passing_tests for summary in work)
    # failure texts can be trusted on a new tree without a worse number or a lost test
    is_sound = is_new_tree and not is_worse and not lost_tests
    improves = sets_record or passes_more or _fewer_tests_fail(draft, work)
    improves = improves or (is_sound and (_failures_shrank(draft, work) or _failure_was_replaced(draft, work)))
    # only tests were written, and as many fail as before: more passing tests say nothing about the work
    only_padded = draft.test_only and not draft.green and draft.failing_tests >= previous.failing_tests
    if improves and not only_padded:
        return Movement.FORWARD
    # if the tree is the same, the checks are flaky or the environment changed
    same_tree = draft.files_changed == 0 or draft.tree == previous.tree
    return Movement.BACK if is_worse and not same_tree else default


def _is_worse(draft: IterationSummary, work: Sequence[IterationSummary]) -> bool:
    """Whether completion fell. New tests with as many passing are no loss, nor is a missing claim after proven completion."""
    previous = work[-1]
    if draft.completion >= previous.completion:
        return False
    as_many = draft.passing_tests >= previous.passing_tests
    grew = as_many and _test_count(draft) > max(map(_test_count, work))
    return not (grew or (as_many and draft.green >= previous.green and previous.completion == 1))


def _has_lost_tests(draft: IterationSummary, work: Sequence[IterationSummary]) -> bool:
    """Whether fewer tests ran than at the last count, which alone could make anything look better."""
    if is_broken_build(draft) and is_broken_build(work[-1]):  # nothing runs while it does not build
        return False
    return _test_count(draft) < next((_test_count(summary) for summary in reversed(work) if _test_count(summary)), 0)


def _fewer_tests_fail(draft: IterationSummary, work: Sequence[IterationSummary]) -> bool:
    """Whether fewer tests fail out of the most that ever ran. New tests start a new count."""
    ran = _test_count(draft)
    same_count = [summary.failing_tests for summary in work if _test_count(summary) == ran]
    return ran == max(map(_test_count, work)) and all(draft.failing_tests < failing for failing in same_count)


def _is_trusted(work: Sequence[IterationSummary]) -> bool:
    """Whether completion or passing tests set a record within the last `TRUSTED` steps forward."""
    completed, passing = [summary.completion for summary in work], [summary.passing_tests for summary in work]
    better_at = max(completed.index(max(completed)), passing.index(max(passing)))
    return sum(summary.movement is Movement.FORWARD for summary in work[better_at + 1 :]) < TRUSTED


def _failures_shrank(draft: IterationSummary, work: Sequence[IterationSummary]) -> bool:
    """Whether the extent of a failure class over all checks is smaller than ever, or than at any time since it was last absent.

    Over all checks, because the first reported place moves with each fix. Since it was absent, because a refactoring starts green
    and may be the second one.
    """
    for kind in {error.kind for error in draft.errors if extent(draft, error.kind)}:
        now, extents = extent(draft, kind), [extent(summary, kind) for summary in work]
        if any(extents) and all(size == 0 or size > now for size in extents):
            return True
        since = list(takewhile(bool, reversed(extents)))
        if 0 < len(since) < len(extents) and min(since) > now and _is_trusted(work):
            return True
    return False


def _failure_was_replaced(draft: IterationSummary, work: Sequence[IterationSummary]) -> bool:
    """Whether a failure is gone and a new one has replaced it, which never occurred before."""
    previous = work[-1]
    now, last = set(map(identity, draft.errors)), set(map(identity, previous.errors))
    gone, new = last - now, now - last
    if 0 < _test_count(draft) == _test_count(previous) and draft.failing_tests >= previous.failing_tests:
        places = {where for _, where, _ in gone}  # the same number fails: a fixed and a newly broken test cancel out
        new = {failure for failure in new if failure[1] in places}
    known = {identity(error) for summary in work for error in summary.errors}
    return bool(gone and new) and not new <= known and _is_trusted(work)


def identity(error: ErrorVector) -> Identity:
    """What failed, without numbers: line numbers move with every edit, other numbers may be measured or random."""
    return error.kind, place(error), _NUMBER.sub("#", error.message)


def place(error: ErrorVector) -> str:
    """Where it failed, without the line number, which every edit above moves."""
    return _LINE.sub("", error.where)


def extent(summary: IterationSummary, kind: FailureClass) -> int:
    return sum([error.extent for error in summary.errors if error.kind is kind])


def _test_count(summary: IterationSummary) -> int:
    return summary.passing_tests + summary.failing_tests


UNRUNNABLE = frozenset(map(FailureClass, ("build", "syntax", "missing_module", "missing_file", "missing_command")))
"""Failures that prevent a program from running."""
FAILURE_ROTATIONS = ("failed one after the other", "are errors or repetition")
"""Parts of rotation reasons that mean failures; a full context is not one."""


def is_broken_build(summary: IterationSummary) -> bool:
    """Whether nothing could run, only because of the code."""
    return bool(summary.errors) and not summary.passing_tests and all(error.kind in UNRUNNABLE for error in summary.errors)


def feedback_of(summary: IterationSummary, rotated: str) -> Feedback:
    """Quality of the feedback that an iteration leaves. `rotated`: why the loop ended its session, or empty.

    With green checks, what happened in the session does not matter.
    """
    if summary.checked and summary.green:
        return "green"
    if any(part in rotated for part in FAILURE_ROTATIONS):
        return "gutter"
    if not summary.checked:
        return "none"
    return "broken" if is_broken_build(summary) else "failing"
