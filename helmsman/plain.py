"""Foreign text made plain: what a terminal would obey instead of showing it is a space."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

LONGEST_LINE = 300
"""Characters of foreign text in a row or a sentence."""
_TAG = re.compile(r"<(?=/?[a-zA-Z!])")
_CODE_FENCE = re.compile(r"`{3,}|~{3,}")


def clean(text: str) -> str:
    """One line that a terminal shows as it is: control characters of foreign text would move the cursor or worse."""
    return text if text.isprintable() else "".join(character if character.isprintable() else " " for character in text)


def clean_lines(text: str) -> str:
    """Foreign text of several lines, each as `clean` makes it."""
    return "\n".join(clean(line) for line in text.expandtabs().splitlines())


def one_line(text: str) -> str:
    """Text of any number of lines on one, with single blanks."""
    return " ".join(clean(text).split())


def prose(text: str) -> str:
    """Text of several lines, without blanks at their ends and blank lines at either end."""
    return "\n".join(line.rstrip() for line in clean_lines(text).splitlines()).strip("\n")


def shortened(text: str, most: int) -> str:
    """At most so many characters; the last one tells where some are left out."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def short_line(text: str, most: int = LONGEST_LINE) -> str:
    """Foreign text on one line, cut where it is longer."""
    return shortened(one_line(text), most)


def inert(text: str, most: int = LONGEST_LINE) -> str:
    """The same for Markdown: what opens a comment, a tag or a block of code is taken apart."""
    return short_line(_TAG.sub("< ", _CODE_FENCE.sub("'", text)), most)


def block_quote(lines: list[str]) -> str:
    """As a quotation: whoever looks for orders passes it over, and no line of it is a heading."""
    return "\n".join(f"> {line}".rstrip() for line in lines)


def cut_between_words(text: str, most: int) -> str:
    """A sentence of about so many characters: cut between words where there are any."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return f"{cut.rpartition(' ')[0] or cut[:-1]}…"


def word_set(words: str) -> frozenset[str]:
    """Words written in one string."""
    return frozenset(words.split())


def spelled(name: str) -> str:
    """A name of ours as people write it: `timed_out` is timed out."""
    return name.replace("_", " ")


_NEAR = 0.7
"""Likeness from which a name is suggested: two swapped letters in a word of four are just within it."""
_LONGEST_SLIP = 200
"""Characters; the comparison takes quadratic time, and nobody mistypes a name of that length."""


def did_you_mean(name: str, known: Iterable[str], told: Callable[[str], str] = str) -> str:
    """The end of a sentence about a name that nobody knows: the two nearest known ones, as `told` has them."""
    every, own = list(known), name.rpartition(".")[2]
    in_other_section = [one for one in every if one.rpartition(".")[2] == own]
    nearest = in_other_section or get_close_matches(name[:_LONGEST_SLIP], every, cutoff=_NEAR)
    return f"; did you mean {' or '.join(map(told, nearest[:2]))}?" if nearest else ""
