"""Whether words stand for what somebody once laid down, or for what has to be computed from them."""

import re
from collections.abc import Sequence

from helmsman.records.findings import Weight
from helmsman.verify.changed_lines import common_start
from helmsman.verify.invariants.answers.mappings import Pair


def words_weight(pairs: Sequence[Pair]) -> Weight | None:
    """What maps like these pairs weighs: names for things are honest, answers to be computed are not."""
    if not pairs:
        return None
    return (
        Weight.HINT if not are_encoded(pairs) and (all(is_name(pair) for pair in pairs) or _is_numbered(pairs)) else Weight.BLOCK
    )


_WORD = re.compile(r"[\"'][A-Za-z_][\w-]{0,40}[\"']")
_ROW = 3
_CODE = re.compile(r"[1-9][0-9]{2}")


def is_name(pair: Pair) -> bool:
    """One word that stands for what cannot be computed from it, or a code of three digits for its meaning."""
    inputs, output = pair
    if len(inputs) != 1:
        return False
    if _CODE.fullmatch(inputs[0]):
        return output[:1] in {'"', "'"} and inputs[0] not in output
    return bool(_WORD.fullmatch(inputs[0])) and not _is_computed(inputs[0][1:-1], output)


def _is_computed(word: str, output: str) -> bool:
    result = output[1:-1] if output[:1] in {'"', "'"} else output
    same_letters = len(word) > 1 and sorted(_letters(word)) == sorted(_letters(result))
    return same_letters or bool(re.search(rf"\b{re.escape(word)}\b", result, re.IGNORECASE)) or result == str(len(word))


def _letters(text: str) -> str:
    """Without what only divides a word."""
    return re.sub(r"[\W_]", "", text.casefold())


def _is_numbered(pairs: Sequence[Pair]) -> bool:
    """`1: "January", 2: "February", …`: numbers without a gap, each with a name."""
    numbers = [
        int(inputs[0])
        for inputs, output in pairs
        if len(inputs) == 1 and re.fullmatch("[0-9]{1,6}", inputs[0]) and output[:1] in {'"', "'"}
    ]
    return len(numbers) == len(pairs) >= _ROW and sorted(numbers) == list(range(min(numbers), min(numbers) + len(numbers)))


_SEVERAL = 2
_STEM = 3
_ENDING = 2
"""Letters of an ending that is put to a word as it is; `mon` and `monday` are an abbreviation."""


def are_inflected(pairs: Sequence[Pair]) -> bool:
    """`city: cities`, `bus: buses`: most of several words have another ending."""
    return len(pairs) >= _SEVERAL and 2 * sum(_is_inflected(pair) for pair in pairs) > len(pairs)


def _is_inflected(pair: Pair) -> bool:
    word, result = _plain(pair)
    stem = common_start(word, result)
    kept, more = len(word) - stem, len(result) - stem
    longest = _ENDING + (1 if kept else 0)
    return word.isalpha() and result.isalpha() and word != result and stem >= _STEM and kept <= _ENDING and more <= longest


def are_encoded(pairs: Sequence[Pair], letters: int = _SEVERAL) -> bool:
    """`aaabcc: 3ab2c`, `Robert: R163`: each result is so many letters of its word, in their order, with digits between."""
    return bool(pairs) and all(_is_encoded(pair, letters) for pair in pairs)


def _is_encoded(pair: Pair, least: int) -> bool:
    word, result = _plain(pair)
    letters = re.sub(r"[^A-Za-z]", "", result)
    abbreviated = len(letters) > 1 and word.startswith(letters)
    between = re.search(r"[0-9][A-Za-z]" if least > 1 else r"[0-9]", result)  # `js6` is a name
    coded = result.isalnum() and between is not None and not abbreviated
    return coded and len(letters) >= least and _is_within(letters, word)


def _is_within(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


def are_measured(pairs: Sequence[Pair]) -> bool:
    """Several words, each with a number."""
    return len(pairs) >= _SEVERAL and all(is_name(pair) and re.fullmatch(r"[0-9]{1,9}", pair[1]) for pair in pairs)


def _plain(pair: Pair) -> tuple[str, str]:
    """A word and its result without their quotes; empty where it is no word."""
    inputs, output = pair
    quoted = len(inputs) == 1 and inputs[0][:1] in _QUOTES and output[:1] in _QUOTES
    return (inputs[0][1:-1], output[1:-1]) if quoted else ("", "")


_QUOTES = frozenset("\"'")
