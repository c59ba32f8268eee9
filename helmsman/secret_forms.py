"""How a secret looks where somebody wrote it down in another form: in a header, an URL, a dump, a page."""

import base64
import html
import json
import string
from collections.abc import Iterator
from functools import lru_cache

_AS_IT_IS = frozenset((string.ascii_letters + string.digits + "_.-~").encode())
"""What stands in an URL unescaped: RFC 3986, section 2.3."""


@lru_cache(maxsize=256)
def forms(secret: str) -> frozenset[str]:
    """The secret itself, and what base64, hexadecimal, URLs, JSON and HTML make of it. None is shorter than the secret."""
    octets = secret.encode(errors="surrogateescape")
    escaped = secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret)
    return frozenset((*escaped, *_in_urls(octets), *_hexadecimal(octets), *_base64(octets)))


def _in_urls(octets: bytes) -> tuple[str, str, str]:
    """In a part of a path, in a whole path, and in a form."""
    part = "".join(chr(octet) if octet in _AS_IT_IS else f"%{octet:02X}" for octet in octets)
    return part, part.replace("%2F", "/"), part.replace("%20", "+")


def _hexadecimal(octets: bytes) -> tuple[str, str]:
    return octets.hex(), octets.hex().upper()


def _base64(octets: bytes) -> Iterator[str]:
    """Base64 of any text that holds the secret: it says the same three octets otherwise at each of three places.

    Signs that neighbours have a part in are left away: of 6 bits each, the first ones before and the last ones behind the secret.
    """
    for before in range(3):
        said = base64.b64encode(bytes(before) + octets).decode()
        own = said[-(-before * 8 // 6) : (before + len(octets)) * 8 // 6]
        yield own
        yield own.translate(str.maketrans("+/", "-_"))
