"""What a commit holds: secrets in what an iteration added (lines, names of files, messages of commits), and its variety.

`helmsman.secret_shapes` says what they look like; what is a placeholder, a sample or a test's is only a warning. A secret is
never returned, logged or raised: a leak tells its place, its kind and a short digest, and its value is redacted from then on.
A line that says `pragma: allowlist secret` is allowed, with a warning.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from helmsman.errors import OperatorError
from helmsman.parsers.security_scan import read_scan
from helmsman.parsers.test_files import is_test_file
from helmsman.plain import word_set
from helmsman.records.agent import Change
from helmsman.records.checks import MOST_LEAKS, Leak, Scan, Weight
from helmsman.records.control import Variety
from helmsman.secret_shapes import AWS, JWT, URL, Found, is_mixed, is_placeholder, private_keys, shapes_in
from helmsman.verify.variety import counts_of, variety_of, worth_reading
from tasks.checks.run import CheckContext, run_boxed
from tasks.repository.diffs import BINARY, Blob, Part, added_text, tree_of
from tasks.repository.git import GitError, git
from tasks.repository.objects import read_objects
from tasks.system.secrets import redact, register

MOST_FILES = 5000
LARGEST_FILE = 200 * 1024
"""Bytes; a larger one is generated, or data."""
LARGEST_TREE = 16 * 1024 * 1024
"""Bytes of all texts: about ten seconds of an iteration."""
AT_ONCE = 500
"""Files that are in memory at the same time."""
MOST_FOUND = 500
"""Finds that are looked up in the tree."""
PIECE = 2000
"""Characters of a line that are looked at together: some patterns of the detectors take the square of it."""
OVERLAP = 300
LONGEST = 2000
"""Characters of a secret."""

SECONDS = 600
"""That the security scan may take which the operator names."""
LARGEST = 16 * 1024 * 1024
"""Bytes of its report that are read; some scanners quote a lot."""
_AROUND = " \t\r\"',+"
"""What a line of a key stands in, in source code."""
_ALLOWED = re.compile(r"pragma: ?(?:allow|white)list[ -]secret")
_WORDS = re.compile(r"[a-z]+")
_EXAMPLES = word_set(
    "test tests testing testdata spec specs fixture fixtures example examples sample samples mock mocks dummy fake fakes demo"
    " template recordings cassettes e2e tutorial tutorials localhost selfsigned snakeoil"
)
"""Words of a path whose files show or try things."""
_HOST = re.compile(r"@\[?([A-Za-z0-9._:-]{1,255})")
_MADE_UP = re.compile(
    r"(?:.*\.)?(?:localhost|local|localdomain|test|invalid|example|example\.(?:com|org|net))|127\..*|0\.0\.0\.0|[^.]*",
    re.IGNORECASE,
)
"""Hosts that nobody outside reaches: reserved names, this machine, and names without a dot as in a compose file."""
_SAMPLES = (b'"John Doe"', b'"anon"', b'"supabase-demo"', b"example.")
"""What the tokens say that documentations show, and those that are public by design."""
_PASSWORD = 8
"""Characters of a password that is one."""
_ID = re.compile(r"[A-Z0-9]{20}")
_MOST_SLASHES = 3
_SHORT = 12
"""Digits of a commit's id."""
_WORTH_LOOKING_UP = 8
"""Characters; a shorter secret is a word that may stand anywhere."""


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
    """Secrets in what is new since the iteration began, in the tree or in a commit on the way to it: lines, names, messages.

    A secret that only a commit holds has the commit's short id in its path, as git writes it: `1a2b3c4d5e6f:src/app.py`, or
    `1a2b3c4d5e6f:commit message`. One in a file's name has line 0. What the tree held before in any file, a line that was moved,
    is not new. Binary files are not read.
    """
    if change.start == change.commit:
        return Scanned()
    parts, unread = added_text(worktree, change)
    every, told = list[_Found](), set[tuple[str, bool]]()
    for one in (one for part in parts for one in _in_part(part)):
        known = one.secret, bool(one.doubt)
        if not (one.commit and known in told):  # what the history holds counts only where nothing before told of it
            every.append(one)
        told.add(known)
    sure, unsure = ([one for one in every if bool(one.doubt) is doubtful] for doubtful in (False, True))
    found = (*sure[:MOST_FOUND], *unsure[:MOST_LEAKS])
    held = _held(worktree, change.start, {one.secret for one in found if len(one.secret) >= _WORTH_LOOKING_UP})
    new = [one for one in found if not any(one.secret in line for line in held)]
    for one in new:
        if not one.doubt:
            register({one.kind: one.secret})
    return Scanned(tuple(dict.fromkeys(map(_leak, new)))[:MOST_LEAKS], unread)


def _leak(found: _Found) -> Leak:
    digest = hashlib.blake2b(found.secret.encode("utf-8", "replace"), digest_size=3).hexdigest()
    weight = Weight.HINT if found.doubt else Weight.BLOCK
    path = redact(f"{found.commit[:_SHORT]}:{found.path}" if found.commit else found.path)
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
    shows = bool(_EXAMPLES & set(_WORDS.findall(part.path.lower()))) or is_test_file(part.path)
    text = "\n".join(line.text.strip(_AROUND) for line in part.lines)
    pieces = (
        (line, line.text[start : start + PIECE])
        for line in part.lines
        for start in range(0, max(len(line.text) - OVERLAP, 1), PIECE - OVERLAP)
    )
    found = [(line, piece, one) for line, piece in pieces for one in shapes_in(piece)]
    for one in private_keys(text):  # by its longest line: code that only looks for a heading holds none
        line = part.lines[text.count("\n", 0, text.find(one.secret))]
        found.append((line, line.text, one._replace(secret=one.secret[:LONGEST])))
    for line, piece, one in found:
        doubt = "in a file of tests or examples" if shows else _doubt(one, piece)
        yield _Found(part.path, part.commit, line.number, one.kind, one.secret, doubt)


def _doubt(found: Found, piece: str) -> str:
    """Why a find is probably no secret; empty where nothing speaks for that."""
    secret, doubt = found.secret, ""
    if _ALLOWED.search(piece):
        return "marked as allowed"
    if found.kind == AWS and not _ID.fullmatch(secret) and (not is_mixed(secret) or secret.count("/") > _MOST_SLASHES):
        doubt = "a hash or a path"  # a key's id has capitals only, the key itself everything; these have less
    elif found.kind == URL:
        host = _HOST.match(piece, piece.find(f":{secret}@") + 1 + len(secret))
        strong = len(secret) >= _PASSWORD and re.search("[A-Za-z]", secret) and re.search("[0-9]", secret)
        reached = host and not _MADE_UP.fullmatch(host[1].partition(":")[0])
        doubt = "a local or made-up host" if not reached else "" if strong else "a placeholder"
    elif found.kind == JWT:
        payload = secret.split(".")[1]
        try:
            said = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
            doubt = "a sample" if any(words in said for words in _SAMPLES) else ""
        except ValueError:
            doubt = "no token"
    return doubt or ("a placeholder" if is_placeholder(found) else "")


# --- the security scan that the operator names ---------------------------------------------------------------------


def security_findings(command: str, check_context: CheckContext, commit: str) -> Scan:
    """What `pain.scan` finds on this commit. Its exit code says nothing: scanners exit with 1 where they find something.

    A scan that cannot be read has an `error` and no findings: it is no pain, and nothing may be compared with it.
    """
    check_context.checkout.prepare(commit)
    try:
        ended = run_boxed(check_context, command, (), tag="scan", deadline=SECONDS, keep=LARGEST, merge_stderr=False)
    except OperatorError as error:
        return Scan(commit=commit, error=str(error))
    finally:
        check_context.checkout.reset()
    check_context.raise_if_cancelled()
    if ended.by != "itself":
        return Scan(commit=commit, error=f"the scan did not finish within {SECONDS} s")
    if ended.output_bytes > 2 * LARGEST:
        return Scan(commit=commit, error=f"the scan printed {ended.output_bytes} bytes, of which {2 * LARGEST} would be read")
    scan = read_scan(ended.head + ended.tail, str(check_context.root), commit)
    return scan.model_copy(update={"error": f"{scan.error}; it ended with {ended.exit_code}"}) if scan.error else scan


def measured(cwd: Path, commit: str) -> Variety:
    """Counts over the tracked sources of a commit. Raises GitError where git fails."""
    # the first ones by path that fit, so that one iteration after the other counts the same files
    chosen, room = list[Blob](), LARGEST_TREE
    for blob in tree_of(cwd, commit):
        if worth_reading(blob.path) and len(chosen) < MOST_FILES and blob.size <= min(LARGEST_FILE, room):
            chosen.append(blob)
            room -= blob.size
    starts = range(0, len(chosen), AT_ONCE)
    return variety_of(counts for start in starts for counts in _counts(cwd, chosen[start : start + AT_ONCE]))


def _counts(cwd: Path, blobs: Sequence[Blob]) -> Iterator[Variety]:
    for blob, read in zip(blobs, read_objects(cwd, [blob.id for blob in blobs]), strict=True):
        content = read[1] if read else b""
        if BINARY not in content[:8000]:
            yield counts_of(blob.path, content.decode(errors="replace"))
