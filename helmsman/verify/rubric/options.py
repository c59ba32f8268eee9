"""What stands in brackets at the end of a rubric's line: `(name: tests, timeout: 120, parallel)`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from helmsman.verify.diff import shown

VOTES = "votes"
"""The one option that does without its name: `2 of 3 votes`."""
MOST_VOTES = 9
"""As the configuration has it."""
LONGEST = 2_000
"""Characters in the brackets; more is prose, or a mistake."""
LONGEST_KEY = 40
LONGEST_SHOWN = 60
"""Characters of an option that is quoted in a message."""
NEAR = 0.81
"""Likeness from which one word was probably meant as the other: `weigth` is near `weight`, `checklist` just not `checks`."""

Reader = Callable[[str], Any]
"""From a value's text to the value. Raises ValueError with what was expected."""


class Option(NamedTuple):
    """Where a value goes, and how it is read."""

    field: str
    read: Reader
    flag: bool = False
    """Whether it may stand without a value."""
    many: bool = False
    """Whether commas separate values."""


@dataclass(frozen=True)
class Mistake:
    """One option that cannot be used."""

    cause: str
    remedy: str


# --- where they are -----------------------------------------------------------------------------------------------


def split_brackets(text: str) -> tuple[str, str | None]:
    """Take brackets at the end off, with what is in them; None where there are none that a space sets apart."""
    ended = text.rstrip()
    ended = ended[:-1] if ended.endswith((").", "):")) else ended
    start = _opening(ended) if ended.endswith(")") else None
    if start is None or (start and not ended[start - 1].isspace()):
        return text, None
    return ended[:start].rstrip(), ended[start + 1 : -1]


def _opening(text: str) -> int | None:
    """Where the bracket opens that the last character closes."""
    depth = 0
    for place in range(len(text) - 1, max(len(text) - LONGEST - 2, 0) - 1, -1):
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None


def near(word: str, known: Iterable[str], likeness: float = NEAR) -> str:
    """The known word that was probably meant; empty where none is alike. Words of more than 40 characters are not compared."""
    found = get_close_matches(word[:LONGEST_KEY], [name for name in known if len(name) <= LONGEST_KEY], n=1, cutoff=likeness)
    return found[0] if found else ""


def speaks(brackets: str, known: Mapping[str, Option]) -> bool:
    """Whether one of the parts in brackets is an option or was meant as one; else they belong to a sentence."""
    return any(_key(part, known) or _misspelt(part, known) for part, _ in _parts(brackets))


# --- what they say ------------------------------------------------------------------------------------------------


def read_options(brackets: str, known: Mapping[str, Option]) -> tuple[dict[str, Any], list[Mistake]]:
    """Values by field, and everything that cannot be used."""
    values: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    last: Option | None = None
    for part, begins in _parts(brackets):
        key = _key(part, known)
        if last is not None and last.many and not begins and not key and not _misspelt(part, known):
            values[last.field] = (*values.get(last.field, ()), _bare(part))
            continue
        last = known.get(key)
        found = _read(part, last, key, known)
        if isinstance(found, Mistake):
            mistakes.append(found)
        elif found.keys() & values.keys():
            mistakes.append(Mistake(f"{_quoted(part)}: {key} is given twice", "keep one of the two"))
        else:
            values |= found
    return values, mistakes


_PART = re.compile(r"""((?:"[^"]*+"|\[[^\]]*+\]|[^,;])*+)([,;]?)""")
"""Commas in quotes or in the square brackets of a test's parameters do not separate."""
_KEY = re.compile(r"([a-z]++(?: [a-z]++)*+) *(?:[:=](?!:)|(?<= )(?=[0-9])|\Z)")
"""A word or two, and then a value: behind a colon, or a number behind a space."""
_VOTES = re.compile(r"([0-9]{1,3}) *(?:out of|of|/) *([0-9]{1,3})(?: votes?)?", re.IGNORECASE)


def _parts(brackets: str) -> Iterator[tuple[str, bool]]:
    """The parts between commas and semicolons, and whether each begins the brackets or comes after a semicolon."""
    begins = True
    for match in _PART.finditer(brackets):
        if match[1].strip():
            yield match[1].strip(), begins
            begins = False
        begins = begins or match[2] == ";"


def _read(part: str, option: Option | None, key: str, known: Mapping[str, Option]) -> dict[str, Any] | Mistake:
    if option is None:
        return _unknown(part, known)
    said = part if _VOTES.fullmatch(part) else _bare(part[len(key) :].strip().lstrip(":=").strip())
    if not said and not option.flag:
        return Mistake(f"{_quoted(part)}: {key} has no value", f"write ({key}: VALUE)")
    try:
        value = option.read(said)
    except ValueError as error:
        return Mistake(f"{_quoted(part)}: expected {error}", f"correct {key}")
    return {option.field: (value,) if option.many else value}


def _key(part: str, known: Mapping[str, Option]) -> str:
    """The option that a part begins with; empty where it is none."""
    if VOTES in known and _VOTES.fullmatch(part):
        return VOTES
    word = _word(part)
    return word if word in known else ""


def _word(part: str) -> str:
    """What stands where an option's name would; empty where nothing there looks like one."""
    match = _KEY.match(part[:LONGEST_KEY].lower().translate(_AS_SPACES))
    return match[1].rstrip() if match else ""


def _misspelt(part: str, known: Mapping[str, Option]) -> str:
    """The option that was meant where a value follows a word that is none."""
    word = _word(part)
    return near(word, known) if word and word != part.lower() else ""


def _bare(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'`"
    return value[1:-1].strip() if quoted else value


def _unknown(part: str, known: Mapping[str, Option]) -> Mistake:
    meant = near(_word(part), known)
    remedy = f"did you mean {meant}?" if meant else f"known are {', '.join(known)}; a remark does without brackets"
    return Mistake(f"{_quoted(part)}: unknown option", remedy)


def _quoted(part: str) -> str:
    return f"({shown(part, LONGEST_SHOWN)})"


# --- readers ------------------------------------------------------------------------------------------------------

_UNITS = {"": 1, "s": 1, "sec": 1, "seconds": 1, "m": 60, "min": 60, "minutes": 60, "h": 3600, "hours": 3600}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) *([a-z]*)", re.IGNORECASE)
_AS_SPACES = str.maketrans("_-\t\n", "    ")
_TRUTHS = {"": True, "yes": True, "true": True, "no": False, "false": False}


def text(said: str) -> str:
    return said


def truth(said: str) -> bool:
    if said.lower() not in _TRUTHS:
        raise ValueError("yes or no")
    return _TRUTHS[said.lower()]


def seconds(said: str) -> float:
    """A number of seconds, or one with a unit: `120`, `2 min`."""
    match = _DURATION.fullmatch(said)
    if not match or match[2].lower() not in _UNITS:
        raise ValueError("a time, such as 120 (seconds) or 2 min")
    return float(match[1]) * _UNITS[match[2].lower()]


def positive(said: str) -> float:
    try:
        number = float(said)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError("a number above 0")
    return number


def votes(said: str) -> tuple[int, int]:
    """How many votes are needed of how many: `2 of 3`; of a number alone, all."""
    match = _VOTES.fullmatch(f"{said} of {said}") or _VOTES.fullmatch(said)
    needed, asked = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= needed <= asked <= MOST_VOTES:
        raise ValueError(f"K of N votes, K from 1 to N, N at most {MOST_VOTES}")
    return needed, asked
