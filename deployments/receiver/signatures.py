"""Whether a message comes from somebody who has the secret, and whether it is fresh. Compared in constant time."""

import hashlib
import hmac
import re

FRESH_SECONDS = 300
"""How old a message of our hook may be, or how far ahead its sender's clock; the hook signs it anew before each attempt."""
SHORTEST_SECRET = 16
"""Characters; a shorter one is guessed from a single message that somebody has seen."""

_HEX = re.compile(r"[0-9a-f]{64}")
_SECONDS = re.compile(r"[0-9]{9,11}", re.ASCII)


def is_signed(secret: bytes, parts: tuple[bytes, ...], shown: str) -> bool:
    """Whether `shown` is the HMAC-SHA256 of these parts, in hexadecimal, with or without `sha256=` in front."""
    signature = shown.removeprefix("sha256=")
    made = hmac.new(secret, digestmod=hashlib.sha256)
    for part in parts:
        made.update(part)
    return _HEX.fullmatch(signature) is not None and hmac.compare_digest(made.hexdigest(), signature)


def is_fresh(told: str, now: float) -> bool:
    """Whether a time in seconds since 1970 is near enough."""
    return _SECONDS.fullmatch(told) is not None and abs(now - int(told)) <= FRESH_SECONDS
