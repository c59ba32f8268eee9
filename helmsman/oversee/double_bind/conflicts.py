"""Pairs of orders that cannot both be followed. A false alarm stops a loop, so what is doubtful is no conflict."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from helmsman.oversee.double_bind.precedence import Ranking, ranking, top
from helmsman.oversee.double_bind.scopes import FOLDERS, NAMED, PUBLIC, inside, named, of_kind, set_apart
from helmsman.oversee.double_bind.subjects import Deed, deeds
from helmsman.oversee.double_bind.words import ALONE, ANYTHING, CHANGES, COVERS, FORBIDS_ALL
from helmsman.oversee.drift.words import word_set
from helmsman.records.oversight import Conflict, Imperative

MOST_CONFLICTS = 5
MOST_ORDERS = 1000
"""Orders that are compared; those of more documents than anybody reads are left out."""
_MOST_SCOPES = 300
_MOST_OF_A_KIND = 50
_ABOUT = 200
_GRAVITY = {"pattern": 0, "scope": 1, "completeness": 2, "priority": 3}
_NEW_HERE = ("goal", "criteria", "specs/")
"""Sources whose orders are work still to be done; those of others may describe what is there already."""
_FOR_FOLDERS = frozenset({"AGENTS.md", "CLAUDE.md"})
_PACKAGES = word_set("dependency library package")
_KNOWN = word_set("existing standard builtin built-in stdlib our internal current")
Found = Callable[[Sequence[Deed]], Iterator[Conflict]]


def conflicts(orders: Sequence[Imperative]) -> tuple[Conflict, ...]:
    """The contradictions between orders, the gravest first, 5 at most."""
    known = tuple(dict.fromkeys(orders[:MOST_ORDERS]))
    place = {order: at for at, order in enumerate(known)}
    done = [deed for order in known for deed in deeds(order)]
    found = [conflict for source in _SOURCES for conflict in source(done)]
    found += [*_coverage(done, known), *_opposed_ranks(known), *_rival_tops(known)]
    ranked = sorted(found, key=lambda one: (_soft(one), _GRAVITY[one.kind], place[one.first], place[one.second]))
    return tuple(distinct(ranked))[:MOST_CONFLICTS]


def distinct(found: Iterable[Conflict]) -> Iterator[Conflict]:
    """The first conflict of each pair of orders that hold in the same place."""
    seen: set[frozenset[str]] = set()
    for conflict in found:
        pair = frozenset((_said(conflict.first), _said(conflict.second)))
        if len(pair) > 1 and pair not in seen and _folder(conflict.first) == _folder(conflict.second):
            seen.add(pair)
            yield conflict


def _folder(order: Imperative) -> str:
    """Where an order holds: an AGENTS.md in a folder speaks of that folder, and stands above the rules for all."""
    folder, _, name = order.source.rpartition("/")
    return folder if name in _FOR_FOLDERS else ""


def _said(order: Imperative) -> str:
    return " ".join(order.text.lower().strip(" .!*_").split())


def _soft(conflict: Conflict) -> int:
    return sum(order.modality in {"should", "should_not"} for order in (conflict.first, conflict.second))


def _conflict(kind: str, one: Imperative, other: Imperative, about: str) -> Conflict:
    return Conflict.model_validate({"kind": kind, "first": one, "second": other, "about": about[:_ABOUT]})


# pattern ----------------------------------------------------------------------------------------------------------------------


def _patterns(done: Sequence[Deed]) -> Iterator[Conflict]:
    """The same deed, ordered and forbidden."""
    forbidden: dict[tuple[str, str], list[Deed]] = defaultdict(list)
    for deed in done:
        if not deed.ordered and not deed.outside and _specific(deed):
            forbidden[deed.verb, _thing(deed)].append(deed)
    for deed in done:
        if deed.ordered:
            for ban in forbidden[deed.verb, _thing(deed)][:_MOST_OF_A_KIND]:
                if _same(deed, ban):
                    yield _conflict("pattern", deed.order, ban.order, f"{deed.word} {_subject(ban)}")
        if deed.ordered and deed.verb == "keep" and deed.head:
            yield from _kept_and_removed(deed, done)


def _kept_and_removed(kept: Deed, done: Sequence[Deed]) -> Iterator[Conflict]:
    for deed in done[:_MOST_SCOPES]:
        same = deed.ordered and deed.verb == "remove" and _thing(deed) == _thing(kept) and deed.adjectives == kept.adjectives
        if same and kept.around <= deed.around and _weighty(deed, kept):
            yield _conflict("pattern", kept.order, deed.order, _subject(kept))


def _specific(deed: Deed) -> bool:
    return bool(deed.head or deed.paths or deed.verb in ALONE) and not (deed.head in ANYTHING and not deed.paths)


def _thing(deed: Deed) -> str:
    return deed.paths[0].rstrip("/") if deed.direct and len(deed.paths) == 1 else deed.head


def _same(deed: Deed, ban: Deed) -> bool:
    """Whether what is forbidden is all of what is ordered: everything that narrows the ban narrows the order as well."""
    words = deed.adjectives | deed.around | {deed.head}
    if not _weighty(deed, ban) or deed.every < ban.every:
        return False
    if deed.order.source == ban.order.source and (deed.placed and not ban.placed):
        return False  # a place of its own in the same document is an exception to the rule
    return ban.adjectives <= words and ban.around <= words and _places_meet(deed, ban)


def _places_meet(deed: Deed, ban: Deed) -> bool:
    if not ban.paths or ban.direct:
        return True
    return any(inside(path, scope) for path in deed.paths for scope in ban.paths)


def _weighty(deed: Deed, ban: Deed) -> bool:
    return (deed.hard or ban.hard) and deed.order != ban.order


def _subject(deed: Deed) -> str:
    return " ".join([*sorted(deed.adjectives), deed.head or (deed.paths[0] if deed.paths else "")]).strip()


# scope ------------------------------------------------------------------------------------------------------------------------


def _scopes(done: Sequence[Deed]) -> Iterator[Conflict]:
    """An edit that is ordered inside of what may not be changed."""
    bans = list(islice((deed for deed in done if _bans_scope(deed)), _MOST_SCOPES))
    edits = list(islice((deed for deed in done if deed.ordered and deed.hard and deed.verb in CHANGES), _MOST_SCOPES))
    for ban in bans:
        for edit in edits:
            about = _trespass(edit, ban)
            if about and _weighty(edit, ban):
                yield _conflict("scope", edit.order, ban.order, about)


def _bans_scope(deed: Deed) -> bool:
    return not deed.ordered and deed.hard and deed.verb == "change"


def _trespass(edit: Deed, ban: Deed) -> str:
    """What of the edit lies where nothing may be changed."""
    if ban.outside:
        return next((path for path in edit.paths if not any(inside(path, scope) for scope in ban.paths)), "")
    if edit.verb == "add" and edit.direct and ban.word not in FORBIDS_ALL:
        return ""  # a new file changes none that is there
    whole = ban.paths and (ban.direct or ban.head in ANYTHING) and (ban.direct or not ban.adjectives)
    if whole and not (ban.direct and ban.head and ban.head not in ANYTHING and ban.head not in NAMED):
        return next((path for path in edit.paths for scope in ban.paths if inside(path, scope)), "") or _new_in(edit, ban)
    if ban.paths or ban.around:
        return ""
    return _in_named(edit, ban)


def _new_in(edit: Deed, ban: Deed) -> str:
    """Something new whose folder is closed."""
    if edit.paths or ban.word not in FORBIDS_ALL or edit.verb not in {"add", "change"}:
        return ""
    folders = FOLDERS.get(edit.head, ())
    return next((scope for scope in ban.paths if scope.strip("/*") in folders), "")


def _in_named(edit: Deed, ban: Deed) -> str:
    if ban.head == "api" and "public" in ban.adjectives:
        public = "public" in edit.adjectives and edit.head in PUBLIC and edit.verb in {"change", "remove", "rename"}
        return "public api" if public and not edit.placed else ""
    if ban.adjectives or ban.head not in NAMED:
        return ""
    return next((path for path in edit.paths if named(path, ban.head)), "")


# completeness -----------------------------------------------------------------------------------------------------------------


def _completeness(done: Sequence[Deed]) -> Iterator[Conflict]:
    """All of a kind, and one of the kind left out."""
    wholes = islice((deed for deed in done if deed.ordered and deed.hard and deed.every and deed.verb in COVERS), _MOST_SCOPES)
    left_out = list(islice((deed for deed in done if _leaves_out(deed)), _MOST_SCOPES))
    for whole in wholes:
        for left in left_out:
            if _one_of(left, whole) and _weighty(whole, left):
                yield _conflict("completeness", whole.order, left.order, _subject(left))


def _leaves_out(deed: Deed) -> bool:
    skipped = deed.ordered and deed.verb == "skip"
    return deed.hard and not deed.outside and (skipped or (not deed.ordered and deed.verb in {"change", *COVERS}))


def _one_of(left: Deed, whole: Deed) -> bool:
    if left.order.source == whole.order.source and not whole.strict:
        return False  # what the same author leaves out is an exception
    if not left.ordered and left.verb not in {"change", whole.verb}:
        return False
    words = left.adjectives | left.around | {left.head}
    fits = whole.adjectives <= words and not whole.placed and whole.around <= words
    if left.direct:
        return fits and any(of_kind(path, whole.head) and not set_apart(path) for path in left.paths)
    apart = any(set_apart(word) for word in words)
    return fits and not apart and left.head == whole.head and words != whole.adjectives | whole.around | {whole.head}


def _coverage(done: Sequence[Deed], orders: Sequence[Imperative]) -> Iterator[Conflict]:
    """More coverage without more tests."""
    bans = [deed for deed in done if not deed.ordered and deed.hard and deed.verb == "add" and deed.head == "test"]
    bans = [ban for ban in bans if not ban.adjectives - {"new"} and not ban.around]
    wanted = [order for order in orders if order.modality == "must" and _MORE_COVERAGE.search(order.text)]
    for ban in bans[:_MOST_OF_A_KIND]:
        yield from (_conflict("completeness", order, ban.order, "test coverage") for order in wanted[:_MOST_OF_A_KIND])


_MORE_COVERAGE = re.compile(
    r"\b(?:raise|increase|improve) [^.]{0,60}\bcoverage\b|\bcoverage\b[^.]{0,60}\b100 ?%|\b100 ?% [^.]{0,60}\bcoverage\b",
    re.IGNORECASE,
)


def _dependencies(done: Sequence[Deed]) -> Iterator[Conflict]:
    """A library that is to be brought in, where nothing may be."""
    bans = [deed for deed in done if not deed.ordered and deed.hard and deed.verb == "add" and deed.head in _PACKAGES]
    bans = [ban for ban in bans if not ban.adjectives - {"new", "third-party", "external"} and not ban.around]
    wanted = [deed for deed in done if deed.ordered and deed.hard and _brings_in(deed)]
    for ban in bans[:_MOST_OF_A_KIND]:
        yield from (_conflict("completeness", deed.order, ban.order, "dependencies") for deed in wanted[:_MOST_OF_A_KIND])


def _brings_in(deed: Deed) -> bool:
    if deed.head not in _PACKAGES or deed.adjectives & _KNOWN:
        return False
    fresh = deed.order.source.startswith(_NEW_HERE)
    return deed.verb == "add" or (deed.verb == "use" and fresh and bool(deed.adjectives))


# priority ---------------------------------------------------------------------------------------------------------------------


def _opposed_ranks(orders: Sequence[Imperative]) -> Iterator[Conflict]:
    """One before the other, and the other before the one."""
    ranks: dict[tuple[frozenset[str], frozenset[str]], Ranking] = {}
    for order in orders:
        rank = ranking(order)
        if rank is None:
            continue
        opposite = ranks.get((rank.second, rank.first))
        if opposite:
            about = f"{' '.join(sorted(rank.first))} or {' '.join(sorted(rank.second))} first"
            yield _conflict("priority", opposite.order, order, about)
        ranks.setdefault((rank.first, rank.second), rank)


def _rival_tops(orders: Sequence[Imperative]) -> Iterator[Conflict]:
    """Two that are each the most important."""
    tops = [(order, words) for order in orders if (words := top(order))][:_MOST_OF_A_KIND]
    for at, (order, words) in enumerate(tops):
        for other, others in tops[:at]:
            if not words & others:
                yield _conflict("priority", other, order, f"{' '.join(sorted(others))} or {' '.join(sorted(words))} first")


_SOURCES: tuple[Found, ...] = (_patterns, _scopes, _completeness, _dependencies)
