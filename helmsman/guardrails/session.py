"""A tool call as the agent's hook reports it, what a session remembers of those before it, and what is answered."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from posixpath import normpath
from typing import Any, NamedTuple, cast

from helmsman.guardrails.commands import findings, is_look, may_change, written
from helmsman.guardrails.git import branches_made, commits_after, git_of
from helmsman.guardrails.paths import display, locate, write_finding
from helmsman.guardrails.rules import Advise, Allow, Deny, Finding, Judgement, Rules, table
from helmsman.parsers.agent_actions import WRITERS
from helmsman.parsers.shell import Command, commands
from helmsman.plain import word_set

KEPT_CALLS, KEPT_BRANCHES = 200, 50
_LONGEST_ARGUMENTS = 20_000
_LOOKS = frozenset({"Read", "Grep", "Glob", "LS"})
_EDITS_LOOKED_AT = 100
_TAKE_AWAY = word_set("rm unlink shred truncate sed gsed perl")
"""What else writes a file may add to it or put it back as it was: the diff tells later."""
_PLACE = re.compile(r"\.\w{1,10}:\d")
_MISSING = re.compile(
    r"(?i)undefined|undeclared|not declared|cannot find|can't find|not found|no such|unresolved|missing|does not exist|not exist"
    r"|unknown|E0583|TS2307|TS2304"
)
_LONGEST_GOAL = 4000
_ENDS = (";", "&& true", "&&true", "; true", "|| true", "||true")


@dataclass(frozen=True)
class ToolCall:
    """What the hook got; the values are the agent's and may be of any type."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cwd: str = ""

    def argument(self, name: str) -> Any:
        given: Any = self.arguments
        return cast("Mapping[str, Any]", given).get(name) if isinstance(given, Mapping) else None

    @property
    def command(self) -> str:
        return _as_text(self.argument("command")) if self.tool == "Bash" else ""

    @property
    def path(self) -> str:
        """The file that a writing tool writes."""
        name = WRITERS.get(_as_text(self.tool))
        return (_as_text(self.argument(name)) or _as_text(self.argument("file_path"))) if name else ""

    def folder(self, otherwise: str) -> str:
        """Where it is made."""
        cwd = _as_text(self.cwd)
        return cwd if cwd.startswith("/") else otherwise

    def commands(self, worktree: str, home: str = "") -> tuple[Command, ...]:
        return commands(self.command, self.folder(worktree), home) if self.command else ()


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


class SeenCall(NamedTuple):
    """One call, by the digest of its normal form, since something was last changed."""

    key: str
    times: int  # with the same outcome, as far as it is known
    failed: bool = False
    outcome: str = ""  # digest of its last output; empty where it is not known


@dataclass(frozen=True)
class Session:
    """What happened so far; its size is bounded."""

    worktree: str = ""
    seen: tuple[SeenCall, ...] = ()  # newest last, KEPT_CALLS at most
    commits: int = 0  # commits made in this session that are still on the branch, as far as its commands tell
    branches: tuple[str, ...] = ()  # branches made in this session
    background: bool = False  # whether anything was started in the background

    def found(self, call: ToolCall) -> SeenCall:
        """How often the call was made since the last change."""
        key = key_of(call, self.worktree)
        return next((one for one in self.seen if one.key == key), SeenCall(key, 0))


def judge(call: ToolCall, session: Session, rules: Rules) -> Judgement:
    """The first denial, else the first advice. Give the session as it was before this call, then fold the call into it.

    It is a guard rail for an agent that means well, not a sandbox: what can't be read from the text of a call is allowed.
    """
    known, script = replace(session, worktree=session.worktree or rules.worktree), call.commands(rules.worktree, rules.home)
    found = [*findings(script, rules, known.commits, known.branches, background=known.background)]
    places = [(call.path, call.folder(rules.worktree), False)] if call.path else []
    for command in script:
        folder = git_of(command, rules.home).folder
        places += [(word, folder, command.program == "mkdir") for word in written(command)]
    for word, folder, empty in places:
        if finding := write_finding(word, folder, rules, folders_only=empty):
            found.append(finding)
    found += [*work_findings(call, script, rules), *(_repeated(call, known, rules) if is_counted(call) else ())]
    for finding in found:
        if finding.rule not in rules.strictness.advised:
            return Deny(finding.rule, finding.text)
    return Advise(found[0].rule, found[0].text) if found else Allow()


def _repeated(call: ToolCall, session: Session, rules: Rules) -> Iterator[Finding]:
    """The same again, and nothing was changed in between."""
    found, level = session.found(call), rules.strictness
    if only_looks(call, session.worktree):
        if found.times + 1 >= level.same_look:
            yield Finding("repeated_look", f"You have looked at this {found.times} times and nothing was changed since.")
    elif found.times + 1 >= level.same_command:
        times = {1: "once", 2: "twice"}.get(found.times, f"{found.times} times")
        outcome = "and it failed; it will fail again" if found.failed else "and its result will be the same"
        yield Finding(
            "repeated",
            f"The same command ran {times} with no file change in between, {outcome}. Read its last output, change"
            " the code or the command, or look at one failing part alone.",
        )


def before(session: Session, call: ToolCall) -> Session:
    """The session when a call was judged and is about to run, or was denied."""
    script = call.commands(session.worktree)
    made = tuple(dict.fromkeys((*session.branches, *branches_made(script))))
    starts = any(one.background or not {"setsid", "nohup"}.isdisjoint(one.wrappers) for one in script)
    starts |= call.tool == "Bash" and call.argument("run_in_background") is True
    counted = _with(session, call, lambda one: one._replace(times=one.times + 1))
    return replace(counted, branches=made[-KEPT_BRANCHES:], background=session.background or starts)


def after(session: Session, call: ToolCall, failed: bool, changed: bool, outcome: str = "") -> Session:
    """The session when a call has run. `changed`: a tool that changes files has succeeded since; all counts begin again.

    A command that may itself have changed something makes every other command new, but not its own repetition. One that comes to
    another `outcome` than before, by digest, is no repetition.
    """
    script = call.commands(session.worktree)
    commits = commits_after(session.commits, script, session.worktree, failed=failed)
    if changed or (call.path and not failed):
        return replace(session, seen=(), commits=commits)

    def concluded(one: SeenCall) -> SeenCall:
        another = bool(outcome and one.outcome) and outcome != one.outcome
        return one._replace(times=1 if another else one.times, failed=failed, outcome=outcome or one.outcome)

    told = _with(session, call, concluded)
    kept = (told.found(call),) if may_change(script) else told.seen
    return replace(told, seen=kept, commits=commits)


def _with(session: Session, call: ToolCall, change: Callable[[SeenCall], SeenCall]) -> Session:
    if not is_counted(call):
        return session
    found = session.found(call)
    others = tuple(one for one in session.seen if one.key != found.key)
    return replace(session, seen=(*others, change(found))[-KEPT_CALLS:])


def is_counted(call: ToolCall) -> bool:
    """Whether repeating it says something: commands and looks into files."""
    return bool(call.command.strip()) or _as_text(call.tool) in _LOOKS


def only_looks(call: ToolCall, worktree: str = "") -> bool:
    """Whether a call leaves everything as it is."""
    return not call.command or is_look(call.commands(worktree))


def key_of(call: ToolCall, worktree: str) -> str:
    """Digest of what is run and where, whatever the spacing and the way to write paths."""
    folder, top = call.folder(worktree), normpath(worktree) if worktree else ""
    folder, text = normpath(folder).removeprefix(top) if worktree else folder, " ".join(call.command.split())
    if text and worktree.strip("/"):
        text = text.removeprefix(f"cd {top} && ").replace(f"{top}/", "")
    while end := next((end for end in _ENDS if text.endswith(end)), ""):
        text = text[: -len(end)].rstrip()
    if not call.command:
        with suppress(TypeError, ValueError, RecursionError):
            text = json.dumps(call.arguments, sort_keys=True, default=str)[:_LONGEST_ARGUMENTS]
    whole = f"{_as_text(call.tool)}\n{folder}\n{text}"
    return sha256(whole.encode("utf-8", "backslashreplace")).hexdigest()[:32]


# --- rules about the work itself: tests that judge a fix stay as they are, and a broken build is mended before new work begins


def is_fix(goal: str) -> bool:
    """Whether something is to be mended, and nothing else, that the tests which are there judge. In doubt it is not."""
    text = goal[:_LONGEST_GOAL]
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), text)
    fix, other_work, test_too, of_tests = (re.compile(form, re.IGNORECASE) for form in table()["goals"].values())
    return bool(fix.match(first)) and not other_work.search(test_too.sub("", text)) and not of_tests.search(text)


def work_findings(call: ToolCall, script: Sequence[Command], rules: Rules) -> Iterator[Finding]:
    """What speaks against a call because of the work that it is part of."""
    for path in _rewritten(call, script, rules) if rules.fix else ():
        if rules.tests(path):
            yield Finding(
                "judging_tests",
                f"{display(path)} judges this fix: leave what it says and change the code. Adding tests is welcome; where a test"
                " is wrong, say so in .helmsman/progress.md.",
            )
    broken = rules.broken
    if call.tool != "Write" or broken is None or not _PLACE.search(broken.where) or _MISSING.search(broken.message):
        return  # what misses something may be mended by the very file that is new
    if any(not rules.exists(f"{rules.worktree}/{path}") for path in _inside(call.path, call.folder(rules.worktree), rules)):
        text = f"The build is broken ({broken.kind} at {display(broken.where)}). Fix that first: nothing new can be tried now."
        yield Finding("broken_build", text)


def _rewritten(call: ToolCall, script: Sequence[Command], rules: Rules) -> Iterator[str]:
    """Files inside the worktree that lose something of what they hold.

    What a whole file that is written anew leaves out is seen in the diff later.
    """
    several = call.argument("edits")
    edits = cast("list[Any]", several)[:_EDITS_LOOKED_AT] if isinstance(several, list) else [call.arguments]
    for edit in edits if call.path else ():
        match edit:
            case {"old_string": str(old), "new_string": str(new)} if old.strip() not in new:
                yield from _inside(call.path, call.folder(rules.worktree), rules)
            case _:
                pass
    for command in script:
        git = git_of(command, rules.home)
        if command.program in _TAKE_AWAY or git.verb == "rm":
            for word in written(command):
                yield from _inside(word, git.folder, rules)


def _inside(word: str, folder: str | None, rules: Rules) -> Iterator[str]:
    place = locate(word, folder, rules)
    if place is not None and place.kind == "inside":
        yield place.path
