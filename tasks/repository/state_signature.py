"""Whether a loop's state is the one that Helmsman wrote: its signature, and the last state that this machine has seen.

A signature covers the parent's commit id, and a commit id covers all that came before it. So the last state's signature
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

PURPOSE = "helmsman state 1"  # what is signed, and in which form: no signature of anything else counts here


class Unverified(OperatorError):  # noqa: N818 - what the state is
    """A state that nothing may be done with."""


class Tip(BaseModel):
    """The last state of a loop that this machine wrote or verified."""

    uid: str
    commit: str
    next: Self | None = None
    """Where the loop goes on although it does not contain `commit`: another machine was faster, and the ref is about to move."""


class Stored(NamedTuple):
    """A state's commit with its files, as git holds them."""

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
        """Git does not compare a loose object with its name when it reads it; whoever can write there could exchange it."""
        digest = "sha1" if len(self.commit) == 40 else "sha256"  # noqa: PLR2004 - hexadecimal digits of git's two hashes
        return hashlib.new(digest, b"commit %d\0%s" % (len(self.header), self.header)).hexdigest() == self.commit


def doubt_of(repository: Repository, loop: str, uid: str, stored: Stored, tip: Tip | None) -> tuple[str, bool]:
    """Why the state is not verified, empty where it is, and whether it is forged: this machine has signed states of the loop, and
    this is none that follows them.

    `tip` is read before the state is: a driver beside us writes the state first, and then the tip.
    """
    short, parts = stored.commit[:12], (loop, uid, stored.parents, stored.state, stored.record)
    if stored.is_whole and stored.signature and is_signed(uid, stored.signature, PURPOSE, *parts):
        doubts = [_not_after(repository, uid, stored.commit, one) for one in (tip, tip and tip.next) if one]
        return ("", False) if "" in doubts or not doubts else (doubts[0], True)
    what = "a signature that does not match" if stored.signature else "no signature"
    if tip is not None or has_own_key(uid):
        return f"{what} in {short}, though this machine signs this loop's states", True
    if stored.signature:
        return f"{short}, signed with a key that is not on this machine", False
    return f"{what} in {short}: an earlier version of Helmsman wrote it, or somebody by hand", False


def _not_after(repository: Repository, uid: str, commit: str, tip: Tip) -> str:
    """Why a signed state does not follow the one that is known. Raises GitError where git was killed or took too long."""
    if tip.commit == commit:
        return ""
    if tip.uid != uid:
        return f"the state of another loop, {uid}, which had this name"
    try:  # without git's cache of the history, which is a file that whoever can write there could exchange
        git(repository.common, "-c", "core.commitGraph=false", "merge-base", "--is-ancestor", tip.commit, commit)
    except GitError as error:
        if error.code < 0:  # that says nothing of the state
            raise
        return f"{commit[:12]}, an earlier state: it was rolled back from {tip.commit[:12]}"
    return ""


def known_tip(repository: Repository, loop: str) -> Tip | None:
    """None where this machine has not seen the loop, or cannot tell."""
    try:
        return Tip.model_validate_json(_tip_file(repository, loop).read_bytes())
    except (OSError, ValidationError):
        return None


def note_tip(repository: Repository, loop: str, tip: Tip) -> None:
    """The caller holds the loop's lock. Where it cannot be kept, an older one stays, which later states contain as well."""
    with suppress(OSError), locked(keys_folder() / "tips.lock"):
        write_atomic(_tip_file(repository, loop), tip.model_dump_json(), mode=0o600)


def note_seen(repository: Repository, loop: str, tip: Tip, *, instead: Tip | None) -> None:
    """Likewise for whoever only looked, without a lock: nothing where a driver has noted another one than `instead` meanwhile."""
    with suppress(OSError), locked(keys_folder() / "tips.lock"):
        if known_tip(repository, loop) == instead:
            write_atomic(_tip_file(repository, loop), tip.model_dump_json(), mode=0o600)


def note_next(repository: Repository, loop: str, tip: Tip) -> None:
    """Before the ref moves to a verified state that does not contain the last one: whoever looks at either finds it known."""
    known = known_tip(repository, loop)
    if known is not None:
        note_tip(repository, loop, known.model_copy(update={"next": tip}))


def _tip_file(repository: Repository, loop: str) -> Path:
    """By repository and loop: two clones on one machine may stand at different states of a loop that travels."""
    name = hashlib.sha256(os.fsencode(repository.common) + b"\0" + loop.encode()).hexdigest()[:32]
    return keys_folder() / f"{name}.tip"
