"""Keys that authenticate what decides: one for each loop, in the user's state folder, which the sandbox hides.

With HELMSMAN_STATE_KEY a loop's key is derived from that secret, so that several machines can go on with one loop.
"""

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError
from tasks.system.faults import transient_error
from tasks.system.files import drafted
from tasks.system.paths import state_home

VARIABLE = "HELMSMAN_STATE_KEY"
SHORTEST = 32
"""Characters of the shared secret: `openssl rand -hex 16` at least. A shorter one could be guessed from one signature."""
KEY_BYTES = 32  # the block that SHA-256 gives; HMAC gains nothing from a longer key
DIGEST = "sha256"


def keys_folder() -> Path:
    return state_home() / "keys"


def loop_key(uid: str) -> bytes:
    """The key that new records of the loop are signed with, made where there is none. Raises OperatorError and TransientError."""
    key, file = _derived(uid) or _stored(uid), _file(uid)
    if key is not None:
        return key
    # linked, not renamed: of two processes that make one at the same time, the first one's counts for both
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with drafted(file, secrets.token_bytes(KEY_BYTES), mode=0o600) as draft, suppress(FileExistsError):
            os.link(draft, file)
        return file.read_bytes()
    except OSError as error:
        raise _unusable(error) from error


def has_own_key(uid: str) -> bool:
    """Whether this machine has signed records of the loop with a key of its own."""
    return _file(uid).exists()


def sign(key: bytes, purpose: str, *parts: str | bytes) -> str:
    """HMAC in hexadecimal. Lengths are signed as well, so that no two lists of parts give the same text."""
    whole = [part.encode(errors="replace") if isinstance(part, str) else part for part in (purpose, *parts)]
    return hmac.digest(key, b"".join(b"%d:%s" % (len(part), part) for part in whole), DIGEST).hex()


def is_signed(uid: str, signature: str, purpose: str, *parts: str | bytes) -> bool:
    """Whether one of the loop's keys on this machine made that signature. Raises OperatorError and TransientError."""
    keys = filter(None, (_derived(uid), _stored(uid)))
    return any(hmac.compare_digest(sign(key, purpose, *parts).encode(), signature.encode()) for key in keys)


def signed(uid: str, purpose: str, text: str) -> str:
    """A text as it is kept in a file that others can write, its signature in the first line. Raises as `loop_key` does."""
    return f"{sign(loop_key(uid), purpose, text)}\n{text}"


def authentic(uid: str, purpose: str, content: bytes) -> str | None:
    """The text of such a file; None where it was not signed for this loop and purpose. Raises as `is_signed` does."""
    signature, _, text = content.decode(errors="replace").partition("\n")
    return text if is_signed(uid, signature, purpose, text) else None


def _derived(uid: str) -> bytes | None:
    secret = os.environ.get(VARIABLE, "")
    if not secret:
        return None
    if len(secret) < SHORTEST:
        raise OperatorError(
            f"{VARIABLE} is too short to sign with",
            expected=f"{SHORTEST} characters or more, the same on every machine",
            found=f"{len(secret)} characters",
            remedy="make one with: openssl rand -hex 32",
        )
    return hmac.digest(secret.encode(), b"helmsman loop " + uid.encode(), DIGEST)


def _stored(uid: str) -> bytes | None:
    try:
        key = _file(uid).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(error) from error
    if len(key) != KEY_BYTES:
        raise OperatorError("a loop's key is damaged", expected=f"{KEY_BYTES} bytes", found=f"{len(key)} in {_file(uid)}")
    return key


def _unusable(error: OSError) -> HelmsmanError:
    return transient_error(error) or OperatorError(
        "a loop's key cannot be read or kept, and without it no state can be signed",
        expected=f"{keys_folder()}, readable and writable by you",
        found=str(error),
        remedy=f"correct its owner and mode, or name another folder with HELMSMAN_HOME; or set {VARIABLE}",
    )


def _file(uid: str) -> Path:
    """Hashed: the id comes from a record that anybody may have written, and must not lead out of the folder."""
    return keys_folder() / f"{hashlib.sha256(uid.encode(errors='replace')).hexdigest()[:32]}.key"
