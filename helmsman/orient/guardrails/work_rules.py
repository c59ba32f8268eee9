"""Rules about the work itself: tests that judge a fix stay as they are, and a broken build is mended before new work begins."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from helmsman.orient.guardrails.files import shown
from helmsman.orient.guardrails.git import folder_of, parsed
from helmsman.orient.guardrails.paths import Kind, locate
from helmsman.orient.guardrails.rules import Finding, Rule, Rules
from helmsman.orient.guardrails.shell import Command
from helmsman.orient.guardrails.tool_calls import ToolCall
from helmsman.orient.guardrails.words import word_set
from helmsman.orient.guardrails.writes import written
from helmsman.records.session import ErrorVector

_EDITS_LOOKED_AT = 100
_PLACE = re.compile(r"\.\w{1,10}:\d")
_TAKE_AWAY = word_set("rm unlink shred truncate sed gsed perl")
"""What else writes a file may add to it or put it back as it was: the diff tells later."""


def findings(call: ToolCall, commands: tuple[Command, ...], rules: Rules) -> Iterator[Finding]:
    """What speaks against a call because of the work that it is part of."""
    yield from _judging_tests(call, commands, rules)
    yield from _new_work(call, rules)


def _judging_tests(call: ToolCall, commands: tuple[Command, ...], rules: Rules) -> Iterator[Finding]:
    for path in _rewritten(call, commands, rules) if rules.fix else ():
        if rules.tests(path):
            yield Finding(
                Rule.JUDGING_TESTS,
                f"{shown(path)} judges this fix: leave what it says and change the code. Adding tests is welcome; where a test"
                " is wrong, say so in .helmsman/progress.md.",
            )


def _rewritten(call: ToolCall, commands: tuple[Command, ...], rules: Rules) -> Iterator[str]:
    """Files inside the worktree that lose something of what they hold."""
    if call.path and _takes_away(call):
        yield from _inside(call.path, call.folder(rules.worktree), rules)
    for command in commands:
        if _takes_lines_away(command):
            folder = folder_of(command, rules.home)
            for word in written(command):
                yield from _inside(word, folder, rules)


def _takes_lines_away(command: Command) -> bool:
    return command.program in _TAKE_AWAY or (command.program == "git" and parsed(command).verb == "rm")


def _inside(word: str, folder: str | None, rules: Rules) -> Iterator[str]:
    place = locate(word, folder, rules)
    if place is not None and place.kind is Kind.INSIDE:
        yield place.path


def _takes_away(call: ToolCall) -> bool:
    """Whether an edit changes or removes lines. What a whole file that is written anew leaves out is seen in the diff later."""
    return any(old not in new for old, new in _edits(call.arguments))


def _edits(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    several = arguments.get("edits")
    given = cast("Sequence[Any]", several)[:_EDITS_LOOKED_AT] if isinstance(several, list) else [arguments]
    for edit in given:
        if isinstance(edit, Mapping):
            old, new = (cast("Mapping[str, Any]", edit).get(key) for key in ("old_string", "new_string"))
            if isinstance(old, str) and isinstance(new, str):
                yield old.strip(), new


_MISSING = re.compile(
    r"(?i)undefined|undeclared|not declared|cannot find|can't find|not found|no such|unresolved|missing|does not exist|not exist"
    r"|unknown|E0583|TS2307|TS2304"
)


def _of_file(error: ErrorVector) -> bool:
    """Whether a file is broken; what misses something may be mended by the very file that is new."""
    return bool(_PLACE.search(error.where)) and not _MISSING.search(error.message)


def _new_work(call: ToolCall, rules: Rules) -> Iterator[Finding]:
    if rules.broken is None or call.tool != "Write" or not _of_file(rules.broken):
        return
    place = locate(call.path, call.folder(rules.worktree), rules)
    if place is None or place.kind is not Kind.INSIDE or rules.exists(f"{rules.worktree}/{place.path}"):
        return
    where = f" at {shown(rules.broken.where)}" if rules.broken.where else ""
    yield Finding(
        Rule.BROKEN_BUILD,
        f"The build is broken ({rules.broken.kind}{where}). Fix that first: nothing new can be tried now.",
    )
