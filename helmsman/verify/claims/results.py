"""Claims on results: tests that pass, commands that were run, commits that were made."""

import re
from collections.abc import Iterator

from helmsman.records.claims import ClaimKind
from helmsman.verify.claims.changes import Told, deeds, doing
from helmsman.verify.claims.commands import is_command
from helmsman.verify.claims.sentences import Sentence
from helmsman.verify.claims.words import ELSEWHEN, FAILING, HARMLESS, PARTLY, UNREAL

_PASSES = r"(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)"
_HOW = r"(?:(?:now|all|still|is|are|also|have|has|fully|again|\u2705|:|\u2192|->|-|\u2013|\u2014)\s*){0,4}"
_BEFORE = r"(?:^|[,;:]\s+|\s[\u2013\u2014-]\s|\b(?:and|so|now)\s+|\b(?:confirmed|verified|checked)\s+(?:that\s+)?)(?:now\s+)?"
_OVER = r"(?=\s*(?:$|[.,;:!)(\u2705\u2013\u2014]|-\s|and\b|again\b|now\b))"
_SUITE = (
    r"(?:all\s+(?:of\s+)?(?:the\s+)?(?:[0-9]{1,6}\s+)?|every\s+|the\s+)?(?:(?:full|whole|entire|complete)\s+)?"
    r"(?:tests?(?:\s+suite)?|checks?)"
)
_RUNNER = (
    r"(?:python3?\s-m\s(?:pytest|unittest)|pytest|(?:npm|yarn|pnpm|go|cargo|make|mvn|gradle)\s(?:run\s)?test|make\scheck|tox|jest|vitest"
    r"|phpunit|rspec)"
)
_COMMAND = rf"(?:`(?P<quoted>[^`\n]{{2,200}})`|(?P<bare>{_RUNNER}))"
_ALL_PASS = re.compile(rf"{_BEFORE}{_SUITE}\s*{_HOW}{_PASSES}\b{_OVER}", re.IGNORECASE)
_COMMAND_PASSES = re.compile(
    rf"{_BEFORE}{_COMMAND}\s*{_HOW}(?:{_PASSES}\b|(?:runs\s)?clean\b|exits\s(?:with\s)?(?:code\s)?0\b){_OVER}", re.IGNORECASE
)
_OF = re.compile(r"([0-9]{1,6})\s*(?:/|of|out of)\s*([0-9]{1,6})")
_SORTS = re.compile(
    r"\((?:[0-9]{1,6} (?:new|existing|old|unit|integration|passed|tests|skipped|total)(?:,? |, and |\)$|(?=\)))){1,6}\)"
)
_SUCCESS = re.compile(rf"\b{_PASSES}\b|\b[1-9][0-9]{{0,5}} passed\b|\bsuccess(?:fully)?\b", re.IGNORECASE)

_RAN = doing("ran|re-?ran|executed|have run")
_QUOTED_RUN = re.compile(
    r"\s+(?:(?:the|full|whole|entire|all|complete|tests?|suite|checks?|with|via|using|command|also|both|again)\s+){0,6}"
    r"(`[^`\n]{2,200}`(?:(?:,\s*|\s+and\s+|,\s+and\s+)`[^`\n]{2,200}`){0,5})"
)
_BARE_RUN = re.compile(rf"\s+({_RUNNER})(?=\s*(?:$|[.,;:!(\u2013\u2014]|-\s|and\b))")
_SUITE_RUN = re.compile(
    r"\s+(?:all\s+(?:the\s+)?tests|the\s+(?:(?:full|whole|entire|complete)\s+)?(?:tests|test\s+suite))(?=\s*(?:$|[.,;:!(]|and\b))"
)

_COMMITTED = doing("committed")
_NO_COMMIT = re.compile(r"\s*(?:to(?!\s+(?:the\s+branch|git|`|main\b|master\b))|nothing|no|by)\b", re.IGNORECASE)
_ID = re.compile(r"(?:\b(?:as|in|is|hash|commit|sha|id)|[:(])\s*[`'\"(]?([0-9a-f]{7,40})\b", re.IGNORECASE)
_NAMED_COMMIT = re.compile(
    r"(?:commit(?:\s+(?:hash|id|sha))?\s*:|[\w ]{1,60}\b(?:was|were|is|are)\s+committed\s+as)(?=\s)", re.IGNORECASE
)


def read_results(sentence: Sentence) -> Iterator[Told]:
    """What one sentence says of tests, commands and commits."""
    text = sentence.text
    if text.endswith("?") or ELSEWHEN.search(_unquoted(text)):
        return
    if sentence.ticked and sentence.first:
        yield ClaimKind.ITEM_DONE, text[:200]
    runs = list(_runs(text))
    yield from ((ClaimKind.COMMAND_RUN, command) for command in runs)
    yield from ((ClaimKind.TESTS_PASS, command) for command in dict.fromkeys(_passing(text, runs)))
    yield from ((ClaimKind.COMMITTED, commit) for commit in _commits(text))


def _unquoted(text: str) -> str:
    return re.sub("`[^`]*`", "`x`", text)


def _runs(text: str) -> Iterator[str]:
    for match in deeds(_RAN, text):
        rest = text[match.end() :]
        if named := _QUOTED_RUN.match(rest):
            yield from (command for command in re.findall("`([^`]+)`", named[1]) if is_command(command))
        elif bare := _BARE_RUN.match(rest):
            yield bare[1]
        elif _SUITE_RUN.match(rest):
            yield ""


def _passing(text: str, runs: list[str]) -> Iterator[str]:
    """Empty for the tests as a whole; only where the sentence leaves nothing open."""
    if not _all_of_it(text):
        return
    if _ALL_PASS.search(HARMLESS.sub("", text)):
        yield ""
    for match in _COMMAND_PASSES.finditer(text):
        command = match["quoted"] or match["bare"]
        if is_command(command):
            yield command
    if _SUCCESS.search(_unquoted(text)):
        yield from (command for command in runs if command)


def _all_of_it(text: str) -> bool:
    plain = _SORTS.sub("", HARMLESS.sub("", _unquoted(text)))
    parts = any(int(some) < int(whole) for some, whole in _OF.findall(plain))
    return not parts and not any(words.search(plain) for words in (UNREAL, PARTLY, FAILING))


def _commits(text: str) -> Iterator[str]:
    """The id, where one is told with it; empty for a commit without."""
    rests = [text[match.end() :] for match in deeds(_COMMITTED, text)]
    told = [rest for rest in rests if not _NO_COMMIT.match(rest)]
    named = _NAMED_COMMIT.match(text)
    if named and not UNREAL.search(text):
        told.append(f": {text[named.end() :]}")
    for rest in told:
        name = _ID.search(rest)
        if name and re.search("[0-9]", name[1]) and re.search("[a-f]", name[1], re.IGNORECASE):
            yield name[1].lower()
        elif not named:
            yield ""
