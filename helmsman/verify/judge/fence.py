"""Foreign text in the judge's request: what is invisible becomes visible, cuts are told, fences cannot be closed from inside."""

from collections.abc import Sequence
from hashlib import sha256

_MARK = 16
_LABEL = 200


def visible(text: str) -> str:
    """The text with every character that shows nothing, or something else than it is, as its escape; new lines and tabs stay."""
    plain = text.replace("\r\n", "\n")
    if plain.replace("\n", "").replace("\t", "").isprintable():
        return plain
    return "".join(letter if letter.isprintable() or letter in "\n\t" else _escape(letter) for letter in plain)


def label(name: str) -> str:
    """A name on one line, without backticks; of a name that is longer than 200 characters the end."""
    short = name if len(name) <= _LABEL else f"…{name[1 - _LABEL :]}"
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in short.replace("`", "'"))


def fence(title: str, text: str) -> str:
    """Wrap text between two lines that carry the same mark. The mark comes from the text, which so cannot contain it.

    The title is ours, but for labels in it.
    """
    body, salt = visible(text), 0
    while (mark := sha256(f"{salt}\n{title}\n{body}".encode()).hexdigest()[:_MARK]) in body:
        salt += 1
    return f"<<<{mark} {title}\n{body}\n>>>{mark}"


def name_list(heading: str, names: Sequence[str], most: int = 100) -> str:
    """A fenced list of names, in which those beyond the hundredth are only counted; empty for none."""
    if not names:
        return ""
    lines = [label(name) for name in names[:most]]
    if len(names) > most:
        lines.append(f"[and {len(names) - most:,} more]")
    return fence(heading, "\n".join(lines))


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
