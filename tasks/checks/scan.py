"""Scan a commit for secrets that an iteration added (lines, file names, commit messages), and measure its variety.

`helmsman.secret_shapes` defines the patterns; placeholders, samples and secrets of tests are only warnings. A secret is never
returned, logged or raised: a leak has its location, kind and a short digest, and its value is redacted from then on.
A line with `pragma: allowlist secret` is allowed, with a warning.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from helmsman.errors import OperatorError
from helmsman.parsers.security_scan import read_scan
from helmsman.parsers.source import is_test_file
from helmsman.plain import word_set
from helmsman.records.agent import Change
from helmsman.records.checks import MOST_LEAKS, Leak, Scan, Weight
from helmsman.records.control import Variety
from helmsman.secret_shapes import AWS, JWT, URL, Secret, is_mixed, is_placeholder, private_keys, shapes_in
from helmsman.verify.variety import counts_of, variety_of, worth_reading
from tasks.checks.run import CheckContext, run_sandboxed
from tasks.repository.diffs import BINARY, Blob, Part, added_text, tree_of
from tasks.repository.git import GitError, git
from tasks.repository.objects import read_objects
from tasks.system.secrets import redact, register

MOST_FILES = 5000
LARGEST_FILE = 200 * 1024  # bytes; larger files are generated, or data
LARGEST_TREE = 16 * 1024 * 1024  # total bytes of texts: about ten seconds of an iteration
AT_ONCE = 500  # files in memory at the same time
MOST_FOUND = 500  # maximum of matches to look up in the tree
PIECE = 2000  # characters of a line to match at once: some patterns take quadratic time
OVERLAP = 300
LONGEST = 2000  # maximum characters of a secret

SECONDS = 600  # time limit of the operator's security scan
LARGEST = 16 * 1024 * 1024  # maximum bytes of its report to read; some scanners quote a lot
_AROUND = " \t\r\"',+"  # characters around a line of a key in source code
_ALLOWED = re.compile(r"pragma: ?(?:allow|white)list[ -]secret")
_WORDS = re.compile(r"[a-z]+")
_EXAMPLES = word_set(
    "test tests testing testdata spec specs fixture fixtures example examples sample samples mock mocks dummy fake fakes demo"
    " template recordings cassettes e2e tutorial tutorials localhost selfsigned snakeoil"
)
"""Words in paths of examples and tests."""
_HOST = re.compile(r"@\[?([A-Za-z0-9._:-]{1,255})")
_MADE_UP = re.compile(
    r"(?:.*\.)?(?:localhost|local|localdomain|test|invalid|example|example\.(?:com|org|net))|127\..*|0\.0\.0\.0|[^.]*",
    re.IGNORECASE,
)
"""Hosts that are not reachable from outside: reserved names, this machine, and names without a dot as in a compose file."""
_SAMPLES = (b'"John Doe"', b'"anon"', b'"supabase-demo"', b"example.")
"""Content of sample tokens in documentation, and of tokens that are public by design."""
_PASSWORD = 8  # minimum characters of a real password
_ID = re.compile(r"[A-Z0-9]{20}")
_MOST_SLASHES = 3
_SHORT = 12  # digits of an abbreviated commit id
_WORTH_LOOKING_UP = 8  # minimum characters; a shorter secret may be an ordinary word


@dataclass(frozen=True)
class _Match:
    path: str
    commit: str
    line: int
    kind: str
    secret: str = field(repr=False)
    doubt: str


class SecretScan(NamedTuple):
    """Result of a scan for secrets, and what it could not read."""

    leaks: tuple[Leak, ...] = ()  # certain ones first, up to 50
    unread: str = ""  # sentence on what the limits left out; empty if everything was read


def secrets_in(worktree: Path, change: Change) -> SecretScan:
    """Find secrets that are new since the iteration began, in the tree or in one of its commits: lines, names, messages.

    A secret that is only in a commit has the commit's short id in its path, as in git: `1a2b3c4d5e6f:src/app.py`, or
    `1a2b3c4d5e6f:commit message`. One in a file's name has line 0. A line that any file of the earlier tree contains (it was
    moved) is not new. Binary files are skipped.
    """
    if change.start == change.commit:
        return SecretScan()
    parts, unread = added_text(worktree, change)
    matches, reported = list[_Match](), set[tuple[str, bool]]()
    for match in (match for part in parts for match in _scan_part(part)):
        key = match.secret, bool(match.doubt)
        if not (match.commit and key in reported):  # report a match in the history only if nothing before has it
            matches.append(match)
        reported.add(key)
    certain, uncertain = ([match for match in matches if bool(match.doubt) is doubtful] for doubtful in (False, True))
    chosen = (*certain[:MOST_FOUND], *uncertain[:MOST_LEAKS])
    existing = _find_existing(
        worktree, change.start, {match.secret for match in chosen if len(match.secret) >= _WORTH_LOOKING_UP}
    )
    new = [match for match in chosen if not any(match.secret in line for line in existing)]
    for match in new:
        if not match.doubt:
            register({match.kind: match.secret})
    return SecretScan(tuple(dict.fromkeys(map(_make_leak, new)))[:MOST_LEAKS], unread)


def _make_leak(match: _Match) -> Leak:
    digest = hashlib.blake2b(match.secret.encode("utf-8", "replace"), digest_size=3).hexdigest()
    weight = Weight.HINT if match.doubt else Weight.BLOCK
    path = redact(f"{match.commit[:_SHORT]}:{match.path}" if match.commit else match.path)
    return Leak(path=path, line=match.line, kind=match.kind, digest=digest, weight=weight, doubt=match.doubt)


def _find_existing(worktree: Path, commit: str, secrets: set[str]) -> list[str]:
    """Occurrences of the secrets in a commit. They are passed on stdin, invisible in process lists."""
    if not secrets:
        return []
    options = ("-h", "-o", "--text", "--no-color", "--no-line-number", "--no-column", "--no-recurse-submodules")
    patterns = "".join(f"{secret}\n" for secret in sorted(secrets)).encode("utf-8", "replace")
    try:
        return git(worktree, "grep", *options, "--fixed-strings", "-f", "-", commit, "--", stdin=patterns).splitlines()
    except GitError as error:
        if error.code == 1:  # no match
            return []
        raise


def _scan_part(part: Part) -> Iterator[_Match]:
    is_example = bool(_EXAMPLES & set(_WORDS.findall(part.path.lower()))) or is_test_file(part.path)
    text = "\n".join(line.text.strip(_AROUND) for line in part.lines)
    pieces = (
        (line, line.text[start : start + PIECE])
        for line in part.lines
        for start in range(0, max(len(line.text) - OVERLAP, 1), PIECE - OVERLAP)
    )
    matches = [(line, piece, found) for line, piece in pieces for found in shapes_in(piece)]
    for found in private_keys(text):  # by its longest line: code that only searches for a header contains none
        line = part.lines[text.count("\n", 0, text.find(found.secret))]
        matches.append((line, line.text, found._replace(secret=found.secret[:LONGEST])))
    for line, piece, found in matches:
        doubt = "in a file of tests or examples" if is_example else _doubt_of(found, piece)
        yield _Match(part.path, part.commit, line.number, found.kind, found.secret, doubt)


def _doubt_of(found: Secret, piece: str) -> str:
    """Why a match is probably not a secret; empty if it looks real."""
    secret, doubt = found.secret, ""
    if _ALLOWED.search(piece):
        return "marked as allowed"
    if found.kind == AWS and not _ID.fullmatch(secret) and (not is_mixed(secret) or secret.count("/") > _MOST_SLASHES):
        doubt = "a hash or a path"  # a key id is upper case only, a key has all kinds of characters; these have fewer
    elif found.kind == URL:
        host = _HOST.match(piece, piece.find(f":{secret}@") + 1 + len(secret))
        is_strong = len(secret) >= _PASSWORD and re.search("[A-Za-z]", secret) and re.search("[0-9]", secret)
        is_reachable = host and not _MADE_UP.fullmatch(host[1].partition(":")[0])
        doubt = "a local or made-up host" if not is_reachable else "" if is_strong else "a placeholder"
    elif found.kind == JWT:
        payload = secret.split(".")[1]
        try:
            payload_text = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
            doubt = "a sample" if any(sample in payload_text for sample in _SAMPLES) else ""
        except ValueError:
            doubt = "no token"
    return doubt or ("a placeholder" if is_placeholder(found) else "")


# --- the security scan that the operator names ---------------------------------------------------------------------


def security_findings(command: str, check_context: CheckContext, commit: str) -> Scan:
    """Run `pain.scan` on this commit. Ignores its exit code: scanners exit with 1 if they find something.

    An unreadable scan has an `error` and no findings: it is no critical event, and must not be compared.
    """
    check_context.checkout.prepare(commit)
    try:
        ended = run_sandboxed(check_context, command, (), tag="scan", deadline=SECONDS, keep=LARGEST, merge_stderr=False)
    except OperatorError as error:
        return Scan(commit=commit, error=str(error))
    finally:
        check_context.checkout.reset()
    check_context.raise_if_cancelled()
    if ended.by != "itself":
        return Scan(commit=commit, error=f"the scan did not finish within {SECONDS} s")
    if ended.output_bytes > 2 * LARGEST:
        return Scan(commit=commit, error=f"the scan printed {ended.output_bytes} bytes; at most {2 * LARGEST} are read")
    scan = read_scan(ended.head + ended.tail, str(check_context.root), commit)
    return scan.model_copy(update={"error": f"{scan.error}; exit code {ended.exit_code}"}) if scan.error else scan


def measure_variety(cwd: Path, commit: str) -> Variety:
    """Variety of the tracked sources of a commit. Raises GitError if git fails."""
    # the first by path within the limits, so that all iterations count the same files
    chosen, bytes_left = list[Blob](), LARGEST_TREE
    for blob in tree_of(cwd, commit):
        if worth_reading(blob.path) and len(chosen) < MOST_FILES and blob.size <= min(LARGEST_FILE, bytes_left):
            chosen.append(blob)
            bytes_left -= blob.size
    counts: list[Variety] = []
    for blobs in (chosen[start : start + AT_ONCE] for start in range(0, len(chosen), AT_ONCE)):
        for blob, read in zip(blobs, read_objects(cwd, [blob.id for blob in blobs]), strict=True):
            if read and BINARY not in read[1][:8000]:
                counts.append(counts_of(blob.path, read[1].decode(errors="replace")))
    return variety_of(counts)
