"""Signing keys: one for each loop, in the user's state folder, which the sandbox hides.

With HELMSMAN_STATE_KEY a loop's key is derived from that secret, so that several machines can continue one loop.
"""

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError
from tasks.system.faults import transient_error
from tasks.system.files import draft_file
from tasks.system.paths import state_home

VARIABLE = "HELMSMAN_STATE_KEY"
SHORTEST = 32
"""Minimum characters of the shared secret, as of `openssl rand -hex 16`. A shorter one could be guessed from a signature."""
KEY_BYTES = 32  # output size of SHA-256; a longer key does not strengthen the HMAC
DIGEST = "sha256"


def keys_folder() -> Path:
    return state_home() / "keys"


def loop_key(uid: str) -> bytes:
    """Key for signing new records of the loop, created if missing. Raises OperatorError and TransientError."""
    key, file = _derive_key(uid) or _read_key(uid), _key_file(uid)
    if key is not None:
        return key
    # linked, not renamed: if two processes create a key at once, both use the first
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with draft_file(file, secrets.token_bytes(KEY_BYTES), mode=0o600) as draft, suppress(FileExistsError):
            os.link(draft, file)
        return file.read_bytes()
    except OSError as error:
        raise _unusable_error(error) from error


def has_own_key(uid: str) -> bool:
    """Whether this machine has its own key for the loop."""
    return _key_file(uid).exists()


def sign(key: bytes, purpose: str, *parts: str | bytes) -> str:
    """HMAC in hexadecimal. Includes the lengths, so that different lists of parts never give the same input."""
    encoded = [part.encode(errors="replace") if isinstance(part, str) else part for part in (purpose, *parts)]
    return hmac.digest(key, b"".join(b"%d:%s" % (len(part), part) for part in encoded), DIGEST).hex()


def is_signed(uid: str, signature: str, purpose: str, *parts: str | bytes) -> bool:
    """Whether the signature is from one of the loop's keys on this machine. Raises OperatorError and TransientError."""
    keys = filter(None, (_derive_key(uid), _read_key(uid)))
    return any(hmac.compare_digest(sign(key, purpose, *parts).encode(), signature.encode()) for key in keys)


def with_signature(uid: str, purpose: str, text: str) -> str:
    """Prefix a text with a line with its signature, for files that others can write. Raises like `loop_key`."""
    return f"{sign(loop_key(uid), purpose, text)}\n{text}"


def verified_text(uid: str, purpose: str, content: bytes) -> str | None:
    """Verified text of such a file; None if it is not signed for this loop and purpose. Raises like `is_signed`."""
    signature, _, text = content.decode(errors="replace").partition("\n")
    return text if is_signed(uid, signature, purpose, text) else None


def _derive_key(uid: str) -> bytes | None:
    secret = os.environ.get(VARIABLE, "")
    if not secret:
        return None
    if len(secret) < SHORTEST:
        raise OperatorError(
            f"{VARIABLE} is too short to sign with",
            expected=f"{SHORTEST} characters or more, the same on every machine",
            found=f"{len(secret)} characters",
            remedy="generate one with: openssl rand -hex 32",
        )
    return hmac.digest(secret.encode(), b"helmsman loop " + uid.encode(), DIGEST)


def _read_key(uid: str) -> bytes | None:
    try:
        key = _key_file(uid).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable_error(error) from error
    if len(key) != KEY_BYTES:
        raise OperatorError("a loop's key is damaged", expected=f"{KEY_BYTES} bytes", found=f"{len(key)} in {_key_file(uid)}")
    return key


def _unusable_error(error: OSError) -> HelmsmanError:
    return transient_error(error) or OperatorError(
        "a loop's key cannot be read or stored, so no state can be signed",
        expected=f"{keys_folder()}, readable and writable by you",
        found=str(error),
        remedy=f"correct its owner and mode, or name another folder with HELMSMAN_HOME; or set {VARIABLE}",
    )


def _key_file(uid: str) -> Path:
    """Key file. The name is hashed: the id comes from an untrusted record, and must not lead out of the folder."""
    return keys_folder() / f"{hashlib.sha256(uid.encode(errors='replace')).hexdigest()[:32]}.key"
