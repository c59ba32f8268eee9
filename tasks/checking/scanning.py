"""Secrets in what an iteration added. bc-detect-secrets finds them; what is a placeholder, a sample or a test's is only told.

A secret is never returned, logged or raised: a leak tells its place, its kind and a short digest. A line that says
`pragma: allowlist secret` is allowed, and told.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

from helmsman.orient.guardrails.words import word_set
from helmsman.records.evidence import Change
from helmsman.records.findings import Weight
from helmsman.records.pain import MOST_LEAKS, Leak
from helmsman.verify.cases.paths import is_test_file
from helmsman.verify.diff import Line
from tasks.repository.added_text import Part, added_text
from tasks.repository.git import GitError, git

MOST_FOUND = 500
"""Finds that are looked up in the tree."""
PIECE = 2000
"""Characters of a line that are looked at together: some patterns of the detectors take the square of it."""
OVERLAP = 300
LONGEST = 2000
"""Characters of a secret."""

_PRIVATE, _URL, _JWT, _AWS, _DISCORD = (
    "Private Key",
    "Basic Auth Credentials",
    "JSON Web Token",
    "AWS Access Key",
    "Discord Bot Token",
)
_FIXED_LENGTH = frozenset({_AWS, _DISCORD})
_MORE = (
    ("GitHub Token", re.compile(r"gh[opsur]_[A-Za-z0-9_]{36,255}|github_pat_[A-Za-z0-9_]{82}")),
    ("GitLab Token", re.compile(r"gl(?:pat|dt|rt|ptt|soat)-[A-Za-z0-9_-]{20,64}")),
    ("PyPI Token", re.compile(r"pypi-AgE[A-Za-z0-9_-]{70,400}")),
    ("OpenAI Key", re.compile(r"sk-[A-Za-z0-9_-]{20,200}T3BlbkFJ[A-Za-z0-9_-]{20,200}")),
    ("Anthropic Key", re.compile(r"sk-ant-[a-z]{3,6}[0-9]{2}-[A-Za-z0-9_-]{80,200}")),
)
"""What that library does not know, or gives the beginning of only."""
_AROUND = " \t\r\"',+"
"""What a line of a key stands in, in source code."""
_ALLOWED = re.compile(r"pragma: ?(?:allow|white)list[ -]secret")
_WORDS = re.compile(r"[a-z]+")
_EXAMPLES = word_set(
    "test tests testing testdata spec specs fixture fixtures example examples sample samples mock mocks dummy fake fakes demo"
    " template recordings cassettes e2e tutorial tutorials localhost selfsigned snakeoil"
)
"""Words of a path whose files show or try things."""
_PLACEHOLDER = re.compile(
    r"example|sample|dummy|fake|test|changeme|placeholder|redacted|your|xxxx|secret|passw|token|foobar|demo|mock|0000|1111|1234|abcd",
    re.IGNORECASE,
)
_WEAK = re.compile(r"pass|user|admin|root|postgres|guest|qwert|letmein|hunter|[{}<>$%*()\[\]]", re.IGNORECASE)
"""What stands in a password that nobody uses in earnest, or that is filled in later."""
_HOST = re.compile(r"@\[?([A-Za-z0-9._:-]{1,255})")
_MADE_UP = re.compile(
    r"(?:.*\.)?(?:localhost|local|localdomain|test|invalid|example|example\.(?:com|org|net))|127\..*|0\.0\.0\.0|[^.]*",
    re.IGNORECASE,
)
"""Hosts that nobody outside reaches: reserved names, this machine, and names without a dot as in a compose file."""
_SAMPLES = ('"John Doe"', '"anon"', '"supabase-demo"', "example.")
"""What the tokens say that documentations show, and those that are public by design."""
_CLAIMS = ('"iss"', '"sub"', '"aud"', '"exp"', '"nbf"', '"iat"', '"jti"')
_LEAST_CLAIMS = 2
"""Claims that RFC 7519 registers; what an issuer signed has some, what shows how tokens work often none."""
_KEY_BODY = 60
"""Characters of the shortest line that holds a private key; a shorter one shows what a key looks like."""
_PASSWORD = 8
"""Characters of a password that is one."""
_SIGNATURE = 20
"""Characters of the shortest signature of a token."""
_DIFFERENT = 8
"""Different characters that anything drawn by lot has."""
_STEPS = 0.3
"""Share of neighbours that are alike or follow each other from which a text was typed, not drawn."""
_ID = re.compile(r"[A-Z0-9]{20}")
_MOST_SLASHES = 3
_SHORT = 12
"""Digits of a commit's id."""
_WORTH_LOOKING_UP = 8
"""Characters; a shorter secret is a word that may stand anywhere."""


class Detector(Protocol):
    """As bc-detect-secrets has it."""

    @property
    def secret_type(self) -> str: ...

    def analyze_string(self, string: str) -> Iterable[str]: ...


@dataclass(frozen=True)
class _Found:
    path: str
    commit: str
    line: int
    kind: str
    secret: str = field(repr=False)
    doubt: str


class Scanned(NamedTuple):
    """What a look for secrets found, and what it could not look at."""

    leaks: tuple[Leak, ...] = ()
    """Those that are surely real first, 50 at most."""
    unread: str = ""
    """A sentence about what the bounds cut off; empty where all was read."""


def secrets_in(worktree: Path, change: Change) -> Scanned:
    """Secrets in lines that are new since the iteration began, in the tree or in a commit on the way to it.

    A secret that only a commit holds has the commit's short id in its path, as git writes it: `1a2b3c4d5e6f:src/app.py`. What
    the tree held before in any file, a line that was moved, is not new. Binary files are not read.
    """
    if change.start == change.commit:
        return Scanned()
    added = added_text(worktree, change)
    every = list(_once(one for part in added.parts for one in _in_part(part)))
    sure, unsure = ([one for one in every if bool(one.doubt) is doubtful] for doubtful in (False, True))
    found = (*sure[:MOST_FOUND], *unsure[:MOST_LEAKS])
    held = _held(worktree, change.start, {one.secret for one in found if len(one.secret) >= _WORTH_LOOKING_UP})
    leaks = dict.fromkeys(_leak(one) for one in found if not any(one.secret in line for line in held))
    return Scanned(tuple(leaks)[:MOST_LEAKS], added.unread)


def _once(found: Iterable[_Found]) -> Iterator[_Found]:
    """What the history holds counts only where nothing before told of the same secret."""
    told: set[tuple[str, bool]] = set()
    for one in found:
        known = (one.secret, bool(one.doubt))
        if not (one.commit and known in told):
            yield one
        told.add(known)


def _leak(found: _Found) -> Leak:
    digest = hashlib.blake2b(found.secret.encode("utf-8", "replace"), digest_size=3).hexdigest()
    weight = Weight.WARN if found.doubt else Weight.BLOCK
    path = f"{found.commit[:_SHORT]}:{found.path}" if found.commit else found.path
    return Leak(path=path, line=found.line, kind=found.kind, digest=digest, weight=weight, doubt=found.doubt)


def _held(worktree: Path, commit: str, secrets: set[str]) -> list[str]:
    """Parts of lines of that commit that are one of the secrets. They are handed over where no list of processes shows them."""
    if not secrets:
        return []
    plain = ("-h", "-o", "--text", "--no-color", "--no-line-number", "--no-column", "--no-recurse-submodules")
    asked = "".join(f"{secret}\n" for secret in sorted(secrets)).encode("utf-8", "replace")
    try:
        return git(worktree, "grep", *plain, "--fixed-strings", "-f", "-", commit, "--", stdin=asked).splitlines()
    except GitError as error:
        if error.code == 1:  # none of them
            return []
        raise


def _in_part(part: Part) -> Iterator[_Found]:
    path, commit = part.path, part.commit
    made_up = "in a file of tests or examples" if _shows(path) else ""
    for line in part.lines:
        for piece in _pieces(line.text):
            for kind, secret in _detected(piece):
                yield _Found(path, commit, line.number, kind, secret, made_up or _doubt(kind, secret, piece))
    for line, body in _keys(part.lines):
        yield _Found(path, commit, line.number, _PRIVATE, body, made_up or _doubt(_PRIVATE, body, line.text))


def _shows(path: str) -> bool:
    return bool(_EXAMPLES & set(_WORDS.findall(path.lower()))) or is_test_file(path)


def _pieces(text: str) -> Iterator[str]:
    yield from (text[start : start + PIECE] for start in range(0, max(len(text) - OVERLAP, 1), PIECE - OVERLAP))


def _detected(piece: str) -> Iterator[tuple[str, str]]:
    found = ((detector.secret_type, secret) for detector in _detectors() for secret in detector.analyze_string(piece))
    ours = ((kind, match[0]) for kind, pattern in _MORE for match in pattern.finditer(piece))
    return ((kind, secret) for kind, secret in (*found, *ours) if _stands_alone(kind, secret, piece))


def _stands_alone(kind: str, secret: str, piece: str) -> bool:
    """Not a part of a longer word: a hash or an encoded file holds everything somewhere."""
    if kind == _URL or kind.startswith("Slack"):
        return True
    at = piece.find(secret)
    before, after = piece[max(at - 1, 0) : at], piece[at + len(secret) :][:1]
    return not _in_word(before) and not (kind in _FIXED_LENGTH and _in_word(after))


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter in {"_", "/", "+"}


def _keys(lines: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Private keys, by the longest line that follows their heading: code that only looks for a heading holds none."""
    text = "\n".join(line.text.strip(_AROUND) for line in lines)
    if _PRIVATE.upper() not in text:
        return
    for secret in _private_key().analyze_string(text):
        if _PRIVATE.upper() not in secret and secret.strip("\n-") != "END":
            body = max(re.split(r"\\n|[\n\\]", secret), key=len)
            yield lines[text.count("\n", 0, text.find(body))], body[:LONGEST]


def _doubt(kind: str, secret: str, piece: str) -> str:
    """Why a find is probably no secret; empty where nothing speaks for that."""
    if _ALLOWED.search(piece):
        return "marked as allowed"
    return _DOUBTS.get(kind, _of_token)(secret, piece)


def _of_token(secret: str, _: str) -> str:
    return "" if _random(secret) and not _PLACEHOLDER.search(secret) else "a placeholder"


def _of_aws(secret: str, piece: str) -> str:
    """A key's id has capitals only, the key itself everything; a hash or a path has less."""
    if not _ID.fullmatch(secret) and (not _mixed(secret) or secret.count("/") > _MOST_SLASHES):
        return "a hash or a path"
    return _of_token(secret, piece)


def _of_url(secret: str, piece: str) -> str:
    host = _HOST.match(piece, piece.find(f":{secret}@") + 1 + len(secret))
    if host is None or _MADE_UP.fullmatch(host[1].partition(":")[0]):
        return "a local or made-up host"
    strong = len(secret) >= _PASSWORD and re.search("[A-Za-z]", secret) and re.search("[0-9]", secret)
    return "" if strong and not _PLACEHOLDER.search(secret) and not _WEAK.search(secret) else "a placeholder"


def _of_jwt(secret: str, _: str) -> str:
    _, payload, signature = f"{secret}..".split(".")[:3]
    if len(signature) < _SIGNATURE:
        return "without a signature"
    try:
        told = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return "no token"
    sample = any(words in told for words in _SAMPLES) or sum(claim in told for claim in _CLAIMS) < _LEAST_CLAIMS
    return "a sample" if sample else ""


def _of_key(secret: str, _: str) -> str:
    return "" if len(secret) >= _KEY_BODY and len(set(secret)) >= 2 * _DIFFERENT else "a placeholder"


_DOUBTS = {_AWS: _of_aws, _URL: _of_url, _JWT: _of_jwt, _PRIVATE: _of_key}


def _mixed(secret: str) -> bool:
    return all(re.search(kind, secret) for kind in ("[a-z]", "[A-Z]", "[0-9]"))


def _random(secret: str) -> bool:
    """Whether its longest run of letters and digits looks drawn by lot: many different ones, and few that follow one another."""
    run = max(re.findall("[A-Za-z0-9]+", secret), key=len, default="")
    steps = sum(ord(after) - ord(before) in {0, 1} for before, after in pairwise(run))
    return len(set(run)) >= _DIFFERENT and steps < _STEPS * len(run)


@lru_cache(maxsize=1)
def _detectors() -> tuple[Detector, ...]:
    """Those whose finds have a form of their own. Keywords, entropy and addresses of machines are left to people.

    Imported late: the library brings an HTTP client along, to ask whether a secret is valid; nothing here asks.
    """
    from detect_secrets.plugins import (
        aws,
        basic_auth,
        discord,
        jwt,
        mailchimp,
        sendgrid,
        slack,
        square_oauth,
        stripe,
    )

    return (
        aws.AWSKeyDetector(),
        basic_auth.BasicAuthDetector(),
        discord.DiscordBotTokenDetector(),
        jwt.JwtTokenDetector(),
        mailchimp.MailchimpDetector(),
        sendgrid.SendGridDetector(),
        slack.SlackDetector(),
        square_oauth.SquareOAuthDetector(),
        stripe.StripeDetector(),
    )


@lru_cache(maxsize=1)
def _private_key() -> Detector:
    from detect_secrets.plugins.private_key import PrivateKeyDetector

    return PrivateKeyDetector()
