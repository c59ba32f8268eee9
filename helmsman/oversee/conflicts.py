"""Pairs of instructions that cannot both be followed, by a simple rule: the same thing ordered and forbidden.

A false alarm stops a loop, so what is doubtful is no conflict. What is said in unusual words is left to the model's question.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import groupby, pairwise, takewhile

from helmsman.oversee.imperatives import MEANING, PARTICIPLES, PATTERNS, RANKS, WORDS, hide, singular
from helmsman.parsers.test_files import is_test_file
from helmsman.records.control import Conflict, Imperative

MOST_CONFLICTS = 5
MOST_ORDERS = 1000  # instructions that are compared; those of more documents than anybody reads are left out
_MOST_COMPARED = 300
_ABOUT = 200
_GRAVITY = {"pattern": 0, "scope": 1, "completeness": 2, "priority": 3}
_FOR_FOLDERS = frozenset({"AGENTS.md", "CLAUDE.md"})

# --- what an instruction speaks of --------------------------------------------------------------------------------

_LISTS = ["any", "small", "every", "joins", "modal", "places", "ends", "edits", "turns", "bare", "apart"]
ANY, _SMALL, _EVERY, _JOINS, _MODAL, _PLACES, _AFTER, _EDITS, _TURNS, _BARE, _APART = (WORDS[name] for name in _LISTS)
_ENDS = _PLACES | _AFTER
_TOKEN = re.compile(r"`[^`\n]{1,200}`|[*\w./@+'-]*[\w*/]|[,;:]")
_PATH = re.compile(r"(?:[\w.*@+-]*/)+[\w.*@+-]*|[\w*@+-]*\.[a-z]{1,5}|Makefile|Dockerfile")


@dataclass(frozen=True)
class _Action:
    """One verb with one object."""

    order: Imperative
    ordered: bool  # False: forbidden
    verb: str  # the one that stands for all of its meaning
    noun: str = ""  # what it is done to, in the singular
    kind: frozenset[str] = frozenset()  # words before the noun
    around: frozenset[str] = frozenset()  # words that narrow it otherwise: a subject, what follows a preposition
    paths: tuple[str, ...] = ()
    every: bool = False
    outside: bool = False  # the paths are the only ones that may be changed

    @property
    def hard(self) -> bool:
        return self.order.modality in {"must", "must_not"}


def _actions(order: Imperative) -> Iterator[_Action]:
    """What an instruction orders or forbids; nothing where it holds only under a condition or with an exception."""
    text = re.sub(r"\([^()]{0,200}\)|\*\*", " ", order.text.replace("’", "'")).strip()  # noqa: RUF001 - as word processors write it
    label, _, rest = text.partition(": ")  # `Tests: never delete them`
    speaks = any(word in MEANING for word in label.lower().split()) or "`" in label or label.lower().startswith("no ")
    text = text if speaks or not rest else rest
    hidden = hide(text)
    if PATTERNS["exception"].search(hidden) or PATTERNS["conditional"].search(hidden.removeprefix("without ")):
        return
    ordered = order.modality in {"must", "should"}
    if only := PATTERNS["only"].search(text):
        tokens = _tokens(only["a"] or only["b"]) if bool(only["a"]) is ordered else []
        if _paths(tokens) and not _said(tokens) - ANY:
            yield _Action(order, ordered=False, verb="touch", paths=_paths(tokens), outside=True)
    elif ordered:
        yield from _spoken(order, _tokens(text), ordered=True)
    else:
        yield from _forbidden(order, text)


def _forbidden(order: Imperative, text: str) -> Iterator[_Action]:
    """`Never touch X`, `leave X as it is`, `no X`, `X is forbidden`, and a mere path below a heading that forbids."""
    kept, banned = PATTERNS["as_is"].search(text), PATTERNS["banned"].search(text)
    found = kept or banned
    tokens = _tokens((found["a"] or found["b"]) if found else text)
    if kept or is_path(next(iter(_tokens(text)), "")):
        yield from _objects(_Action(order, ordered=False, verb="touch"), tokens)
    elif banned and tokens and tokens[0].lower() not in PARTICIPLES:
        for verb in ("add", "use"):
            yield from _objects(_Action(order, ordered=False, verb=verb), tokens)
    else:
        yield from _spoken(order, tokens, ordered=False)


def _spoken(order: Imperative, tokens: list[str], *, ordered: bool) -> Iterator[_Action]:
    """A sentence with a verb: `add tests`, `you must add tests`, `tests must be added`."""
    lower = [token.lower() for token in tokens]
    modal = next((at for at, word in enumerate(lower) if word in _MODAL), 0)
    start = next((at for at in range(modal, len(lower)) if lower[at] not in _SMALL), 0)
    verb, passive = lower[start] if lower else "", "be" in lower[modal:start]
    meaning = PARTICIPLES.get(verb) if passive or verb.endswith("ing") else MEANING.get(verb)
    if meaning is None or (meaning == "keep" and not ordered):
        return
    if meaning == "keep":
        meaning, ordered = "remove", False
    action = _Action(order, ordered=ordered, verb=meaning, around=frozenset() if passive else _said(tokens[:modal]))
    rest = tokens[start + 1 :]
    second = (at for at, (join, word) in enumerate(pairwise(rest)) if join in _JOINS and word in MEANING)
    one_verb = rest[: next(second, len(rest))] if ordered else rest  # `add tests and update the docs`
    yield from _objects(action, [*tokens[:modal], "in", *rest] if passive else one_verb)


def _objects(action: _Action, tokens: list[str]) -> Iterator[_Action]:
    """The action on each of the things in `the classes and functions in src/`."""
    tokens = tokens[1:] if tokens[:1] == ["on"] else tokens
    end = next((at for at, token in enumerate(tokens) if token.lower() in _ENDS), len(tokens))
    becomes = action.ordered and action.verb in _TURNS and {"to", "into"} & {*tokens[end : end + 2]}
    around = action.around if becomes else action.around | _said(tokens[end:])
    # it is done in the paths after `in`, not in those after `to match` or `for`
    leaves = _AFTER - ({"from"} if action.verb in {"remove", "move"} else set())
    pairs = takewhile(
        lambda pair: pair[1].lower() not in leaves and not (pair[0] == "to" and pair[1].lower() in MEANING),
        zip(["", *tokens[end:]], tokens[end:], strict=False),
    )
    places = _paths([token for _, token in pairs])
    things = [list(run) for joins, run in groupby(tokens[:end], _JOINS.__contains__) if not joins]
    for thing in things or [[]]:
        paths = _paths(thing)
        names = [token for token in thing if not is_path(token) and token.lower() not in _SMALL | _EVERY]
        noun = next((name for name in reversed(names) if not name.startswith("`")), names[-1] if names else "")
        yield replace(
            action,
            noun=_word(noun) or next(iter(paths), ""),
            kind=frozenset(map(_word, names)) - {_word(noun)},
            around=around,
            paths=paths or places,
            every=any(token.lower() in _EVERY for token in thing),
        )


def _paths(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(token.strip("`") for token in tokens if is_path(token))


def _said(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset(_word(token) for token in tokens if not is_path(token)) - _SMALL - _PLACES


def _word(token: str) -> str:
    return singular(token.strip("`").lower())


def _tokens(text: str) -> list[str]:
    return [token if token.startswith("`") else token.rstrip(".") for token in _TOKEN.findall(text) if token.strip(".*'-+")]


def is_path(token: str) -> bool:
    """Whether a word or a name in back-ticks is a file, a folder or a glob."""
    name = token.strip("`")
    if not _PATH.fullmatch(name) or name.startswith(("@", "-")):
        return False
    return token.startswith("`") or "." in name or name.endswith("/") or "/" not in name or name.count("/") > 1


def inside(path: str, scope: str) -> bool:
    """Whether a path (or all that a glob means) lies in a scope: the same file, a folder above, or a glob that matches."""
    path, scope = (name[:300].removeprefix("./").removeprefix("/") for name in (path, scope))
    base, folder = path.split("*")[0].rstrip("/"), scope.rstrip("/")
    if not base or not folder:
        return False
    return f"{base}/".startswith(f"{folder}/") or any(fnmatchcase(base, one) for one in (scope, scope.removeprefix("**/")))


# --- conflicts ----------------------------------------------------------------------------------------------------


def conflicts(orders: Sequence[Imperative]) -> tuple[Conflict, ...]:
    """The contradictions between instructions, the gravest first, 5 at most."""
    known = tuple(dict.fromkeys(orders[:MOST_ORDERS]))
    place = {order: at for at, order in enumerate(known)}
    done = [action for order in known for action in _actions(order)]
    wanted = [action for action in done if action.ordered and action.verb != "skip"][:_MOST_COMPARED]
    refused = [action for action in done if not action.ordered or action.verb == "skip"][:_MOST_COMPARED]
    pairs = ((one, other) for one in wanted for other in refused if one.order != other.order and (one.hard or other.hard))
    found = [conflict for one, other in pairs if (conflict := _opposed(one, other))]

    def weight(one: Conflict) -> tuple[int, ...]:
        soft = sum(order.modality in {"should", "should_not"} for order in (one.first, one.second))
        return soft, _GRAVITY[one.kind], place[one.first], place[one.second]

    return tuple(distinct(sorted([*found, *_opposed_ranks(known)], key=weight)))[:MOST_CONFLICTS]


def distinct(found: Iterable[Conflict]) -> Iterator[Conflict]:
    """The first conflict of each pair of instructions that hold in the same place."""
    seen: set[frozenset[str]] = set()
    for conflict in found:
        both = conflict.first, conflict.second
        pair = frozenset(" ".join(order.text.lower().strip(" .!*_").split()) for order in both)
        # an AGENTS.md in a folder speaks of that folder, and stands above the rules for all
        places = [order.source.rpartition("/") for order in both]
        folders = {folder if name in _FOR_FOLDERS else "" for folder, _, name in places}
        if len(pair) > 1 and pair not in seen and len(folders) == 1:
            seen.add(pair)
            yield conflict


def _opposed(wanted: _Action, refused: _Action) -> Conflict | None:
    """What contradicts in what is ordered and what is forbidden or to be skipped."""
    about = " ".join([*sorted(refused.kind), refused.noun])
    if not refused.ordered and _same(wanted, refused):
        kind, about = "pattern", f"{refused.verb} {about}"
    elif path := _trespass(wanted, refused):
        kind, about = "scope", path
    elif _leaves_out(wanted, refused):
        kind = "completeness"
    else:
        return None
    return Conflict(kind=kind, first=wanted.order, second=refused.order, about=about[:_ABOUT])


def _same(wanted: _Action, ban: _Action) -> bool:
    """Whether all that narrows the ban narrows the order as well. The same author's narrower order is an exception."""
    if wanted.verb != ban.verb or wanted.noun != ban.noun or ban.noun in ANY or wanted.every < ban.every or ban.outside:
        return False
    if not ban.noun and ban.verb not in _BARE:
        return False
    if wanted.order.source == ban.order.source and (wanted.around, wanted.paths) != (ban.around, ban.paths):
        return False
    placed = all(any(inside(path, scope) for path in wanted.paths) for scope in ban.paths)
    return ban.kind | ban.around <= wanted.kind | wanted.around and placed


def _trespass(edit: _Action, ban: _Action) -> str:
    """What of an edit lies where nothing may be changed."""
    if ban.ordered or ban.verb not in {"change", "touch"} or edit.verb not in _EDITS or not (edit.hard and ban.hard):
        return ""
    if ban.outside:
        return next((path for path in edit.paths if not any(inside(path, scope) for scope in ban.paths)), "")
    narrowed = ban.kind or ban.around or ban.noun not in {*ANY, "test", "", *ban.paths}
    if narrowed or (edit.verb == "add" and edit.noun in edit.paths and ban.verb != "touch"):
        return ""  # a new file changes none that is there
    tests = ban.noun == "test" and not ban.paths
    scoped = (path for path in edit.paths if (tests and is_test_file(path)) or any(inside(path, scope) for scope in ban.paths))
    return next(scoped, "")


def _leaves_out(whole: _Action, part: _Action) -> bool:
    """All of a kind is ordered, and one of the kind left out. What the same author leaves out is an exception."""
    all_of_it = whole.every and whole.verb in _EDITS - {"add"} and not whole.around and not whole.paths
    alike = whole.noun == part.noun and whole.kind < part.kind and part.verb in {"change", "touch", "skip", whole.verb}
    strict = whole.hard and part.hard and whole.order.source != part.order.source
    return all_of_it and alike and strict and _APART.isdisjoint(part.kind | part.around)


# --- rank ---------------------------------------------------------------------------------------------------------

_NO_RANK = _SMALL | _PLACES | WORDS["no_rank"]


def _opposed_ranks(orders: Sequence[Imperative]) -> Iterator[Conflict]:
    """One before the other, and the other before the one."""
    known: dict[tuple[frozenset[str], ...], Imperative] = {}
    meaning = {**PARTICIPLES, **MEANING}
    for order in orders:
        text = "" if PATTERNS["exception"].search(order.text) else order.text.strip(" .!*")
        found = next((match for pattern in RANKS if (match := pattern.match(text))), None)
        refused = order.modality in {"must_not", "should_not"}  # what must not come first comes second
        rank: tuple[frozenset[str], ...] = ()
        if found:
            sides = ([token.strip("`").lower() for token in _tokens(found[name])] for name in ("ba" if refused else "ab"))
            rank = tuple(frozenset(meaning.get(word) or singular(word) for word in set(words) - _NO_RANK) for words in sides)
        if all(rank) and len({*rank}) > 1:
            if opposite := known.get(rank[::-1]):
                first, second = (" ".join(sorted(words)) for words in rank)
                about = f"{first} or {second} first"[:_ABOUT]
                yield Conflict(kind="priority", first=opposite, second=order, about=about)
            known.setdefault(rank, order)
