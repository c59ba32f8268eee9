"""Quoting of untrusted text in the judge's request: invisible characters are escaped, cuts marked, fences unforgeable."""

from collections.abc import Sequence
from hashlib import sha256

_MARK = 16
_LABEL = 200


def escape_invisible(text: str) -> str:
    """Escape every invisible or misleading character, except newlines and tabs."""
    plain = text.replace("\r\n", "\n")
    if plain.replace("\n", "").replace("\t", "").isprintable():
        return plain
    return "".join(letter if letter.isprintable() or letter in "\n\t" else _escape(letter) for letter in plain)


def label(name: str) -> str:
    """Return a name on one line, without backticks; of a name longer than 200 characters the end."""
    short = name if len(name) <= _LABEL else f"…{name[1 - _LABEL :]}"
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in short.replace("`", "'"))


def fence(title: str, text: str) -> str:
    """Wrap text between two lines with the same mark. The mark is derived from the text, which therefore cannot contain it.

    The title is trusted, except for labels in it.
    """
    body, salt = escape_invisible(text), 0
    while (mark := sha256(f"{salt}\n{title}\n{body}".encode()).hexdigest()[:_MARK]) in body:
        salt += 1
    return f"<<<{mark} {title}\n{body}\n>>>{mark}"


def name_list(heading: str, names: Sequence[str], most: int = 100) -> str:
    """Return a fenced list of names, counting those after the first `most`; empty if there are none."""
    if not names:
        return ""
    lines = [label(name) for name in names[:most]]
    if len(names) > most:
        lines.append(f"[and {len(names) - most:,} more]")
    return fence(heading, "\n".join(lines))


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
