"""Patterns of secrets, for the scan of diffs and the redaction of everything that is stored, shown or sent.

Only unambiguous shapes: an issuer's prefix or a unique form. Keywords and entropy are not used: they would also match commit
ids, checksums, UUIDs and encoded files.
"""

import base64
import html
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from helmsman.toml_text import load_bundled

PRIVATE_KEY, URL, JWT, AWS = "Private Key", "Basic Auth Credentials", "JSON Web Token", "AWS Access Key"

_INSIDE = re.compile(r"[A-Za-z0-9]")
_ESCAPE = re.compile(r"\\[nrt]\Z|%[0-9A-Fa-f]{2}\Z|\[[0-9;]{1,8}m\Z")
"""Escapes for a newline, a character in a URL or a colour, which are not part of the following word."""
_LONGEST_KEY = 20_000
"""Characters of a private key in PEM; RSA with 16,384 bits has 12,700."""
_LEAST_KEY = 60
"""Characters of the shortest body of a private key (Ed25519 has 64); a shorter one is an example."""
_LEAST_CUT = 16
"""Characters of the shortest line that counts as part of a truncated key."""
_DIFFERENT = 8
"""Least number of distinct characters of a random token."""


class Shape(NamedTuple):
    """One kind of secret, a row of secret_shapes.toml."""

    kind: str
    pattern: re.Pattern[str]
    prefixes: tuple[str, ...]
    traces: tuple[str, ...]


class Secret(NamedTuple):
    """One secret in a text, from `start` to `end`."""

    kind: str
    secret: str
    start: int
    end: int


def _shapes() -> Iterator[Shape]:
    for row in load_bundled("helmsman", "secret_shapes.toml")["shapes"]:
        prefixes, traces = (tuple(row.get(name, "").split()) for name in ("prefixes", "traces"))
        yield Shape(row["kind"], re.compile(row["pattern"]), prefixes, traces)


SHAPES = tuple(_shapes())

_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_FINISH = re.compile(r"-{4,5} ?END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_BETWEEN = r"(?:\\++[nrt]|[\s\"',|>])*+"
"""Separators of the lines of a key in source code, a dump or a quotation."""
_LINES = re.compile(
    rf"(?:{_BETWEEN}[A-Z][A-Za-z-]++: [^\n\\]*+)*+"
    rf"(?:{_BETWEEN}[A-Za-z0-9+/=]{{16,}}+)*+(?:{_BETWEEN}[A-Za-z0-9+/]{{2,15}}={{1,2}})?"
)
_LINE_ENDS = re.compile(r"\\+[nrt]|[^A-Za-z0-9+/=]+")
_KEY_LINE = re.compile(rf"{_BETWEEN}(?:[A-Za-z0-9+/]{{16,}}+={{0,2}}+{_BETWEEN})++")
_SHORT_LINE = re.compile(rf"{_BETWEEN}[A-Za-z0-9+/]*+={{0,2}}+{_BETWEEN}")
"""The last one may be short."""

_EXAMPLE = re.compile(r"example|sample|dummy|change.?me|placeholder|redacted|your[_-]|xxxx|0{8}|\*{3}|\.{3}|…", re.IGNORECASE)
"""Marks of example tokens in documentation."""
_NO_PASSWORD = re.compile(
    r"[\[{<$%(*].*|.*[\]})>]|x+|y?our_?.*|pass|passwd|passw(?:or)?d|pwd?|secret|token|user(?:name)?|admin|root|guest|postgres|test",
    re.IGNORECASE,
)
"""Variables, placeholders, and common words of examples."""


def shapes_in(text: str) -> Iterator[Secret]:
    """All matches of the table in a text, including placeholders, unordered; without private keys."""
    for shape in SHAPES:
        for match in _matches(shape, text):
            group = "secret" if shape.pattern.groupindex else 0
            yield Secret(shape.kind, match[group], match.start(group), match.end(group))


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
    """Whether a word starts at this index: long words, as in an encoded file, contain any pattern by chance."""
    return not (at and _INSIDE.match(text, at - 1)) or bool(_ESCAPE.search(text[max(at - 10, 0) : at]))


def private_keys(text: str) -> Iterator[Secret]:
    """Private keys in PEM from heading to end, or to the end of a truncated text; the secret is the longest line."""
    if "PRIVATE KEY" not in text:
        return
    at = 0
    for heading in _BEGIN.finditer(text):
        if heading.start() < at:
            continue
        finish = _FINISH.search(text, heading.end(), heading.end() + _LONGEST_KEY)
        lines = _LINES.match(text, heading.end())
        end, is_complete = (finish.start(), True) if finish else (lines.end() if lines else heading.end(), False)
        body = _LINE_ENDS.split(text[heading.end() : end])
        if sum(map(len, body)) >= (_LEAST_KEY if is_complete else _LEAST_CUT) and max(map(len, body)) >= _LEAST_CUT:
            at = finish.end() if finish else end
            yield Secret(PRIVATE_KEY, max(body, key=len), heading.start(), at)
    finish = _FINISH.search(text, at)
    if finish and not _BEGIN.search(text, at, finish.start()):
        start = _first_line(text, finish.start())
        body = max(_LINE_ENDS.split(text[start : finish.start()]), key=len)
        if len(body) >= _LEAST_CUT:
            yield Secret(PRIVATE_KEY, body, start, finish.end())


def _first_line(text: str, end: int) -> int:
    """Start of the lines of a key without its heading."""
    lines = text[max(end - _LONGEST_KEY, 0) : end].splitlines(keepends=True)
    start = end
    for number, line in enumerate(reversed(lines)):
        if not (number == 0 and _SHORT_LINE.fullmatch(line)) and not _KEY_LINE.fullmatch(line):
            break
        start -= len(line)
    return start


def is_placeholder(match: Secret) -> bool:
    """Whether it is an example in documentation. Unknown examples are redacted too, which only loses a few words."""
    if match.kind == URL:
        return bool(_NO_PASSWORD.fullmatch(match.secret))
    run = max(re.findall("[A-Za-z0-9]+", match.secret), key=len, default="")
    return bool(_EXAMPLE.search(match.secret)) or len(set(run)) < _DIFFERENT


def is_mixed(secret: str) -> bool:
    """Whether it has lower-case and upper-case letters and digits, like random tokens and unlike hexadecimal hashes."""
    return all(re.search(kind, secret) for kind in ("[a-z]", "[A-Z]", "[0-9]"))


_CUT = re.compile(
    rf"(?:{'|'.join(re.escape(prefix) for shape in SHAPES for prefix in shape.prefixes if prefix[3:] or shape.kind == JWT)})"
    r"(?=[A-Za-z_.-]*[0-9])[A-Za-z0-9_.-]{8,400}(?=…?\Z)"
)
"""Start of a token at the end of a truncated text; without a digit it would be a word."""
_LONGEST_CUT = 420


def secrets_in_text(text: str) -> list[Secret]:
    """Secrets to redact, in order and without overlaps: shapes except placeholders, private keys, and truncated tokens."""
    candidates = [one for one in shapes_in(text) if not is_placeholder(one) and (one.kind != AWS or _is_aws(one.secret))]
    candidates += private_keys(text)
    truncated = _CUT.search(text, max(len(text) - _LONGEST_CUT, 0))
    if truncated and _begins_a_word(text, truncated.start()):
        candidates.append(Secret("Token", truncated[0], truncated.start(), truncated.end()))
    secrets: list[Secret] = []
    for match in sorted(candidates, key=lambda match: (match.start, -match.end)):
        if not secrets or match.start >= secrets[-1].end:
            secrets.append(match)
    return secrets


def _is_aws(secret: str) -> bool:
    return len(secret) <= 20 or is_mixed(secret)  # noqa: PLR2004 - a key's id has 20 characters, the key itself 40


def redact_shapes(text: str) -> str:
    """Replace every secret by its kind; line numbers stay the same."""
    parts: list[str] = []
    at = 0
    for secret in secrets_in_text(text):
        parts += (text[at : secret.start], f"[{secret.kind}]", "\n" * text.count("\n", secret.start, secret.end))
        at = secret.end
    return "".join((*parts, text[at:])) if parts else text


# --- encoded forms of a secret: in a header, a URL, a dump, a page -----------------------------------------------------------


@lru_cache(maxsize=256)
def forms(secret: str) -> frozenset[str]:
    """The secret and its encodings in base64, hexadecimal, URLs, JSON and HTML. None is shorter than the secret."""
    octets = secret.encode(errors="surrogateescape")
    escaped = secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret)
    in_urls = quote(octets, safe=""), quote(octets), quote_plus(octets)  # in a part of a path, in a whole path, and in a form
    return frozenset((*escaped, *in_urls, octets.hex(), octets.hex().upper(), *_base64(octets)))


def _base64(octets: bytes) -> Iterator[str]:
    """Base64 of any text that contains the secret, at each of the three alignments of octets.

    Characters that share bits with neighbouring octets are cut off at both ends; each has 6 bits.
    """
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + octets).decode()
        unshared = encoded[-(-offset * 8 // 6) : (offset + len(octets)) * 8 // 6]
        yield unshared
        yield unshared.translate(str.maketrans("+/", "-_"))
