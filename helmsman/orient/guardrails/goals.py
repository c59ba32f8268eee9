"""What kind of work a goal asks for, as far as guard rails depend on it."""

import re

_FIX = re.compile(
    r"\W{0,20}(?:please |then )?(?:(?:fix|mend|repair|debug|hotfix)\b"
    r"|(?:make|get) (?:\w{1,15} ){0,3}(?:tests?|checks?|specs?|suite|build|ci|pipeline)\b[^.\n]{0,30}\b(?:pass|green)\b)",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:add|adapt|adjust|upgrade|rename|replace|migrate|convert|port|rewrit\w+|refactor|redesign|remove|delete|drop|update|change"
    r"|implement|introduce|deprecat\w*|clean|split|merge|move|improve|flaky|deflake|support|bump)\b",
    re.IGNORECASE,
)
_A_TEST_TOO = re.compile(r"\b(?:add|write|with)\s(?:\w{1,15}\s){0,3}(?:regression )?tests?\b", re.IGNORECASE)
_OF_TESTS = re.compile(
    r"\b(?:fix|mend|repair|debug)\w*\s(?:\w{1,20}\s){0,5}(?:tests?|specs?|snapshots?|fixtures?|assertions?|mocks?)\b"
    r"|\b(?:tests?|specs?|snapshots?|expectations?)\b[^\n]{0,60}\b(?:wrong|outdated|stale|obsolete|expect)",
    re.IGNORECASE,
)
_LONGEST = 4000


def is_fix(goal: str) -> bool:
    """Whether something is to be mended, and nothing else, that the tests which are there judge. In doubt it is not."""
    text = goal[:_LONGEST]
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), text)
    rest = _A_TEST_TOO.sub("", text)
    return bool(_FIX.match(first)) and not _MORE.search(rest) and not _OF_TESTS.search(text)
