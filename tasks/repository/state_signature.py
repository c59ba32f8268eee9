"""Verify that Helmsman wrote a loop's state, by its signature and the last state that this machine has seen.

A signature covers the parent's commit id, and a commit id covers all of its history. So the last state's signature
authenticates every earlier state and record of the loop.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import BaseModel, ValidationError

from helmsman.errors import OperatorError
from tasks.repository.git import GitError, Repository, git
from tasks.system.files import locked, write_atomic
from tasks.system.keys import has_own_key, is_signed, keys_folder

PURPOSE = "helmsman state 1"  # separates these signatures from those of other data


class Unverified(OperatorError):  # noqa: N818 - a property of the state
    """The state is not verified; nothing may act on it."""


class Tip(BaseModel):
    """The last state of a loop that this machine wrote or verified."""

    uid: str
    commit: str
    next: Self | None = None
    """Next state if it does not contain `commit`: another machine was faster, and the ref is about to move."""


class Stored(NamedTuple):
    """A state's commit with its files, as stored in git."""

    commit: str
    header: bytes  # the commit object
    state: bytes
    record: bytes
    signature: str

    @property
    def parents(self) -> bytes:
        head = self.header.partition(b"\n\n")[0]
        return b" ".join(line[7:] for line in head.split(b"\n") if line.startswith(b"parent "))

    @property
    def is_whole(self) -> bool:
        """Whether the commit matches its id: git does not check this for loose objects, which could have been replaced."""
        digest = "sha1" if len(self.commit) == 40 else "sha256"  # noqa: PLR2004 - hexadecimal digits of git's two hashes
        return hashlib.new(digest, b"commit %d\0%s" % (len(self.header), self.header)).hexdigest() == self.commit


def find_doubt(repository: Repository, loop: str, uid: str, stored: Stored, tip: Tip | None) -> tuple[str, bool]:
    """Why the state is not verified (empty if it is), and whether it is forged: this machine has signed states of the loop, and
    this one does not follow them.

    Read `tip` before the state: another driver writes the state first, and then the tip.
    """
    short, parts = stored.commit[:12], (loop, uid, stored.parents, stored.state, stored.record)
    if stored.is_whole and stored.signature and is_signed(uid, stored.signature, PURPOSE, *parts):
        doubts = [_ancestry_problem(repository, uid, stored.commit, known) for known in (tip, tip and tip.next) if known]
        return ("", False) if "" in doubts or not doubts else (doubts[0], True)
    finding = "a signature that does not match" if stored.signature else "no signature"
    if tip is not None or has_own_key(uid):
        return f"{finding} in {short}, though this machine signs this loop's states", True
    if stored.signature:
        return f"{short}, signed with a key that is not on this machine", False
    return f"{finding} in {short}: an earlier version of Helmsman wrote it, or a person did", False


def _ancestry_problem(repository: Repository, uid: str, commit: str, tip: Tip) -> str:
    """Why a signed state does not follow the known one; empty if it does. Raises GitError if git was killed or timed out."""
    if tip.commit == commit:
        return ""
    if tip.uid != uid:
        return f"the state of another loop, {uid}, which had this name"
    try:  # without git's commit-graph cache, a file that could have been replaced
        git(repository.common, "-c", "core.commitGraph=false", "merge-base", "--is-ancestor", tip.commit, commit)
    except GitError as error:
        if error.code < 0:  # that says nothing about the state
            raise
        return f"{commit[:12]}, an earlier state: it was rolled back from {tip.commit[:12]}"
    return ""


def known_tip(repository: Repository, loop: str) -> Tip | None:
    """Last known state of the loop; None if this machine has seen none, or cannot read it."""
    try:
        return Tip.model_validate_json(_tip_file(repository, loop).read_bytes())
    except (OSError, ValidationError):
        return None


def note_tip(repository: Repository, loop: str, tip: Tip) -> None:
    """Record the tip; the caller holds the loop's lock. On failure the older tip stays, which later states contain as well."""
    with suppress(OSError), locked(keys_folder() / "tips.lock"):
        write_atomic(_tip_file(repository, loop), tip.model_dump_json(), mode=0o600)


def note_seen(repository: Repository, loop: str, tip: Tip, *, instead: Tip | None) -> None:
    """Record the tip without the loop's lock, unless a driver has replaced `instead` meanwhile."""
    with suppress(OSError), locked(keys_folder() / "tips.lock"):
        if known_tip(repository, loop) == instead:
            write_atomic(_tip_file(repository, loop), tip.model_dump_json(), mode=0o600)


def note_next(repository: Repository, loop: str, tip: Tip) -> None:
    """Record the next tip before the ref moves to a verified state without the last one, so that readers accept both."""
    known = known_tip(repository, loop)
    if known is not None:
        note_tip(repository, loop, known.model_copy(update={"next": tip}))


def _tip_file(repository: Repository, loop: str) -> Path:
    """File by repository and loop: two clones on one machine may have different states of the same loop."""
    name = hashlib.sha256(os.fsencode(repository.common) + b"\0" + loop.encode()).hexdigest()[:32]
    return keys_folder() / f"{name}.tip"
