"""What an order speaks of: the deed, what it is done to, and where. Read with word lists, not with a grammar."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from helmsman.oversee.double_bind.modality import EXCEPTION, NO_EXCEPTION, hide
from helmsman.oversee.double_bind.words import (
    ADJUNCTS,
    AGENTS,
    AROUND,
    BENT,
    DETERMINERS,
    EMPTY,
    EVERY,
    FILLERS,
    PLACES,
    SYNONYM,
    TURNS,
)
from helmsman.oversee.drift.words import word_set
from helmsman.records.oversight import Imperative

_MOST_DEEDS = 12
_TOKEN = re.compile(r"`[^`\n]{1,200}`|[*\w./@+'’-]*[\w*/]|[,;:]")  # noqa: RUF001 - as word processors write it
_BRACKETS = re.compile(r"\([^()]{0,200}\)")
_MODAL = word_set("must should shall may mustn't shouldn't has have need needs never")
_BE = word_set("is are be stay stays remain remains")
_FILE = re.compile(
    r"(?:[\w*?@+-][\w.*?@+-]*)?\.(?:py|pyi|js|jsx|ts|tsx|mjs|go|rs|java|kt|rb|php|c|h|cc|cpp|cs|sh|sql|md|rst|txt|toml"
    r"|yaml|yml|json|lock"
    r"|cfg|ini|css|scss|html|xml|proto|graphql|env|tf|gradle|swift|vue|ex|exs|scala|lua|ipynb|csv|snap)|Makefile|Dockerfile"
)
_CONDITIONAL = re.compile(r"\b(?:if|when|whenever|unless|until|once|in case|as soon as|as long as)\b", re.IGNORECASE)
_NARROWED = re.compile(
    r"\b(?:without|directly|by hand|manually|merely|simply|solely|unrelated|other|others|unnecessar\w*|needless\w*|too"
    r"|twice|more than"
    r"|that|which|who|whose|so that|in the same|at once|during|before|after|yet|instead of|for now|blindly|silently|arbitrar\w*"
    r"|random|unused|again|while|where|because|to (?!(?:the|a|an|any|our|this|it|be|all|new|its|existing|every|each|main"
    r"|master)\b)[a-z]+"
    r"|purely|broad\w*|speculative\w*|premature\w*|excessive\w*|obvious|redundant|(?<!-)only|just|from|based)\b",
    re.IGNORECASE,
)
_AS_IS = re.compile(
    r"(?:\bleave|\bkeep) (?P<a>.{1,200}?) (?:exactly )?(?:as (?:it|they|is)\b|as[- ]is\b|unchanged|untouched|alone\b"
    r"|intact\b|unmodified)"
    r"|(?P<b>.{1,200}?) (?:must |should |has to |have to |needs? to )?(?:is|are|be|stays?|remains?) (?:strictly )?"
    r"(?:as (?:it|they)|as[- ]is|unchanged|untouched|intact|unmodified|read[- ]only|frozen|off[- ]limits)\b",
    re.IGNORECASE,
)
_BANNED = re.compile(
    r"(?P<a>.{1,200}?) (?:is|are|must be) (?:strictly |expressly )?(?:forbidden|prohibited|not allowed|not permitted"
    r"|never allowed|out of scope)\b"
    r"|^no (?P<b>.{1,200})",
    re.IGNORECASE,
)
_HEADED = re.compile(
    r"^(?:out of scope|non-?goals?|forbidden|prohibited|off[- ]limits|not allowed|what not to do|anti-?patterns?"
    r"|hands off|don'?ts?)"
    r"[^:`]{0,40}: +(?P<rest>.+)",
    re.IGNORECASE,
)
_CHANGE_TO = re.compile(
    r"^(?:(?:any|all|further|the) )?(?:changes|edits|modifications|updates) (?:to|in|of) (?P<rest>.+)", re.IGNORECASE
)
_NEW = re.compile(r"\b(?:new|additional|extra|more|further)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Deed:
    """One verb with one object."""

    order: Imperative
    ordered: bool
    """False: forbidden."""
    verb: str
    """The one that stands for all of its meaning."""
    word: str
    """The one that was written."""
    head: str = ""
    """Noun that it is done to, in the singular."""
    adjectives: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    """Words of what narrows it: subject, phrases with a preposition."""
    paths: tuple[str, ...] = ()
    """Files, folders and globs that it is done to or in."""
    direct: bool = False
    """Whether a path is the object itself."""
    every: bool = False
    placed: bool = False
    """Whether a phrase narrows where it holds."""
    outside: bool = False
    """The paths are the only ones that may be changed."""

    @property
    def hard(self) -> bool:
        return self.order.modality in {"must", "must_not"}

    @property
    def strict(self) -> bool:
        """Whether it says itself that it allows no exception."""
        return bool(NO_EXCEPTION.search(self.order.text)) or "every single" in self.order.text.lower()


def deeds(order: Imperative) -> tuple[Deed, ...]:
    """What an order speaks of; nothing where it holds only under a condition or with an exception."""
    ordered = order.modality in {"must", "should"}
    text = _BRACKETS.sub(" ", order.text)
    hidden = hide(text)
    if EXCEPTION.search(NO_EXCEPTION.sub("", hide(order.text))) or _CONDITIONAL.search(hidden):
        return ()
    only = _only(order, text)
    if only:
        return only
    if not ordered and _NARROWED.search(hide(_without_lead(text))):
        return ()
    read = _stated(order, text) or _spoken(order, _tokens(text), ordered=ordered)
    return tuple(read)[:_MOST_DEEDS]


_ONLY = re.compile(
    r"\b(?:only (?:ever )?(?:change|edit|modify|touch|alter)|(?:change|edit|modify|touch|alter) only)(?: (?:the "
    r"|any )?(?:files?|code))?"
    r"(?: (?:in|inside|under|within|below))? +(?P<paths>.{1,200})"
    r"|\b(?:change|edit|modify|touch|alter|add)(?: \w+){0,4} outside(?: of)? (?:the |of )*(?P<outside>.{1,200})",
    re.IGNORECASE,
)
_JOINED = re.compile(r"(?:,|and|or|&|the|files?|folders?|directory|directories|in|under)")


def _only(order: Imperative, text: str) -> tuple[Deed, ...]:
    """An order that allows changes in some places alone."""
    found = _ONLY.search(text)
    if found is None or (found["outside"] is None) != (order.modality in {"must", "should"}):
        return ()
    tokens = [token.strip("`") for token in _tokens(found["paths"] or found["outside"])]
    paths = tuple(token for token in tokens if is_path(token))
    if not paths or any(not is_path(token) and not _JOINED.fullmatch(token.lower()) for token in tokens):
        return ()
    return (Deed(order, ordered=False, verb="change", word="touch", paths=paths, direct=True, outside=True),)


def _without_lead(text: str) -> str:
    headed = _HEADED.match(text)
    text = headed["rest"] if headed else text
    return re.sub(r"^(?:and )?without ", "", text, flags=re.IGNORECASE)


def _stated(order: Imperative, text: str) -> list[Deed]:
    """Forms that forbid without a verb of their own: X stays as it is, no X, X is forbidden, out of scope: X."""
    if order.modality in {"must", "should"}:
        return []
    headed, kept, banned = _HEADED.match(text), _AS_IS.search(text), _BANNED.search(text)
    if kept and not headed:
        return _of(order, "touch", _tokens(_unled(kept["a"] or kept["b"])))
    if banned and not headed:
        rest = banned["a"] or banned["b"]
        return _nominal(order, rest, "add") + ([] if _NEW.search(rest) else _nominal(order, rest, "use"))
    if headed:
        return _listed(order, headed["rest"])
    changed = _CHANGE_TO.match(_unled(text))
    return _of(order, "change", _tokens(changed["rest"])) if changed else []


def _listed(order: Imperative, rest: str) -> list[Deed]:
    """An item under a heading that forbids: a deed, or a thing."""
    spoken = _spoken(order, _tokens(rest), ordered=False)
    changed = _CHANGE_TO.match(rest)
    if changed:
        return _of(order, "change", _tokens(changed["rest"]))
    return spoken or _nominal(order, rest, "add" if _NEW.search(rest) else "touch")


def _nominal(order: Imperative, rest: str, verb: str) -> list[Deed]:
    changed = _CHANGE_TO.match(rest)
    if changed:
        return _of(order, "change", _tokens(changed["rest"]))
    tokens = _tokens(rest)
    if tokens and tokens[0].lower() in BENT:
        return _spoken(order, tokens, ordered=False)
    return _of(order, verb, tokens)


def _of(order: Imperative, verb: str, tokens: Sequence[str]) -> list[Deed]:
    return list(_objects(Deed(order, ordered=False, verb=SYNONYM.get(verb, verb), word=verb), tokens))


def _unled(text: str) -> str:
    """The subject of a sentence without a label before it."""
    return text.rpartition(": ")[2] if ": " in text else text


def _spoken(order: Imperative, tokens: list[str], *, ordered: bool) -> list[Deed]:
    """A sentence with a verb: an order, or a subject with must."""
    start = _label(tokens)
    while start < len(tokens) and tokens[start].lower() in FILLERS:
        start += 1
    rest = tokens[start:]
    modal = next((at for at, token in enumerate(rest) if token.lower() in _MODAL), 0)
    relative = next(
        (at for at, token in enumerate(rest) if token.lower() in {"that", "which", "who", "so", "because"}), len(rest)
    )
    if 0 < modal < relative:
        return _passive(order, rest[:modal], rest[modal:], ordered=ordered)
    return list(_verbs(order, rest, frozenset(), ordered=ordered))


def _passive(order: Imperative, subject: list[str], rest: list[str], *, ordered: bool) -> list[Deed]:
    """`Tests must be added` is done to tests; `tests must use a clock` narrows to tests."""
    lowered = [token.lower() for token in rest]
    at = next((at for at, token in enumerate(lowered) if token not in FILLERS and token not in _BE), len(rest))
    if at == len(rest):
        return []
    if "be" in lowered[:at]:
        verb = BENT.get(lowered[at])
        done = Deed(order, ordered=ordered, verb=SYNONYM.get(verb or "", ""), word=verb or "")
        return [_around(deed, rest[at + 1 :]) for deed in _objects(done, subject)] if verb else []
    who = frozenset(singular(word) for word in map(str.lower, subject) if word not in EMPTY) - {singular(word) for word in AGENTS}
    return list(_verbs(order, rest[at:], who, ordered=ordered))


_JOINS = frozenset({",", "and", "or", "nor", "/"})


def _verbs(order: Imperative, tokens: list[str], who: frozenset[str], *, ordered: bool) -> Iterator[Deed]:
    """One or more verbs, each with all the objects that follow them."""
    verbs: list[str] = []
    at = 0
    while at < len(tokens):
        word = tokens[at].lower()
        verb = word if word in SYNONYM else BENT.get(word)
        if verb and verbs and tokens[at - 1].lower() not in _JOINS | FILLERS:
            break  # `add test data`: a noun
        if verb:
            verbs.append(verb)
        elif word not in _JOINS | FILLERS:
            break
        at += 1
    if not verbs:
        return
    end = _next_verb(tokens, at)
    for verb in verbs:
        yield from _objects(Deed(order, ordered=ordered, verb=SYNONYM[verb], word=verb, around=who), tokens[at:end])
    if end < len(tokens):
        yield from _verbs(order, tokens[end:], who, ordered=ordered)


def _next_verb(tokens: Sequence[str], start: int) -> int:
    """Where another verb follows after `and`, `or` or a comma."""
    joined = ("and", "or", "nor", ",", "then")
    for at in range(start + 1, len(tokens) - 1):
        if tokens[at].lower() in joined and tokens[at + 1].lower() in SYNONYM and tokens[at + 1].islower():
            return at
    return len(tokens)


def _objects(deed: Deed, tokens: Sequence[str]) -> Iterator[Deed]:
    """The deed with each of the things that it is done to, up to the first preposition; what follows narrows all of them."""
    end = next((at for at, token in enumerate(tokens) if token.lower() in PLACES | AROUND and at + 1 < len(tokens)), len(tokens))
    lead = tokens[: end + 1] if end < len(tokens) and tokens[end].lower() == "on" and end == 0 else ()
    if lead or (end < 2 and end < len(tokens) and tokens[end].lower() == "of"):  # noqa: PLR2004 - `depend on X`, `all of the X`
        yield from _objects(replace(deed, every=bool(end) and tokens[0].lower() in EVERY), tokens[end + 1 :])
        return
    for thing in list(_things(tokens[:end])) or [[]]:
        yield _around(_done_to(deed, thing), tokens[end:])


def _things(tokens: Sequence[str]) -> Iterator[list[str]]:
    thing: list[str] = []
    for token in tokens:
        if token.lower() in {",", "and", "or", "nor", ";", "&"}:
            if thing:
                yield thing
            thing = []
        else:
            thing.append(token)
    if thing:
        yield thing


def _done_to(deed: Deed, thing: Sequence[str]) -> Deed:
    every = deed.every or any(token.lower() in EVERY for token in thing)
    paths = tuple(token.strip("`") for token in thing if is_path(token))
    nouns = [token for token in thing if token.lower() not in DETERMINERS | {":"} and not is_path(token)]
    plain = [token for token in nouns if not token.startswith("`")] or nouns
    head = _noun(plain[-1]) if plain else ""  # of "the class `User`" the class
    adjectives = frozenset(map(_noun, nouns)) - EMPTY - {head}
    return replace(deed, head=head, adjectives=adjectives, paths=paths, direct=bool(paths), every=every)


def _noun(token: str) -> str:
    return singular(token.strip("`").lower())


def _around(deed: Deed, tokens: Sequence[str]) -> Deed:
    """Read the phrases after the object: where it is done, and what else narrows it."""
    words, paths = set(deed.around), list(deed.paths)
    placed, here = deed.placed, not deed.direct
    last = preposition = ""
    for token in tokens:
        word = token.lower()
        preposition = word if word in PLACES | AROUND else preposition
        here = here and not _leaves(deed, word, last)
        placed = placed or word in ADJUNCTS
        paths += [token.strip("`")] if here and is_path(token) else []
        if word not in _SMALL and not (deed.ordered and deed.verb in TURNS and preposition in {"to", "into"}):
            words.add(token.strip("`") if is_path(token) else singular(word.strip("`")))
        last = word
    return replace(deed, around=frozenset(words), paths=tuple(paths), placed=placed)


_SMALL = DETERMINERS | PLACES | AROUND | {",", "and", "or", ":", ";"}


def _leaves(deed: Deed, word: str, last: str) -> bool:
    """Whether what follows a word is no longer the place of the deed: `to match X`, `for X`, `according to X`."""
    if word in AROUND:
        return word != "of" and not (word == "from" and deed.verb in {"remove", "move"})
    return (word in PLACES and last in SYNONYM) or (last == "to" and word in SYNONYM)


def _label(tokens: Sequence[str]) -> int:
    """`Tests: never delete them` begins after the colon."""
    at = list(tokens[:4]).index(":") if ":" in tokens[:4] else 0
    return at + 1 if at > 0 and not any(token.lower() in SYNONYM for token in tokens[:at]) else 0


def _tokens(text: str) -> list[str]:
    plain = text.replace("**", " ").replace("’", "'")  # noqa: RUF001 - as word processors write it
    return [token.rstrip(".") if not token.startswith("`") else token for token in _TOKEN.findall(plain) if token.strip(".*'-+")]


def is_path(token: str) -> bool:
    """Whether a word or a name in back-ticks is a file, a folder or a glob."""
    name = token.strip("`")
    if not name or " " in name or "(" in name or "://" in name or name.startswith(("@", "-")):
        return False
    quoted = token.startswith("`")
    sliced = "/" in name and (quoted or name.endswith("/") or "." in name or "*" in name or name.count("/") > 1)
    return sliced or bool(_FILE.fullmatch(name.rsplit("/", 1)[-1])) or (quoted and "*" in name and "." in name)


def singular(word: str) -> str:
    """A noun without the ending of its plural."""
    if word.endswith("ies") and len(word) > 4:  # noqa: PLR2004 - ties
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word  # noqa: PLR2004
