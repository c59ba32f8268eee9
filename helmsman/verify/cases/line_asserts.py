"""What the assertions of languages say that are read by their lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from helmsman.verify.cases.kinds import BROAD_ERRORS, KINDS, compact, inverted, negated, snake
from helmsman.verify.cases.masks import Brackets, Masked
from helmsman.verify.cases.model import Kind
from helmsman.verify.cases.python_asserts import Claim
from helmsman.verify.cases.words import is_literal

_HEAD = re.compile(
    r"(?<![\w$])(?:"
    r"(?P<chain>expect|assertThat|expectThat)(?=\s*+[({])"
    r"|(?P<object>assert|require)\.(?P<method>\w+)(?=\()"
    r"|[tb]\.(?P<go>Errorf?|Fatalf?|Fail(?:Now)?)(?=\()"
    r"|(?P<call>(?:debug_|prop_)?assert\w*+!?|refute\w*+|(?:check|verify|ensure|validate)(?:_\w+|[A-Z]\w*))(?=[( ])"
    r"|(?<=#\[)(?P<panic>should_panic)"
    r"|(?<=\.)(?P<should>should\w*+|must_\w+|wont_\w+)"
    r")",
)
_DEFINITIONS = ("function ", "fn ", "def ", "func ", "fun ", "void ")
_UNCLOSED = 200
"""Characters of an argument list that does not end."""
_LONGEST = 2_000
"""Characters of an argument list that are taken apart; what is longer is one argument."""


@dataclass(frozen=True)
class Found:
    """An assertion and where it stands."""

    start: int
    end: int
    claims: tuple[Claim, ...]
    brace: int | None = None
    """The brace whose condition is the assertion itself, as in Go."""


def heads_in(masked: Masked) -> Iterator[re.Match[str]]:
    """Where assertions begin."""
    for match in _HEAD.finditer(masked.bare):
        if not masked.bare[max(0, match.start() - 9) : match.start()].endswith(_DEFINITIONS):
            yield match


def assertion_at(head: re.Match[str], masked: Masked, brackets: Brackets) -> Found:
    return _READERS[head.lastgroup or ""](head, masked, brackets)


def _arguments(opening: int, masked: Masked, brackets: Brackets) -> tuple[list[str], int]:
    """The arguments in brackets as text, and the position behind them; of a line without brackets its rest."""
    bracketed = masked.bare[opening : opening + 1] in {"(", "{"}
    end = brackets.close(opening, -1) if bracketed else masked.bare.find("\n", opening)
    end = end if end >= 0 else min(len(masked.bare), opening + _UNCLOSED)
    first = opening + 1 if bracketed else opening
    if end - first > _LONGEST:
        return [compact(masked.code[first : first + _LONGEST])], end + 1
    return [text for text in _split(masked.code[first:end], masked.bare[first:end]) if text], end + bracketed


def _split(code: str, bare: str) -> Iterator[str]:
    depth, start = 0, 0
    for match in re.finditer(r"[(){}\[\],]", bare):
        depth += {"(": 1, "[": 1, "{": 1, ",": 0}.get(match[0], -1)
        if match[0] == "," and depth == 0:
            yield compact(code[start : match.start()])
            start = match.end()
    yield compact(code[start:])


_LINK = re.compile(r"\s*+(?:\.|->|\?\.)\s*+(\w+)\s*?(?=(\(?))")
_RUBY_MATCHER = re.compile(r"[ \t]++(\w+)[ \t]?(?=(\(?))")
_MOST_LINKS = 8
_NEGATIONS = frozenset({"not", "to_not", "not_to", "isnot", "never"})
_FILLERS = frozenset(
    [
        "to",
        "be",
        "been",
        "is",
        "that",
        "which",
        "and",
        "has",
        "have",
        "with",
        "at",
        "of",
        "same",
        "but",
        "does",
        "still",
        "also",
        "deep",
        "resolves",
        "rejects",
        "not",
        "to_not",
        "not_to",
        "its",
        "it",
        "does_not",
        "own",
        "any",
        "all",
        "eventually",
    ],
)


def _chain(match: re.Match[str], masked: Masked, brackets: Brackets) -> Found:
    opening = _next(masked.bare, match.end())
    subject, position = _arguments(opening, masked, brackets)
    names: list[tuple[str, list[str]]] = []
    for _ in range(_MOST_LINKS):
        pattern = _RUBY_MATCHER if names and names[-1][0] in {"to", "not_to", "to_not"} else _LINK
        link = pattern.match(masked.bare, position) or _LINK.match(masked.bare, position)
        if link is None:
            break
        arguments, position = list[str](), link.end()
        if link[2] or link.re is _RUBY_MATCHER:
            arguments, position = _arguments(link.end(), masked, brackets)
        names.append((snake(link[1]), arguments))
    return Found(match.start(), position, (_chained(",".join(subject), names),))


def _next(bare: str, position: int) -> int:
    """Position of the bracket that follows after white space."""
    found = re.compile(r"\s*+").match(bare, position)
    return found.end() if found else position


_SIZES = frozenset({"to_have_length", "has_size", "length_of", "have_length"})
"""Assertions that look at how many there are."""


def _chained(subject: str, names: list[tuple[str, list[str]]]) -> Claim:
    is_negated = any(name in _NEGATIONS for name, _ in names)
    telling = [(name, arguments) for name, arguments in names if name not in _FILLERS or (name == "a" and arguments)]
    for name, arguments in telling:
        if name in KINDS:
            claim = _by_name(KINDS[name], name, [subject, *arguments])
            claim = replace(claim, subject=f"len({subject})") if name in _SIZES else claim
            return _negated(claim, subject) if is_negated else claim
    words = ".".join(f"{name}({','.join(arguments)})" for name, arguments in names)
    return Claim(Kind.CALL, subject, words)


def _object(match: re.Match[str], masked: Masked, brackets: Brackets) -> Found:
    arguments, end = _arguments(match.end(), masked, brackets)
    name = snake(match["method"])
    if arguments[:1] == ["t"]:  # testify hands the test in first, and what is expected second
        arguments = [*arguments[2:3], *arguments[1:2], *arguments[3:]] if name not in {"contains", "len"} else arguments[1:]
    kind = KINDS.get(name) or KINDS.get(f"assert_{name}")
    return Found(match.start(), end, (_by_name(kind, name, arguments) if kind else Claim(Kind.CALL, ",".join(arguments), name),))


def _call(match: re.Match[str], masked: Masked, brackets: Brackets) -> Found:
    arguments, end = _arguments(match.end(), masked, brackets)
    name = snake(match["call"]).removeprefix("prop_").removeprefix("debug_")
    kind = KINDS.get(name)
    if kind in {Kind.TRUTHY, Kind.FALSY}:
        claims = expression_claims(arguments[0] if arguments else "")
        return Found(match.start(), end, tuple(claims if kind is Kind.TRUTHY else map(_negated, claims)))
    if kind is None or (kind is Kind.EQUAL and len(arguments) < 2):  # noqa: PLR2004 (two sides)
        return Found(match.start(), end, (Claim(Kind.CALL, name, ",".join(arguments)),))
    return Found(match.start(), end, (_by_name(kind, name, arguments),))


def _should(match: re.Match[str], masked: Masked, brackets: Brackets) -> Found:
    """`value.should.equal(3)`, `value.must_equal 3`, `value.shouldBe(3)`."""
    start = masked.bare.rfind("\n", max(0, match.start() - 300), match.start()) + 1 or max(0, match.start() - 300)
    subject = compact(masked.code[start : match.start() - 1])
    if match["should"] != "should":
        arguments, end = _arguments(_next(masked.bare, match.end()), masked, brackets)
        kind = KINDS.get(snake(match["should"]), Kind.CALL)
        return Found(match.start(), end, (_by_name(kind, snake(match["should"]), [subject, *arguments]),))
    end = masked.bare.find("\n", match.end())
    text = compact(masked.code[match.end() : end if end >= 0 else None][:300])
    name = re.search(r"(\w+)(?:\((.*)\))?$", text)
    kind = KINDS.get(snake(name[1]), Kind.CALL) if name else Kind.CALL
    return Found(match.start(), match.end(), (_by_name(kind, "", [subject, name[2] or "" if name else ""]),))


def _panic(match: re.Match[str], _masked: Masked, _brackets: Brackets) -> Found:
    return Found(match.start(), match.end(), (Claim(Kind.RAISES, "", "panic"),))


_IF = re.compile(r"(?<!\w)if\s(.*)$", re.DOTALL)


def _go(match: re.Match[str], masked: Masked, brackets: Brackets) -> Found:
    """`if got != want { t.Errorf(...) }` asserts the opposite of its condition."""
    brace = brackets.around(match.start())
    furthest = max(0, brace - 300)
    start = max(masked.bare.rfind("\n", furthest, brace) + 1, furthest) if brace >= 0 else 0
    head = _IF.search(masked.code[start:brace]) if brace >= 0 else None
    end = brackets.close(match.end(), match.end())
    if head is None:
        return Found(
            match.start(), end, (Claim(Kind.CALL, "fail", compact(masked.code[match.end() : min(end, match.end() + 200)])),)
        )
    condition = head[1].rpartition(";")[2]
    if "&&" in condition:
        return Found(match.start(), end, (Claim(Kind.EITHER, compact(condition)),), brace)
    claims = [_negated(claim) for part in condition.split("||") for claim in expression_claims(compact(part))]
    return Found(match.start(), end, tuple(claims), brace)


_COMPARISON = re.compile(r"(===|!==|==|!=|<=|>=|(?<![=\-<])[<>](?![<>]))")
_OPERATORS = {"===": Kind.EQUAL, "==": Kind.EQUAL, "!=": Kind.NOT_EQUAL, "!==": Kind.NOT_EQUAL}
_ALWAYS_TRUE = re.compile(r"true|True|1|\"[^\"]++\"|!false|!0|\(true\)")
_ALWAYS_FALSE = re.compile(r"false|False|0|nil|null|None|!true")
_OR_TRUE = re.compile(r"(?:\|\||or)(?:true|True|1)$|^(?:true|True|1)(?:\|\||or\b)")
_FUNCTIONS = {
    "strings.Contains": Kind.CONTAINS,
    "reflect.DeepEqual": Kind.EQUAL,
    "bytes.Equal": Kind.EQUAL,
    "cmp.Equal": Kind.EQUAL,
    "slices.Equal": Kind.EQUAL,
    "errors.Is": Kind.IDENTITY,
    "slices.Contains": Kind.CONTAINS,
    "matches!": Kind.MATCHES,
}
_PREDICATE = re.compile(r"(?P<subject>.+)\.(?P<name>isEmpty|is_empty|isPresent|is_some|is_none|isNull)\(\)")
"""Methods that ask what an assertion could say by its own name."""
_EQUALS = (".equals(", ".Equal(", ".contentEquals(")
"""Methods that compare two values."""


def expression_claims(text: str) -> list[Claim]:
    """Read a condition that must hold, without white space."""
    if _ALWAYS_TRUE.fullmatch(text) or _OR_TRUE.search(text):
        return [Claim(Kind.TRIVIAL, text)]
    if _ALWAYS_FALSE.fullmatch(text):
        return [Claim(Kind.CALL, text)]
    if "||" in text:
        return [Claim(Kind.EITHER, text)]
    if "&&" in text:
        return [claim for part in text.split("&&") for claim in expression_claims(part)]
    return [_compared(text)]


def _compared(text: str) -> Claim:
    parts = _COMPARISON.split(text)
    if len(parts) == 3:  # noqa: PLR2004 (left, operator, right)
        left, operator, right = parts
        if operator in _OPERATORS:
            return _equal(_OPERATORS[operator], left, right)
        return Claim(Kind.ORDER, left, operator + right)
    if text.startswith("!"):
        bare = text.lstrip("!")
        return _negated(_compared(bare)) if (len(text) - len(bare)) % 2 else _compared(bare)
    asked = _PREDICATE.fullmatch(text)
    if asked is not None:
        return _by_name(KINDS[snake(asked["name"])], "", [asked["subject"]])
    return _called(text)


def _called(text: str) -> Claim:
    """A call that compares, by its name or as a method of one side; any other holds where it gives something."""
    name, _, rest = text.partition("(")
    if name in _FUNCTIONS and rest.endswith(")"):
        left, _, right = rest[:-1].rpartition(",")
        return Claim(_FUNCTIONS[name], left, right)
    for method in _EQUALS if text.endswith(")") else ():
        left, found, right = text.rpartition(method)
        if found and left:
            return _equal(Kind.EQUAL, left, right[:-1])
    return Claim(Kind.TRUTHY, text)


_AS_TRUTH = {
    **dict.fromkeys(("true", "True"), Kind.TRUTHY),
    **dict.fromkeys(("false", "False", "0", '""', "[]", "{}", "Vec::new()"), Kind.FALSY),
    **dict.fromkeys(("null", "nil", "None", "undefined"), Kind.IDENTITY),
}


def _equal(kind: Kind, left: str, right: str) -> Claim:
    """A comparison with true, with nothing or with itself is another kind."""
    if left in _AS_TRUTH or (is_literal(left) and right not in _AS_TRUTH and not is_literal(right)):
        left, right = right, left
    if left == right and "(" not in left:
        return Claim(Kind.TRIVIAL if kind is not Kind.NOT_EQUAL else Kind.CALL, left)
    same = _AS_TRUTH.get(right)
    if same is None:
        return Claim(kind, left, right)
    expected = "None" if same is Kind.IDENTITY else ""
    return Claim(same if kind is not Kind.NOT_EQUAL else inverted(same), left, expected)


def _negated(claim: Claim, called: str = "") -> Claim:
    if claim.kind in {Kind.RAISES, Kind.RAISES_BROAD}:
        return Claim(Kind.RUNS, called)
    if claim.kind is Kind.CALL and claim.subject in {"false", "False", "0"}:
        return Claim(Kind.TRIVIAL, claim.subject)
    kind = inverted(claim.kind)
    return replace(claim, kind=kind, expected=negated(claim.expected) if kind is claim.kind else claim.expected)


def _by_name(kind: Kind, name: str, arguments: list[str]) -> Claim:
    subject, expected = arguments[0] if arguments else "", arguments[1] if len(arguments) > 1 else ""
    if kind in {Kind.TRUTHY, Kind.FALSY, Kind.PRESENT}:
        literal = _ALWAYS_FALSE if kind is Kind.FALSY else _ALWAYS_TRUE
        return Claim(Kind.TRIVIAL if literal.fullmatch(subject) else kind, subject)
    if kind is Kind.RAISES:
        return _raising(arguments, asserts_by_name=name.startswith("assert") or name in {"throws", "rejects", "panics"})
    if kind in {Kind.EQUAL, Kind.NOT_EQUAL} and expected:
        return _equal(kind, subject, expected)
    if kind is Kind.IDENTITY:
        return Claim(kind, subject, expected or "None")
    tolerance = _digits(name, arguments) if kind is Kind.APPROX else None
    return Claim(kind, subject, expected, tolerance)


def _raising(arguments: list[str], *, asserts_by_name: bool) -> Claim:
    """Which error is expected: in `assertThrows(X.class, ...)` it stands first, in `expect(f).toThrow(X)` second."""
    candidates = arguments if asserts_by_name else arguments[1:]
    errors = [item for item in candidates if not re.search(r"=>|->|\bfunction\b|[{]", item)]
    name = re.split(r"\.class|::class|\(", errors[0])[0].rpartition(".")[2] if errors else ""
    broad = not errors or name in BROAD_ERRORS
    return Claim(Kind.RAISES_BROAD if broad else Kind.RAISES, "", ",".join(errors))


def _digits(name: str, arguments: list[str]) -> float | None:
    """Jest counts decimal places, two unless told; the others give a difference."""
    last = arguments[2] if len(arguments) > 2 else ("2" if name == "to_be_close_to" else "")  # noqa: PLR2004 (the third)
    if not re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{1,17})?(?:e-?[0-9]{1,2})?", last):
        return None
    return 10.0 ** -float(last) / 2 if name == "to_be_close_to" else float(last)


_READERS = {"chain": _chain, "method": _object, "go": _go, "call": _call, "panic": _panic, "should": _should}
