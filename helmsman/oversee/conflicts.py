"""Pairs of contradicting instructions, by a simple rule: the same thing is ordered and forbidden.

A false alarm stops a loop, so doubtful or unusually worded pairs are no conflict.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from helmsman.oversee.imperatives import MEANING, PATTERNS, REPHRASINGS, WORDS, mask_quoted, stem
from helmsman.parsers.source import is_test_file
from helmsman.records.control import Conflict, ConflictKind, Imperative

MOST_CONFLICTS = 5
MOST_ORDERS = 1000  # instructions compared at most; the rest of very many documents is ignored
_MOST_COMPARED = 300
_ABOUT = 200
_GRAVITY: tuple[ConflictKind, ...] = ("pattern", "scope", "completeness", "priority")
_SMALL, _AFTER, _EVERY = WORDS["small"], WORDS["ends"], WORDS["every"]
_ENDS = _AFTER | WORDS["places"] | WORDS["joins"]
_ANY, _APART = (frozenset(map(stem, WORDS[name])) for name in ("any", "apart"))
_TOKEN = re.compile(r"`[^`\n]{1,200}`|[*\w./@+'-]*[\w*/]|[,;:]")
_PATH = re.compile(r"(?:[\w.*@+-]*/)+[\w.*@+-]*|[\w*@+-]*\.[a-z]{1,5}|Makefile|Dockerfile")


@dataclass(frozen=True)
class _Action:
    """What one instruction orders or forbids."""

    order: Imperative
    ordered: bool  # False: forbidden
    verb: str  # the representative of its synonyms
    target: str  # the object, for people
    noun: str  # the object's stem
    kind: frozenset[str]  # words before the noun
    around: frozenset[str]  # all other words, which narrow it too
    paths: tuple[str, ...]
    every: bool

    @property
    def hard(self) -> bool:
        return self.order.modality in {"must", "must_not"}

    @property
    def narrowed(self) -> frozenset[str]:
        return self.kind | self.around


def _parse_action(order: Imperative) -> _Action | None:
    """Parse one verb with the first object after it and all words that narrow it; None without a known verb."""
    text = re.sub(r"\([^()]{0,200}\)|\*\*", " ", order.text.replace("’", "'")).strip()  # noqa: RUF001 - as word processors write it
    for pattern, plainly in REPHRASINGS:
        text = pattern.sub(plainly, text)
    ordered, tokens = order.modality in {"must", "should"}, _tokens(text)
    if not ordered and tokens and is_path(tokens[0]):  # a bare path below a forbidding heading
        tokens = ["touch", *tokens]
    lower = [token.lower() for token in tokens]
    modal = next((index for index, word in enumerate(lower) if word in WORDS["modal"]), 0)
    start = next((index for index in range(modal, len(lower)) if lower[index] not in _SMALL), -1)
    verb = MEANING.get(stem(lower[start])) if lower else None
    if verb is None:
        return None
    place = next((index for index in range(start + 1, len(lower)) if lower[index] in _AFTER | WORDS["places"]), len(lower))
    end = next((index for index in range(start + 1, place) if lower[index] in WORDS["joins"]), place)
    names = [token for token in tokens[start + 1 : end] if _words([token])]
    noun = next((name for name in reversed(names) if not name.startswith("`")), names[-1] if names else "")
    # paths after `in` count, those after `for` or `to make` do not
    purpose_starts = (
        index
        for index in range(place, len(lower))
        if lower[index] in _AFTER or (lower[index - 1] == "to" and stem(lower[index]) in MEANING)
    )
    object_tokens, place_tokens = tokens[start + 1 : place], tokens[place : next(purpose_starts, None)]
    paths = tuple(
        token.strip("`") for token in (object_tokens if any(map(is_path, object_tokens)) else place_tokens) if is_path(token)
    )
    return _Action(
        order,
        ordered=ordered is (verb not in {"keep", "skip"}),
        verb="remove" if verb == "keep" else verb,
        target=" ".join(name.strip("`") for name in names) or " ".join(paths[:1]),
        noun="".join(_words([noun])),
        kind=_words(names) - _words([noun]),
        around=_words([*tokens[:modal], *tokens[end:]]),
        paths=paths,
        every=not _EVERY.isdisjoint(lower[start:end]),
    )


def _words(tokens: Iterable[str]) -> frozenset[str]:
    """Stems of words that are neither paths nor words without meaning here."""
    words = (token.strip("`").lower() for token in tokens if not is_path(token))
    return frozenset(stem(word) for word in words if word and word not in _SMALL | _ENDS | _EVERY)


def _tokens(text: str) -> list[str]:
    return [token if token.startswith("`") else token.rstrip(".") for token in _TOKEN.findall(text) if token.strip(".*'-+")]


def is_path(token: str) -> bool:
    """Whether a word or a name in backticks is a file, a folder or a glob."""
    name = token.strip("`")
    if not _PATH.fullmatch(name) or name.startswith(("@", "-")):
        return False
    return token.startswith("`") or "." in name or name.endswith("/") or "/" not in name or name.count("/") > 1


def is_inside(path: str, scope: str) -> bool:
    """Whether a path (or everything that a glob matches) is in a scope: the same file, a parent folder, or a matching glob."""
    path, scope = (name[:300].removeprefix("./").removeprefix("/") for name in (path, scope))
    base, folder = path.split("*")[0].rstrip("/"), scope.rstrip("/")
    if not base or not folder:
        return False
    return f"{base}/".startswith(f"{folder}/") or any(
        fnmatchcase(base, pattern) for pattern in (scope, scope.removeprefix("**/"))
    )


# --- conflicts ----------------------------------------------------------------------------------------------------


def find_conflicts(orders: Sequence[Imperative]) -> tuple[Conflict, ...]:
    """Contradictions between instructions, most severe first, 5 at most, one per pair."""
    # conditional instructions and those with an exception are not compared
    compared = tuple(
        order for order in dict.fromkeys(orders[:MOST_ORDERS]) if not PATTERNS["condition"].search(mask_quoted(order.text))
    )
    actions = [action for order in compared if (action := _parse_action(order))]
    wanted, bans = ([action for action in actions if action.ordered is is_order][:_MOST_COMPARED] for is_order in (True, False))
    pairs = ((action, ban) for action in wanted for ban in bans if action.hard or ban.hard)
    conflicting = [conflict for action, ban in pairs if (conflict := _find_conflict(action, ban))]
    unique = dict[frozenset[str], Conflict]()  # several documents often repeat a rule
    for conflict in [*conflicting, *_find_rank_conflicts(compared)]:
        unique.setdefault(frozenset(order.text.lower() for order in (conflict.first, conflict.second)), conflict)
    return tuple(sorted(unique.values(), key=lambda conflict: _GRAVITY.index(conflict.kind)))[:MOST_CONFLICTS]


def _find_conflict(wanted: _Action, ban: _Action) -> Conflict | None:
    """The conflict between an ordered action and a forbidden or omitted one, if any."""
    kind: ConflictKind | None = None
    about = ban.target
    if _contradicts(wanted, ban):
        kind, about = "pattern", f"{ban.verb} {ban.target}"
    elif path := _forbidden_path(wanted, ban):
        kind, about = "scope", path
    elif _excludes_part(wanted, ban):
        kind = "completeness"
    return Conflict(kind=kind, first=wanted.order, second=ban.order, about=about[:_ABOUT]) if kind else None


def _contradicts(wanted: _Action, ban: _Action) -> bool:
    """Whether everything that narrows the ban also narrows the order. A narrower order by the same author is an exception."""
    if wanted.verb != ban.verb and (wanted.verb, ban.verb) != ("add", "use"):
        return False
    if wanted.noun != ban.noun or ban.noun in _ANY or wanted.every < ban.every:
        return False
    if wanted.order.source == ban.order.source and (wanted.narrowed, wanted.paths) != (ban.narrowed, ban.paths):
        return False
    placed = all(any(is_inside(path, scope) for path in wanted.paths) for scope in ban.paths)
    return ban.narrowed <= wanted.narrowed and placed and bool(ban.noun or ban.paths or not wanted.target)


def _forbidden_path(edit: _Action, ban: _Action) -> str:
    """The path of an edit where changes are forbidden; empty if there is none."""
    if ban.verb not in {"change", "touch"} or edit.verb not in WORDS["edits"] or not (edit.hard and ban.hard):
        return ""
    if ban.narrowed or ban.noun not in {*_ANY, "test", ""} or (edit.verb == "add" and not edit.noun and ban.verb != "touch"):
        return ""  # a new file changes no existing one
    tests = ban.noun == "test" and not ban.paths
    scoped = (path for path in edit.paths if (tests and is_test_file(path)) or any(is_inside(path, scope) for scope in ban.paths))
    return next(scoped, "")


def _excludes_part(whole: _Action, excluded: _Action) -> bool:
    """Whether one orders all of a kind and the other excludes part of it. An exclusion by the same author is an exception."""
    is_same_kind = (
        whole.noun == excluded.noun and whole.kind < excluded.kind and excluded.verb in {"change", "touch", "skip", whole.verb}
    )
    is_strict = whole.hard and excluded.hard and whole.order.source != excluded.order.source
    return (
        whole.every
        and not whole.paths
        and whole.verb in WORDS["edits"]
        and is_same_kind
        and is_strict
        and _APART.isdisjoint(excluded.narrowed)
    )


def _find_rank_conflicts(orders: Sequence[Imperative]) -> Iterator[Conflict]:
    """Contradictory priorities: one first, and the other first."""
    ranked: dict[tuple[frozenset[str], ...], Imperative] = {}
    for order in orders:
        match = PATTERNS["rank"].match(order.text.strip(" .!*"))
        if not match or order.modality in {"must_not", "should_not"}:
            continue
        first, second = match["a"] or match["c"], match["b"] or match["d"]
        rank = tuple(_words(_tokens(words)) - {stem("use")} for words in (first, second))
        if all(rank) and rank[0] != rank[1]:
            if opposite := ranked.get(rank[::-1]):
                about = f"{first} or {second} first"[:_ABOUT]
                yield Conflict(kind="priority", first=opposite, second=order, about=about)
            ranked.setdefault(rank, order)
