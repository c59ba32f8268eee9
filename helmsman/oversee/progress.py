"""How far the work is, counted from results, and what an iteration did to that. The agent's own word does not enter.

Only equality and order count, so no name and no hour can matter. Numbers are records: completion, tests, extents have to be
better than ever remembered, so that numbers which vary by chance soon stop being news. That a failure was got past is judged by
names, which can be new for ever: where an agent fails another test each time, and as many as before, one was fixed and another
broken, which is no step. What remains, failures that nothing counts and recoveries from the agent's own breakages, is believed
`TRUSTED` times until completion or tests have to be better.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from helmsman.records.agent import BROKEN_OFF, NEVER_AT_WORK, ErrorVector, FailureClass
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.control import Feedback, IterationSummary, Movement, Progress
from helmsman.records.iteration import Evidence

WEIGHTS: Mapping[str, float] = {
    "tests": 5,  # many small steps, each of them run: the finest and the hardest to talk away
    "checks": 3,  # run as well, but coarse: one of them stands for anything from a typo to all tests
    "items": 3,  # ticked by evidence, and as coarse
    "criteria": 2,  # a model's opinion of what nothing can run
}
"""What a share counts for in the mean; shares that do not exist are left out of it."""
UNPROVEN = 0.95  # what the mean is worth before completion is proven: all green, and nobody has asked or agreed, is not done


_Counted = tuple[int, int, int]  # how many are there at least, and at most where something could not be found out, of all


def progress_of(evidence: Evidence, before: Progress, most_tests: Mapping[str, int], *, judged: bool = False) -> Progress:
    """Shares after an iteration; `before` where nothing was checked. `judged`: whether a judge's approval will be needed.

    `most_tests`: by check command the most tests that it was ever seen to run; fewer never make a share larger.
    A check that timed out or could not run says nothing: its part stays as near to what it was as the other results allow.
    Where a judge will be needed and has not spoken, no criterion is met yet; else the first rejection would look like a loss.
    """
    if evidence.checks is None or not evidence.execution.worth_checking:
        return before
    plan, won = evidence.plan, bool(evidence.item and evidence.item.proven)
    items = (plan.done + won) / plan.total if plan and plan.total else before.items
    of_item = evidence.item is not None and not evidence.proof.open
    score = evidence.judgement.score if evidence.judgement and not of_item else None  # of the last verdict that could be read
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
    """Shares by a report; of the tree that nobody has worked on yet nothing is proven, as nobody has asked."""
    checks = [(int(result.passed), int(result.passed or _inconclusive(result)), 1) for result in report.results]
    tests: list[_Counted] = []
    for result in report.results:
        passed, executed = (max(0, result.counts.passed), result.counts.executed) if result.counts else (0, 0)
        of = max(executed, most_tests.get(result.command, 0), passed)
        # a check that passes without counting its tests may have run all or none of them
        unknown = _inconclusive(result) or (result.passed and result.counts is None)
        tests.append((passed, passed + max(0, of - executed) if unknown else passed, of))
    shares = {
        "checks": _share(checks, before.checks),
        "tests": _share(tests, before.tests),
        "criteria": None if criteria is None else clamped(criteria),
        "items": None if items is None else clamped(items),
    }
    there = {name: share for name, share in shares.items() if share is not None}
    mean = sum(WEIGHTS[name] * share for name, share in there.items()) / (sum(map(WEIGHTS.__getitem__, there)) or 1)
    return Progress(**shares, completion=1.0 if proven else UNPROVEN * clamped(mean))


def _inconclusive(result: CheckResult) -> bool:
    return not result.passed and (result.timed_out or bool(result.error) or result.by_chance)


def _share(counted: Sequence[_Counted], before: float | None) -> float | None:
    """The share that is nearest to the one before."""
    least, most, of = (sum(column) for column in zip((0, 0, 0), *counted, strict=True))
    if of <= 0:
        return None
    return clamped(min(most / of, max(least / of, least / of if before is None else before)))


def clamped(share: float) -> float:
    return min(1.0, max(0.0, share))


TRUSTED = 10
"""Steps forward that are believed without more completion or passing tests; one after another, as first errors of a compiler."""
BASE = 0  # number of the moment that is no iteration: the tree that the loop began with
_LINE = re.compile(r":\d+|\(\d+(?:,\d+)?\)")
_NUMBER = re.compile(r"\d+")
Identity = tuple[FailureClass, str, str]


class _Compared(NamedTuple):
    """An iteration beside those before it."""

    draft: IterationSummary
    work: Sequence[IterationSummary]  # the earlier ones in which something was checked, oldest first; at least one
    fresh: bool  # whether it made a tree that was never there

    @property
    def previous(self) -> IterationSummary:
        return self.work[-1]

    @property
    def better_at(self) -> int:
        """Where completion or passing tests last became better than ever."""
        completed, passing = [one.completion for one in self.work], [one.passing_tests for one in self.work]
        return max(completed.index(max(completed)), passing.index(max(passing)))

    @property
    def trusted(self) -> bool:
        """Whether completion or passing tests were better than ever not too many steps ago."""
        return sum(one.movement is Movement.FORWARD for one in self.work[self.better_at + 1 :]) < TRUSTED

    @property
    def worse(self) -> bool:
        """More tests of which as many pass are no loss, nor is it one not to ask again after completion was proven."""
        draft, previous = self.draft, self.previous
        if draft.completion >= previous.completion:
            return False
        as_many = draft.passing_tests >= previous.passing_tests
        grew = as_many and _ran(draft) > max(map(_ran, self.work))
        return not (grew or (as_many and draft.green >= previous.green and previous.completion == 1))

    @property
    def lost_tests(self) -> bool:
        """Fewer tests ran than when they were counted last: that alone could make anything look better."""
        if unbuilt(self.draft) and unbuilt(self.previous):  # nothing runs while it does not build
            return False
        return _ran(self.draft) < next((_ran(one) for one in reversed(self.work) if _ran(one)), 0)

    @property
    def sound(self) -> bool:
        """Whether words may be believed: a new tree, no number worse, no test gone."""
        return self.fresh and not self.worse and not self.lost_tests


def is_base(summary: IterationSummary) -> bool:
    """Whether it stands for the tree that the loop began with."""
    return summary.iteration == BASE


def at_work(summary: IterationSummary) -> bool:
    """Whether somebody worked: nobody did in a wait, nor on the base."""
    return summary.movement is not Movement.WAITED


def compared_with(summary: IterationSummary) -> bool:
    """Whether its evidence says what was there: checked, and either the base or somebody's work."""
    return summary.checked and (at_work(summary) or is_base(summary))


def still_told(summary: IterationSummary) -> bool:
    """Whether its evidence says what somebody's work did, and that work is still there."""
    return summary.checked and at_work(summary) and not summary.undone


def made_progress(summary: IterationSummary) -> bool:
    """Whether it was worth its price: better than ever, or a tree never seen that nothing speaks against.

    The second is how many small tasks look under checks that pass all along, or without any check.
    """
    if summary.movement is Movement.SIDEWAYS:
        return summary.green or not summary.checked
    return summary.movement is Movement.FORWARD


def movement(before: Sequence[IterationSummary], draft: IterationSummary) -> Movement:
    """Compare an iteration with those remembered before it, oldest first. The movement that `draft` holds is not looked at."""
    if draft.outcome in NEVER_AT_WORK or (draft.outcome in BROKEN_OFF and not draft.files_changed):
        return Movement.WAITED
    fresh = draft.files_changed > 0 and draft.tree not in [summary.tree for summary in before]
    aside = Movement.SIDEWAYS if fresh else Movement.STILL
    work = [summary for summary in before if compared_with(summary) and not summary.undone]
    if not draft.checked:
        return aside
    if not work:
        return Movement.FORWARD if draft.green or draft.passing_tests > 0 or draft.completion > 0 else aside
    it = _Compared(draft, work, fresh)
    # tests alone were written, and what failed still fails: more that pass say nothing of the work
    only_padded = draft.test_only and not draft.green and draft.failing_tests >= it.previous.failing_tests
    if any(condition(it) for condition in FORWARD) and not only_padded:
        return Movement.FORWARD
    unchanged = draft.files_changed == 0 or draft.tree == it.previous.tree  # then the checks waver, or the world
    return Movement.BACK if it.worse and not unchanged else aside


def _fewer_tests_fail(it: _Compared) -> bool:
    """Of as many tests as ever ran. New tests begin a new count."""
    ran = _ran(it.draft)
    if any(summary.failing_tests <= it.draft.failing_tests and _ran(summary) == ran for summary in reversed(it.work)):
        return False  # the most frequent answer, and the quickest
    return ran == max(map(_ran, it.work))


def _shrinks(it: _Compared, kind: FailureClass) -> bool:
    """Whether a class of failure has a smaller extent than ever, over all checks: the place that is named first moves on with
    each one that is fixed. Or than at any time since it was gone: a refactoring begins green, and may well be the second one.
    """
    now = extent(it.draft, kind)
    if not now:
        return False
    earlier = (extent(summary, kind) for summary in reversed(it.work))  # newest first: seldom are more than a few asked
    larger = list(takewhile(lambda one: one == 0 or one > now, earlier))
    if len(larger) == len(it.work):
        return any(larger)
    since = list(takewhile(bool, larger))
    return 0 < len(since) < len(larger) and it.trusted


def _got_past(it: _Compared) -> bool:
    """A failure is gone, and one that was never seen stands in its place."""
    draft, previous = it.draft, it.previous
    if not draft.errors or not previous.errors or not it.sound:
        return False
    now, last = set(map(identity, draft.errors)), set(map(identity, previous.errors))
    gone, new = last - now, now - last
    if 0 < _ran(draft) == _ran(previous) and draft.failing_tests >= previous.failing_tests:
        places = {where for _, where, _ in gone}  # as many fail: what is fixed and what is broken cancel out
        new = {one for one in new if one[1] in places}
    return bool(gone and new) and it.trusted and not all(_known(it, one) for one in new)


FORWARD: tuple[Callable[[_Compared], bool], ...] = (
    lambda it: all(summary.completion < it.draft.completion for summary in reversed(it.work)) and not it.lost_tests,
    lambda it: all(summary.passing_tests < it.draft.passing_tests for summary in reversed(it.work)),
    _fewer_tests_fail,
    lambda it: bool(it.draft.errors) and it.sound and any(_shrinks(it, error.kind) for error in it.draft.errors),
    _got_past,
)
"""More complete than ever, more tests pass, fewer fail, or a class of failure shrinks or is got past: any is a step forward."""


def _known(it: _Compared, one: Identity) -> bool:
    """Whether a failure was seen before."""
    return any(identity(error) == one for summary in it.work for error in summary.errors if error.kind is one[0])


def identity(error: ErrorVector) -> Identity:
    """What failed, without numbers: those of lines move with every edit, others may be measured or random."""
    return error.kind, place(error), _NUMBER.sub("#", error.message)


def place(error: ErrorVector) -> str:
    """Where it failed, without the line: every edit above it moves the line."""
    return _LINE.sub("", error.where)


def extent(summary: IterationSummary, kind: FailureClass) -> int:
    return sum([error.extent for error in summary.errors if error.kind is kind])


def _ran(summary: IterationSummary) -> int:
    return summary.passing_tests + summary.failing_tests


UNRUNNABLE = frozenset(map(FailureClass, ("build", "syntax", "missing_module", "missing_file", "missing_command")))
"""Failures that keep a program from running at all."""
DROWNED = ("failed one after the other", "are errors or repetition")
"""Parts of the reasons for which a session is rotated that are failures; a full context is none."""


def unbuilt(summary: IterationSummary) -> bool:
    """Whether nothing could be run, for reasons of the code alone."""
    return bool(summary.errors) and not summary.passing_tests and all(error.kind in UNRUNNABLE for error in summary.errors)


def feedback_of(summary: IterationSummary, rotated: str) -> Feedback:
    """What an iteration left to steer by. `rotated`: why the loop ended its session; empty where it did not.

    Under green checks it does not matter what the session went through.
    """
    if summary.checked and summary.green:
        return "green"
    if any(part in rotated for part in DROWNED):
        return "gutter"
    if not summary.checked:
        return "none"
    return "broken" if unbuilt(summary) else "failing"
