"""What kind of work a goal asks for, as far as guard rails depend on it."""

import re

_FIX = re.compile(
    r"\b(?:fix|fixes|mend|repair|debug|correct|resolve)\b|\b(?:make|get|until|so that)\b.{0,60}\b(?:pass|passes|green)\b"
    r"|\b(?:bugs?|crash(?:es|ed)?|regressions?)\b|\bfailing\b",
    re.IGNORECASE,
)
_TESTS = r"(?:tests?|specs?|snapshots?|fixtures?|test suite|assertions?|mocks?)"
_ABOUT_TESTS = re.compile(
    rf"\b(?:rewrite|refactor|update|migrate|convert|port|clean|split|merge|delete|remove|rename|move|speed|improve|deflake|replace"
    rf"|simplify|reorganis|reorganiz|change)\w*\b[^.\n]{{0,40}}\b{_TESTS}\b"
    rf"|\b(?:fix|mend|repair|correct|debug)\w*\s(?:\w{{1,20}}\s){{0,3}}{_TESTS}\b|\bflaky\b",
    re.IGNORECASE,
)
_LONGEST = 4000


def is_fix(goal: str) -> bool:
    """Whether something is to be mended that tests judge, and not the tests themselves. In doubt it is not."""
    text = goal[:_LONGEST]
    return bool(_FIX.search(text)) and not _ABOUT_TESTS.search(text)
