"""Untrusted text made plain: control characters become spaces; names derived from it, and valid names of branches."""

import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches

LONGEST_LINE = 300
"""Characters of untrusted text in a row or a sentence."""
_TAG = re.compile(r"<(?=/?[a-zA-Z!])")
_CODE_FENCE = re.compile(r"`{3,}|~{3,}")
LONGEST_SLUG = 32
PLAIN_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""Safe in refs, file names, Prefect keys and shell commands."""
LOOP_ID = PLAIN_NAME
LONGEST_BRANCH = 200
OWN_BRANCHES = "helmsman/"
"""Prefix of the branches of loops."""
_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock/")
"""Characters and sequences that git forbids in refs."""


def clean(text: str) -> str:
    """Replace control characters of a line, which could move the cursor or worse, by spaces."""
    return text if text.isprintable() else "".join(character if character.isprintable() else " " for character in text)


def clean_lines(text: str) -> str:
    """Apply `clean` to each line of a text."""
    return "\n".join(clean(line) for line in text.expandtabs().splitlines())


def one_line(text: str) -> str:
    """Join a text on one line, with single spaces."""
    return " ".join(clean(text).split())


def prose(text: str) -> str:
    """Clean text of several lines, without trailing spaces and surrounding blank lines."""
    return "\n".join(line.rstrip() for line in clean_lines(text).splitlines()).strip("\n")


def shorten(text: str, most: int) -> str:
    """Cut a text to at most `most` characters, with an ellipsis if anything is omitted."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def short_line(text: str, most: int = LONGEST_LINE) -> str:
    """Untrusted text on one line of at most `most` characters."""
    return shorten(one_line(text), most)


def inert(text: str, most: int = LONGEST_LINE) -> str:
    """Short line for Markdown, in which nothing opens a comment, a tag or a code block."""
    return short_line(_TAG.sub("< ", _CODE_FENCE.sub("'", text)), most)


def block_quote(lines: list[str]) -> str:
    """Format lines as a block quote, which readers of instructions skip and which contains no heading."""
    return "\n".join(f"> {line}".rstrip() for line in lines)


def word_set(words: str) -> frozenset[str]:
    """Set of the words in a string."""
    return frozenset(words.split())


def in_plain_words(name: str) -> str:
    """An identifier in words: `timed_out` becomes timed out."""
    return name.replace("_", " ")


_NEAR = 0.7
"""Least similarity of a suggested name: two swapped letters in a word of four just qualify."""
_LONGEST_SLIP = 200
"""Characters; the comparison takes quadratic time, and names of that length are not typing errors."""


def did_you_mean(name: str, known: Iterable[str], format_name: Callable[[str], str] = str) -> str:
    """Suffix for a message about an unknown name: the two nearest known ones, formatted by `format_name`."""
    known_names, last_part = list(known), name.rpartition(".")[2]
    in_other_sections = [candidate for candidate in known_names if candidate.rpartition(".")[2] == last_part]
    nearest = in_other_sections or get_close_matches(name[:_LONGEST_SLIP], known_names, cutoff=_NEAR)
    return f"; did you mean {' or '.join(map(format_name, nearest[:2]))}?" if nearest else ""


def loop_id(goal: str, suffix: str) -> str:
    """A short readable id: the goal's first words, and a suffix that makes it unique."""
    ascii_goal = unicodedata.normalize("NFKD", goal).encode("ascii", "ignore").decode().lower()
    lines = textwrap.wrap(" ".join(re.findall(r"[a-z0-9]+", ascii_goal)), LONGEST_SLUG) or ["loop"]
    return f"{lines[0].replace(' ', '-')}-{suffix}"


def is_branch(name: str) -> bool:
    """Whether git accepts a name for a branch, and a terminal shows it unchanged."""
    has_valid_length = 0 < len(name) <= LONGEST_BRANCH and name.isprintable()
    has_invalid_end = name.startswith(("-", ".", "/")) or name.endswith((".lock", ".", "/")) or name in {"@", "HEAD"}
    return has_valid_length and not has_invalid_end and not _NOT_IN_BRANCHES.search(name)
