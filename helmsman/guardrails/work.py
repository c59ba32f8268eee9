"""Rules about the work itself: tests that judge a fix stay as they are, and a broken build is mended before new work begins."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from helmsman.guardrails.commands import written
from helmsman.guardrails.git import git_of
from helmsman.guardrails.paths import Kind, locate, shown
from helmsman.guardrails.rules import Finding, Rule, Rules, table
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
_LONGEST_GOAL = 4000


def is_fix(goal: str) -> bool:
    """Whether something is to be mended, and nothing else, that the tests which are there judge. In doubt it is not."""
    text = goal[:_LONGEST_GOAL]
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), text)
    fix, other_work, test_too, of_tests = (re.compile(form, re.IGNORECASE) for form in table()["goals"].values())
    return bool(fix.match(first)) and not other_work.search(test_too.sub("", text)) and not of_tests.search(text)


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
