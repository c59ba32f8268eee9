"""Store the loop's state in git: `refs/helmsman/<loop>/state`, a chain of commits with `state.json`, `record.json` and their
`signature`. Code that acts on a state reads it verified; code that only displays one displays the doubt as well.

Each write is one `git fast-import`: it creates the objects, and moves the ref only if nobody else has moved it, as the new
commit must contain the old one. No checkout, no index, constant cost for any length of the chain.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from helmsman.config.base import STORED
from helmsman.errors import OperatorError, format_invalid
from helmsman.plain import clean
from helmsman.records.iteration import IterationRecord
from helmsman.records.request import is_loop_id
from helmsman.records.state import SCHEMA, LoopState
from tasks.repository.git import IDENTITY, GitError, Repository, git, read_ref
from tasks.repository.hidden import with_hidden, without_hidden
from tasks.repository.objects import read_objects
from tasks.repository.state_signature import PURPOSE, Stored, Tip, Unverified, find_doubt, known_tip, note_seen, note_tip
from tasks.system.keys import VARIABLE, loop_key, sign
from tasks.system.secrets import redact, without_secrets

PREFIX = "refs/helmsman/"
STATE = "/state"
"""Not `refs/helmsman/<loop>` itself: git resolves the short name `helmsman/<loop>` to that before a branch, so
`git merge helmsman/<loop>` would merge the state instead of the work; and a ref cannot be below another."""

FSYNC_OPTIONS = "-c", "core.fsync=objects,reference"
"""A power cut must not leave a ref to an empty object; by default git trusts the disk."""
STALE_LOCK_SECONDS = 60  # a ref is locked for milliseconds; a lock of this age belongs to a killed git


_INTERRUPTED = re.compile(r"^\S+ iteration (\d+) attempt \d+ was (?:interrupted|cut off)")


class _Versioned(BaseModel):
    schema_version: int = SCHEMA


class Fenced(OperatorError):  # noqa: N818 - what happened, as in fencing tokens
    """Another process advanced the loop; this one must stop writing."""


def state_ref(loop: str) -> str:
    return f"{PREFIX}{loop}{STATE}"


def write_state(
    repository: Repository, state: LoopState, *, over: str | None, record: IterationRecord | None, subject: str
) -> str:
    """Append to the chain and return the new commit. Raises Fenced if `over`, the commit that was read, is not the last."""
    ref = state_ref(state.loop)
    stream = _import_stream(ref, without_secrets(without_hidden(state)), over, without_secrets(record), redact(subject))
    lock = repository.common / f"{ref}.lock"
    with suppress(FileNotFoundError):  # another writer has just released it
        if time.time() - lock.stat().st_mtime > STALE_LOCK_SECONDS:
            lock.unlink()
    try:
        commit = git(
            repository.common, *FSYNC_OPTIONS, "fast-import", "--quiet", "--date-format=raw-permissive", stdin=stream
        ).strip()
    except GitError as error:
        now = read_ref(repository.common, ref)
        if now == over:
            raise
        raise _fenced_error(state.loop, over, now) from error
    note_tip(repository, state.loop, Tip(uid=state.uid, commit=commit))
    return commit


def _import_stream(ref: str, state: LoopState, over: str | None, record: IterationRecord | None, subject: str) -> bytes:
    """Input of `git fast-import`."""
    state_json = state.model_dump_json(indent=1).encode()
    record_json = record.model_dump_json(indent=1).encode() if record is not None else b""
    signature = sign(loop_key(state.uid), PURPOSE, state.loop, state.uid, over or "", state_json, record_json).encode()
    author = f"{IDENTITY['GIT_AUTHOR_NAME']} <{IDENTITY['GIT_AUTHOR_EMAIL']}> {int(state.updated_at.timestamp())} +0000"
    parts = [f"commit {ref}\nmark :1\ncommitter {author}\n".encode(), _data(subject.replace("\n", " ").encode(errors="replace"))]
    parts += [f"from {over}\n".encode() if over else b"", b"deleteall\n"]
    for name, content in (("state.json", state_json), ("record.json", record_json), ("signature", signature)):
        parts += [f"M 100644 inline {name}\n".encode(), _data(content)] if content else []
    return b"".join([*parts, b"get-mark :1\n"])


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def replace_state(
    repository: Repository, before: LoopState, after: LoopState, subject: str, record: IterationRecord | None = None
) -> LoopState:
    """Move the loop from one state to the next, unless it is there already. Raises Fenced if another process advanced it."""
    stored, commit = read_state(repository, before.loop)
    before, after = without_secrets(before), without_secrets(after)
    if stored == after:
        return after
    if stored != before:
        raise _fenced_error(before.loop, None, commit)
    write_state(repository, after, over=commit, record=record, subject=subject)
    return after


def read_state(repository: Repository, loop: str) -> tuple[LoopState, str]:
    """The last state, verified, and its commit.

    Raises OperatorError if there is no such loop, and Unverified if Helmsman is not known to have written the state.
    """
    shown = show_state(repository, loop)
    if (unverified := unverified_error(repository, shown)) is not None:
        raise unverified
    return without_secrets(with_hidden(shown.state)), shown.commit  # another machine may not know our secrets


class ShownState(NamedTuple):
    """A state for display, verified or not."""

    state: LoopState
    commit: str
    unverified: str  # the finding, in a line for people; empty if Helmsman is known to have written the state
    forged: bool  # this machine has signed states of the loop, and this one does not follow them


def show_state(repository: Repository, loop: str) -> ShownState:
    """The last state of a loop, verified or not. Raises OperatorError if there is no such loop or it cannot be read."""
    tip = known_tip(repository, loop)
    shown = show_state_at(repository, loop, state_ref(loop), tip)
    if shown.unverified and known_tip(repository, loop) != tip:
        return show_state(repository, loop)  # a driver wrote in between
    if not shown.unverified and (tip is None or tip.commit != shown.commit):
        note_seen(repository, loop, Tip(uid=shown.state.uid, commit=shown.commit), instead=tip)
    return shown


def show_state_at(repository: Repository, loop: str, ref: str, tip: Tip | None = None) -> ShownState:
    """Like `show_state` for any ref of the loop, such as a remote's. `tip`: the last state that this machine knows."""
    header = read_objects(repository.common, [ref])[0] if is_loop_id(loop) else None
    if header is None:
        names = ", ".join(loop_names(repository)[:10])
        fetch = f"; or fetch it: git fetch origin {state_ref(loop)}:{state_ref(loop)} helmsman/{loop}:helmsman/{loop}"
        raise OperatorError(
            f"there is no loop {loop!r} in this repository",
            expected=f"one of: {names}" if names else "a loop; none was started here yet",
            found=str(repository.top),
            remedy=f"{'name one of them, or ' if names else ''}give --repo DIR{fetch if is_loop_id(loop) else ''}",
        )
    # all from one commit: a writer may come in between
    files = read_objects(repository.common, [f"{header[0]}:{name}" for name in ("state.json", "record.json", "signature")])
    text, record, signature = (file[1] if file else b"" for file in files)
    stored = Stored(*header, text, record, signature.decode(errors="replace").strip())
    state = parse_state(text.decode(errors="replace"), loop)
    if state.loop != loop:  # its signature may be valid, but for the other loop
        raise OperatorError(
            f"{state_ref(loop)} contains the state of another loop",
            expected=f"a state of loop {loop}",
            found=f"one of loop {clean(state.loop)}",
            remedy=f"restore the last state that this machine knows: git update-ref {state_ref(loop)} {tip.commit}"
            if tip
            else f"find out who wrote it; to delete it: git update-ref -d {state_ref(loop)}",
        )
    return ShownState(state, stored.commit, *find_doubt(repository, loop, state.uid, stored, tip))


def unverified_error(repository: Repository, shown: ShownState) -> Unverified | None:
    """Error for code that would act on a state, with its remedy; None if the state is verified."""
    loop, ref = shown.state.loop, state_ref(shown.state.loop)
    if not shown.unverified:
        return None
    remedy = f"inspect it (git show {ref}:state.json)"
    if shown.forged and (tip := known_tip(repository, loop)) is not None:
        restoring = f"restore the last state that this machine knows: git update-ref {ref} {tip.commit}"
        remedy = f"{restoring}; or, if another machine ran the loop, {remedy}"
    return Unverified(
        f"the state of loop {loop} is not verified, so it is not used",
        expected=f"a state that Helmsman signed, with this machine's key or that of {VARIABLE}",
        found=shown.unverified,
        remedy=f"{remedy} and accept exactly it: helmsman resume {loop} --accept-state {shown.commit[:12]}. "
        f"If several machines run the loop, set one {VARIABLE} on all",
    )


def accept_state(repository: Repository, loop: str) -> None:
    """Sign the last state of a loop again after a person has inspected it. The caller holds the lock."""
    state, commit, unverified, _ = show_state(repository, loop)
    if unverified:
        write_state(repository, state, over=commit, record=None, subject=f"accepted as it was found at {commit[:12]}")


def read_first_state(repository: Repository, loop: str) -> LoopState:
    """The state that a loop was created with, if its last one is verified: that names the commits before it."""
    read_state(repository, loop)
    commit = git(repository.common, "rev-list", "--first-parent", "--max-parents=0", state_ref(loop)).split()[0]
    stored = read_objects(repository.common, [f"{commit}:state.json"])[0]
    return with_hidden(parse_state(stored[1].decode(errors="replace") if stored else "", loop))


def known_state(repository: Repository, loop: str) -> LoopState | None:
    """The last state of a loop, verified; None if there is no such loop. Raises Unverified like `read_state`."""
    return read_state(repository, loop)[0] if read_ref(repository.common, state_ref(loop)) else None


def parse_state(text: str, loop: str) -> LoopState:
    """Parse state.json. Raises OperatorError if a newer version of Helmsman wrote it or it is damaged."""
    try:
        return LoopState.model_validate_json(text, context=STORED)
    except ValidationError as error:
        with suppress(ValidationError):
            if (version := _Versioned.model_validate_json(text).schema_version) > SCHEMA:
                raise OperatorError(
                    f"the state of loop {loop} was written by a newer version of Helmsman",
                    expected=f"schema version {SCHEMA}",
                    found=f"schema version {version}",
                    remedy="upgrade Helmsman; nothing was changed",
                ) from error
        raise _unreadable_error(f"the state of loop {loop}", error, f"git show {state_ref(loop)}:state.json") from error


def list_loops(repository: Repository, unreadable: Callable[[OperatorError], object] = lambda _: None) -> list[ShownState]:
    """Every readable loop, most recently changed first. `unreadable` is called with the errors of the others."""
    loops: list[ShownState] = []
    for loop in loop_names(repository):
        try:
            loops.append(show_state(repository, loop))
        except OperatorError as error:
            unreadable(error)
    return loops


def loop_names(repository: Repository) -> list[str]:
    """Ids of all loops, most recently changed first."""
    refs = git(repository.common, "for-each-ref", "--sort=-committerdate", "--format=%(refname)", f"{PREFIX}*{STATE}")
    names = (ref.removeprefix(PREFIX).removesuffix(STATE) for ref in refs.splitlines())
    return [name for name in names if is_loop_id(name)]


def read_records(repository: Repository, loop: str) -> Iterator[IterationRecord]:
    """Yield every record of a loop, newest first. Raises OperatorError for one that cannot be read."""
    changed = "--diff-filter=AM"  # a state without a record deletes the last one, which is a change as well
    log = "log", "--first-parent", "--format=%H", changed, state_ref(loop), "--", "record.json"
    commits = git(repository.common, *log).split()
    for name in (f"{commit}:record.json" for commit in commits):
        stored = read_objects(repository.common, [name])[0]
        if stored is not None:
            try:
                yield IterationRecord.model_validate_json(stored[1])
            except ValidationError as error:
                raise _unreadable_error(f"a record of loop {loop}", error, f"git show {name}") from error


def read_interruptions(repository: Repository, loop: str) -> list[tuple[int, str]]:
    """Interrupted attempts in the state's history, oldest first: the iteration, and a line with the time and
    `iteration 1 attempt 1 was interrupted: work kept at REF`.
    """
    lines = git(repository.common, "log", "--first-parent", "--reverse", "--format=%ct %s", state_ref(loop)).splitlines()
    found = [(match, *line.split(" ", 1)) for line in lines if (match := _INTERRUPTED.search(line))]
    return [(int(match[1]), f"{datetime.fromtimestamp(int(at), UTC):%Y-%m-%d %H:%M} UTC {text}") for match, at, text in found]


def salvage_refs(repository: Repository, loop: str) -> list[str]:
    """Refs of work that was in flight when a driver died, oldest first."""
    pattern = f"{PREFIX}{loop}/salvage/"
    return git(repository.common, "for-each-ref", "--sort=creatordate", "--format=%(refname)", pattern).split()


def free_ref(repository: Repository, loop: str, kind: str, name: str, commit: str | None = None) -> str:
    """Ref for a commit outside of the loop's branch: one that already points to it, or a free one.

    Another machine may have kept work of the same attempt.
    """
    base = f"{PREFIX}{loop}/{kind}/{name}"
    names = (base, *(f"{base}-{suffix}" for suffix in range(2, 1000)))
    return next(name for name in names if read_ref(repository.common, name) in {None, commit})


def _unreadable_error(what: str, error: ValidationError, command: str) -> OperatorError:
    return OperatorError(
        f"{what} cannot be read",
        expected=f"schema version {SCHEMA}",
        found=clean(format_invalid(error)),
        remedy=f"if a newer version of Helmsman wrote it, upgrade; nothing was changed; to inspect it: {command}",
    )


def _fenced_error(loop: str, over: str | None, now: str | None) -> Fenced:
    return Fenced(
        f"loop {loop} was advanced by another process",
        expected=f"{state_ref(loop)} at {over or 'nothing'}",
        found=now or "nothing",
        remedy=f"check it with: helmsman status {loop}",
    )
