"""Push events of GitHub, Gitea and a post-receive hook: parsing, validation, and filtering by the operator's rules.

All input is untrusted. Branch names must be valid in git, and a repository's location is never read from a message.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails

from helmsman.config.base import Section
from helmsman.config.layers import Layer, display, resolve
from helmsman.errors import OperatorError
from helmsman.parsers.paths import match_pieces, pieces_of
from helmsman.plain import OWN_BRANCHES, did_you_mean, is_branch, loop_id
from helmsman.records.base import Record
from helmsman.records.triggers import Ignored, Push, is_commit

HEADS = "refs/heads/"
MOST_BRANCHES = 20
"""Maximum branches per message: the first push of a mirror does not ask for a loop on each of its branches."""
OWN_EMAIL = "helmsman@localhost"
OWN_TRAILER = re.compile(r"^Helmsman-Loop: \S", re.MULTILINE)

_ZEROS = re.compile(r"0+")
_HOOK_LINE = re.compile(r"([^ ]+) ([^ ]+) (.+)", re.DOTALL)
_URL = re.compile(r"(?:https?|ssh|git|file)://[^\s\x00-\x1f]+")
_SCP = re.compile(r"[\w.-]+@[\w.-]+:[^\s\x00-\x1f]+", re.ASCII)


class Update(NamedTuple):
    """One updated ref, unvalidated."""

    ref: str
    before: str
    after: str


class PushMessage(NamedTuple):
    """A push message."""

    names: tuple[str, ...]  # of the repository, the most specific first
    updates: tuple[Update, ...]


def _require_location(at: str) -> str:
    if not (at.startswith("/") or _URL.fullmatch(at) or _SCP.fullmatch(at)):
        raise ValueError("expected an absolute path, a URL, or user@host:path")
    return at


class AllowedRepo(Section):
    """A repository that may start loops."""

    at: Annotated[str, AfterValidator(_require_location)]
    """Where the machine that runs loops finds it: an absolute path, or a URL."""
    branches: tuple[str, ...] = ("**",)
    """Branches that the repository's own configuration may choose from."""
    label: Annotated[str, AfterValidator(str.strip)] = Field(default="helmsman", max_length=100)
    """The label that starts a loop for an issue. Empty: issues start nothing."""
    people: tuple[str, ...] = ()
    """Logins that may start loops by a label and steer them by comments. Empty: members of the repository according to GitHub;
    for the label also whoever labels another person's issue, which forges allow only authorised people."""
    set: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Configuration of its loops, also operator keys: `set = { remote.push = true }`. It overrides the repository's files."""


_AllowedOrLocation = Annotated[AllowedRepo, BeforeValidator(lambda value: {"at": value} if isinstance(value, str) else value)]


class AllowedFile(Section):
    """The operator's file: repositories by their name in webhooks."""

    repositories: dict[str, _AllowedOrLocation] = Field(min_length=1)


# --- parsing messages ---------------------------------------------------------------------------------------------


class ForgeRepository(Record):
    """A repository in messages of GitHub and Gitea."""

    full_name: str = Field(min_length=1, max_length=300)
    html_url: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names that the operator may list it by, the most specific first."""
        where = re.fullmatch(r"https?://([^/@\s]+/\S+)", self.html_url)
        return (where[1].rstrip("/"), self.full_name) if where else (self.full_name,)


class _Payload(Record):
    ref: str
    before: str
    after: str
    repository: ForgeRepository


def read_forge(body: bytes) -> PushMessage:
    """Parse a push event of GitHub or Gitea, which use the same names. Raises ValueError if it is invalid."""
    payload = _Payload.model_validate_json(body)
    return PushMessage(payload.repository.names, (Update(payload.ref, payload.before, payload.after),))


def read_hook(body: bytes) -> PushMessage:
    """Parse a message of our post-receive hook: the repository's name, then git's lines. Raises ValueError if it is invalid."""
    name, *lines = body.decode(errors="replace").removesuffix("\n").split("\n")
    updates = [_HOOK_LINE.fullmatch(line) for line in lines]
    if not name or not updates or not all(updates):
        raise ValueError("expected a name and lines of OLD NEW REF")
    return PushMessage((name,), tuple(Update(ref=line[3], before=line[1], after=line[2]) for line in updates if line))


# --- filtering ----------------------------------------------------------------------------------------------------


def filter_updates(updates: Sequence[Update], branches: Iterable[str], facts: Mapping[str, Any]) -> list[Push | Ignored]:
    """Return a push for each branch that may start a loop, and the reason for every ignored update.

    `facts`: further fields: repository, location, source, delivery, moment.
    """
    allowed, events = tuple(branches), list[Push | Ignored]()
    for update in updates[:MOST_BRANCHES]:
        branch, ends = update.ref.removeprefix(HEADS), (update.before, update.after)
        if not update.ref.startswith(HEADS):
            why = "only pushes to branches start loops"
        elif _ZEROS.fullmatch(update.after):
            why = "the branch was deleted"
        elif not is_branch(branch) or not all(is_commit(end) or _ZEROS.fullmatch(end) for end in ends):
            why = "the name of the branch or the commit is invalid"
        elif branch.startswith(OWN_BRANCHES):
            why = "the branch is Helmsman's own"
        else:
            why = "" if matches_branch(branch, allowed) else f"the operator does not allow branch {branch}"
        before = None if _ZEROS.fullmatch(update.before) else update.before
        push = {**facts, "branch": branch, "commit": update.after, "before": before}
        events.append(Ignored(reason=why) if why else Push.model_validate(push))
    left_out = len(updates) - MOST_BRANCHES
    return [*events, Ignored(reason=f"{left_out} more refs in one push are ignored")] if left_out > 0 else events


def matches_branch(branch: str, patterns: Iterable[str]) -> bool:
    """Whether a branch matches one of the patterns."""
    return any(match_pieces(branch, pieces_of(pattern)) for pattern in patterns)


def is_own_commit(author: str, committer: str, message: str) -> bool:
    """Whether a commit is Helmsman's, by the e-mail addresses of author and committer and its message."""
    return OWN_EMAIL in {author, committer} or OWN_TRAILER.search(message) is not None


def push_key(push: Push) -> str:
    """Return the same key for every message about the same commit on the same branch, from any source."""
    return hashlib.sha256(f"{push.location}\0{push.branch}\0{push.commit}".encode()).hexdigest()


def push_loop_id(push: Push) -> str:
    """Return the id of a push's loop: deterministic, so that it cannot start twice."""
    unique = hashlib.sha256(push.branch.encode()).hexdigest()[:4]  # other branches may have the same words
    return loop_id(f"push {push.branch}", f"{push.commit[:12]}-{unique}")


# --- the operator's rules -----------------------------------------------------------------------------------------


def read_allowed(table: Mapping[str, Any], source: str) -> Mapping[str, AllowedRepo]:
    """Validate the operator's file. Raises OperatorError."""
    try:
        allowed = AllowedFile.model_validate(table).repositories
    except ValidationError as error:
        raise OperatorError(
            f"{source} is invalid",
            expected='a table [repositories] with lines such as "owner/name" = "/srv/git/name.git"',
            found="; ".join(_describe_error(detail) for detail in error.errors(include_url=False)[:3]),
            remedy="fix the file; docs/push.md shows an example",
        ) from None
    for name, entry in allowed.items():
        resolve([Layer(f"set of {display(name)} in {source}", entry.set), Layer("given later", {"goal": "any"})])
    return allowed


def _describe_error(error: ErrorDetails) -> str:
    where, last = ".".join(map(str, error["loc"])), str(error["loc"][-1])
    if error["type"] != "extra_forbidden":
        return f"{where}: {error['msg'].removeprefix('Value error, ')}"
    known = AllowedRepo.model_fields if len(error["loc"]) > 1 else AllowedFile.model_fields
    return f"{where}: unknown key{did_you_mean(last, known)}"


def find_allowed(allowed: Mapping[str, AllowedRepo], names: Iterable[str]) -> tuple[str, AllowedRepo] | None:
    """Return the operator's name and entry for the first listed of these names, ignoring case as forges do."""
    listed = {name.casefold(): name for name in allowed}
    name = next((listed[name.casefold()] for name in names if name.casefold() in listed), None)
    return None if name is None else (name, allowed[name])
