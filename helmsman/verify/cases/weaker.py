"""What a test's assertions lost between two versions of it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from helmsman.verify.cases.comparison import Comparison, is_taken_over
from helmsman.verify.cases.model import STRENGTH, SYMMETRIC, Assertion, Guard, Kind
from helmsman.verify.cases.narrowed import Narrowing, is_about_order, is_narrower, narrowing_of
from helmsman.verify.cases.reshaped import is_as_empty, needs_no_check
from helmsman.verify.cases.sides import Pair
from helmsman.verify.cases.variables import inlined
from helmsman.verify.cases.words import alike, words_of

ALIKE = 0.34
"""Share of words from which on two assertions of one test are versions of each other: one of three words stayed."""


MOST = 0.6
"""Share of words from which on they surely are: more than half stayed."""


class Loss(StrEnum):
    """How an assertion says less than it did."""

    GONE = "gone"
    REPLACED = "replaced"
    """Another assertion stands there that is about something else."""
    TRIVIAL = "trivial"
    WEAKER = "weaker"
    LOOSER = "looser"
    GUARDED = "guarded"
    SWALLOWED = "swallowed"
    UNREACHABLE = "unreachable"
    CHANGED = "changed"
    """It expects something else."""
    DETAIL = "detail"
    """It no longer looks at the message or the like."""


@dataclass(frozen=True)
class Weakening:
    loss: Loss
    old: Assertion
    new: Assertion | None = None
    sure: bool = True
    """Whether both are certain to be about the same thing."""


def weakenings(pair: Pair, comparison: Comparison) -> Iterator[Weakening]:
    past = tuple(item for item in map(_seen_through, inlined(pair.old)) if item.kind is not Kind.TRIVIAL)
    present = tuple(_resolved(_seen_through(item), comparison) for item in inlined(pair.new))
    old, new = _without_equals(past, present)
    matched, lost, spare = _matched(old, new)
    for before, after in matched:
        yield from _narrowed(before, after, pair, new) or _weakened(before, after, pair)
    helpers = _helper_strengths(pair, comparison) if lost else []
    for item in lost:
        if _is_implied(item, present) or needs_no_check(item, pair) or _is_covered(item, new):
            continue
        if is_taken_over(item, pair.old, comparison):
            continue
        if helpers and helpers[-1] >= STRENGTH[item.kind]:
            helpers.pop()
            continue
        instead = next((other for other in spare if _may_replace(other, item)), None)
        if instead is not None:
            spare.remove(instead)
        yield Weakening(Loss.GONE if instead is None else Loss.REPLACED, item, instead)


def _may_replace(new: Assertion, old: Assertion) -> bool:
    return new.kind is not Kind.TRIVIAL and (new.kind is Kind.ROW) is (old.kind is Kind.ROW)


def _seen_through(item: Assertion) -> Assertion:
    """`expected = add(1); assert add(1) == expected` holds whatever `add` does."""
    same = item.kind in SYMMETRIC and bool(item.subject) and item.subject == item.expected
    return replace(item, kind=Kind.TRIVIAL) if same else item


def _without_equals(old: tuple[Assertion, ...], new: tuple[Assertion, ...]) -> tuple[list[Assertion], list[Assertion]]:
    """Leave out what stands on both sides, wherever it stands."""
    ours, theirs = Counter(map(_standing, old)), Counter(map(_standing, new))
    return _rest(old, ours - theirs), _rest(new, theirs - ours)


def _standing(item: Assertion) -> tuple[object, ...]:
    return (*item.key, item.guard)


def _rest(items: tuple[Assertion, ...], wanted: Counter[tuple[object, ...]]) -> list[Assertion]:
    left = Counter(wanted)
    found: list[Assertion] = []
    for item in items:
        if left[_standing(item)] > 0:
            left[_standing(item)] -= 1
            found.append(item)
    return found


_MOST_COMPARED = 60
"""Assertions that each is compared with."""
_MOST_VERSIONS = 200
"""Changed assertions of one test that are looked at; a table of thousands of rows tells no more than its first hundreds."""


def _matched(
    old: list[Assertion],
    new: list[Assertion],
) -> tuple[list[tuple[Assertion, Assertion]], list[Assertion], list[Assertion]]:
    """Pairs of versions, old ones without a new one, new ones that are left."""
    pairs: list[tuple[Assertion, Assertion]] = []
    spare, lost = list(new), list[Assertion]()
    for item in old[:_MOST_VERSIONS]:
        best = max(spare[:_MOST_COMPARED], key=lambda other: _nearness(item, other), default=None)
        if best is None or _nearness(item, best) < ALIKE:
            lost.append(item)
            continue
        spare.remove(best)
        pairs.append((item, best))
    return pairs, lost, spare


def _nearness(old: Assertion, new: Assertion) -> float:
    """The same subject is the best sign, the same text around it the next."""
    if (old.kind is Kind.ROW) is not (new.kind is Kind.ROW):
        return 0.0
    same = bool(old.subject) and (old.subject in {new.subject, new.expected} or is_narrower(old, new))
    raising = {old.kind, new.kind} <= {Kind.RAISES, Kind.RAISES_BROAD}
    near = 2.0 * same + 1.0 * raising + (1.0 if old.key == new.key else 0.0)
    return near if old.kind is Kind.ROW else near + alike(old.words, new.words)


def _narrowed(old: Assertion, new: Assertion, pair: Pair, changed: list[Assertion]) -> list[Weakening]:
    """The members alone may be all that is promised, unless the test is about their order."""
    narrowing = narrowing_of(old, new, changed)
    if narrowing is None:
        return []
    if narrowing is Narrowing.SOME:
        return [Weakening(Loss.CHANGED, old, new)]
    return [Weakening(Loss.WEAKER, old, new, narrowing is not Narrowing.MEMBERS or is_about_order(pair.old, old))]


def _weakened(old: Assertion, new: Assertion, pair: Pair) -> Iterator[Weakening]:
    sure = _is_same_thing(old, new)
    if new.guard > old.guard:
        yield Weakening(_GUARDED[new.guard], old, new, sure)
    drop = STRENGTH[old.kind] - STRENGTH[new.kind]
    if old.subject in {new.subject, ""} and {old.kind, new.kind} in _OPPOSITES:
        yield Weakening(Loss.CHANGED, old, new, _is_only_change(old, new, pair))
    elif new.kind is Kind.TRIVIAL and old.kind is not Kind.TRIVIAL:
        yield Weakening(Loss.TRIVIAL, old, new, sure)
    elif drop > 0 and new.kind is not Kind.CALL and not is_as_empty(old, new):
        yield Weakening(Loss.WEAKER, old, new, sure and drop > 1)
    elif _is_looser(old, new):
        yield Weakening(Loss.LOOSER, old, new, sure)
    elif _expects_other(old, new):
        yield Weakening(Loss.CHANGED, old, new, sure and _is_only_change(old, new, pair))
    elif old.detail and not new.detail and old.kind is new.kind:
        yield Weakening(Loss.DETAIL, old, new, sure=False)


def _is_same_thing(old: Assertion, new: Assertion) -> bool:
    """Whether two assertions are surely versions of one: by their subject, by most of their words, or since one says nothing."""
    if new.kind in {Kind.TRIVIAL, Kind.RAISES_BROAD} or alike(old.words, new.words) >= MOST:
        return True
    within = new.kind in {Kind.EITHER, Kind.TRUTHY} and old.subject in new.subject
    around = (
        new.kind in {Kind.TRUTHY, Kind.PRESENT, Kind.TYPE} and bool(new.subject) and old.subject.startswith(f"{new.subject}.")
    )
    return bool(old.subject) and (within or around or old.subject in {new.subject, new.expected})


_GUARDED = {Guard.CONDITIONAL: Loss.GUARDED, Guard.SWALLOWED: Loss.SWALLOWED, Guard.UNREACHABLE: Loss.UNREACHABLE}


def _is_looser(old: Assertion, new: Assertion) -> bool:
    return old.tolerance is not None and new.tolerance is not None and new.tolerance > old.tolerance


_OPPOSITES = (
    {Kind.TRUTHY, Kind.FALSY},
    {Kind.PRESENT, Kind.IDENTITY},
    {Kind.RAISES, Kind.RUNS},
    {Kind.RAISES_BROAD, Kind.RUNS},
)
"""Each says as clearly as the other what is expected, so that one for the other is a change and no loss."""


def _expects_other(old: Assertion, new: Assertion) -> bool:
    """The same subject with another literal, said no more strictly than before."""
    stricter = STRENGTH[new.kind] > STRENGTH[old.kind] or (new.tolerance or 0) < (old.tolerance or 0)
    if old.subject != new.subject or stricter:
        return False
    was, now = old.words.literals, new.words.literals
    return old.expected != new.expected and was != now and bool(was - now or now - was) and _has_literal(old)


def _is_only_change(old: Assertion, new: Assertion, pair: Pair) -> bool:
    """Whether the test does what it did, and what it expects is written out, not computed or named elsewhere."""
    if old.kind is Kind.ROW:
        return _without_rows(pair.old.assertions) == _without_rows(pair.new.assertions)
    written = _has_literal(new) or {old.kind, new.kind} in _OPPOSITES
    return written and pair.old.arrangement == pair.new.arrangement


def _without_rows(assertions: tuple[Assertion, ...]) -> list[tuple[object, ...]]:
    return [item.key for item in assertions if item.kind is not Kind.ROW]


def _has_literal(item: Assertion) -> bool:
    """Whether the expected value is written out, so that another one says another thing."""
    return bool(words_of(item.expected).literals) or item.kind is Kind.RAISES


def _is_implied(item: Assertion, present: tuple[Assertion, ...]) -> bool:
    """`result is not None` says nothing that `result.total == 3` does not say."""
    weak = STRENGTH[item.kind] <= STRENGTH[Kind.TYPE]
    return any(
        STRENGTH[other.kind] > STRENGTH[item.kind]
        and other.guard is Guard.PLAIN
        and (other.subject == item.subject or (weak and bool(item.subject) and other.subject.startswith(item.subject)))
        for other in present
    )


def _is_covered(item: Assertion, changed: list[Assertion]) -> bool:
    """Two assertions about parts may have become one about the whole, or rows of a table."""
    wanted = item.words
    return bool(wanted.literals) and any(
        STRENGTH[other.kind] >= STRENGTH[item.kind]
        and wanted.literals.keys() <= other.words.literals.keys()
        and (other.kind is Kind.ROW or wanted.names <= other.words.names or _is_part_of(item, other))
        for other in changed
    )


def _is_part_of(item: Assertion, other: Assertion) -> bool:
    """`sum.getY()` is a part of `sum`, which is compared as a whole."""
    wholes = [side for side in (other.subject, other.expected) if side and other.kind is Kind.EQUAL]
    return any(item.subject.startswith((f"{side}.", f"{side}[")) for side in wholes)


def _helper_strengths(pair: Pair, comparison: Comparison) -> list[int]:
    """Strengths of the assertions, weakest first, of functions that the test calls now and did not, once for each call."""
    called = pair.new.words.names - pair.old.words.names - {pair.new.bare_name}
    helpers = [(pair.new.body.count(f"{name}("), case) for name in called if (case := comparison.helper(name)) is not None]
    found = (
        item for times, case in helpers for item in case.assertions * min(times, _MOST_VERSIONS) if item.guard < Guard.SWALLOWED
    )
    return sorted(STRENGTH[item.kind] for item in found)


def _resolved(item: Assertion, comparison: Comparison) -> Assertion:
    """A call of a helper asserts what the helper asserts, where its source is at hand."""
    name = item.subject.partition("(")[0].rpartition(".")[2]
    helper = comparison.helper(name) if item.kind is Kind.CALL else None
    if helper is None:
        return item
    strongest = max((inner.kind for inner in helper.assertions), key=STRENGTH.__getitem__, default=None)
    if strongest is not None:
        return replace(item, kind=strongest) if STRENGTH[strongest] < STRENGTH[Kind.CALL] else item
    calls_others = any(comparison.helper(other) is not None for other in helper.words.names - {name})
    return item if calls_others else replace(item, kind=Kind.TRIVIAL)
