"""What an iteration did to the evidence. Only equality and order count, so no name and no hour can matter.

Numbers are records: completion, tests, extents have to be better than ever remembered, so that numbers which vary by chance
soon stop being news. That a failure was got past is judged by names, which can be new for ever: where an agent fails another
test each time, and as many as before, one was fixed and another broken, which is no step. What remains, failures that nothing
counts and recoveries from the agent's own breakages, is believed `TRUSTED` times until completion or tests have to be better.
"""

import re
from collections.abc import Callable, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from helmsman.oversee.feedback import unbuilt
from helmsman.records.evidence import BROKEN_OFF, NEVER_AT_WORK
from helmsman.records.moments import Moment, Movement
from helmsman.records.session import ErrorVector, FailureClass

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


def got_on(moment: Moment) -> bool:
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
