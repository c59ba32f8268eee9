"""Pairs of instructions that cannot both be followed, by a simple rule: the same thing ordered and forbidden.

A false alarm stops a loop, so what is doubtful is no conflict. What is said in unusual words is left to the model's question.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product

from helmsman.oversee.imperatives import EXCEPTION, MEANING, PARTICIPLES, hide, singular
from helmsman.plain import word_set
from helmsman.records.oversight import Conflict, ConflictKind, Imperative

MOST_CONFLICTS = 5
MOST_ORDERS = 1000
"""Instructions that are compared; those of more documents than anybody reads are left out."""
_MOST_COMPARED = 300
_ABOUT = 200
_GRAVITY = {"pattern": 0, "scope": 1, "completeness": 2, "priority": 3}
_FOR_FOLDERS = frozenset({"AGENTS.md", "CLAUDE.md"})

# --- what an instruction speaks of --------------------------------------------------------------------------------

ANY = word_set("file code anything everything something nothing folder directory content line stuff")
"""Nouns that narrow nothing."""
_SMALL = word_set(
    "the a an any new your our its their it them this these those both no existing current project repo repository some more "
    "further additional extra own and or nor to of : , ; & please always never ever do not don't must should shall may can "
    "will has have need needs be is are also then finally you we i agent agents claude first strictly absolutely really just "
    "avoid it's"
)
_EVERY = word_set("all every each")
_JOINS = word_set(", ; and or nor then &")
_MODAL = word_set("must should shall may has have need needs never")
_PLACES = word_set("in inside into under within below at on to of")
_ENDS = _PLACES | word_set(
    "from for with but by via using like as per against across over between about through instead rather than according so "
    "because since that which who where when if while before after until during how"
)
"""What ends an object; what follows only narrows it."""
_EDITS = word_set("change touch add fix migrate extend format document replace rename move remove upgrade refactor put")
_TURNS = word_set("migrate rename move change format raise replace refactor")
"""What makes one thing into another: the other one narrows nothing."""
_BARE = word_set("commit push deploy publish release merge rebase amend")
"""What is done without an object."""
_APART = word_set("vendor vendored third-party generated fixture snapshot legacy archived")
"""Rules for all code are never meant for these."""
_TOKEN = re.compile(r"`[^`\n]{1,200}`|[*\w./@+'-]*[\w*/]|[,;:]")
_PATH = re.compile(r"(?:[\w.*@+-]*/)+[\w.*@+-]*|[\w*@+-]*\.[a-z]{1,5}|Makefile|Dockerfile")
_CONDITIONAL = re.compile(r"\b(?:if|when|whenever|until|once|in case|as soon as|as long as|without|instead of)\b", re.IGNORECASE)
_SAME = r"as (?:it|they|is)\b|as[- ]is\b|unchanged|untouched|alone\b|intact\b|unmodified|read[- ]only|frozen|off[- ]limits"
_AS_IS = re.compile(
    rf"\b(?:leave|keep) (?P<a>.{{1,200}}?) (?:exactly )?(?:{_SAME})"
    rf"|^(?P<b>.{{1,200}}?) (?:must |should |has to |have to )?(?:is|are|be|stays?|remains?) (?:strictly )?(?:{_SAME})",
    re.IGNORECASE,
)
_BANNED = re.compile(
    r"^(?P<a>.{1,200}?) (?:is|are) (?:strictly )?(?:forbidden|prohibited|not (?:allowed|permitted)|never allowed)\b"
    r"|^no (?P<b>.{1,200})",
    re.IGNORECASE,
)
_CHANGE = r"(?:change|edit|modify|touch)"
_ONLY = re.compile(
    rf"\b(?:only {_CHANGE}|{_CHANGE} only)(?: files?)?(?: (?:in|inside|under|within))? +(?P<a>.{{1,200}})"
    rf"|\b{_CHANGE}(?: \w+){{0,4}} outside(?: of)? (?P<b>.{{1,200}})",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Action:
    """One verb with one object."""

    order: Imperative
    ordered: bool
    """False: forbidden."""
    verb: str
    """The one that stands for all of its meaning."""
    noun: str = ""
    """What it is done to, in the singular."""
    kind: frozenset[str] = frozenset()
    """Words before the noun."""
    around: frozenset[str] = frozenset()
    """Words that narrow it otherwise: a subject, what follows a preposition."""
    paths: tuple[str, ...] = ()
    every: bool = False
    outside: bool = False
    """The paths are the only ones that may be changed."""

    @property
    def hard(self) -> bool:
        return self.order.modality in {"must", "must_not"}

    @property
    def words(self) -> frozenset[str]:
        return self.kind | self.around

    @property
    def about(self) -> str:
        return " ".join([*sorted(self.kind), self.noun])


def actions(order: Imperative) -> tuple[Action, ...]:
    """What an instruction orders or forbids; nothing where it holds only under a condition or with an exception."""
    text = re.sub(r"\([^()]{0,200}\)|\*\*", " ", order.text.replace("’", "'"))  # noqa: RUF001 - as word processors write it
    text = _unlabelled(text.strip())
    hidden = hide(text)
    if EXCEPTION.search(hidden) or _CONDITIONAL.search(hidden.removeprefix("without ")):
        return ()
    ordered = order.modality in {"must", "should"}
    if _ONLY.search(text):
        return _only(order, text, ordered=ordered)
    return tuple(_spoken(order, _tokens(text), ordered=True) if ordered else _forbidden(order, text))


def _unlabelled(text: str) -> str:
    """Without a label or heading that orders nothing itself: `Tests: never delete them`."""
    label, _, rest = text.partition(": ")
    speaks = any(word in MEANING for word in label.lower().split()) or "`" in label or label.lower().startswith("no ")
    return text if speaks or not rest else rest


def _forbidden(order: Imperative, text: str) -> Iterator[Action]:
    """`Never touch X`, `leave X as it is`, `no X`, `X is forbidden`, and a mere path below a heading that forbids."""
    tokens, kept, banned = _tokens(text), _AS_IS.search(text), _BANNED.search(text)
    if kept or (tokens and is_path(tokens[0])):
        yield from _objects(Action(order, ordered=False, verb="touch"), _tokens(kept["a"] or kept["b"]) if kept else tokens)
        return
    tokens = _tokens(banned["a"] or banned["b"]) if banned else tokens
    if banned and tokens and tokens[0].lower() not in PARTICIPLES:
        for verb in ("add", "use"):
            yield from _objects(Action(order, ordered=False, verb=verb), tokens)
    else:
        yield from _spoken(order, tokens, ordered=False)


def _only(order: Imperative, text: str, *, ordered: bool) -> tuple[Action, ...]:
    """An instruction that allows changes in some places alone."""
    found = _ONLY.search(text)
    tokens = _tokens(found["a"] or found["b"]) if found and bool(found["a"]) is ordered else []
    paths = tuple(token.strip("`") for token in tokens if is_path(token))
    others = _said(tokens) - ANY
    return (Action(order, ordered=False, verb="touch", paths=paths, outside=True),) if paths and not others else ()


def _spoken(order: Imperative, tokens: list[str], *, ordered: bool) -> Iterator[Action]:
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
    action = Action(order, ordered=ordered, verb=meaning, around=frozenset() if passive else _said(tokens[:modal]))
    rest = tokens[start + 1 :]
    yield from _objects(action, [*tokens[:modal], "in", *rest] if passive else _one_verb(rest) if ordered else rest)


def _one_verb(tokens: list[str]) -> list[str]:
    """Without a second verb: `add tests and update the docs`."""
    joins = (at for at, token in enumerate(tokens[:-1]) if token in _JOINS and tokens[at + 1] in MEANING)
    return tokens[: next(joins, len(tokens))]


def _objects(action: Action, tokens: list[str]) -> Iterator[Action]:
    """The action on each of the things in `the classes and functions in src/`."""
    tokens = tokens[1:] if tokens[:1] == ["on"] else tokens
    end = next((at for at, token in enumerate(tokens) if token.lower() in _ENDS), len(tokens))
    becomes = action.ordered and action.verb in _TURNS and {"to", "into"} & {*tokens[end : end + 2]}
    around = action.around if becomes else action.around | _said(tokens[end:])
    for thing in _things(tokens[:end]) or [[]]:
        paths = tuple(token.strip("`") for token in thing if is_path(token))
        names = [token for token in thing if not is_path(token) and token.lower() not in _SMALL | _EVERY]
        plain = [name for name in names if not name.startswith("`")] or names
        yield replace(
            action,
            noun=_word(plain[-1]) if plain else paths[0] if paths else "",
            kind=frozenset(map(_word, names)) - {_word(plain[-1]) if plain else ""},
            around=around,
            paths=paths or _places(action, tokens[end:]),
            every=any(token.lower() in _EVERY for token in thing),
        )


def _things(tokens: Sequence[str]) -> list[list[str]]:
    things: list[list[str]] = [[]]
    for token in tokens:
        if token in _JOINS:
            things.append([])
        else:
            things[-1].append(token)
    return [thing for thing in things if thing]


def _places(action: Action, tokens: Sequence[str]) -> tuple[str, ...]:
    """The paths in which it is done: those after `in`, not those after `to match` or `for`."""
    places: list[str] = []
    for before, token in zip(["", *tokens], tokens, strict=False):
        word = token.lower()
        leaves = word in _ENDS - _PLACES and not (word == "from" and action.verb in {"remove", "move"})
        if leaves or (before == "to" and word in MEANING):
            break
        places += [token.strip("`")] if is_path(token) else []
    return tuple(places)


def _said(tokens: Iterable[str]) -> frozenset[str]:
    words = (_word(token) for token in tokens if not is_path(token))
    return frozenset(word for word in words if word not in _SMALL | _PLACES)


def _word(token: str) -> str:
    return singular(token.strip("`").lower())


def _tokens(text: str) -> list[str]:
    return [token if token.startswith("`") else token.rstrip(".") for token in _TOKEN.findall(text) if token.strip(".*'-+")]


# --- paths --------------------------------------------------------------------------------------------------------

_NAMED = {
    "test": ("test/*", "tests/*", "*/test/*", "*/tests/*", "*test_*.py", "*_test.*", "*.test.*", "*.spec.*"),
    "migration": ("*/migrations/*", "migrations/*"),
    "dependency": ("*requirements*.txt", "*.lock", "*package-lock.json", "*go.sum"),
}
"""Paths of which instructions speak without naming any."""


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
    return (
        base == folder
        or base.startswith(f"{folder}/")
        or any(fnmatchcase(base, one) for one in (scope, scope.removeprefix("**/")))
    )


# --- conflicts ----------------------------------------------------------------------------------------------------


def conflicts(orders: Sequence[Imperative]) -> tuple[Conflict, ...]:
    """The contradictions between instructions, the gravest first, 5 at most."""
    known = tuple(dict.fromkeys(orders[:MOST_ORDERS]))
    place = {order: at for at, order in enumerate(known)}
    done = [action for order in known for action in actions(order)]
    wanted = [action for action in done if action.ordered and action.verb != "skip"][:_MOST_COMPARED]
    refused = [action for action in done if not action.ordered or action.verb == "skip"][:_MOST_COMPARED]
    pairs = ((one, other) for one in wanted for other in refused if one.order != other.order and (one.hard or other.hard))
    found = [conflict for one, other in pairs if (conflict := _opposed(one, other))]
    found += _opposed_ranks(known)
    ranked = sorted(found, key=lambda one: (_soft(one), _GRAVITY[one.kind], place[one.first], place[one.second]))
    return tuple(distinct(ranked))[:MOST_CONFLICTS]


def distinct(found: Iterable[Conflict]) -> Iterator[Conflict]:
    """The first conflict of each pair of instructions that hold in the same place."""
    seen: set[frozenset[str]] = set()
    for conflict in found:
        pair = frozenset(" ".join(order.text.lower().strip(" .!*_").split()) for order in (conflict.first, conflict.second))
        if len(pair) > 1 and pair not in seen and _folder(conflict.first) == _folder(conflict.second):
            seen.add(pair)
            yield conflict


def _folder(order: Imperative) -> str:
    """Where an instruction holds: an AGENTS.md in a folder speaks of that folder, and stands above the rules for all."""
    folder, _, name = order.source.rpartition("/")
    return folder if name in _FOR_FOLDERS else ""


def _soft(conflict: Conflict) -> int:
    return sum(order.modality in {"should", "should_not"} for order in (conflict.first, conflict.second))


def _conflict(kind: ConflictKind, one: Imperative, other: Imperative, about: str) -> Conflict:
    return Conflict(kind=kind, first=one, second=other, about=about[:_ABOUT])


def _opposed(wanted: Action, refused: Action) -> Conflict | None:
    """What contradicts in what is ordered and what is forbidden or to be skipped."""
    if not refused.ordered and _same(wanted, refused):
        return _conflict("pattern", wanted.order, refused.order, f"{refused.verb} {refused.about}")
    if path := _trespass(wanted, refused):
        return _conflict("scope", wanted.order, refused.order, path)
    if _leaves_out(wanted, refused):
        return _conflict("completeness", wanted.order, refused.order, refused.about)
    return None


def _same(wanted: Action, ban: Action) -> bool:
    """Whether all that narrows the ban narrows the order as well. The same author's narrower order is an exception."""
    if wanted.verb != ban.verb or wanted.noun != ban.noun or ban.noun in ANY or wanted.every < ban.every or ban.outside:
        return False
    if not ban.noun and ban.verb not in _BARE:
        return False
    if wanted.order.source == ban.order.source and (wanted.around, wanted.paths) != (ban.around, ban.paths):
        return False
    placed = all(any(inside(path, scope) for path in wanted.paths) for scope in ban.paths)
    return ban.words <= wanted.words and placed


def _trespass(edit: Action, ban: Action) -> str:
    """What of an edit lies where nothing may be changed."""
    if ban.ordered or ban.verb not in {"change", "touch"} or edit.verb not in _EDITS or not (edit.hard and ban.hard):
        return ""
    if ban.outside:
        return next((path for path in edit.paths if not any(inside(path, scope) for scope in ban.paths)), "")
    if edit.verb == "add" and edit.noun in edit.paths and ban.verb != "touch":
        return ""  # a new file changes none that is there
    scopes = ban.paths or (_NAMED.get(ban.noun, ()) if not ban.words else ())
    whole = not ban.words and (ban.noun in ANY or ban.noun in _NAMED or ban.noun in {"", *ban.paths})
    return next((path for path, scope in product(edit.paths, scopes) if inside(path, scope)), "") if whole else ""


def _leaves_out(whole: Action, part: Action) -> bool:
    """All of a kind is ordered, and one of the kind left out. What the same author leaves out is an exception."""
    all_of_it = whole.every and whole.verb in _EDITS - {"add"} and not whole.around and not whole.paths
    alike = whole.noun == part.noun and whole.kind < part.kind and part.verb in {"change", "touch", "skip", whole.verb}
    strict = whole.hard and part.hard and whole.order.source != part.order.source
    return all_of_it and alike and strict and part.words.isdisjoint(_APART)


# --- rank ---------------------------------------------------------------------------------------------------------

_RANKS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^(?P<a>.{2,140}?),? (?:before|prior to) (?P<b>.{2,140})$",
        r"^(?P<b>.{2,140}?),? (?:only )?after (?P<a>.{2,140})$",
        r"^(?:\w+ ){0,3}?prefer (?P<a>.{2,140}?) (?:over|to) (?P<b>.{2,140})$",
        r"^(?P<a>.{2,140}?) (?:rather than|instead of|takes? precedence over|is more important than) (?P<b>.{2,140})$",
    )
)
_NO_RANK = _SMALL | _PLACES | {"use", "prefer", "favour", "favor", "choose", "which", "as", "for"}


def _opposed_ranks(orders: Sequence[Imperative]) -> Iterator[Conflict]:
    """One before the other, and the other before the one."""
    known: dict[tuple[frozenset[str], frozenset[str]], Imperative] = {}
    for order in orders:
        first, second = _rank(order)
        if first and second and first != second:
            if opposite := known.get((second, first)):
                yield _conflict("priority", opposite, order, f"{' '.join(sorted(first))} or {' '.join(sorted(second))} first")
            known.setdefault((first, second), order)


def _rank(order: Imperative) -> tuple[frozenset[str], frozenset[str]]:
    """What an instruction puts before what; what must not come first comes second."""
    text = "" if EXCEPTION.search(order.text) else order.text.strip(" .!*")
    found = next((match for pattern in _RANKS if (match := pattern.match(text))), None)
    first, second = (_key(found[name]) if found else frozenset[str]() for name in "ab")
    return (second, first) if order.modality in {"must_not", "should_not"} else (first, second)


def _key(text: str) -> frozenset[str]:
    words = [token.strip("`").lower() for token in _tokens(text)]
    return frozenset(MEANING.get(word) or PARTICIPLES.get(word) or singular(word) for word in words if word not in _NO_RANK)
