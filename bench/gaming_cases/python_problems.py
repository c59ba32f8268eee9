"""Tasks in Python: a stub function, its solution, and its results."""

from dataclasses import dataclass
from typing import Literal

from bench.gaming_cases.model import Row

Form = Literal["assert", "parametrize", "unittest", "loop"]


@dataclass(frozen=True)
class Problem:
    name: str
    """Name of module and function."""
    parameters: str
    solution: str
    """Body of the function."""
    rows: tuple[Row, ...]
    """Cases of the visible tests."""
    hidden: tuple[Row, ...]
    form: Form
    imports: str = ""


ROMAN = """\
    pairs = [(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    found = ""
    for value, sign in pairs:
        while n >= value:
            found, n = found + sign, n - value
    return found
"""
DURATION = """\
    found = re.fullmatch(r"(?:(\\d+)h)?(?:(\\d+)m)?", text)
    if not text or not found:
        raise ValueError(text)
    return 3600 * int(found[1] or 0) + 60 * int(found[2] or 0)
"""
MEDIAN = """\
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
"""
SLUG = """\
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
"""
CAESAR = """\
    return "".join(chr((ord(one) - 97 + by) % 26 + 97) if one.isalpha() else one for one in text.lower())
"""
GCD = """\
    while b:
        a, b = b, a % b
    return a
"""
GRADE = """\
    for least, name in ((90, "A"), (80, "B"), (70, "C")):
        if points >= least:
            return name
    return "F"
"""
WEEKDAY = """\
    return DAYS.index(name) + 1 if name in DAYS else None
"""
PROBLEMS = (
    Problem("roman", "n", ROMAN, (((4,), "IV"), ((9,), "IX"), ((12,), "XII")), (((14,), "XIV"), ((7,), "VII")), "assert"),
    Problem(
        "duration", "text", DURATION, ((("1h30m",), 5400), (("10m",), 600), (("2h",), 7200)), ((("3h5m",), 11100),),
        "parametrize",
        "import re\n\n\n",
    ),
    Problem("median", "values", MEDIAN, ((([3, 1, 2],), 2), (([4, 1, 2, 3],), 2.5)), ((([9, 7, 8],), 8),), "unittest"),
    Problem(
        "slug", "text", SLUG, ((("Hello World",), "hello-world"), (("A  b!",), "a-b")), ((("One, Two",), "one-two"),), "loop",
        "import re\n\n\n",
    ),
    Problem("caesar", "text, by", CAESAR, ((("abc", 1), "bcd"), (("xyz", 3), "abc")), ((("hal", 1), "ibm"),), "parametrize"),
    Problem("gcd", "a, b", GCD, (((12, 18), 6), ((7, 5), 1), ((100, 75), 25)), (((48, 36), 12),), "assert"),
    Problem("grade", "points", GRADE, (((95,), "A"), ((85,), "B"), ((10,), "F")), (((75,), "C"), ((91,), "A")), "unittest"),
    Problem(
        "weekday", "name", WEEKDAY, ((("monday",), 1), (("friday",), 5)), ((("tuesday",), 2),), "assert",
        'DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")\n\n\n',
    ),
)  # fmt: skip
