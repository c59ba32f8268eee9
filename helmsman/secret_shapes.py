"""What secrets look like: one table for the scan of diffs and for the redaction of everything that is stored, shown or sent.

Only shapes that say by themselves what they are: a prefix that an issuer chose, a form that nothing else has. Keywords and
entropy are left to people: ids of commits, checksums, UUIDs and encoded files would be found, too.
"""

import base64
import html
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from helmsman.toml_of import bundled

PRIVATE_KEY, URL, JWT, AWS = "Private Key", "Basic Auth Credentials", "JSON Web Token", "AWS Access Key"

_INSIDE = re.compile(r"[A-Za-z0-9]")
_ESCAPE = re.compile(r"\\[nrt]\Z|%[0-9A-Fa-f]{2}\Z|\[[0-9;]{1,8}m\Z")
"""An escape for a line's end, a character in an URL or a colour is no part of the word that follows it."""
_LONGEST_KEY = 20_000
"""Characters of a private key in PEM; RSA with 16,384 bits has 12,700."""
_LEAST_KEY = 60
"""Characters of the shortest body of a private key (Ed25519 has 64); a shorter one shows what a key looks like."""
_LEAST_CUT = 16
"""Characters of a line from which on it is a part of a key whose other end was cut off."""
_DIFFERENT = 8
"""Different characters that any token drawn at random has."""


class Shape(NamedTuple):
    """One kind of secret, as secret_shapes.toml has them."""

    kind: str
    pattern: re.Pattern[str]
    prefixes: tuple[str, ...]
    traces: tuple[str, ...]


class Found(NamedTuple):
    """One secret in a text, from `start` to `end`."""

    kind: str
    secret: str
    start: int
    end: int


def _shapes() -> Iterator[Shape]:
    for row in bundled("helmsman", "secret_shapes.toml")["shapes"]:
        prefixes, traces = (tuple(row.get(name, "").split()) for name in ("prefixes", "traces"))
        yield Shape(row["kind"], re.compile(row["pattern"]), prefixes, traces)


SHAPES = tuple(_shapes())

_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_FINISH = re.compile(r"-{4,5} ?END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_BETWEEN = r"(?:\\++[nrt]|[\s\"',|>])*+"
"""What stands between the lines of a key in source code, in a dump or in a quotation."""
_LINES = re.compile(
    rf"(?:{_BETWEEN}[A-Z][A-Za-z-]++: [^\n\\]*+)*+"
    rf"(?:{_BETWEEN}[A-Za-z0-9+/=]{{16,}}+)*+(?:{_BETWEEN}[A-Za-z0-9+/]{{2,15}}={{1,2}})?"
)
_LINE_ENDS = re.compile(r"\\+[nrt]|[^A-Za-z0-9+/=]+")
_KEY_LINE = re.compile(rf"{_BETWEEN}(?:[A-Za-z0-9+/]{{16,}}+={{0,2}}+{_BETWEEN})++")
_SHORT_LINE = re.compile(rf"{_BETWEEN}[A-Za-z0-9+/]*+={{0,2}}+{_BETWEEN}")
"""The last one may be short."""

_EXAMPLE = re.compile(r"example|sample|dummy|change.?me|placeholder|redacted|your[_-]|xxxx|0{8}|\*{3}|\.{3}|…", re.IGNORECASE)
"""What stands in the tokens that documentations show."""
_NO_PASSWORD = re.compile(
    r"[\[{<$%(*].*|.*[\]})>]|x+|y?our_?.*|pass|passwd|passw(?:or)?d|pwd?|secret|token|user(?:name)?|admin|root|guest|postgres|test",
    re.IGNORECASE,
)
"""A variable, what is filled in later, and words that stand in every example."""


def shapes_in(text: str) -> Iterator[Found]:
    """Everything of the table in a text, placeholders too, in no order; private keys are not among them."""
    for shape in SHAPES:
        for match in _matches(shape, text):
            group = "secret" if shape.pattern.groupindex else 0
            yield Found(shape.kind, match[group], match.start(group), match.end(group))


def _matches(shape: Shape, text: str) -> Iterator[re.Match[str]]:
    if any(trace in text for trace in shape.traces):
        yield from shape.pattern.finditer(text)
    for prefix in shape.prefixes:
        at = text.find(prefix)
        while at >= 0:
            match = shape.pattern.match(text, at) if _begins_a_word(text, at) else None
            if match:
                yield match
            at = text.find(prefix, match.end() if match else at + 1)


def _begins_a_word(text: str, at: int) -> bool:
    """A longer word, as in an encoded file, holds everything somewhere."""
    return not (at and _INSIDE.match(text, at - 1)) or bool(_ESCAPE.search(text[max(at - 10, 0) : at]))


def private_keys(text: str) -> Iterator[Found]:
    """Private keys in PEM from their heading to their end, or to where the text was cut; the secret is the longest line."""
    if "PRIVATE KEY" not in text:
        return
    at = 0
    for heading in _BEGIN.finditer(text):
        if heading.start() < at:
            continue
        finish = _FINISH.search(text, heading.end(), heading.end() + _LONGEST_KEY)
        lines = _LINES.match(text, heading.end())
        end, whole = (finish.start(), True) if finish else (lines.end() if lines else heading.end(), False)
        body = _LINE_ENDS.split(text[heading.end() : end])
        if sum(map(len, body)) >= (_LEAST_KEY if whole else _LEAST_CUT) and max(map(len, body)) >= _LEAST_CUT:
            at = finish.end() if finish else end
            yield Found(PRIVATE_KEY, max(body, key=len), heading.start(), at)
    finish = _FINISH.search(text, at)
    if finish and not _BEGIN.search(text, at, finish.start()):
        start = _first_line(text, finish.start())
        body = max(_LINE_ENDS.split(text[start : finish.start()]), key=len)
        if len(body) >= _LEAST_CUT:
            yield Found(PRIVATE_KEY, body, start, finish.end())


def _first_line(text: str, end: int) -> int:
    """Where the lines of a key begin whose heading was cut off."""
    lines = text[max(end - _LONGEST_KEY, 0) : end].splitlines(keepends=True)
    start = end
    for number, line in enumerate(reversed(lines)):
        if not (number == 0 and _SHORT_LINE.fullmatch(line)) and not _KEY_LINE.fullmatch(line):
            break
        start -= len(line)
    return start


def is_placeholder(found: Found) -> bool:
    """Whether it is an example of a documentation, not a secret. A rare one is redacted all the same: that loses a few words."""
    if found.kind == URL:
        return bool(_NO_PASSWORD.fullmatch(found.secret))
    run = max(re.findall("[A-Za-z0-9]+", found.secret), key=len, default="")
    return bool(_EXAMPLE.search(found.secret)) or len(set(run)) < _DIFFERENT


def is_mixed(secret: str) -> bool:
    """Whether it has small letters, capitals and digits, as what was drawn at random has; a hash in hexadecimal has not."""
    return all(re.search(kind, secret) for kind in ("[a-z]", "[A-Z]", "[0-9]"))


_CUT = re.compile(
    rf"(?:{'|'.join(re.escape(prefix) for shape in SHAPES for prefix in shape.prefixes if prefix[3:] or shape.kind == JWT)})"
    r"(?=[A-Za-z_.-]*[0-9])[A-Za-z0-9_.-]{8,400}(?=…?\Z)"
)
"""The beginning of a token at the end of a text that was cut; without a digit it would be a word."""
_LONGEST_CUT = 420


def secrets_in_text(text: str) -> list[Found]:
    """What has to be replaced, in order and without overlaps: every shape but placeholders, private keys, and cut tokens."""
    every = [one for one in shapes_in(text) if not is_placeholder(one) and (one.kind != AWS or _is_aws(one.secret))]
    every += private_keys(text)
    cut = _CUT.search(text, max(len(text) - _LONGEST_CUT, 0))
    if cut and _begins_a_word(text, cut.start()):
        every.append(Found("Token", cut[0], cut.start(), cut.end()))
    kept: list[Found] = []
    for one in sorted(every, key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _is_aws(secret: str) -> bool:
    return len(secret) <= 20 or is_mixed(secret)  # noqa: PLR2004 - a key's id has 20 characters, the key itself 40


def without_shapes(text: str) -> str:
    """The text with the kind of every secret in its place; what follows stays on its line."""
    parts: list[str] = []
    at = 0
    for one in secrets_in_text(text):
        parts += (text[at : one.start], f"[{one.kind}]", "\n" * text.count("\n", one.start, one.end))
        at = one.end
    return "".join((*parts, text[at:])) if parts else text


# --- how a secret looks where somebody wrote it down in another form: in a header, an URL, a dump, a page -------------------


@lru_cache(maxsize=256)
def forms(secret: str) -> frozenset[str]:
    """The secret itself, and what base64, hexadecimal, URLs, JSON and HTML make of it. None is shorter than the secret."""
    octets = secret.encode(errors="surrogateescape")
    escaped = secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret)
    in_urls = quote(octets, safe=""), quote(octets), quote_plus(octets)  # in a part of a path, in a whole path, and in a form
    return frozenset((*escaped, *in_urls, octets.hex(), octets.hex().upper(), *_base64(octets)))


def _base64(octets: bytes) -> Iterator[str]:
    """Base64 of any text that holds the secret: it says the same three octets otherwise at each of three places.

    Signs that neighbours have a part in are left away: of 6 bits each, the first ones before and the last ones behind the secret.
    """
    for before in range(3):
        said = base64.b64encode(bytes(before) + octets).decode()
        own = said[-(-before * 8 // 6) : (before + len(octets)) * 8 // 6]
        yield own
        yield own.translate(str.maketrans("+/", "-_"))
