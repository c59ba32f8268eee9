"""Words of a command line."""

from collections.abc import Iterable, Iterator


def word_set(text: str) -> frozenset[str]:
    """Words written in one string."""
    return frozenset(text.split())


def operands(words: Iterable[str], valued: frozenset[str] = frozenset()) -> Iterator[str]:
    """The words that are no options and no value of one; all of them behind `--`."""
    skip = done = False
    for word in words:
        if skip:
            skip = False
        elif done or not word.startswith("-") or word == "-":
            yield word
        elif word == "--":
            done = True
        else:
            skip = word in valued


def has_flag(words: Iterable[str], letters: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether one of the letters stands in a cluster such as `-rf`, or one of the long names is there."""
    return any(_flags(word, letters) or word.partition("=")[0] in names for word in words)


def _flags(word: str, letters: str) -> bool:
    return word[:1] == "-" and word[:2] != "--" and any(letter in word for letter in letters)
