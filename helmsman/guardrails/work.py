"""Rules about the work itself: tests that judge a fix stay as they are, and a broken build is mended before new work begins."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from helmsman.guardrails.commands import written
from helmsman.guardrails.git import git_of
from helmsman.guardrails.paths import Kind, locate, shown
from helmsman.guardrails.rules import Finding, Rule, Rules
from helmsman.parsers.shell import Command
from helmsman.plain import word_set

if TYPE_CHECKING:
    from helmsman.guardrails.session import ToolCall

_EDITS_LOOKED_AT = 100
_TAKE_AWAY = word_set("rm unlink shred truncate sed gsed perl")
"""What else writes a file may add to it or put it back as it was: the diff tells later."""
_PLACE = re.compile(r"\.\w{1,10}:\d")
_MISSING = re.compile(
    r"(?i)undefined|undeclared|not declared|cannot find|can't find|not found|no such|unresolved|missing|does not exist|not exist"
    r"|unknown|E0583|TS2307|TS2304"
)
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
_LONGEST_GOAL = 4000


def is_fix(goal: str) -> bool:
    """Whether something is to be mended, and nothing else, that the tests which are there judge. In doubt it is not."""
    text = goal[:_LONGEST_GOAL]
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), text)
    rest = _A_TEST_TOO.sub("", text)
    return bool(_FIX.match(first)) and not _MORE.search(rest) and not _OF_TESTS.search(text)


def work_findings(call: "ToolCall", script: Sequence[Command], rules: Rules) -> Iterator[Finding]:
    """What speaks against a call because of the work that it is part of."""
    for path in _rewritten(call, script, rules) if rules.fix else ():
        if rules.tests(path):
            yield Finding(
                Rule.JUDGING_TESTS,
                f"{shown(path)} judges this fix: leave what it says and change the code. Adding tests is welcome; where a test"
                " is wrong, say so in .helmsman/progress.md.",
            )
    broken = rules.broken
    if call.tool != "Write" or broken is None or not _PLACE.search(broken.where) or _MISSING.search(broken.message):
        return  # what misses something may be mended by the very file that is new
    if any(not rules.exists(f"{rules.worktree}/{path}") for path in _inside(call.path, call.folder(rules.worktree), rules)):
        text = f"The build is broken ({broken.kind} at {shown(broken.where)}). Fix that first: nothing new can be tried now."
        yield Finding(Rule.BROKEN_BUILD, text)


def _rewritten(call: "ToolCall", script: Sequence[Command], rules: Rules) -> Iterator[str]:
    """Files inside the worktree that lose something of what they hold.

    What a whole file that is written anew leaves out is seen in the diff later.
    """
    if call.path and any(old.strip() not in new for old, new in _edits(call)):
        yield from _inside(call.path, call.folder(rules.worktree), rules)
    for command in script:
        git = git_of(command, rules.home)
        if command.program in _TAKE_AWAY or git.verb == "rm":
            for word in written(command):
                yield from _inside(word, git.folder, rules)


def _inside(word: str, folder: str | None, rules: Rules) -> Iterator[str]:
    place = locate(word, folder, rules)
    if place is not None and place.kind is Kind.INSIDE:
        yield place.path


def _edits(call: "ToolCall") -> Iterator[tuple[str, str]]:
    several = call.argument("edits")
    given = cast("list[Any]", several)[:_EDITS_LOOKED_AT] if isinstance(several, list) else [call.arguments]
    for edit in given:
        match edit:
            case {"old_string": str(old), "new_string": str(new)}:
                yield old, new
            case _:
                pass
