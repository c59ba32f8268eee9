"""How far the work is, counted from results, and what an iteration did to that. The agent's own word does not enter.

Only equality and order count, so no name and no hour can matter. Numbers are records: completion, tests, extents have to be
better than ever remembered, so that numbers which vary by chance soon stop being news. That a failure was got past is judged by
names, which can be new for ever: where an agent fails another test each time, and as many as before, one was fixed and another
broken, which is no step. What remains, failures that nothing counts and recoveries from the agent's own breakages, is believed
`TRUSTED` times until completion or tests have to be better.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.evidence import BROKEN_OFF, NEVER_AT_WORK
from helmsman.records.iteration import Evidence
from helmsman.records.modes import Feedback
from helmsman.records.moments import Moment, Movement, Progress
from helmsman.records.plan import PlanProgress
from helmsman.records.session import ErrorVector, FailureClass

WEIGHTS: Mapping[str, float] = {
    "tests": 5,  # many small steps, each of them run: the finest and the hardest to talk away
    "checks": 3,  # run as well, but coarse: one of them stands for anything from a typo to all tests
    "items": 3,  # ticked by evidence, and as coarse
    "criteria": 2,  # a model's opinion of what nothing can run
}
"""What a share counts for in the mean; shares that do not exist are left out of it."""
UNPROVEN = 0.95
"""What the mean is worth before completion is proven: all green, and nobody has asked or agreed, is not done."""


class _Counted(NamedTuple):
    """How many of all are there. What could not be found out lies between the two."""

    least: int
    most: int
    of: int


def progress_of(evidence: Evidence, before: Progress, most_tests: Mapping[str, int], *, judged: bool = False) -> Progress:
    """Shares after an iteration; `before` where nothing was checked. `judged`: whether a judge's approval will be needed.

    `most_tests`: by check command the most tests that it was ever seen to run; fewer never make a share larger.
    A check that timed out or could not run says nothing: its part stays as near to what it was as the other results allow.
    Where a judge will be needed and has not spoken, no criterion is met yet; else the first rejection would look like a loss.
    """
    if evidence.checks is None or not evidence.execution.worth_checking:
        return before
    results = evidence.checks.results
    shares = {
        "checks": _share(_checks(results), before.checks),
        "tests": _share(_tests(results, most_tests), before.tests),
        "criteria": _criteria(evidence, before, judged=judged),
        "items": _items(evidence, before),
    }
    return Progress(**shares, completion=1.0 if evidence.proven else UNPROVEN * _mean(shares))


def progress_at_start(
    report: CheckReport, most_tests: Mapping[str, int], plan: PlanProgress | None = None, *, judged: bool
) -> Progress:
    """Shares of the tree that nobody has worked on yet. Nothing is proven there: nobody has asked."""
    nothing = Progress()
    shares = {
        "checks": _share(_checks(report.results), nothing.checks),
        "tests": _share(_tests(report.results, most_tests), nothing.tests),
        "criteria": 0.0 if judged else None,
        "items": _clamped(plan.done / plan.total) if plan and plan.total else None,
    }
    return Progress(**shares, completion=UNPROVEN * _mean(shares))


def _mean(shares: Mapping[str, float | None]) -> float:
    there = [(WEIGHTS[name], share) for name, share in shares.items() if share is not None]
    return _clamped(sum(weight * share for weight, share in there) / sum(weight for weight, _ in there)) if there else 0.0


def _checks(results: Iterable[CheckResult]) -> _Counted:
    each = [_Counted(least=result.passed, most=result.passed or _inconclusive(result), of=1) for result in results]
    return _sum(each)


def _tests(results: Iterable[CheckResult], most_tests: Mapping[str, int]) -> _Counted:
    return _sum([_tests_of(result, most_tests.get(result.command, 0)) for result in results])


def _tests_of(result: CheckResult, known: int) -> _Counted:
    """A check that passes without counting its tests may have run all or none of them."""
    passed, executed = (max(0, result.counts.passed), result.counts.executed) if result.counts else (0, 0)
    of = max(executed, known, passed)
    unheard = _inconclusive(result) or (result.passed and result.counts is None)
    return _Counted(least=passed, most=passed + max(0, of - executed) if unheard else passed, of=of)


def _inconclusive(result: CheckResult) -> bool:
    return not result.passed and (result.timed_out or bool(result.error) or result.by_chance)


def _sum(each: Iterable[_Counted]) -> _Counted:
    least, most, of = (sum(column) for column in zip((0, 0, 0), *each, strict=True))
    return _Counted(least, most, of)


def _share(counted: _Counted, before: float | None) -> float | None:
    """The share that is nearest to the one before."""
    if counted.of <= 0:
        return None
    least, most = counted.least / counted.of, counted.most / counted.of
    return _clamped(min(most, max(least, least if before is None else before)))


def _criteria(evidence: Evidence, before: Progress, *, judged: bool) -> float | None:
    """Of the last verdict that could be read."""
    of_item = evidence.item is not None and not evidence.proof.open
    score = evidence.judgement.score if evidence.judgement and not of_item else None
    if score is not None:
        return _clamped(score)
    return 0.0 if judged and before.criteria is None else before.criteria


def _items(evidence: Evidence, before: Progress) -> float | None:
    """Of the plan, the one that was proven now included."""
    plan = evidence.plan
    won = bool(evidence.item and evidence.item.proven)
    return _clamped((plan.done + won) / plan.total) if plan and plan.total else before.items


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, share))


TRUSTED = 10
"""Steps forward that are believed without more completion or passing tests; one after another, as first errors of a compiler."""
BASE = 0
"""Number of the moment that is no iteration: the tree that the loop began with."""
_LINE = re.compile(r":\d+|\(\d+(?:,\d+)?\)")
_NUMBER = re.compile(r"\d+")
Identity = tuple[FailureClass, str, str]


class _Compared(NamedTuple):
    """An iteration beside those before it."""

    draft: Moment
    work: Sequence[Moment]
    """The earlier ones in which something was checked, oldest first; at least one."""
    fresh: bool
    """Whether it made a tree that was never there."""

    @property
    def previous(self) -> Moment:
        return self.work[-1]


def is_base(moment: Moment) -> bool:
    """Whether it stands for the tree that the loop began with."""
    return moment.iteration == BASE


def at_work(moment: Moment) -> bool:
    """Whether somebody worked: nobody did in a wait, nor on the base."""
    return moment.movement is not Movement.WAITED


def compared_with(moment: Moment) -> bool:
    """Whether its evidence says what was there: checked, and either the base or somebody's work."""
    return moment.checked and (at_work(moment) or is_base(moment))


def still_told(moment: Moment) -> bool:
    """Whether its evidence says what somebody's work did, and that work is still there."""
    return moment.checked and at_work(moment) and not moment.undone


def made_progress(moment: Moment) -> bool:
    """Whether it was worth its price: better than ever, or a tree never seen that nothing speaks against.

    The second is how many small tasks look under checks that pass all along, or without any check.
    """
    if moment.movement is Movement.SIDEWAYS:
        return moment.green or not moment.checked
    return moment.movement is Movement.FORWARD


def movement(before: Sequence[Moment], draft: Moment) -> Movement:
    """Compare an iteration with those remembered before it, oldest first. The movement that `draft` holds is not looked at."""
    if draft.outcome in NEVER_AT_WORK or (draft.outcome in BROKEN_OFF and not draft.files_changed):
        return Movement.WAITED
    fresh = draft.files_changed > 0 and draft.tree not in [moment.tree for moment in before]
    aside = Movement.SIDEWAYS if fresh else Movement.STILL
    work = [moment for moment in before if compared_with(moment) and not moment.undone]
    if not draft.checked:
        return aside
    if not work:
        return Movement.FORWARD if _anything_passes(draft) else aside
    compared = _Compared(draft, work, fresh)
    if any(condition(compared) for condition in FORWARD) and not _only_padded(compared):
        return Movement.FORWARD
    return Movement.BACK if _worse(compared) and not _same_tree(compared) else aside


def _only_padded(it: _Compared) -> bool:
    """Tests alone were written, and what failed still fails: more that pass say nothing of the work."""
    return it.draft.test_only and not it.draft.green and it.draft.failing_tests >= it.previous.failing_tests


def _anything_passes(draft: Moment) -> bool:
    return draft.green or draft.passing_tests > 0 or draft.completion > 0


def _more_complete(it: _Compared) -> bool:
    return all(moment.completion < it.draft.completion for moment in reversed(it.work)) and not _lost_tests(it)


def _more_tests_pass(it: _Compared) -> bool:
    return all(moment.passing_tests < it.draft.passing_tests for moment in reversed(it.work))


def _fewer_tests_fail(it: _Compared) -> bool:
    """Of as many tests as ever ran. New tests begin a new count."""
    ran = _ran(it.draft)
    if any(moment.failing_tests <= it.draft.failing_tests and _ran(moment) == ran for moment in reversed(it.work)):
        return False  # the most frequent answer, and the quickest
    counts = [_ran(moment) for moment in it.work]
    return ran == max(counts)


def _smaller_extent(it: _Compared) -> bool:
    """Of one class of failure, over all checks: the place that is named first moves on with each one that is fixed."""
    return bool(it.draft.errors) and _sound(it) and any(_shrinks(it, kind) for kind in {error.kind for error in it.draft.errors})


def _shrinks(it: _Compared, kind: FailureClass) -> bool:
    """Less than ever, or than at any time since it was gone: a refactoring begins green, and may well be the second one."""
    now = _extent(it.draft, kind)
    if not now:
        return False
    earlier = (_extent(moment, kind) for moment in reversed(it.work))  # newest first: seldom are more than a few asked
    larger = list(takewhile(lambda extent: extent == 0 or extent > now, earlier))
    if len(larger) == len(it.work):
        return any(larger)
    since = list(takewhile(bool, larger))
    return 0 < len(since) < len(larger) and _trusted(it)


def _got_past(it: _Compared) -> bool:
    """A failure is gone, and one that was never seen stands in its place."""
    if not it.draft.errors or not it.previous.errors or not _sound(it):
        return False
    now, last = set(map(identity, it.draft.errors)), set(map(identity, it.previous.errors))
    gone, new = last - now, now - last
    if _as_many_fail(it):
        places = {where for _, where, _ in gone}
        new = {one for one in new if one[1] in places}
    return bool(gone and new) and _trusted(it) and not all(_seen(it, one) or _wavers(it, one) for one in new)


FORWARD: tuple[Callable[[_Compared], bool], ...] = (
    _more_complete,
    _more_tests_pass,
    _fewer_tests_fail,
    _smaller_extent,
    _got_past,
)
"""Any of them is a step forward."""


def _sound(it: _Compared) -> bool:
    """Whether words may be believed: a new tree, no number worse, no test gone."""
    return it.fresh and not _worse(it) and not _lost_tests(it)


def _worse(it: _Compared) -> bool:
    """More tests of which as many pass are no loss, nor is it one not to ask again after completion was proven."""
    draft, previous = it.draft, it.previous
    if draft.completion >= previous.completion:
        return False
    kept = draft.passing_tests >= previous.passing_tests and draft.green >= previous.green
    grew = draft.passing_tests >= previous.passing_tests and _ran(draft) > max(map(_ran, it.work))
    return not (grew or (kept and previous.completion == 1))


def _same_tree(it: _Compared) -> bool:
    """What changed nothing made nothing worse: the checks waver, or the world."""
    return it.draft.files_changed == 0 or it.draft.tree == it.previous.tree


def _lost_tests(it: _Compared) -> bool:
    """Fewer tests ran than when they were counted last: that alone could make anything look better."""
    if unbuilt(it.draft) and unbuilt(it.previous):  # nothing runs while it does not build
        return False
    return _ran(it.draft) < next((_ran(moment) for moment in reversed(it.work) if _ran(moment)), 0)


def _as_many_fail(it: _Compared) -> bool:
    """The same number of tests ran, and no fewer failed: what is fixed and what is broken cancel out."""
    return 0 < _ran(it.draft) == _ran(it.previous) and it.draft.failing_tests >= it.previous.failing_tests


def _trusted(it: _Compared) -> bool:
    """Whether completion or passing tests were better than ever not too many steps ago."""
    return sum(moment.movement is Movement.FORWARD for moment in it.work[_better_at(it) + 1 :]) < TRUSTED


def _better_at(it: _Compared) -> int:
    """Where completion or passing tests last became better than ever."""
    best, most = max(moment.completion for moment in it.work), max(moment.passing_tests for moment in it.work)
    first_best = next(place for place, moment in enumerate(it.work) if moment.completion == best)
    first_most = next(place for place, moment in enumerate(it.work) if moment.passing_tests == most)
    return max(first_best, first_most)


def _wavers(it: _Compared, one: Identity) -> bool:
    """Whether what the place says came back to what it had said before, since a number was better: no way leads on from there."""
    kind, where, _ = one
    said = [words for moment in it.work[_better_at(it) :] if (words := _said_at(moment, kind, where))]
    turns = [words for words, _ in groupby(said)]
    return len(set(turns)) < len(turns)


def _said_at(moment: Moment, kind: FailureClass, where: str) -> frozenset[str]:
    return frozenset(_words(error.message) for error in moment.errors if error.kind is kind and _place(error.where) == where)


def _seen(it: _Compared, one: Identity) -> bool:
    kind, place, words = one
    raw = {(error.where, error.message) for moment in it.work for error in moment.errors if error.kind is kind}
    return any(_place(where) == place and _words(message) == words for where, message in raw)


def identity(error: ErrorVector) -> Identity:
    """What failed, without numbers that move with every edit or run."""
    return error.kind, _place(error.where), _words(error.message)


def _place(where: str) -> str:
    """Without numbers of lines: they move with every edit."""
    return _LINE.sub("", where)


def _words(message: str) -> str:
    """Without numbers: they may be measured or random."""
    return _NUMBER.sub("#", message)


def _extent(moment: Moment, kind: FailureClass) -> int:
    return sum([error.extent for error in moment.errors if error.kind is kind])


def _ran(moment: Moment) -> int:
    return moment.passing_tests + moment.failing_tests


UNRUNNABLE = frozenset(
    {
        FailureClass.BUILD,
        FailureClass.SYNTAX,
        FailureClass.MISSING_MODULE,
        FailureClass.MISSING_FILE,
        FailureClass.MISSING_COMMAND,
    }
)
"""Failures that keep a program from running at all."""
DROWNED = ("failed one after the other", "are errors or repetition")
"""Parts of the reasons for which a session is rotated that are failures; a full context is none."""


def unbuilt(moment: Moment) -> bool:
    """Whether nothing could be run, for reasons of the code alone."""
    return bool(moment.errors) and not moment.passing_tests and all(error.kind in UNRUNNABLE for error in moment.errors)


def feedback_of(moment: Moment, rotated: str) -> Feedback:
    """What an iteration left to steer by. `rotated`: why the loop ended its session; empty where it did not.

    Under green checks it does not matter what the session went through.
    """
    if moment.checked and moment.green:
        return Feedback.GREEN
    if any(part in rotated for part in DROWNED):
        return Feedback.GUTTER
    if not moment.checked:
        return Feedback.NONE
    return Feedback.BROKEN if unbuilt(moment) else Feedback.FAILING
